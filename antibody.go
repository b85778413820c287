package pleat

import (
	"fmt"
	"slices"

	"pleat/internal/antibody"
)

// variableDomain is a variable domain of an antibody in a job.
type variableDomain struct {
	*antibody.Domain
	sequence int // index of its sequence
}

// light reports whether the domain is of a light chain.
func (d *variableDomain) light() bool { return d.Kind != antibody.Heavy }

// chain returns which chain of an antibody the domain belongs to, for messages.
func (d *variableDomain) chain() string {
	if d.light() {
		return "light"
	}
	return "heavy"
}

// domainsOf returns the variable domains of antibodies in a sequence, in order.
func domainsOf(sequences []Sequence, i int) (out []variableDomain) {
	found := antibody.Find(sequences[i].Text)
	for k := range found {
		if found[k].Kind.Antibody() {
			out = append(out, variableDomain{&found[k], i})
		}
	}
	return out
}

// VariableDomains returns what a model of variable domains folds of the sequences of a valid job: each chain cut to its
// domain, in the order of the job, and a note for each cut. A chain with a heavy and a light domain becomes two, H and
// L.
func VariableDomains(sequences []Sequence) (folded []Sequence, notes Notes) {
	for i := range sequences {
		s := &sequences[i]
		domains := domainsOf(sequences, i)
		for _, d := range domains {
			one := *s
			one.Text = s.Text[d.Start:d.End]
			if len(domains) > 1 {
				one.Chains = []string{map[bool]string{false: "H", true: "L"}[d.light()]}
			}
			folded = append(folded, one)
		}
		if note := cutNote(s, domains); note != "" {
			notes = append(notes, Note{s.Path(i) + ".sequence", note})
		}
	}
	return folded, notes
}

// cutNote says which residues of a sequence are folded; empty: all are, as one chain.
func cutNote(s *Sequence, domains []variableDomain) string {
	switch {
	case len(domains) == 2:
		return fmt.Sprintf("the residues %d to %d (%s domain) and %d to %d (%s domain) of %d are folded, as the two "+
			"chains H and L; the others, such as the linker, are left out", domains[0].Start+1, domains[0].End,
			domains[0].chain(), domains[1].Start+1, domains[1].End, domains[1].chain(), len(s.Text))
	case len(domains) == 1 && domains[0].End-domains[0].Start < len(s.Text):
		return fmt.Sprintf("the residues %d to %d of %d are folded, the variable domain of a %s chain; the others are "+
			"left out", domains[0].Start+1, domains[0].End, len(s.Text), domains[0].chain())
	}
	return ""
}

// HeavyFirst returns chains that VariableDomains returned with that of the heavy domain first, as models of antibodies
// are trained.
func HeavyFirst(folded []Sequence) []Sequence {
	out := slices.Clone(folded)
	if len(out) == 2 && domainsOf(out, 0)[0].light() {
		slices.Reverse(out)
	}
	return out
}

// variableDomains checks that the chains hold one heavy domain, one light domain, or one of each, where the model folds
// nothing else.
func (v *validation) variableDomains() {
	if !v.model.Limits.VariableDomains || slices.Contains(v.faulty, true) {
		return
	}
	var first [2]*variableDomain // heavy, light
	for i := range v.job.Sequences {
		s := &v.job.Sequences[i]
		domains := domainsOf(v.job.Sequences, i)
		switch {
		case s.Kind != Protein || v.faults.full():
			continue
		case len(domains) == 0:
			v.textFault(i, " %s; the model %q folds variable domains of antibodies alone", noDomain(s.Text), v.model.Name)
			return
		case s.Count > 1:
			v.fault(s.Path(i)+".count", " is %d; the model %q folds one domain, or a heavy and a light one", s.Count,
				v.model.Name)
			return
		}
		for k := range domains {
			d := &domains[k]
			kind := 0
			if d.light() {
				kind = 1
			}
			if other := first[kind]; other != nil {
				v.textFault(i, " has a %s domain at the residues %d to %d, and %s has one already; the model %q folds "+
					"one of each", d.chain(), d.Start+1, d.End, itemPath(other.sequence), v.model.Name)
				return
			}
			first[kind] = d
		}
	}
	_, notes := VariableDomains(v.job.Sequences)
	v.job.Notes = append(v.job.Notes, notes...)
}

// noDomain says why a sequence has no variable domain of an antibody.
func noDomain(text string) string {
	if found := antibody.Find(text); len(found) > 0 {
		return fmt.Sprintf("is a T-cell receptor: it has a variable domain (%s) at the residues %d to %d",
			found[0].Kind, found[0].Start+1, found[0].End)
	}
	return "has no variable domain of an antibody"
}
