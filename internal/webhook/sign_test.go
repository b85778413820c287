package webhook

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

// headers are those of a signed delivery.
func headers(id string, at time.Time, body []byte, keys ...Key) http.Header {
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, Sign(id, at, body, keys...))
	return h
}

func mustKey(t testing.TB, text string) Key {
	t.Helper()
	k, err := ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The vectors were signed by the official Python library, version 1.1.0; the first is the specification's own.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Secret, ID, Body, Signature string
		Timestamp                         int64
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			k, at := mustKey(t, v.Secret), time.Unix(v.Timestamp, 0)
			if got := Sign(v.ID, at, []byte(v.Body), k); got != v.Signature {
				t.Errorf("Sign = %s, want %s", got, v.Signature)
			}
			h := headers(v.ID, at, nil)
			h.Set(HeaderSignature, v.Signature)
			if err := Verify(h, []byte(v.Body), at, Tolerance, k); err != nil {
				t.Errorf("Verify: %v", err)
			}
			oracle, err := standardwebhooks.NewWebhook(v.Secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := oracle.VerifyIgnoringTimestamp([]byte(v.Body), h); err != nil {
				t.Errorf("the official Go library: %v", err)
			}
		})
	}
	if len(vectors) < 5 {
		t.Errorf("%d vectors", len(vectors))
	}
}

func TestOfficialGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := NewKey()
		old := NewKey()
		body := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body")
		id := rapid.StringMatching(`[0-9a-zA-Z_.-]{1,40}`).Draw(t, "id")
		now := time.Now()
		h := headers(id, now, body, k, old)
		for _, secret := range []Key{k, old} {
			oracle, err := standardwebhooks.NewWebhook(secret.Text())
			if err != nil {
				t.Fatal(err)
			}
			if err := oracle.Verify(body, h); err != nil {
				t.Fatalf("the official library refuses ours: %v", err)
			}
			theirs, err := oracle.Sign(id, now, body)
			if err != nil {
				t.Fatal(err)
			}
			h2 := h.Clone()
			h2.Set(HeaderSignature, theirs)
			if err := Verify(h2, body, now, Tolerance, secret); err != nil {
				t.Fatalf("we refuse the official library's: %v", err)
			}
		}
	})
}

// Official libraries of other languages, where they are installed: `make test-webhooks` names a Python interpreter and
// a folder with node_modules that have them.
func TestOfficialElsewhere(t *testing.T) {
	tools := map[string][]string{}
	if p := os.Getenv("STANDARDWEBHOOKS_PYTHON"); p != "" {
		tools["python"] = []string{p, "testdata/official.py"}
	}
	if os.Getenv("STANDARDWEBHOOKS_NODE") != "" {
		tools["node"] = []string{"node", "testdata/official.mjs"}
	}
	if len(tools) == 0 {
		t.Skip("STANDARDWEBHOOKS_PYTHON and STANDARDWEBHOOKS_NODE are not set; make test-webhooks sets them")
	}
	for name, argv := range tools {
		t.Run(name, func(t *testing.T) {
			type line struct {
				Secret  string            `json:"secret"`
				Body    string            `json:"body"`
				Headers map[string]string `json:"headers"`
			}
			var in strings.Builder
			var want []string
			add := func(verdict string, k Key, h http.Header, body string) {
				flat := map[string]string{}
				for key := range h {
					flat[strings.ToLower(key)] = h.Get(key)
				}
				raw, err := json.Marshal(line{k.Text(), body, flat})
				if err != nil {
					t.Fatal(err)
				}
				in.Write(append(raw, '\n'))
				want = append(want, verdict)
			}
			now := time.Now()
			for i := range 20 {
				k, old := NewKey(), NewKey()
				body := fmt.Sprintf(`{"n":%d,"name":"Пептид 🧬"}`, i)
				h := headers(fmt.Sprintf("id-%d", i), now, []byte(body), k, old)
				add("ok", k, h, body)
				add("ok", old, h, body)
				add("no", NewKey(), h, body)
				add("no", k, h, body+" ")
				add("no", k, headers("id", now.Add(-time.Hour), []byte(body), k), body)
			}
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Stdin, cmd.Stderr = strings.NewReader(in.String()), os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", filepath.Base(argv[0]), err)
			}
			n := 0
			for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); n++ {
				if n >= len(want) || !strings.HasPrefix(s.Text(), want[n]) {
					t.Errorf("line %d: %s", n, s.Text())
				}
			}
			if n != len(want) {
				t.Errorf("%d answers to %d deliveries", n, len(want))
			}
		})
	}
}

func TestVerify(t *testing.T) {
	k, old, pair := NewKey(), NewKey(), NewKeyPair()
	public := mustKey(t, pair.Public())
	now := time.Unix(1_760_000_000, 0)
	body := []byte(`{"a":1}`)
	good := func() http.Header { return headers("id", now, body, k, old, pair) }
	tests := []struct {
		name   string
		change func(http.Header)
		body   string
		at     time.Time
		keys   []Key
		want   error
	}{
		{name: "good", keys: []Key{k}},
		{name: "the old secret", keys: []Key{old}},
		{name: "a public key", keys: []Key{public}},
		{name: "any of several", keys: []Key{NewKey(), public}},
		{name: "another secret", keys: []Key{NewKey()}, want: ErrBadSignature},
		{name: "another public key", keys: []Key{mustKey(t, NewKeyPair().Public())}, want: ErrBadSignature},
		{name: "no key", want: ErrBadSignature},
		{name: "the zero key", keys: []Key{{}}, want: ErrBadSignature},
		{name: "another body", body: `{"a":2}`, keys: []Key{k}, want: ErrBadSignature},
		{
			name:   "another id",
			change: func(h http.Header) { h.Set(HeaderID, "id2") },
			keys:   []Key{k},
			want:   ErrBadSignature,
		},
		{name: "no id", change: func(h http.Header) { h.Del(HeaderID) }, keys: []Key{k}, want: ErrNoSignature},
		{
			name:   "no signature",
			change: func(h http.Header) { h.Del(HeaderSignature) },
			keys:   []Key{k},
			want:   ErrNoSignature,
		},
		{
			name:   "no timestamp",
			change: func(h http.Header) { h.Del(HeaderTimestamp) },
			keys:   []Key{k},
			want:   ErrNoSignature,
		},
		{
			name:   "a timestamp of letters",
			change: func(h http.Header) { h.Set(HeaderTimestamp, "soon") },
			keys:   []Key{k},
			want:   ErrBadTimestamp,
		},
		{
			name:   "a vast timestamp",
			change: func(h http.Header) { h.Set(HeaderTimestamp, "9223372036854775807") },
			keys:   []Key{k},
			want:   ErrBadTimestamp,
		},
		{
			name:   "a negative timestamp",
			change: func(h http.Header) { h.Set(HeaderTimestamp, "-1") },
			keys:   []Key{k},
			want:   ErrBadTimestamp,
		},
		{
			name:   "the same second, written otherwise",
			change: func(h http.Header) { h.Set(HeaderTimestamp, "+1760000000") },
			keys:   []Key{k},
			want:   ErrBadSignature,
		},
		{name: "clock 5 min ahead", at: now.Add(Tolerance), keys: []Key{k}},
		{name: "clock more than 5 min ahead", at: now.Add(Tolerance + time.Second), keys: []Key{k}, want: ErrTooOld},
		{name: "clock 5 min behind", at: now.Add(-Tolerance), keys: []Key{k}},
		{name: "clock more than 5 min behind", at: now.Add(-Tolerance - time.Second), keys: []Key{k}, want: ErrTooNew},
		{name: "garbage beside the signature", change: func(h http.Header) {
			h.Set(HeaderSignature, "v0,x v1a,!! v1 "+h.Get(HeaderSignature))
		}, keys: []Key{k}},
		{name: "a secret's signature named v1a", change: func(h http.Header) {
			h.Set(HeaderSignature, strings.ReplaceAll(h.Get(HeaderSignature), "v1,", "v1a,"))
		}, keys: []Key{k}, want: ErrBadSignature},
		{name: "the signature past many others", change: func(h http.Header) {
			h.Set(HeaderSignature, strings.Repeat("v1,AAAA ", 1000)+h.Get(HeaderSignature))
		}, keys: []Key{k}, want: ErrBadSignature},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, b, at := good(), body, now
			if tt.change != nil {
				tt.change(h)
			}
			if tt.body != "" {
				b = []byte(tt.body)
			}
			if !tt.at.IsZero() {
				at = tt.at
			}
			if err := Verify(h, b, at, Tolerance, tt.keys...); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestKeyText(t *testing.T) {
	for _, k := range []Key{NewKey(), NewKeyPair()} {
		back := mustKey(t, k.Text())
		if back.Text() != k.Text() || back.Public() != k.Public() {
			t.Error("a key does not survive its text")
		}
	}
	seed := "whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	if k := mustKey(t, seed); k.Public() == "" {
		t.Error("a key from its seed has no public half")
	}
	unpadded := "whsec_" + base64.RawStdEncoding.EncodeToString(make([]byte, 32))
	if mustKey(t, unpadded).Text() != "whsec_"+base64.StdEncoding.EncodeToString(make([]byte, 32)) {
		t.Error("an unpadded secret reads otherwise")
	}
	for _, bad := range []string{
		"", "whsec_", "whsec", "secret", "whsec_!!!!", "whsec_AAAA", "whpk_AAAA", "whsk_AAAA",
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 23)),
		"whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 65)),
		"whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 64)), // halves that do not match
	} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q is taken", bad)
		} else if len(bad) > 12 && strings.Contains(err.Error(), bad[6:12]) {
			t.Errorf("the refusal quotes the secret: %v", err)
		}
	}
}

func TestKeyHidesItself(t *testing.T) {
	k := NewKey()
	raw, err := json.Marshal(struct{ K Key }{k})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %s %q", k, k, k, k, k), fmt.Sprintf("%v", []Key{k}), string(raw),
	} {
		if strings.Contains(s, strings.TrimPrefix(k.Text(), "whsec_")) || strings.Contains(s, fmt.Sprint(k.secret)) {
			t.Errorf("the secret shows in %s", s)
		}
	}
}

func TestCheckToken(t *testing.T) {
	for _, good := range []string{"x", "a b", strings.Repeat("t", 1024), "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~"} {
		if err := CheckToken("token_value", good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " a", "a ", "a\nb", "a\r\nX: y", "é", "\x00", strings.Repeat("t", 1025)} {
		if CheckToken("token_value", bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
