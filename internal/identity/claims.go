package identity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is read from claims.
const (
	maxSubject = 255 // bytes, as OpenID Connect Core 1.0, section 2 has it
	maxName    = 200 // bytes; longer names are cut
	maxGroups  = 200
	maxGroup   = 200 // bytes
	maxDepth   = 8   // names in the path of a claim
)

// claims are those of a token or of an answer about a person.
type claims map[string]any

// parseClaims reads a JSON object.
func parseClaims(text []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fmt.Errorf("the claims are null")
	}
	return c, nil
}

// text returns a claim that is a string; empty: it is none.
func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return s
}

// lookup returns the value of a claim: of exactly this name, which may have dots in it, else that at the end of the
// path of names that dots separate.
func (c claims) lookup(path string) (any, bool) {
	if v, ok := c[path]; ok {
		return v, true
	}
	names := strings.Split(path, ".")
	if len(names) > maxDepth {
		return nil, false
	}
	var v any = map[string]any(c)
	for _, name := range names {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// hasAll reports whether the claims that the mapping reads are there.
func (i *Issuer) hasAll(c claims) bool {
	_, name := c.lookup(i.cfg.NameClaim)
	_, groups := c.lookup(i.cfg.GroupsClaim)
	return name && groups
}

// person maps claims to a person. It fails where the person may not sign in.
func (i *Issuer) person(c claims) (Person, error) {
	p := Person{Issuer: i.cfg.Issuer, Subject: c.text("sub")}
	if !isSubject(p.Subject) {
		return p, errSubject
	}
	name, _ := c.lookup(i.cfg.NameClaim)
	p.Name = displayName(name, c["name"], p.Subject)
	if verified := c["email_verified"]; verified == true || verified == "true" { // some issuers write it as text
		p.Email = shortText(c.text("email"), maxName)
	}
	value, found := c.lookup(i.cfg.GroupsClaim)
	if names, ok := c["_claim_names"].(map[string]any); ok && !found && names[i.cfg.GroupsClaim] != nil {
		return p, &Error{Kind: Forbidden, Message: "You are in so many groups that the sign-in service left them " +
			"out; ask the operator to let it send only the groups that this service needs"}
	}
	groups, err := readGroups(value)
	if err != nil {
		const sentence = "The claim %q of the sign-in service cannot be used: %v; ask the operator"
		return p, &Error{Kind: Forbidden, Message: fmt.Sprintf(sentence, i.cfg.GroupsClaim, err)}
	}
	p.Groups = groups
	p.Operator = i.cfg.OperatorGroup != "" && slices.Contains(groups, i.cfg.OperatorGroup)
	allowed := func(g string) bool { return slices.Contains(i.cfg.AllowedGroups, g) }
	if len(i.cfg.AllowedGroups) > 0 && !p.Operator && !slices.ContainsFunc(groups, allowed) {
		return p, &Error{Kind: Forbidden,
			Message: "You are in none of the groups that may use this service; ask the operator"}
	}
	return p, nil
}

// displayName returns the first of the values that has a name in it.
func displayName(values ...any) string {
	for _, v := range values {
		if s, ok := v.(string); ok {
			if s = shortText(s, maxName); s != "" {
				return s
			}
		}
	}
	return ""
}

// shortText removes what cannot be shown from a text and cuts it.
func shortText(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(clip(strings.TrimSpace(s), most))
}

// clip cuts a text to a number of bytes, between characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// readGroups reads a claim that is a list of names, one name, or missing.
func readGroups(value any) ([]string, error) {
	list, ok := value.([]any)
	if s, single := value.(string); single {
		list, ok = []any{s}, true
	}
	if value != nil && !ok {
		return nil, fmt.Errorf("it must be a list of names or one name")
	}
	if len(list) > maxGroups {
		return nil, fmt.Errorf("it has %d groups, and at most %d are accepted", len(list), maxGroups)
	}
	out := []string{}
	for _, v := range list {
		name, ok := v.(string)
		switch {
		case !ok:
			return nil, fmt.Errorf("it must be a list of names")
		case len(name) > maxGroup:
			return nil, fmt.Errorf("it has a group whose name has %d bytes, and at most %d are accepted", len(name),
				maxGroup)
		case strings.ContainsFunc(name, unicode.IsControl):
			return nil, fmt.Errorf("it has a group whose name has control characters")
		case name != "":
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
