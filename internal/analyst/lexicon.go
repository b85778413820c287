package analyst

import (
	_ "embed" // vocabulary.txt
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed vocabulary.txt
var vocabularyText string

// lexicon is what words mean: "how many" is howmany, "lysines" are @name LYS. It maps the phrases of vocabulary.txt,
// words joined by one blank, to what they stand for.
type lexicon struct {
	concept map[string]string
	// reasons says of each concept that starts with ! what it is that no structure can tell, and instead has a question
	// that is near.
	reasons, instead map[string]string
	// longest is the number of words of the longest phrase.
	longest int
}

var vocabulary = sync.OnceValue(readVocabulary)

// readVocabulary parses the embedded file. Of two concepts with the same phrase, the first one wins.
func readVocabulary() *lexicon {
	l := &lexicon{concept: map[string]string{}, reasons: map[string]string{}, instead: map[string]string{}}
	for line := range strings.Lines(strings.ReplaceAll(vocabularyText, "\n\t", " ")) {
		concept, phrases, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		if matter, isReason := strings.CutPrefix(concept, "reason "); isReason {
			l.reasons[matter] = phrases
			continue
		}
		if matter, isQuestion := strings.CutPrefix(concept, "instead "); isQuestion {
			l.instead[matter] = phrases
			continue
		}
		for phrase := range strings.SplitSeq(phrases, ",") {
			l.add(concept, phrase)
		}
	}
	return l
}

// add enters one phrase, unless an earlier concept has it.
func (l *lexicon) add(concept, phrase string) {
	var parts []word
	for _, s := range sentences(phrase) {
		parts = append(parts, s...)
	}
	key := phraseOf(parts)
	if _, ok := l.concept[key]; !ok && key != "" {
		l.concept[key] = concept
		l.longest = max(l.longest, len(parts))
	}
}

// lookup finds the longest phrase of at least the given number of words at the beginning of words: its concept and how
// many words it has, 0 where there is none.
func (l *lexicon) lookup(words []word, least int) (concept string, n int) {
	for n = min(l.longest, len(words)); n >= least; n-- {
		if c, ok := l.find(phraseOf(words[:n])); ok {
			return c, n
		}
	}
	return "", 0
}

// phraseOf joins words to a key of the lexicon.
func phraseOf(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.low)
	}
	return b.String()
}

// find looks up exactly one phrase. It returns the concept of a phrase, with or without a plural s.
func (l *lexicon) find(phrase string) (concept string, ok bool) {
	concept, ok = l.concept[phrase]
	if !ok && len(phrase) > 3 {
		concept, ok = l.concept[strings.TrimSuffix(phrase, "s")]
	}
	return concept, ok
}

// oneOf reports whether a word is in a list of words, written as one string.
func oneOf(w, list string) bool { return w != "" && strings.Contains(" "+list+" ", " "+w+" ") }

// quantity reads a whole number in digits or in words; false where it is none.
func quantity(text string) (int, bool) {
	spoken := [...]string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
		"twelve"}
	if i := slices.Index(spoken[:], strings.ToLower(text)); i >= 0 {
		return i + 1, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// decimal reads a number, which the caller knows to be one.
func decimal(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
}
