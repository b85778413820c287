package webhook

import "testing"

// The path of an address, which is the secret of chat services, is not kept when a receiver quotes it.
func TestAddressIsRedacted(t *testing.T) {
	r := redactor(Request{URL: "https://hooks.example.org/hook/T0/B0?key=x7Jq"})
	for text, want := range map[string]string{
		"Cannot POST /hook/T0/B0":           "Cannot POST [redacted]",
		`{"path":"\/hook\/T0\/B0"}`:         `{"path":"[redacted]"}`,
		"no such hook: key=x7Jq":            "no such hook: [redacted]",
		"https://hooks.example.org is busy": "https://hooks.example.org is busy",
	} {
		if got := r.Replace(text); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
