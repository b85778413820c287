package pleat

import (
	"testing"
	"time"
)

// A date is its whole day; a time without a zone is UTC.
func TestParseEnd(t *testing.T) {
	for text, want := range map[string]string{
		"2027-01-31":                "2027-01-31T23:59:59Z",
		"2027-01-31T12:00:00Z":      "2027-01-31T12:00:00Z",
		"2027-01-31T12:00:00+02:00": "2027-01-31T10:00:00Z",
		"2027-01-31T12:00:00.5":     "2027-01-31T12:00:00.5Z",
		"2027-02-30":                "",
		"31.01.2027":                "",
		"":                          "",
	} {
		got, err := ParseEnd("expiresAt", text)
		if want == "" {
			if CodeOf(err) != CodeInvalid || ErrorsOf(err)[0].Field != "expiresAt" {
				t.Errorf("%q: %v %v", text, got, err)
			}
		} else if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v %v; want %s", text, got, err, want)
		}
	}
}
