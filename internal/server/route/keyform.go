package route

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"pleat"
	"pleat/internal/identity"
	"pleat/internal/seal"
)

// malformed returns a credential that cannot be valid, with a sentence that says why. The sentence never has the text.
func malformed(sentence string) Credential { return Credential{Sent: true, fault: sentence} }

// refusal returns the error for a credential that is not valid. It says what is wrong with its form, if that is known.
func (c *Credential) refusal() error {
	if c.fault == "" {
		return pleat.ErrUnauthorized
	}
	return &pleat.Error{Code: pleat.CodeUnauthorized, Message: c.fault, Err: pleat.ErrUnauthorized}
}

// misplaced says how a key or a token was pasted that is none because of its form; empty: nothing is known to be wrong
// with it. The sentence goes on from its subject.
func misplaced(text string) string {
	first, _, more := strings.Cut(strings.TrimSpace(text), " ")
	switch {
	case more && strings.EqualFold(first, "Bearer"):
		return "begins with the word Bearer"
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.C, r) }):
		return "has white space or an invisible character in it"
	case strings.ContainsAny(text, `"'<>`):
		return "has quotation marks or brackets in it"
	}
	return ""
}

// Pasted returns a key as it was issued, without the white space and the invisible characters around it that come with
// a paste.
func Pasted(key string) string {
	return strings.TrimFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.C, r) })
}

// CheckPasted refuses a key that cannot be one because of how it was pasted.
func CheckPasted(field, key string) error {
	if what := misplaced(key); what != "" {
		return pleat.InvalidField(field, " %s; it must be the API key alone, as it was issued", what)
	}
	return nil
}

// wrongScheme returns the credential of an Authorization header that has no bearer token.
func wrongScheme(header string) Credential {
	text := strings.TrimLeft(header, `"' `)
	_, rest, _ := strings.Cut(text, " ")
	switch {
	case seal.IsKey(strings.TrimLeft(rest, " ")):
		return malformed("The Authorization header has a key with another scheme than Bearer; it must be Bearer, a " +
			"space and the key")
	case seal.IsKey(text):
		return malformed("The Authorization header has a key without its scheme; it must be Bearer, a space and " +
			"the key")
	case isToken(text) && !strings.Contains(text, " "):
		return malformed("The Authorization header has a token without its scheme; it must be Bearer, a space and " +
			"the token")
	}
	return Credential{Sent: true}
}

// isToken reports whether a text has the form of a token of an issuer, which has two dots. An API key has none.
func isToken(text string) bool { return strings.Count(text, ".") == 2 }

// headerTooLarge is the sentence for a request whose address and header are too large. It names the largest header.
func headerTooLarge(r *http.Request) string {
	name, most := "", 0
	for n, values := range r.Header {
		size := 0
		for _, v := range values {
			size += len(v)
		}
		if size > most || size == most && n < name {
			name, most = n, size
		}
	}
	sentence := fmt.Sprintf("the request's address and header have more than %d KiB", MaxHeader>>10)
	switch {
	case most <= len(r.RequestURI):
		return sentence + "; most of it is the address"
	case name == "Authorization":
		return sentence + "; most of it is the token in Authorization, " + identity.ManyGroups
	case name == "Cookie":
		return sentence + "; most of it is Cookie: other services under the same name have set cookies, which the " +
			"browser's settings delete"
	}
	return sentence + fmt.Sprintf("; most of it is %q", pleat.Clip(name))
}
