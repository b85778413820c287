package analyst

import (
	_ "embed" // vocabulary.txt
	"regexp"
	"strings"
	"sync"
)

//go:embed vocabulary.txt
var vocabularyText string

// table is vocabulary.txt as it is looked up: "how many" is howmany, "lysines" are @name LYS.
type table struct {
	// concepts has phrases as keys, words joined by one blank; longest is the number of words of the longest one.
	concepts map[string]string
	longest  int
	// lines are the words, reasons and questions instead, by what stands before their colon.
	lines map[string]string
	// The others are the other kinds of lines of the file; parts are what patterns are made of.
	states      map[string]state
	parts       map[string]string
	patterns    map[string]*regexp.Regexp
	rules       []rule
	suggestions []string
}

// state is a kind of secondary structure as the question names it, which can be several states of DSSP: letters of
// DSSP, how a condition says it, and the noun of a segment.
type state struct{ letters, wording, noun string }

// rule reads an entity at the beginning of words.
type rule struct {
	name    string
	pattern *regexp.Regexp
	digits  bool // it needs a digit
}

// vocabulary parses the embedded file. If two concepts have the same phrase, the first one wins.
var vocabulary = sync.OnceValue(func() *table {
	t := &table{
		concepts: map[string]string{},
		lines:    map[string]string{},
		states:   map[string]state{},
		parts:    map[string]string{},
		patterns: map[string]*regexp.Regexp{},
	}
	for line := range strings.Lines(strings.ReplaceAll(vocabularyText, "\n\t", " ")) {
		if concept, text, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != '#' {
			t.add(concept, text)
		}
	}
	return t
})

// add enters one line of the file: what stands before the colon and after it.
func (t *table) add(concept, text string) {
	switch kind, of, _ := strings.Cut(concept, " "); kind {
	case "words", "reason", "instead":
		t.lines[concept] = text
	case "state":
		column := strings.Split(text, ", ")
		t.states[of] = state{column[0], column[1], column[2]}
	case "pattern":
		t.parts[of] = t.expand(text)
		t.patterns[of] = compile(t.parts[of])
	case "rule":
		text = t.expand(text)
		digits := strings.Contains(text, `\d`) && !strings.Contains(text, t.parts["spoken"])
		t.rules = append(t.rules, rule{of, compile(text), digits})
	case "suggest":
		t.suggestions = append(t.suggestions, text)
	default:
		for phrase := range strings.SplitSeq(text, ", ") {
			t.addPhrase(concept, phrase)
		}
	}
}

// expand puts parts of patterns in the places that name them.
func (t *table) expand(text string) string {
	for name, pattern := range t.parts {
		text = strings.ReplaceAll(text, "<"+name+">", pattern)
	}
	return text
}

// compile makes a pattern match at the beginning of words that are separated by one blank each, up to a blank.
func compile(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?i:` + pattern + `) `) }

func (t *table) addPhrase(concept, phrase string) {
	for _, words := range sentences(phrase, nil) { // not more than one
		key := strings.ToLower(strings.Join(words, " "))
		if t.concepts[key] == "" {
			t.concepts[key] = concept
			t.longest = max(t.longest, len(words))
		}
	}
}

// lookup finds the longest phrase at the beginning of words: its concept and how many words it has, 0 where there is
// none.
func (t *table) lookup(words []string) (concept string, n int) {
	for n = min(t.longest, len(words)); n > 0; n-- {
		if concept = t.find(strings.Join(words[:n], " ")); concept != "" {
			return concept, n
		}
	}
	return "", 0
}

// find returns the concept of a phrase, with or without a plural s; empty where it is not known.
func (t *table) find(phrase string) string {
	phrase = strings.ToLower(phrase)
	concept := t.concepts[phrase]
	if concept == "" && len(phrase) > 3 {
		concept = t.concepts[strings.TrimSuffix(phrase, "s")]
	}
	return concept
}

// isResidue reports whether a word stands for residues, of any kind of polymer.
func (t *table) isResidue(word string) bool {
	concept, _, _ := strings.Cut(t.find(word), " ")
	return concept == "residue"
}

// oneOf reports whether a word is in a list of words, written as one string.
func oneOf(w, list string) bool { return w != "" && strings.Contains(" "+list+" ", " "+w+" ") }

func (t *table) matches(pattern, text string) bool { return t.patterns[pattern].MatchString(text) }

func listed(w, list string) bool { return oneOf(w, vocabulary().lines["words "+list]) }
