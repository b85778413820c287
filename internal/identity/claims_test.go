package identity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestGroupsClaim(t *testing.T) {
	t.Parallel()
	many := make([]string, maxGroups+1)
	for n := range many {
		many[n] = fmt.Sprint("group ", n)
	}
	long, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, claims string
		want         []string
		fails        string
	}{
		{"groups", `"groups": ["b", "a", "b", ""]`, []string{"a", "b"}, ""},
		{"groups", `"groups": "a b"`, []string{"a b"}, ""},
		{"groups", `"groups": null`, []string{}, ""},
		{"groups", `"x": 1`, []string{}, ""},
		{"realm_access.roles", `"realm_access": {"roles": ["a"]}`, []string{"a"}, ""},
		{"https://x.example/groups", `"https://x.example/groups": ["a"]`, []string{"a"}, ""},
		{"a.b.c.d.e.f.g.h.i", `"a": {"b": {}}`, []string{}, ""},
		{"groups", `"groups": {"a": true}`, nil, `The claim "groups" of the sign-in service cannot be used: ` +
			"it must be a list of names or one name; ask the operator"},
		{"groups", `"groups": ["a", 1]`, nil, "it must be a list of names"},
		{"groups", `"groups": ["a\u0000"]`, nil, "control characters"},
		{"groups", `"groups": ["` + strings.Repeat("x", 201) + `"]`, nil, "has 201 bytes, and at most 200"},
		{"groups", `"groups": ` + string(long), nil, "it has 201 groups, and at most 200 are accepted"},
		{"groups", `"_claim_names": {"groups": "src1"}`, nil, "in so many groups that the sign-in service"},
	} {
		i := New(Config{Issuer: "https://id.example", ClientID: "pleat", GroupsClaim: c.path})
		parsed, err := parseClaims([]byte(`{"sub": "s", ` + c.claims + `}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := i.person(parsed)
		if c.fails != "" {
			if KindOf(err) != Forbidden || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: the error is %v, want %q", c.claims, err, c.fails)
			}
			continue
		}
		if d := cmp.Diff(c.want, p.Groups); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.claims, err, d)
		}
	}
}

func TestNameClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ claim, claims, want string }{
		{"", `{"sub":"s","preferred_username":"ada","name":"Ada L."}`, "ada"},
		{"", `{"sub":"s","preferred_username":7,"name":"Ada L."}`, "Ada L."},
		{"", `{"sub":"s"}`, "s"},
		{"name", `{"sub":"s","preferred_username":"ada","name":"\u202eAda\n L. "}`, "Ada L."},
		{"profile.nick", `{"sub":"s","profile":{"nick":"A"}}`, "A"},
		{"name", `{"sub":"s","name":"` + strings.Repeat("ä", 150) + `"}`, strings.Repeat("ä", 100)},
	} {
		i := New(Config{Issuer: "https://id.example", ClientID: "pleat", NameClaim: c.claim})
		parsed, err := parseClaims([]byte(c.claims))
		if err != nil {
			t.Fatal(err)
		}
		if p, err := i.person(parsed); err != nil || p.Name != c.want {
			t.Errorf("%s: the name is %q, %v; want %q", c.claims, p.Name, err, c.want)
		}
	}
}

// Whatever an issuer writes, a person has bounded fields that can be shown.
func FuzzClaims(f *testing.F) {
	f.Add("groups", []byte(`{"sub":"s","groups":["a"],"email":"a@b","email_verified":true}`))
	f.Add("realm_access.roles", []byte(`{"sub":"s","realm_access":{"roles":"a"},"name":"\u0007"}`))
	f.Add("a.", []byte(`{"sub":"\n","a":{"":[]},"_claim_names":{"a.":"x"}}`))
	f.Fuzz(func(t *testing.T, path string, text []byte) {
		c, err := parseClaims(text)
		if err != nil {
			return
		}
		p, err := New(Config{Issuer: "https://id.example", ClientID: "pleat", GroupsClaim: path}).person(c)
		if err != nil {
			if KindOf(err) == 0 {
				t.Errorf("the error %v has no kind", err)
			}
			return
		}
		if p.Subject == "" || len(p.Subject) > maxSubject || len(p.Groups) > maxGroups {
			t.Errorf("the person is %+v", p)
		}
		if !slices.IsSorted(p.Groups) || slices.Contains(p.Groups, "") {
			t.Errorf("the groups are %q", p.Groups)
		}
		for _, s := range append([]string{p.Name, p.Email}, p.Groups...) {
			if len(s) > maxName || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
				t.Errorf("%q cannot be shown", s)
			}
		}
		if p.Email != "" && c["email_verified"] != true && c["email_verified"] != "true" {
			t.Error("an address that is not verified is shown")
		}
	})
}

// No text that is sent in place of a token makes the reader fail otherwise than by a refusal, and none counts.
func FuzzBearer(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEiLCJhdWQiOiJwbGVhdCIsImV4cCI6OTk5OX0.AA")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("e30.bnVsbA.")
	f.Add("eyJhbGciOiJSUzI1NiIsImNyaXQiOlsieCJdfQ.eyJleHAiOjFlOTksImlhdCI6LTF9.AA")
	i := New(Config{Issuer: "http://127.0.0.1:1", ClientID: "pleat"}) // nobody listens there
	f.Cleanup(i.Close)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := i.VerifyBearer(t.Context(), text)
		if kind := KindOf(err); kind != Refused && kind != Unreachable {
			t.Errorf("the error is %v", err)
		}
	})
}
