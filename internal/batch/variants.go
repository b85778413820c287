package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pleat"
)

const (
	// wildType names the chain as it is among mutations.
	wildType = "WT"
	// maxMutations bounds the mutations of one row.
	maxMutations = 100
)

// mutation replaces one residue of a chain.
type mutation struct {
	from, to byte
	residue  int // counted from 1
}

// String writes the mutation as parseMutation reads it.
func (m mutation) String() string { return fmt.Sprintf("%c%d%c", m.from, m.residue, m.to) }

// parseMutation reads a mutation such as A23V, with space around it.
func parseMutation(text string) (mutation, bool) {
	text = strings.TrimSpace(text)
	if len(text) < 3 {
		return mutation{}, false
	}
	from, digits, to := upper(text[0]), text[1:len(text)-1], upper(text[len(text)-1])
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || digits[0] == '+' || !isLetter(from) || !isLetter(to) {
		return mutation{}, false
	}
	return mutation{from, to, n}, true
}

// upper returns a letter in upper case. Other than strings.ToUpper it leaves all bytes that are not ASCII, some of
// which would become ASCII letters.
func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' }

// residues returns the text of a chain as the checks of a job read it: upper case, without white space.
func residues(text string) string {
	text, _ = pleat.CutEnd(text)
	return strings.ToUpper(strings.Join(strings.Fields(text), ""))
}

// mutated returns the index of the sequence whose chain is mutated. An error names what is wrong with the field chain.
func (s *Spec) mutated() (int, error) {
	if s.Chain == "" {
		polymer := func(q pleat.Sequence) bool { return q.Polymer() }
		i := slices.IndexFunc(s.Sequences, polymer)
		if i < 0 {
			return 0, pleat.InvalidField("sequences", " has no polymer that could be mutated")
		}
		if slices.ContainsFunc(s.Sequences[i+1:], polymer) {
			return 0, pleat.InvalidField("chain", " is required, since there are several polymers")
		}
		return i, nil
	}
	job := pleat.Job{Sequences: s.Sequences}
	job = job.Clone()
	for i := range job.Sequences {
		job.Sequences[i].Count = max(job.Sequences[i].Count, 1)
	}
	if err := job.NameChains(); err != nil {
		return 0, err
	}
	var names []string
	for i := range job.Sequences {
		if !job.Sequences[i].Polymer() {
			continue
		}
		if slices.Contains(job.Sequences[i].Chains, s.Chain) {
			return i, nil
		}
		names = append(names, job.Sequences[i].Chains...)
	}
	return 0, pleat.InvalidField("chain", " is %q; the polymers have the chains %s", pleat.Clip(s.Chain),
		strings.Join(names[:min(len(names), 20)], ", "))
}

// checkVariants checks the mutations of the kind variants.
func (s *Spec) checkVariants(fault func(error)) {
	i, err := s.mutated()
	if err != nil {
		fault(err)
		return
	}
	text := residues(s.Sequences[i].Text)
	if len(text) > pleat.MaxResidues { // each row copies the chain, and Count goes over it
		fault(pleat.InvalidField(s.Sequences[i].Path(i)+".sequence", " has %d residues; at most %d are allowed",
			len(text), pleat.MaxResidues))
		return
	}
	modified := modifiedResidues(&s.Sequences[i])
	seen := map[string]int{}
	for k, list := range s.Mutations {
		field := At("mutations", k)
		id, err := checkMutations(text, list, modified)
		if err != nil {
			fault(pleat.InvalidField(field, " is %q%s", pleat.Clip(list), err.Error()))
			continue
		}
		if err := pleat.CheckName(field, id); err != nil {
			fault(err)
			continue
		}
		if first, twice := seen[id]; twice {
			fault(pleat.InvalidField(field, " is %q like %s; rows must differ", pleat.Clip(list),
				At("mutations", first)))
			continue
		}
		seen[id] = k
	}
	if s.Scan != nil {
		s.checkScan(text, fault)
	}
}

// checkMutations checks the mutations of one row and returns its custom id. An error continues a sentence that has
// named them.
func checkMutations(text, list string, modified map[int]bool) (id string, err error) {
	id, _, err = mutate(text, list)
	if err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(list, ":") {
		if m, ok := parseMutation(part); ok && modified[m.residue] {
			return "", fmt.Errorf(", but residue %d of the chain has a modification", m.residue)
		}
	}
	return id, nil
}

// modifiedResidues are the residues of a chain with a modification, which would take the place of a mutation.
func modifiedResidues(q *pleat.Sequence) map[int]bool {
	out := map[int]bool{}
	for _, m := range q.Modifications {
		out[m.Residue] = true
	}
	return out
}

// checkScan checks the range and the letters of a scan of a chain.
func (s *Spec) checkScan(text string, fault func(error)) {
	x := s.Scan
	switch {
	case x.From < 1 || x.From > len(text):
		fault(pleat.InvalidField("scan.from", " is %d; the chain has the residues 1 to %d", x.From, len(text)))
	case x.To < x.From || x.To > len(text):
		fault(pleat.InvalidField("scan.to", " is %d; it must be %d to %d", x.To, x.From, len(text)))
	}
	seen := map[byte]bool{}
	for i := range len(x.Residues) {
		c := upper(x.Residues[i])
		if !isLetter(c) {
			fault(pleat.InvalidField("scan.residues", ", position %d: it must hold one-letter codes", i+1))
			return
		}
		if seen[c] {
			fault(pleat.InvalidField("scan.residues", ", position %d: %c is there already", i+1, c))
			return
		}
		seen[c] = true
	}
}

// mutate applies mutations, joined by colons, to a chain. The custom id of the row is the same mutations, each written
// in one way. An error continues a sentence that has named them.
func mutate(text, list string) (id, mutated string, err error) {
	if strings.EqualFold(strings.TrimSpace(list), wildType) {
		return wildType, text, nil
	}
	if n := strings.Count(list, ":") + 1; n > maxMutations {
		return "", "", fmt.Errorf(", which has %d mutations; at most %d are allowed", n, maxMutations)
	}
	out, done, names := []byte(text), map[int]bool{}, []string(nil)
	for part := range strings.SplitSeq(list, ":") {
		m, ok := parseMutation(part)
		switch {
		case !ok:
			return "", "", fmt.Errorf("; a mutation looks like A23V, and several like A23V:K45R")
		case m.residue > len(text):
			return "", "", fmt.Errorf(", but the chain has %d residues", len(text))
		case text[m.residue-1] != m.from:
			return "", "", fmt.Errorf(", but residue %d of the chain is %c", m.residue, text[m.residue-1])
		case m.from == m.to:
			return "", "", fmt.Errorf(", which changes nothing at residue %d", m.residue)
		case done[m.residue]:
			return "", "", fmt.Errorf(", which changes residue %d twice", m.residue)
		}
		out[m.residue-1], done[m.residue] = m.to, true
		names = append(names, m.String())
	}
	return strings.Join(names, ":"), string(out), nil
}

// letters are the one-letter codes of a scan of a chain of a kind.
func (x *Scan) letters(kind pleat.EntityKind) string {
	if x.Residues == "" {
		return pleat.KnownLetters(kind)
	}
	return strings.ToUpper(x.Residues)
}

// named are the single mutations that were named, which a scan does not repeat.
func (s *Spec) named() map[mutation]bool {
	out := map[mutation]bool{}
	for _, list := range s.Mutations {
		if m, ok := parseMutation(list); ok {
			out[m] = true
		}
	}
	return out
}

// scanned calls fn for each mutation of the scan of a chain until it returns false. Residues with a modification are
// left out.
func (s *Spec) scanned(q *pleat.Sequence, fn func(m mutation) bool) {
	if s.Scan == nil {
		return
	}
	text, letters, named, modified := residues(q.Text), s.Scan.letters(q.Kind), s.named(), modifiedResidues(q)
	for k := max(s.Scan.From, 1); k <= min(s.Scan.To, len(text)); k++ {
		if modified[k] {
			continue
		}
		for _, to := range []byte(letters) {
			m := mutation{text[k-1], to, k}
			if to != m.from && !named[m] && !fn(m) {
				return
			}
		}
	}
}

// variants is the number of rows of the kind variants.
func (s *Spec) variants() int {
	n := len(s.Mutations)
	if i, err := s.mutated(); err == nil {
		s.scanned(&s.Sequences[i], func(mutation) bool {
			n++
			return true
		})
	}
	return n
}

// variantRows yields the complex with each variant of a chain: first the mutations that were named, then those of the
// scan by residue.
func (s *Spec) variantRows(yield func(Row) bool) {
	i, err := s.mutated()
	if err != nil {
		return
	}
	text := residues(s.Sequences[i].Text)
	end := "" // each row keeps the sign, on whose loss Validate makes the note
	if _, ended := pleat.CutEnd(s.Sequences[i].Text); ended {
		end = "*"
	}
	row := func(id, mutated, path string) Row {
		r := Row{
			CustomID: id,
			Job:      s.job(s.Sequences...),
			Path:     path,
			items:    itemsAt("sequences", len(s.Sequences)),
		}
		r.Job.Sequences[i].Text = mutated + end
		return r
	}
	for k, list := range s.Mutations {
		id, mutated, err := mutate(text, list)
		if err != nil || !yield(row(id, mutated, At("mutations", k))) {
			return
		}
	}
	s.scanned(&s.Sequences[i], func(m mutation) bool {
		mutated := text[:m.residue-1] + string(m.to) + text[m.residue:]
		return yield(row(m.String(), mutated, "scan"))
	})
}
