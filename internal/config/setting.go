package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"pleat"
	"pleat/internal/words"
)

// Group is the set of commands that read a setting and have its flag.
type Group string

// The groups of settings. The commands doctor and debug bundle read those of a server or worker with the database too.
const (
	Store   Group = "store"   // commands that open the database, and engines for the data folder
	Files   Group = "files"   // commands that open the artifact store
	Node    Group = "node"    // serve and worker
	Worker  Group = "worker"  // worker
	Engine  Group = "engine"  // serve, worker and engines
	Server  Group = "server"  // serve
	Fleet   Group = "fleet"   // fleet
	Log     Group = "log"     // serve, worker and fleet
	Client  Group = "client"  // commands that call a server over HTTP
	Project Group = "project" // those of them that create or list
)

// Setting is one key of the configuration, bound to a field of a Config: Set changes the field, String reads it.
type Setting struct {
	Key   string // its name in the file; the names of its flag and variable derive from it
	Group Group
	Doc   string // one sentence that begins with a lower-case letter and has no full stop

	value    any // pointer to the field: *string, *bool, *int, *float64, *Bytes or *[]string
	secrecy  secrecy
	min, max int64  // of *int and *Bytes; max 0: unbounded, unless min is 0 too, which means unchecked
	unit     string // of min and max, for messages
	needs    string // key of the setting without which this one has no effect
}

// secrecy is what must not be shown of a setting, and whether it may come from a command line.
type secrecy int

// The secrecies. None but public may appear in a log or an error.
const (
	public       secrecy = iota
	secretInURL          // the value is a URL that may hold a password or a key
	secretFlag           // the value is a secret; it has a flag all the same
	secretNoFlag         // the value is a secret; it has no flag, since other users of a machine can read command lines
)

// setting returns the setting of a field of a Config.
func setting(key string, value any, doc string) Setting {
	return Setting{Key: key, Doc: doc, value: value}
}

// between sets the smallest and largest value, both allowed; 0 as the largest means no limit. The unit, if not empty,
// is named in the message.
func (s Setting) between(least, most int64, unit string) Setting {
	s.min, s.max, s.unit = least, most, unit
	return s
}

// onlyWith names the key of the setting without which this one has no effect.
func (s Setting) onlyWith(key string) Setting { s.needs = key; return s }

// secret sets what of the value must not be shown.
func (s Setting) secret(kind secrecy) Setting { s.secrecy = kind; return s }

// Variable returns the name of the setting's environment variable.
func (s Setting) Variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, "-", "_"))
}

// hasFlag reports whether the setting has a flag.
func (s Setting) hasFlag() bool { return s.secrecy != secretNoFlag }

// String returns the value in its text form, which Set reads back. It does not redact secrets; see Redacted.
func (s Setting) String() string {
	switch v := s.value.(type) {
	case *string:
		return *v
	case *bool:
		return strconv.FormatBool(*v)
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return fmt.Sprint(*v)
	case *Bytes:
		return v.String()
	case *[]string:
		return strings.Join(*v, ",")
	}
	panic("config: the setting " + s.Key + " has a type without a text form")
}

// Redacted returns the value in a form that may be shown. A secret becomes «(set)», and a URL loses its user, password
// and the values of its parameters; see words.Address.
func (s Setting) Redacted() string {
	text := s.String()
	switch {
	case text == "" || s.secrecy == public:
		return text
	case s.secrecy == secretInURL:
		return words.Address(text)
	}
	return "(set)"
}

// typeName is the type of the value as the help of a command names it.
func (s Setting) typeName() string {
	switch s.value.(type) {
	case *Bytes:
		return "size"
	case *[]string:
		return "list"
	case *int:
		return "int"
	case *float64:
		return "number"
	case *bool:
		return "bool"
	}
	return "string"
}

// Set stores a value from a YAML document, or text from elsewhere. Nil leaves the value as it is. The text of an error
// continues a sentence that begins with the setting's name.
func (s Setting) Set(value any) error {
	if value == nil {
		return nil
	}
	if list, ok := value.([]any); ok {
		if field, ok := s.value.(*[]string); ok {
			*field = nil
			for _, e := range list {
				*field = append(*field, fmt.Sprint(e))
			}
			return nil
		}
	}
	text := strings.TrimSpace(fmt.Sprint(value))
	must, err := s.parse(text)
	if err != nil {
		return fmt.Errorf("is %q; it must be %s", pleat.Clip(text), must)
	}
	return nil
}

// hasNoEmptyValue reports whether an empty text is no value of the setting.
func (s Setting) hasNoEmptyValue() bool {
	switch s.value.(type) {
	case *string, *[]string:
		return s.Key == "addr"
	}
	return true
}

// quoted reports whether a text has the quotation marks of a shell or of a file of variables around it.
func quoted(text string) bool {
	text = strings.TrimSpace(text)
	n := len(text)
	return n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') &&
		!strings.ContainsAny(text[1:n-1], "\"' ") // those of a command line are part of it
}

// parse stores a value given as text. With an error it returns what the text must be.
func (s Setting) parse(text string) (must string, err error) {
	switch v := s.value.(type) {
	case *string:
		*v = text
	case *bool:
		*v, err = strconv.ParseBool(text)
		return "true or false", err
	case *int:
		*v, err = strconv.Atoi(text)
		return "a whole number", err
	case *Bytes:
		*v, err = ParseBytes(text)
		return "a size such as 16MiB", err
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
		if err == nil && !(*v >= 0 && *v <= 1e9) { // NaN too
			err = strconv.ErrRange
		}
		return "a number from 0", err
	case *[]string:
		*v = nil
		for e := range strings.SplitSeq(text, ",") {
			if e = strings.TrimSpace(e); e != "" {
				*v = append(*v, e)
			}
		}
	}
	return "", nil
}

// AddFlags gives a command the flags of some groups, and --config. Load reads them.
func AddFlags(flags *pflag.FlagSet, groups ...Group) {
	c := Default()
	flags.String("config", "", "YAML file of settings; PLEAT_CONFIG")
	for _, s := range c.Settings() {
		if !s.hasFlag() || !slices.Contains(groups, s.Group) {
			continue
		}
		flags.Var(&flagValue{text: s.String(), kind: s.typeName()}, s.Key, s.Doc)
		if _, ok := s.value.(*bool); ok {
			flags.Lookup(s.Key).NoOptDefVal = "true"
		}
	}
}

// flagValue keeps the text of a flag and the type that the help shows. Load parses it with the other sources.
type flagValue struct{ text, kind string }

func (f *flagValue) String() string     { return f.text }
func (f *flagValue) Set(s string) error { f.text = s; return nil }
func (f *flagValue) Type() string       { return f.kind }
