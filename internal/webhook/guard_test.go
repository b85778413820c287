package webhook

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pleat"
)

// spellings of addresses that a public server must not reach, each with the part of the refusal that shows it was
// understood. Nothing here is ever dialled.
var spellings = []struct{ url, why string }{
	// Loopback, in every form that some resolver or parser takes.
	{"https://127.0.0.1/", "a loopback address"},
	{"https://127.0.0.1./", "a loopback address"},
	{"https://127.0.0.1:443/", "a loopback address"},
	{"https://127.255.255.254/", "a loopback address"},
	{"https://127.1/", "a loopback address"},
	{"https://127.0.1/", "a loopback address"},
	{"https://2130706433/", "a loopback address"},
	{"https://0x7f000001/", "a loopback address"},
	{"https://0X7F000001/", "a loopback address"},
	{"https://0x7f.1/", "a loopback address"},
	{"https://0x7f.0x0.0x0.0x1/", "a loopback address"},
	{"https://017700000001/", "a loopback address"},
	{"https://0177.0.0.1/", "a loopback address"},
	{"https://0177.0.0.01/", "a loopback address"},
	{"https://00000177.0.0.1/", "a loopback address"},
	{"https://127.0x1/", "a loopback address"},
	{"https://127.0.0.0x1/", "a loopback address"},
	{"https://１２７.０.０.１/", "a loopback address"}, // full-width digits
	{"https://127。0。0。1/", "a loopback address"}, // ideographic full stops
	{"https://①②⑦.⓪.⓪.①/", "a loopback address"}, // circled digits
	{"https://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", "a loopback address"}, // mathematical digits
	{"https://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", "a loopback address"},
	{"https://0x7f.０.0.1/", "a loopback address"},
	{"https://[::1]/", "a loopback address"},
	{"https://[0:0:0:0:0:0:0:1]/", "a loopback address"},
	{"https://[0000:0000:0000:0000:0000:0000:0000:0001]/", "a loopback address"},
	{"https://[::0.0.0.1]/", "a loopback address"},
	{"https://[::ffff:127.0.0.1]/", "a loopback address"},
	{"https://[::ffff:7f00:1]/", "a loopback address"},
	{"https://[::FFFF:7F00:0001]/", "a loopback address"},
	{"https://[0:0:0:0:0:ffff:127.0.0.1]/", "a loopback address"},
	{"https://localhost/", "a loopback address"},
	{"https://LOCALHOST/", "a loopback address"},
	{"https://localhost./", "a loopback address"},
	{"https://a.localhost/", "a loopback address"},
	{"https://ｌｏｃａｌｈｏｓｔ/", "a loopback address"},
	{"https://loc\u00adalhost/", "a loopback address"}, // soft hyphen
	// This host.
	{"https://0.0.0.0/", "the unspecified address"},
	{"https://0/", "the unspecified address"},
	{"https://0x/", "the unspecified address"},
	{"https://00/", "the unspecified address"},
	{"https://0.1.2.3/", "special purposes"},
	{"https://[::]/", "the unspecified address"},
	{"https://[::ffff:0:0]/", "the unspecified address"},
	// Private networks.
	{"https://10.0.0.1/", "a private address"},
	{"https://012.0.0.1/", "a private address"},
	{"https://167772161/", "a private address"},
	{"https://172.16.0.1/", "a private address"},
	{"https://172.31.255.255/", "a private address"},
	{"https://192.168.1.1/", "a private address"},
	{"https://0xc0a80101/", "a private address"},
	{"https://192.168.257/", "a private address"},
	{"https://[fc00::1]/", "a private address"},
	{"https://[fd00:ec2::254]/", "a private address"}, // a cloud's metadata
	{"https://[::ffff:10.0.0.1]/", "a private address"},
	{"https://[fec0::1]/", "special purposes"},
	// Metadata services and link-local.
	{"https://169.254.169.254/latest/meta-data/", "a link-local address"},
	{"https://2852039166/", "a link-local address"},
	{"https://0xA9FEA9FE/", "a link-local address"},
	{"https://0251.0376.0251.0376/", "a link-local address"},
	{"https://169.254.43518/", "a link-local address"},
	{"https://[::ffff:a9fe:a9fe]/", "a link-local address"},
	{"https://[fe80::1]/", "a link-local address"},
	{"https://[fe80::1%25eth0]/", "zone"},
	{"https://[2606:4700::1%25lo]/", "zone"},
	{"https://168.63.129.16/", "special purposes"},
	{"https://2822734096/", "special purposes"},
	{"https://[::ffff:168.63.129.16]/", "special purposes"},
	// Shared, documentation, benchmark, relay, multicast, reserved.
	{"https://100.64.0.1/", "special purposes"},
	{"https://100.100.100.200/", "special purposes"}, // a cloud's metadata
	{"https://192.0.0.1/", "special purposes"},
	{"https://192.0.2.1/", "special purposes"},
	{"https://192.88.99.1/", "special purposes"},
	{"https://198.18.0.1/", "special purposes"},
	{"https://198.51.100.1/", "special purposes"},
	{"https://203.0.113.1/", "special purposes"},
	{"https://224.0.0.1/", "a multicast address"},
	{"https://240.0.0.1/", "special purposes"},
	{"https://255.255.255.255/", "special purposes"},
	{"https://4294967295/", "special purposes"},
	{"https://[ff02::1]/", "a multicast address"},
	// IPv4 inside IPv6.
	{"https://[::127.0.0.1]/", "special purposes"},
	{"https://[::7f00:1]/", "special purposes"},
	{"https://[::ffff:0:127.0.0.1]/", "special purposes"},
	{"https://[64:ff9b::127.0.0.1]/", "special purposes"},
	{"https://[64:ff9b::7f00:1]/", "special purposes"},
	{"https://[64:ff9b::8.8.8.8]/", "special purposes"},
	{"https://[64:ff9b:1::7f00:1]/", "special purposes"},
	{"https://[2002:7f00:1::]/", "special purposes"},
	{"https://[2002:a9fe:a9fe::]/", "special purposes"},
	{"https://[2001:0:7f00:1::]/", "special purposes"},
	{"https://[2606:4700::5efe:7f00:1]/", "carries a loopback address"},
	{"https://[2606:4700::200:5efe:10.0.0.1]/", "carries a private address"},
	{"https://[2001:db8::1]/", "special purposes"},
	{"https://[2001:10::1]/", "special purposes"},
	{"https://[3fff::1]/", "special purposes"},
	{"https://[5f00::1]/", "special purposes"},
	{"https://[100::1]/", "special purposes"},
	{"https://[4000::1]/", "special purposes"},
}

// refused for their form, wherever they lead.
var malformed = []struct{ url, why string }{
	{"", "is empty"},
	{"https://" + strings.Repeat("a", MaxURL), "bytes"},
	{"http://hooks.example.org/", "must be an https URL"},
	{"http://8.8.8.8/", "must be an https URL"},
	{"ftp://hooks.example.org/", "scheme"},
	{"file:///etc/passwd", "scheme"},
	{"gopher://127.0.0.1:25/", "scheme"},
	{"javascript:alert(1)", "scheme"},
	{"//hooks.example.org/", "scheme"},
	{"hooks.example.org/path", "scheme"},
	{"https:hooks.example.org", "names no host"},
	{"https:///path", "names no host"},
	{"https://:443/", "not a host name"},
	{"https://user@hooks.example.org/", "user name"},
	{"https://user:secret@hooks.example.org/", "user name"},
	{"https://hooks.example.org@127.0.0.1/", "user name"},
	{"https://@127.0.0.1/", "user name"},
	{"https://hooks.example.org/#a", "fragment"},
	{"https://hooks.example.org/#", "fragment"},
	{"https://hooks.example.org#@127.0.0.1/", "fragment"},
	{"https://hooks.example.org\\@127.0.0.1/", "position"},
	{"https:\\\\127.0.0.1/", "position"},
	{"https://hooks.example.org/a b", "position"},
	{"https://hooks.example.org/a\r\nX-Evil: 1", "position"},
	{" https://hooks.example.org/", "position 1"},
	{"https://hooks.example.org/\x00", "position"},
	{"https://hooks.example.org/\xff", "UTF-8"},
	{"https://hooks.example.org:80/", "port 80; it must be 443"},
	{"https://hooks.example.org:22/", "port 22"},
	{"https://hooks.example.org:0/", "port"},
	{"https://hooks.example.org:65536/", "port"},
	{"https://hooks.example.org:443x/", "not a URL"},
	{"https://a..b/", "not a host name"},
	{"https://127.0.0.1../", "not a host name"},
	{"https://-a.example/", "not a host name"},
	{"https://a_b!.example/", "not a host name"},
	{"https://exa%2dmple.org/", "not a URL"},
	{"https://exam%ple.org/", "not a URL"},
	{"https://" + strings.Repeat("a", 64) + ".example/", "not a host name"},
	{"https://256.1.1.1/", "is none"},
	{"https://1.2.3.4.5/", "is none"},
	{"https://1.2.3.256/", "is none"},
	{"https://4294967296/", "is none"},
	{"https://08.8.8.8/", "is none"},
	{"https://0xfffffffffffffffffff/", "is none"},
	{"https://a.1/", "is none"},
	{"https://1..2/", "is none"},
	{"https://[::1/", "not a URL"},
	{"https://[127.0.0.1]/", "not a URL"},
	{"https://[localhost]/", "not a URL"},
	{"https://[::1].example/", "not a URL"},
	{"https://::1/", "not a URL"},
}

func TestGuardRefusesAddresses(t *testing.T) {
	g := NewGuard(nil, nil, newNames(t, nil).resolver())
	for _, s := range spellings {
		u, err := g.CheckURL(t.Context(), "target_url", s.url)
		if err == nil || u != nil {
			t.Errorf("%s passes as %s", s.url, u)
			continue
		}
		if pleat.CodeOf(err) != pleat.CodeInvalid || !strings.HasPrefix(err.Error(), "target_url") ||
			!strings.Contains(err.Error(), s.why) {
			t.Errorf("%s: %v; want «%s»", s.url, err, s.why)
		}
	}
	if len(spellings) < 60 {
		t.Errorf("only %d spellings", len(spellings))
	}
}

func TestGuardRefusesForms(t *testing.T) {
	g := NewGuard(nil, nil, newNames(t, map[string]string{"hooks.example.org": "8.8.8.8"}).resolver())
	for _, s := range malformed {
		u, err := g.CheckURL(t.Context(), "target_url", s.url)
		if err == nil || u != nil {
			t.Errorf("%q passes as %s", s.url, u)
		} else if !strings.Contains(err.Error(), s.why) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v; want «%s»", s.url, err, s.why)
		}
	}
}

func TestGuardTakes(t *testing.T) {
	n := newNames(t, map[string]string{
		"hooks.example.org": "8.8.8.8 2606:4700::1", "inside.example.org": "8.8.8.8 10.0.0.7",
		"inside6.example.org": "fd00::1",
		"mapped.example.org":  "::ffff:127.0.0.1", "lan.example.org": "192.168.7.7 fd00::7",
		"xn--bcher-kva.example": "9.9.9.9",
	})
	open := NewGuard(nil, []uint16{443, 8443}, n.resolver())
	lan, err := ParseAllow("192.168.7.0/24, 127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	inside := NewGuard(lan, nil, n.resolver())
	tests := []struct {
		g         *Guard
		url, want string // the spelling that is kept; empty: refused
	}{
		{open, "https://hooks.example.org/a?b=c", "https://hooks.example.org/a?b=c"},
		{open, "HTTPS://Hooks.Example.ORG./", "https://hooks.example.org/"},
		{open, "https://hooks.example.org:443/", "https://hooks.example.org/"},
		{open, "https://hooks.example.org:/", "https://hooks.example.org/"},
		{open, "https://hooks.example.org:8443/", "https://hooks.example.org:8443/"},
		{open, "https://hooks.example.org", "https://hooks.example.org"},
		{open, "https://nowhere.example.org/", "https://nowhere.example.org/"}, // not known now: the dial will tell
		{open, "https://bücher.example/", "https://xn--bcher-kva.example/"},
		{open, "https://8.8.8.8/", "https://8.8.8.8/"},
		{open, "https://134744072/", "https://8.8.8.8/"},
		{open, "https://0x8.8.2056/", "https://8.8.8.8/"},
		{open, "https://[::ffff:8.8.8.8]/", "https://8.8.8.8/"},
		{open, "https://[2606:4700:0:0::1]:8443/", "https://[2606:4700::1]:8443/"},
		// The dial refuses what is inside.
		{open, "https://inside.example.org/", "https://inside.example.org/"},
		{open, "https://inside6.example.org/", "https://inside6.example.org/"},
		{open, "https://localhost/", ""},
		{open, "https://x.localhost/", ""},
		{open, "http://nowhere.example.org/", ""},
		{inside, "http://127.0.0.1:9000/hook", "http://127.0.0.1:9000/hook"},
		{inside, "http://localhost:9000/hook", "http://localhost:9000/hook"},
		{inside, "http://0x7f.1:80/", "http://127.0.0.1/"},
		{inside, "http://[::ffff:127.0.0.1]:81/", "http://127.0.0.1:81/"},
		{inside, "https://127.0.0.1:9000/", "https://127.0.0.1:9000/"},
		{inside, "http://lan.example.org:8080/", "http://lan.example.org:8080/"}, // one allowed address vouches
		{inside, "https://hooks.example.org/", "https://hooks.example.org/"},
		{inside, "http://hooks.example.org/", ""},
		{inside, "https://hooks.example.org:8443/", ""},
		{inside, "http://[::1]:9000/", ""},
		{inside, "http://10.0.0.1/", ""},
		{inside, "http://192.168.8.1/", ""},
	}
	for _, tt := range tests {
		u, err := tt.g.CheckURL(t.Context(), "target_url", tt.url)
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("%s passes as %s", tt.url, u)
		case tt.want != "" && err != nil:
			t.Errorf("%s: %v", tt.url, err)
		case tt.want != "" && u.String() != tt.want:
			t.Errorf("%s is kept as %s, want %s", tt.url, u, tt.want)
		}
	}
}

// A user who saves a target does not learn where a name leads or whether it exists: the answers for all names are the
// same, but for the name. For https nothing is even looked up.
func TestGuardTellsNothingOfNames(t *testing.T) {
	n := newNames(t, map[string]string{
		"inside.example.org": "10.9.8.7", "inside6.example.org": "fd00::1", "loop.example.org": "127.0.0.1",
		"public.example.org": "8.8.8.8",
	})
	lan, err := ParseAllow("192.168.7.0/24")
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*Guard{
		"open": NewGuard(nil, nil, n.resolver()), "with a network": NewGuard(lan, nil, n.resolver()),
	} {
		for _, form := range []string{"https://%s/?key=s3cret", "http://%s/?key=s3cret", "https://%s:8443/?key=s3cret"} {
			answers := map[string]bool{}
			before := n.lookups()
			for _, host := range []string{"inside", "inside6", "loop", "public", "nowhere"} {
				u, err := g.CheckURL(t.Context(), "target_url", fmt.Sprintf(form, host+".example.org"))
				answers[strings.ReplaceAll(fmt.Sprint(u, err), host, "HOST")] = true
				if err != nil && strings.Contains(err.Error(), "s3cret") {
					t.Error(err)
				}
			}
			if len(answers) != 1 {
				t.Errorf("%s: %s: the answers differ: %v", name, form, slices.Collect(maps.Keys(answers)))
			}
			if asked := n.lookups() - before; asked != 0 && (name == "open" || strings.HasPrefix(form, "https://%s/")) {
				t.Errorf("%s: %s: %d look-ups", name, form, asked)
			}
		}
	}
}

func TestGuardAtDial(t *testing.T) {
	allow, err := ParseAllow("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	public, inside := NewGuard(nil, nil, nil), NewGuard(allow, []uint16{443, 8443}, nil)
	tests := []struct {
		g                *Guard
		network, address string
		plain, ok        bool
	}{
		{public, "tcp4", "8.8.8.8:443", false, true},
		{public, "tcp6", "[2606:4700::1]:443", false, true},
		{public, "tcp4", "8.8.8.8:443", true, false},
		{public, "tcp4", "8.8.8.8:80", true, false},
		{public, "tcp4", "8.8.8.8:8443", false, false},
		{public, "tcp4", "127.0.0.1:443", false, false},
		{public, "tcp6", "[::ffff:127.0.0.1]:443", false, false},
		{public, "tcp6", "[::ffff:8.8.8.8]:443", false, true},
		{public, "tcp4", "168.63.129.16:443", false, false},
		{public, "tcp6", "[fe80::1%eth0]:443", false, false},
		{public, "tcp6", "[2606:4700::1%eth0]:443", false, false},
		{public, "udp4", "8.8.8.8:443", false, false},
		{public, "unix", "/run/docker.sock", false, false},
		{public, "tcp4", "localhost:443", false, false},
		{inside, "tcp4", "127.0.0.1:9000", true, true},
		{inside, "tcp4", "127.0.0.1:9000", false, true},
		{inside, "tcp6", "[::ffff:127.0.0.1]:9000", true, true},
		{inside, "tcp6", "[::1]:9000", true, false},
		{inside, "tcp4", "8.8.8.8:8443", false, true},
		{inside, "tcp4", "8.8.8.8:80", true, false},
		{inside, "tcp4", "10.0.0.1:443", false, false},
	}
	for _, tt := range tests {
		control := tt.g.Control
		if tt.plain {
			control = tt.g.ControlPlain
		}
		err := control(tt.network, tt.address, nil)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrBlocked) {
			t.Errorf("%s %s, http %t: %v", tt.network, tt.address, tt.plain, err)
		}
	}
}

func TestParseAllow(t *testing.T) {
	got, err := ParseAllow(" 10.1.2.3/16 ,::ffff:192.168.1.1,fd00::/8,")
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("192.168.1.1/32"),
		netip.MustParsePrefix("fd00::/8")}
	if len(got) != len(want) {
		t.Fatalf("got %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got[i], want[i])
		}
	}
	if none, err := ParseAllow(""); err != nil || len(none) != 0 {
		t.Errorf("nothing reads as %v, %v", none, err)
	}
	for _, bad := range []string{
		"10.0.0.0/33", "localhost", "10.0.0.0-10.0.0.9", "fe80::1%eth0", "::ffff:10.0.0.0/104",
	} {
		if _, err := ParseAllow(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// FuzzCheckURL: whatever passes is https to a public address or a name, in a spelling that passes again unchanged.
func FuzzCheckURL(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.url)
	}
	for _, s := range malformed {
		f.Add(s.url)
	}
	f.Add("https://hooks.example.org:443/a?b=c")
	f.Add("https://134744072/")
	g := NewGuard(nil, nil, nil)
	f.Fuzz(func(t *testing.T, raw string) {
		first, err := parseTarget("target_url", raw)
		if err == nil {
			err = g.check("target_url", first, literal(first))
		}
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid || len(err.Error()) > 600 {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		kept := first.url.String()
		u, err := url.Parse(kept)
		if err != nil {
			t.Fatalf("%q is kept as %q, which does not parse: %v", raw, kept, err)
		}
		if u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Port() != "" || !ascii(u.Host) {
			t.Fatalf("%q is kept as %q", raw, kept)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && g.CheckAddr(a) != nil {
			t.Fatalf("%q leads to %s", raw, a)
		}
		again, err := parseTarget("target_url", kept)
		if err != nil || again.url.String() != kept {
			t.Fatalf("%q is kept as %q, then as %v (%v)", raw, kept, again.url, err)
		}
	})
}

// literal is what CheckURL knows about a target without a look-up.
func literal(t target) []netip.Addr {
	if t.addr.IsValid() {
		return []netip.Addr{t.addr}
	}
	if t.local() {
		return []netip.Addr{netip.IPv6Loopback()}
	}
	return nil
}
