package route

import (
	"fmt"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

// However many streams are open, one query finds out which of their credentials have ended.
func TestCredentialsOfStreamsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	st := storetest.OpenAt(t, storetest.Databases()["sqlite"](t), nil)
	o := openCredentials{checkEvery: time.Hour}
	owner := storetest.User(t, st, "ann")
	var open []Credential
	for i := range 100 {
		c := Credential{Sent: true, Credential: people.Credential{Hash: fmt.Sprint("key ", i)}}
		by := people.Actor{Reach: owner, Database: true}
		_, err := st.People.CreateKey(t.Context(), by, people.NewKey{Prefix: "p", Hash: c.Hash})
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeConflict {
				t.Fatal(err)
			}
			c.Hash = open[0].Hash // a user has a limited number of keys; streams may share one
		}
		o.add(c)
		open = append(open, c)
	}
	gone := Credential{Sent: true, Credential: people.Credential{Hash: "never created"}}
	o.add(gone)
	before := st.DB.Transactions()
	for _, c := range open {
		if o.hasEnded(t.Context(), st.People, c) {
			t.Errorf("the credential %q counts as ended", c.Hash)
		}
	}
	if !o.hasEnded(t.Context(), st.People, gone) {
		t.Error("a credential that does not exist counts as valid")
	}
	if n := st.DB.Transactions() - before; n != 1 {
		t.Errorf("%d queries for %d streams", n, len(open)+1)
	}
	for _, c := range append(open, gone) {
		o.remove(c)
	}
	if len(o.streams) != 0 || len(o.invalid) != 0 {
		t.Errorf("%d streams, %d ended credentials are left", len(o.streams), len(o.invalid))
	}
}
