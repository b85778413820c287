package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// hookPath is the path of an address as chat services give them: it is the secret.
const hookPath = "/hookpath/T0HOOK/B0SECRET/x7Jq"

// stored returns all that a database stores: the rows of all tables, and on SQLite the bytes of its files, too.
func stored(t *testing.T, s *store.Store) string {
	t.Helper()
	var b strings.Builder
	list := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	row := "SELECT * FROM "
	if db.IsPostgres(storetest.Address(t, s)) {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
		row = "SELECT CAST(x AS text) FROM "
	}
	for _, table := range storetest.Query(t, s, list) {
		for _, r := range storetest.Query(t, s, row+table[0]+" x") {
			b.WriteString(strings.Join(r, "\t") + "\n")
		}
	}
	if path, ok := strings.CutPrefix(storetest.Address(t, s), "sqlite:"); ok {
		files, err := filepath.Glob(path + "*")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
		}
	}
	return b.String()
}

// leaked returns the parts of the path of an address that a text has.
func leaked(text string) []string {
	return slices.DeleteFunc(strings.Split(hookPath[1:], "/"), func(part string) bool {
		return !strings.Contains(text, part)
	})
}

// The path of an address of any kind of endpoint is nowhere in the database, nor after a delivery was claimed.
func TestAddressesAreSealed(t *testing.T) {
	t.Parallel()
	ring, err := seal.Parse(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		by := people.Actor{Reach: u}
		address := ring.SealAddress(u.Project, webhooks.AddressColumn, "https://hooks.example.org"+hookPath)
		set := webhooks.EndpointSettings{Address: &address, Token: new("s1.t"), Secret: "s1.s"}
		e, err := s.Webhooks.PutEndpoint(ctx, by, set)
		if err != nil {
			t.Fatal(err)
		}
		set.Name = new("chat")
		if _, err := s.Webhooks.AddEndpoint(ctx, by, set); err != nil {
			t.Fatal(err)
		}
		own := toEndpoint(e)
		own.Endpoint, own.Custom = "", &pleat.CustomTarget{Address: address, Token: "s1.own"}
		fold(t, s, u, pleat.StateCompleted, own)
		for _, d := range claimDeliveries(t, s, "w", 10) {
			got, err := ring.Open(string(u.Project), webhooks.AddressColumn, d.Endpoint.Address.Sealed)
			if string(got) != "https://hooks.example.org"+hookPath || err != nil {
				t.Errorf("the address of a delivery: %q, %v", got, err)
			}
		}
		text := stored(t, s)
		if got := leaked(text); len(got) > 0 || !strings.Contains(text, "https://hooks.example.org") {
			t.Errorf("the database has %q", got)
		}
	})
}

// Addresses that an earlier version stored in the clear are sealed once.
func TestSealAddresses(t *testing.T) {
	t.Parallel()
	ring, err := seal.Parse(strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		const before = "https://hooks.example.org:8443" + hookPath
		defaultEndpoint(t, s, u, true)
		address := storetest.Receiver("https://hooks.example.org/x")
		const named = 5 // rows that move in their page while each of them is sealed
		for i := range named {
			set := webhooks.EndpointSettings{Name: new(fmt.Sprint("chat ", i)), Address: &address}
			if _, err := s.Webhooks.AddEndpoint(ctx, people.Actor{Reach: u}, set); err != nil {
				t.Fatal(err)
			}
		}
		storetest.Exec(t, storetest.Address(t, s), "UPDATE endpoint SET origin = '"+before+"', address = ''")
		if got := leaked(stored(t, s)); len(got) == 0 {
			t.Fatal("there is nothing to seal")
		}
		for _, want := range []int{1 + named, 0} {
			n, err := s.Webhooks.SealAddresses(ctx, func(p pleat.ProjectID, text string) pleat.Address {
				return ring.SealAddress(p, webhooks.AddressColumn, text)
			})
			if n != want || err != nil {
				t.Fatalf("sealed %d, %v; want %d", n, err, want)
			}
		}
		e, _, err := s.Webhooks.Endpoint(ctx, u, webhooks.Default)
		got, openErr := ring.Open(string(u.Project), webhooks.AddressColumn, e.Address.Sealed)
		if err != nil || openErr != nil || string(got) != before ||
			e.Address.Origin != "https://hooks.example.org:8443" {
			t.Errorf("%+v, %q, %v, %v", e.Address, got, err, openErr)
		}
		if got := leaked(stored(t, s)); len(got) > 0 {
			t.Errorf("the database has %q", got)
		}
	})
}
