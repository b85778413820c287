package route

import (
	"context"
	"sync"
	"time"

	"pleat"
	"pleat/internal/server/signin"
	"pleat/internal/store/people"
)

// callers are what a node remembers of those who call it.
type callers struct {
	known  *signin.Recent[knownKey] // credentials that were valid recently
	usage  keyUsage
	logins *signin.Logins
}

// newCallers returns callers of which nothing is known yet.
func newCallers(logins *signin.Logins) callers {
	return callers{known: signin.NewRecent[knownKey](maxKnownKeys), logins: logins}
}

// confirm asks the issuer about a login, if that is due. Credentials that are no logins need no look.
func (a *callers) confirm(ctx context.Context, cred Credential) error {
	if !cred.Login {
		return nil
	}
	return a.logins.Confirm(ctx, cred.Hash, cred.token)
}

// knownKey is what a credential that was valid recently stood for. It grants no access: it says whom a request counts
// for, whose use is recorded, and as whom to call a verb of the store that checks the credential itself.
type knownKey struct {
	who people.Principal
	at  time.Time // when it was valid
}

// knownFor is how long a credential counts for its user without another look at the database: not every route looks
// there, and one that was revoked must not use up what its user may send.
const knownFor = 10 * time.Second

// maxKnownKeys is how many credentials a server remembers for certain.
const maxKnownKeys = 10_000

// keyUsage collects when keys were used, so that one write every few seconds records it instead of one per request.
type keyUsage struct {
	mu   sync.Mutex
	keys map[pleat.KeyID]time.Time
}

// record notes that a key was used.
func (t *keyUsage) record(k pleat.KeyID, at time.Time) {
	if k == "" { // of a login, which has none
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = map[pleat.KeyID]time.Time{}
	}
	t.keys[k] = at
}

// take returns what was collected, and forgets it.
func (t *keyUsage) take() map[pleat.KeyID]time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := t.keys
	t.keys = nil
	return keys
}

// FlushKeyUsage writes the collected uses of keys to the store; those of a write that fails are dropped.
func (k *Core) FlushKeyUsage(ctx context.Context) {
	keys := k.callers.usage.take()
	if len(keys) == 0 {
		return
	}
	if err := k.stores.people.TouchKeys(ctx, keys); err != nil {
		k.log.Warn("cannot record when keys were used", "error", err)
	}
}

// FlushKeyUsage lets a list of keys show the present request, too.
func (c *Call) FlushKeyUsage(ctx context.Context) { c.core.FlushKeyUsage(ctx) }
