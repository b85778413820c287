package seal_test

import (
	"strings"
	"testing"

	"pleat"
)

func TestMailToken(t *testing.T) {
	r := ring(t, strings.Repeat("ab", 32))
	const id = pleat.MailID("0190f4c2-0000-7000-8000-000000000001")
	token := r.MailToken(id)
	if got, ok := r.OpenMailToken(token); got != id || !ok {
		t.Errorf("%s, %v", got, ok)
	}
	other := "0190f4c2-0000-7000-8000-000000000002" + token[36:]
	for _, bad := range []string{"", "x", token[:36], token[:37], token[:len(token)-1], token + "A", other} {
		if _, ok := r.OpenMailToken(bad); ok {
			t.Errorf("%q opens", bad)
		}
	}
	if _, ok := ring(t, strings.Repeat("cd", 32)).OpenMailToken(token); ok {
		t.Error("the token of another key opens")
	}
}
