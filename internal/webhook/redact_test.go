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

// A receiver that echoes one part of its address, decoded or not, tells none of its secrets.
func TestPartsOfAnAddressAreRedacted(t *testing.T) {
	r := redactor(Request{
		URL: "https://user%40x:pass%40word@hooks.example.org/v1/Segment0/Segment0-whole/seg%2Fment%20two" +
			"?to=a&key=value%2Bone%3D&bare-value",
	})
	for text, want := range map[string]string{
		"no hook Segment0":               "no hook [redacted]",
		"no hook Segment0-whole":         "no hook [redacted]",
		"no hook seg%2Fment%20two":       "no hook [redacted]",
		"no hook seg/ment two":           "no hook [redacted]",
		"no hook seg%2Fment+two":         "no hook [redacted]",
		`{"key":"value+one="}`:           `{"key":"[redacted]"}`,
		"key=value%2Bone%3D":             "key=[redacted]",
		"unknown bare-value":             "unknown [redacted]",
		"user@x may not":                 "user@x may not", // shorter than eight characters
		"user%40x:pass%40word may not":   "[redacted] may not",
		"user@x:pass@word may not":       "[redacted] may not",
		"pass@word is wrong":             "[redacted] is wrong",
		"Basic dXNlckB4OnBhc3NAd29yZA==": "Basic [redacted]",
		"v1 of hooks.example.org to a":   "v1 of hooks.example.org to a",
	} {
		if got := r.Replace(text); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}
