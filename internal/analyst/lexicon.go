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

// lexicon maps the phrases of vocabulary.txt, words joined by one blank, to what they stand for.
type lexicon struct {
	concept map[string]string
	words   []string // single words of at least six letters, sorted: candidates for correcting typing errors
	longest int      // words of the longest phrase
}

var vocabulary = sync.OnceValue(readVocabulary)

// readVocabulary parses the embedded file. Of two concepts with the same phrase, the first one wins.
func readVocabulary() *lexicon {
	l := &lexicon{concept: map[string]string{}}
	for line := range strings.Lines(strings.ReplaceAll(vocabularyText, "\n\t", " ")) {
		concept, phrases, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || line[0] == '#' {
			continue
		}
		for phrase := range strings.SplitSeq(phrases, ",") {
			l.add(concept, phrase)
		}
	}
	slices.Sort(l.words)
	return l
}

// add enters one phrase, unless an earlier concept has it.
func (l *lexicon) add(concept, phrase string) {
	var parts []word
	for _, s := range sentences(phrase) {
		parts = append(parts, s...)
	}
	key := phraseOf(parts, false)
	if _, ok := l.concept[key]; ok || key == "" {
		return
	}
	l.concept[key] = concept
	l.longest = max(l.longest, len(parts))
	if len(parts) == 1 && len(key) >= 6 {
		l.words = append(l.words, key)
	}
}

// lookup finds the longest phrase of at least the given number of words at the beginning of words: its concept and how
// many words it has, 0 where there is none.
func (l *lexicon) lookup(words []word, least int) (concept string, n int) {
	for n = min(l.longest, len(words)); n >= least; n-- {
		for _, singular := range [...]bool{false, true} {
			if c, ok := l.concept[phraseOf(words[:n], singular)]; ok {
				return c, n
			}
		}
	}
	return "", 0
}

// correct finds the one word of the vocabulary that is one typing error away (a letter wrong, missing, extra, or two
// swapped), for words of 6 to 24 letters; empty where there is none, or several with different meanings.
func (l *lexicon) correct(low string) string {
	if len(low) < 6 || len(low) > 24 {
		return ""
	}
	best := ""
	for _, w := range l.words {
		if !oneEdit(low, w) {
			continue
		}
		if best != "" && l.concept[best] != l.concept[w] {
			return ""
		}
		best = w
	}
	return best
}

// oneEdit says whether one typing error leads from one word to the other.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) != len(b) {
		return a[i:] == b[i+1:]
	}
	if i >= len(a)-1 {
		return true
	}
	return a[i+1:] == b[i+1:] || a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// phraseOf joins words to a key of the lexicon, the last one without its plural s if singular is set.
func phraseOf(words []word, singular bool) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.low
	}
	if last := len(parts) - 1; last >= 0 && singular && len(parts[last]) > 3 {
		parts[last] = strings.TrimSuffix(parts[last], "s")
	}
	return strings.Join(parts, " ")
}

// oneOf says whether a word is in a list of words, written as one string.
func oneOf(w, list string) bool { return w != "" && strings.Contains(" "+list+" ", " "+w+" ") }

// figure reads a whole number in digits, such as 8 or 3rd.
func figure(w word) (int, bool) {
	low := w.low
	for _, suffix := range [...]string{"th", "st", "nd", "rd"} {
		low = strings.TrimSuffix(low, suffix)
	}
	if low == "" || len(low) > 7 || low[0] < '0' || low[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(low)
	return n, err == nil
}

// quantity reads a whole number in digits or in words.
func quantity(w word) (int, bool) {
	spoken := [...]string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
		"twelve"}
	if i := slices.Index(spoken[:], w.low); i >= 0 {
		return i + 1, true
	}
	for i, tens := range [...]string{"fifteen", "twenty", "thirty", "forty", "fifty"} {
		if w.low == tens {
			return [...]int{15, 20, 30, 40, 50}[i], true
		}
	}
	return figure(w)
}

// decimal reads a number with or without a fraction; a unit Å written to it is dropped.
func decimal(w word) (float64, bool) {
	if w.low == "" || len(w.low) > 12 || w.low[0] < '0' || w.low[0] > '9' {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(w.raw, "Å"), "A"), 64)
	return v, err == nil
}

// unitScale is Å per unit of length; 0: the word is no unit of length.
func unitScale(w word) float64 {
	switch w.low {
	case "å", "angstrom", "angstroms", "ångström", "ångströms", "ångstroms", "ang":
		return 1
	case "nm", "nanometre", "nanometres", "nanometer", "nanometers":
		return 10
	}
	if w.raw == "A" {
		return 1
	}
	return 0
}
