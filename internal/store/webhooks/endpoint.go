package webhooks

import (
	"context"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// Endpoint receives a project's deliveries: its default one, a named one, or one from the settings of a single run. It
// receives deliveries while it is active and not paused, and once ResumeAt has passed; until then they wait. A named
// one gets the events of its set, whatever the settings of the run say. Package seal has sealed Address, Token and the
// secrets for their columns: this package cannot read them.
type Endpoint struct {
	ID               pleat.EndpointID
	Owner            pleat.ProjectID
	Name             string         // of a named one; empty for the others
	Events           pleat.EventSet // that a named one gets
	SingleRun        bool           // it is from the settings of one run, for its events
	Address          pleat.Address
	Token            string // sealed for the column «token»
	Secret           string // sealed for the column «secret»; empty: none
	OldSecret        string // sealed for the column «secret»; signs in addition to Secret until OldSecretUntil
	OldSecretUntil   time.Time
	Format           string // of the bodies; empty: plain
	Active           bool
	Paused           bool      // its owner lets deliveries wait
	EnabledByDefault bool      // runs without webhook settings use it
	DisabledReason   string    // why it is not active
	Health           string    // the circuit breaker's state, as internal/deliver writes it
	ResumeAt         time.Time // when it may receive again; zero: now
	RotatedAt        time.Time // when Secret was stored
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// The columns for which the address, the token and the secrets of an endpoint are sealed.
const (
	AddressColumn = "address"
	TokenColumn   = "token"
	SecretColumn  = "secret"
)

// DeactivatedByOwner is the DisabledReason of an endpoint that its owner has deactivated.
const DeactivatedByOwner = "deactivated by its owner"

// Deactivated reports whether the owner has deactivated the endpoint, as opposed to the service.
func (e *Endpoint) Deactivated() bool { return !e.Active && e.DisabledReason == DeactivatedByOwner }

// endpointColumns are the columns that Endpoint.scanTargets scans, of the row e of endpoint.
const endpointColumns = `e.id, e.project_id, e.run_source, e.origin, e.address, e.token, e.secret, e.old_secret,
	e.old_secret_until, e.format, e.active, e.paused, e.enabled_by_default, e.disabled_reason, e.health,
	e.resume_at, e.rotated_at, e.created_at, e.updated_at, e.name, e.events`

// scanTargets returns where to scan endpointColumns; the endpoint is that of a single run if the source is not empty
// then.
func (e *Endpoint) scanTargets(source *string) []any {
	return []any{
		&e.ID, &e.Owner, source, &e.Address.Origin, &e.Address.Sealed, &e.Token, &e.Secret, &e.OldSecret,
		db.ScanTime(&e.OldSecretUntil), &e.Format, db.ScanBool(&e.Active), db.ScanBool(&e.Paused),
		db.ScanBool(&e.EnabledByDefault), &e.DisabledReason, &e.Health,
		db.ScanTime(&e.ResumeAt), db.ScanTime(&e.RotatedAt), db.ScanTime(&e.CreatedAt), db.ScanTime(&e.UpdatedAt),
		&e.Name, &e.Events,
	}
}

// scanEndpoint reads endpointColumns.
func scanEndpoint(scan func(...any) error) (e Endpoint, err error) {
	var source string
	err = scan(e.scanTargets(&source)...)
	e.SingleRun = source != ""
	return e, err
}

// isDefault is the condition that a row e of endpoint is the default one of its project, and isNamed that it is a named
// one.
const (
	isDefault = "e.run_source = '' AND e.name = ''"
	isNamed   = "e.name <> '' AND e.deleted_at = 0"
)

// EnabledEndpoint is the row e of the endpoint that gets the events of the runs of the project $2 unless their settings
// say otherwise; none, if there is none. It may be one that the service has disabled: its deliveries wait.
const EnabledEndpoint = "endpoint e WHERE e.project_id = $2 AND " + isDefault + " AND e.enabled_by_default = 1"

// namedEndpointsQuery lists the named endpoints of a project.
const namedEndpointsQuery = "SELECT " + endpointColumns + " FROM endpoint e WHERE e.project_id = $1 AND " + isNamed

// NamedEndpoints lists the named endpoints of a project by name; none for a caller without a role in it.
func (s *Store) NamedEndpoints(ctx context.Context, by people.Reach) ([]Endpoint, error) {
	inReach := people.RoleSQL("e.project_id", "$2", "$1") + " > 0"
	rows, err := s.db.Read(ctx, namedEndpointsQuery+" AND "+inReach+" ORDER BY e.name", by.Project, by.User)
	list, err := db.ListOf(rows, err, scanEndpoint)
	return list, db.Unavailable("list endpoints", err)
}

// Default stands for the default endpoint of the project of the caller's reach. The others have ids.
const Default pleat.EndpointID = ""

// ErrNoEndpoint refuses a call on the default endpoint of a project that has none, and ErrNoNamedEndpoint a call on a
// named endpoint that does not exist or is out of reach.
var (
	ErrNoEndpoint = pleat.Errorf(pleat.CodeNotFound,
		"No webhook is configured; PUT /v1/webhooks/custom-http-config does that")
	ErrNoNamedEndpoint = pleat.Errorf(pleat.CodeNotFound, "Endpoint not found")
)

// Endpoint reads the default or a named endpoint, and the role of the caller in its project. ErrNoEndpoint,
// ErrNoNamedEndpoint: there is none, or it is out of reach.
func (s *Store) Endpoint(ctx context.Context, by people.Reach, id pleat.EndpointID) (Endpoint, pleat.Role, error) {
	e, role, err := endpointFor(by, id, pleat.Viewer, func(q string, args []any, dst ...any) error {
		return s.db.ReadRow(ctx, q, args, dst...)
	})
	return e, role, db.Unavailable("read endpoint", err)
}

// endpointFor reads the default or a named endpoint for a caller who needs a role in its project.
func endpointFor(
	by people.Reach, id pleat.EndpointID, needs pleat.Role, readRow func(q string, args []any, dst ...any) error,
) (Endpoint, pleat.Role, error) {
	var key any = id
	is, notFound := "e.id = $1 AND "+isNamed, ErrNoNamedEndpoint
	if id == Default {
		key, is, notFound = by.Project, "e.project_id = $1 AND "+isDefault, ErrNoEndpoint
	}
	var role pleat.Role
	q := "SELECT " + endpointColumns + ", " + people.RoleSQL("e.project_id", "$2", "$3") +
		" FROM endpoint e WHERE " + is
	e, err := scanEndpoint(func(dst ...any) error {
		return readRow(q, []any{key, by.User, by.Project}, append(dst, &role)...)
	})
	if err = db.MapNoRows(err, notFound); err == nil {
		err = role.Allow(needs, notFound)
	}
	return e, role, err
}

// lockEndpoint reads an endpoint whose project it locks, for an actor who manages the project. It returns the actor in
// that project. ErrNoEndpoint, ErrNoNamedEndpoint: there is none.
func lockEndpoint(t *db.Tx, by people.Actor, id pleat.EndpointID) (Endpoint, people.Actor, error) {
	if id != Default {
		e, _, err := endpointFor(by.Reach, id, pleat.Manager, t.Row)
		if err != nil {
			return e, by, err
		}
		by = by.In(e.Owner)
	}
	if err := lockProject(t, by.Reach); err != nil {
		return Endpoint{}, by, err
	}
	e, _, err := endpointFor(by.Reach, id, pleat.Manager, t.Row) // a change may have come before the lock
	return e, by, err
}

// lockProject locks the project of a reach, which must give the role of a manager in it.
func lockProject(t *db.Tx, by people.Reach) error {
	if err := people.NeedRole(t, by, pleat.Manager); err != nil {
		return err
	}
	return people.LockProject(t, by.Project)
}

// Reseal passes every sealed value through fn, which returns it sealed with the current key and whether that changed
// it. Reseal returns the number of endpoints and logins that changed. An old secret is sealed for the column «secret»,
// since a rotation moves it as it is. One transaction changes all endpoints or, after an error of fn, none: no key is
// half replaced. The command pleat secrets calls it.
func (s *Store) Reseal(
	ctx context.Context, fn func(owner pleat.ProjectID, column, sealed string) (string, bool, error),
) (int, error) {
	changed := 0
	err := s.db.Write(ctx, "reseal", func(t *db.Tx) error {
		changed = 0
		rows, err := t.Query("SELECT " + endpointColumns + " FROM endpoint e ORDER BY e.id")
		all, err := db.ListOf(rows, err, scanEndpoint)
		if err != nil {
			return err
		}
		for _, e := range all {
			resealed := false
			for _, c := range []struct {
				column string
				value  *string
			}{
				{AddressColumn, &e.Address.Sealed},
				{TokenColumn, &e.Token},
				{SecretColumn, &e.Secret},
				{SecretColumn, &e.OldSecret},
			} {
				if *c.value == "" {
					continue
				}
				sealed, differs, err := fn(e.Owner, c.column, *c.value)
				if err != nil {
					return err
				}
				*c.value, resealed = sealed, resealed || differs
			}
			if !resealed {
				continue
			}
			changed++
			if _, err := t.Exec(
				"UPDATE endpoint SET address = $1, token = $2, secret = $3, old_secret = $4 WHERE id = $5",
				e.Address.Sealed, e.Token, e.Secret, e.OldSecret, e.ID,
			); err != nil {
				return err
			}
		}
		n, err := people.ResealLogins(t, fn)
		changed += n
		return err
	})
	return changed, err
}

// sealedAtOnce is how many addresses one transaction of SealAddresses seals.
const sealedAtOnce = 1000

// SealAddresses passes the addresses that a version before migration 4 has stored in the clear through seal, stores
// what it returns, and returns their number. On SQLite it overwrites the old text in the files; copies that earlier
// changes of a row have left in free space stay until a VACUUM. The start of every node calls it. It then reads all
// endpoints once: there is no index of addresses in the clear.
func (s *Store) SealAddresses(
	ctx context.Context, seal func(owner pleat.ProjectID, address string) pleat.Address,
) (sealed int, err error) {
	for {
		rows, err := s.db.Read(ctx, "SELECT "+endpointColumns+` FROM endpoint e
			WHERE e.address = '' AND e.origin <> '' LIMIT $1`, sealedAtOnce)
		plain, err := db.ListOf(rows, err, scanEndpoint)
		if err != nil {
			return sealed, db.Unavailable("read addresses", err)
		}
		if len(plain) == 0 {
			break
		}
		if err := s.sealEach(ctx, plain, seal); err != nil {
			return sealed, err
		}
		sealed += len(plain)
	}
	if sealed == 0 {
		return 0, nil
	}
	return sealed, s.db.TruncateLog(ctx)
}

// sealEach seals the addresses of some endpoints in one transaction.
func (s *Store) sealEach(
	ctx context.Context, plain []Endpoint, seal func(owner pleat.ProjectID, address string) pleat.Address,
) error {
	return s.db.Write(ctx, "seal addresses", func(t *db.Tx) error {
		return t.Overwriting(func() error {
			for i := range plain {
				e := &plain[i]
				a := seal(e.Owner, e.Address.Origin)
				t.Send("UPDATE endpoint SET origin = $1, address = $2 WHERE id = $3 AND address = '' AND origin = $4",
					a.Origin, a.Sealed, e.ID, e.Address.Origin) // another node may have erased it since it was read
			}
			return t.Wait()
		})
	})
}
