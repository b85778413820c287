package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/people"
)

// UserCommands returns the commands on users that work on the database itself, as those on keys do.
func UserCommands() []*cobra.Command {
	return []*cobra.Command{usersGrant(true), usersGrant(false), usersExport(), usersDelete()}
}

// userRow is a user in the output of users export. ProjectID is that of a service user; else null.
type userRow struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	IsService  bool       `json:"isService"`
	ProjectID  *string    `json:"projectId"`
	IsOperator bool       `json:"isOperator"`
	DisabledAt *time.Time `json:"disabledAt"`
	CreatedAt  time.Time  `json:"createdAt"`
}

func userRowOf(u *people.User) userRow {
	return userRow{
		ID:         string(u.ID),
		Name:       u.Name,
		IsService:  u.Service,
		ProjectID:  cli.TextOrNil(string(u.Project)),
		IsOperator: u.Operator,
		DisabledAt: optional(u.DisabledAt),
		CreatedAt:  u.CreatedAt,
	}
}

// usersGrant returns the command that makes a user an operator, or the one that ends that.
func usersGrant(grant bool) *cobra.Command {
	const why = "The command works on the database because access to it, and no key, decides who is an operator."
	c := &cobra.Command{
		Use:   "grant NAME operator",
		Short: "Make a user an operator of the service",
		Long: `Makes a user an operator, whose keys that reach every project may create projects, change their quotas
and decide who works in them. An operator who is in no project does not read what it owns.

` + why,
	}
	done := "is an operator now"
	if !grant {
		c.Use, c.Short = "revoke NAME operator", "End that a user is an operator"
		c.Long = "Ends that a user is an operator.\n\n" + why
		done = "is no operator now"
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := cli.ExactArgs("a user's name", "a right: operator")(cmd, args); err != nil {
			return err
		}
		if args[1] != "operator" {
			return cli.Usagef("%q is no right; it must be operator", pleat.Clip(args[1]))
		}
		return nil
	}
	return onStore(c, func(cmd *cobra.Command, s *store.Store, args []string) error {
		err := s.People.SetOperator(cmd.Context(), operator(), args[0], grant)
		return cli.Say(cmd, err, "%s %s", pleat.Clip(args[0]), done)
	})
}

// personalData is the output of users export: what the database stores about a user.
type personalData struct {
	Identity *personalIdentity `json:"identity,omitempty"`
	User     userRow           `json:"user"`
	Roles    []personalRole    `json:"roles"`
	Keys     []keyRow          `json:"keys"`
	Created  []personalObject  `json:"created"`
	Counts   map[string]int    `json:"counts"`
	Audit    []auditRow        `json:"audit"`
	// Notifications are what mails the user gets, and got in the last 30 days.
	Notifications *personalMail `json:"notifications,omitempty"`
}

// personalMail is which mails a user gets.
type personalMail struct {
	Mail      string         `json:"mail"`
	Confirmed bool           `json:"confirmed"`
	Events    []string       `json:"events"`
	Mails     []personalSent `json:"mails"`
}

// personalSent is a mail to a user.
type personalSent struct {
	ID        string    `json:"id"`
	Event     string    `json:"event"`
	SourceID  string    `json:"sourceId"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
}

// personalRole is the role of a user in a project.
type personalRole struct {
	ProjectID   string `json:"projectId"`
	ProjectName string `json:"projectName"`
	IsOwn       bool   `json:"isOwn"`
	Role        string `json:"role"`
}

// personalIdentity is what the issuer has said last of a person who signs in.
type personalIdentity struct {
	Issuer  string    `json:"issuer"`
	Subject string    `json:"subject"`
	Email   string    `json:"email"`
	Groups  []string  `json:"groups"`
	AsOf    time.Time `json:"asOf"`
}

// personalObject is something that a user has made.
type personalObject struct {
	Kind      string    `json:"kind"`
	ID        string    `json:"id"`
	ProjectID string    `json:"projectId"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// usersExport returns the command that prints everything that is stored about a user as JSON.
func usersExport() *cobra.Command {
	return onStore(&cobra.Command{
		Use:   "export NAME",
		Short: "Print everything that is stored about a user as JSON",
		Long: `Prints what the database stores about a user: the account, what the issuer has said of the person,
its roles, its keys without their secrets, the address and the mails to it, what it has made, and what the
audit log has by and about it.
The results themselves are not in it: the user downloads them, for example with pleat jobs results. Log
files are not in it.

The command works on the database because no key, not even that of an operator, reads all of this.`,
		Example: `  pleat users export ada > ada.json`,
		Args:    cli.ExactArgs("a user's name"),
	}, func(cmd *cobra.Command, s *store.Store, args []string) error {
		u, err := userNamed(cmd.Context(), s, args[0])
		if err != nil {
			return err
		}
		data, err := personalDataOf(cmd.Context(), s, u)
		if err != nil {
			return err
		}
		return cli.PrintJSON(cmd.OutOrStdout(), data)
	})
}

// userNamed returns the user of a name.
func userNamed(ctx context.Context, s *store.Store, name string) (people.User, error) {
	list, err := s.People.Users(ctx)
	if err != nil {
		return people.User{}, err
	}
	var names []string
	for _, u := range list {
		if u.Name == name {
			return u, nil
		}
		names = append(names, u.Name)
	}
	if near := pleat.Nearest(name, names); near != "" {
		return people.User{}, fmt.Errorf("there is no user %q; did you mean %q?", pleat.Clip(name), near)
	}
	return people.User{}, fmt.Errorf("there is no user %q", pleat.Clip(name))
}

// personalDataOf collects what is stored about a user.
func personalDataOf(ctx context.Context, s *store.Store, u people.User) (personalData, error) {
	out := personalData{
		User: userRowOf(&u), Roles: []personalRole{}, Created: []personalObject{}, Counts: map[string]int{},
	}
	roles, err := s.People.Memberships(ctx, people.Reach{User: u.ID})
	if err != nil {
		return out, err
	}
	for _, m := range roles {
		out.Roles = append(out.Roles, personalRole{
			ProjectID: string(m.Project.ID), ProjectName: m.Project.Name, IsOwn: m.Project.Own, Role: m.Role.String(),
		})
	}
	if out.Keys, err = keysOf(ctx, s, u.Name); err != nil {
		return out, err
	}
	c, err := s.People.ClaimsOf(ctx, u.ID)
	if err != nil {
		return out, err
	}
	if c.Issuer != "" {
		out.Identity = &personalIdentity{c.Issuer, c.Subject, c.Email, append([]string{}, c.Groups...), c.At}
	}
	content, err := s.Ops.UserContents(ctx, u.ID)
	if err != nil {
		return out, err
	}
	for _, m := range content {
		out.Counts[m.Kind]++
		out.Created = append(out.Created, personalObject{m.Kind, m.ID, string(m.Project), m.Name, m.CreatedAt})
	}
	if out.Notifications, err = mailOf(ctx, s, u.ID); err != nil {
		return out, err
	}
	entries, err := s.Ops.AuditOf(ctx, u)
	out.Audit = auditRows(entries)
	return out, err
}

// mailOf collects which mails a user gets; nil: none were ever set.
func mailOf(ctx context.Context, s *store.Store, user pleat.UserID) (*personalMail, error) {
	const all = 1 << 20
	m, err := s.Mails.MailSetting(ctx, user, all)
	if err != nil || m.Address == "" && len(m.Events)+len(m.Last) == 0 {
		return nil, err
	}
	out := &personalMail{Mail: m.Address, Confirmed: m.Confirmed, Events: []string{}, Mails: []personalSent{}}
	for _, e := range m.Events {
		out.Events = append(out.Events, string(e))
	}
	for _, l := range m.Last {
		out.Mails = append(out.Mails,
			personalSent{string(l.ID), string(l.Kind), l.Source.ID(), string(l.Status), l.CreatedAt})
	}
	return out, nil
}

// usersDelete returns the command that deletes what is stored about a user.
func usersDelete() *cobra.Command {
	c := cli.Complete(&cobra.Command{
		Use:   "delete NAME --yes",
		Short: "Delete a user with everything in the user's own project",
		Long: `Disables a user, ends the user's keys and roles, deletes everything in the user's own project, and
replaces the name by one such as deleted-9d0e3c1f5a7e wherever the service has written it. This cannot be
undone. The only manager of a project is refused. After an interruption, repeat the command. It works on the
database because no key, not even that of an operator, may delete another user.

The service keeps jobs, workflows and batches in projects of several users, which belong to them, with the new
name as their creator; the audit log, without name and addresses; texts that people have written there, such as
names of jobs; log files, and backups. The files of deleted objects go as after every deletion: the workers
delete them, most at once and the last after about an hour.`,
		Args: cli.ExactArgs("a user's name"),
	}, func(cmd *cobra.Command, args []string) error {
		if !cli.IsOn(cmd, "yes") {
			return cli.Usagef("this deletes the user %s and everything in the user's own project for ever; "+
				"to do so, pass --yes", pleat.Clip(args[0]))
		}
		return withStore(cmd, func(ctx context.Context, s *store.Store) error {
			u, err := s.Ops.EraseUser(ctx, operator(), args[0])
			if err != nil {
				return err
			}
			content, err := s.Ops.UserContents(ctx, u.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "deleted; the account is %s from now on\n", u.Name)
			if len(content) > 0 {
				const text = "%d of its things stay, in projects of several users\n"
				fmt.Fprintf(cmd.OutOrStdout(), text, len(content))
			}
			return nil
		})
	}, config.Store)
	c.Flags().Bool("yes", false, "confirm that everything is to be deleted")
	return c
}

// auditRow is an entry of the audit log in the output of users export. KeyPrefix is empty without a key, and Address
// for a change by an operator.
type auditRow struct {
	At        time.Time `json:"at"`
	User      string    `json:"user"`
	KeyPrefix string    `json:"keyPrefix"`
	Address   string    `json:"address"`
	Action    string    `json:"action"`
	Subject   string    `json:"subject"`
	Detail    string    `json:"detail"`
}

// auditRows returns entries as they are printed.
func auditRows(list []people.AuditEntry) []auditRow {
	out := []auditRow{}
	for _, e := range list {
		out = append(out, auditRow{
			At:        e.At,
			User:      e.UserName,
			KeyPrefix: e.KeyPrefix,
			Address:   e.Actor.Address,
			Action:    string(e.Action),
			Subject:   e.Subject,
			Detail:    e.Detail,
		})
	}
	return out
}
