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

// chain returns which chain of an antibody the domain belongs to, for messages.
func (d *variableDomain) chain() string {
	if d.Kind.Light() {
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
// domain, in the order of the job, and notes on them. A chain with a heavy and a light domain becomes two, H and
// L.
func VariableDomains(sequences []Sequence) (folded []Sequence, notes Notes) {
	for i := range sequences {
		s := &sequences[i]
		domains := domainsOf(sequences, i)
		for _, d := range domains {
			one := *s
			one.Text = s.Text[d.Start:d.End]
			if len(domains) > 1 {
				one.Chains = []string{map[bool]string{false: "H", true: "L"}[d.Kind.Light()]}
			}
			folded = append(folded, one)
		}
		for _, note := range domainNotes(s, domains) {
			notes = append(notes, Note{s.Path(i) + ".sequence", note})
		}
	}
	return folded, notes
}

// longH3 is the number of residues of a CDR-H3 (IMGT) above which models of antibodies are known to be weak.
const longH3 = 17

// domainNotes says which residues of a sequence are folded, unless all are, as one chain; what a domain lacks; and
// where models are weak.
func domainNotes(s *Sequence, domains []variableDomain) (notes []string) {
	if len(domains) == 2 {
		a, b := &domains[0], &domains[1]
		notes = append(notes, fmt.Sprintf("the residues %d to %d (%s domain) and %d to %d (%s domain) of %d are "+
			"folded, as the chains H and L; all others, such as the linker, are left out", a.Start+1, a.End, a.chain(),
			b.Start+1, b.End, b.chain(), len(s.Text)))
	}
	for _, d := range domains {
		if len(domains) == 1 && d.End-d.Start < len(s.Text) {
			notes = append(notes, fmt.Sprintf("the residues %d to %d of %d are folded, the variable domain of a %s "+
				"chain; all others are left out", d.Start+1, d.End, len(s.Text), d.chain()))
		}
		for _, region := range d.Lacks() {
			notes = append(notes, fmt.Sprintf("the %s domain lacks %s, so that its structure is less certain",
				d.chain(), region))
		}
		if n := len(d.Part(s.Text, "CDR3", antibody.IMGT)); d.Kind == antibody.Heavy && n > longH3 {
			notes = append(notes, fmt.Sprintf("CDR-H3 has %d residues; models of antibodies are often wrong in one of "+
				"more than %d", n, longH3))
		}
	}
	return notes
}

// HeavyFirst returns chains that VariableDomains returned with that of the heavy domain first, as models of antibodies
// are trained.
func HeavyFirst(folded []Sequence) []Sequence {
	out := slices.Clone(folded)
	if len(out) == 2 && domainsOf(out, 0)[0].Kind.Light() {
		slices.Reverse(out)
	}
	return out
}

// variableDomains checks that the chains hold one heavy domain, one light domain, or one of each, where the model folds
// nothing else. It looks at jobs without another fault alone, of which the size is bounded.
func (v *validation) variableDomains() {
	if !v.model.Limits.VariableDomains || len(v.faults) > 0 {
		return
	}
	var first [2]*variableDomain // heavy, light
	for i := range v.job.Sequences {
		s := &v.job.Sequences[i]
		domains := domainsOf(v.job.Sequences, i)
		switch {
		case len(domains) == 0:
			v.textFault(i, " %s; the model %q folds variable domains of antibodies alone", noDomain(s.Text),
				v.model.Name)
			return
		case s.Count > 1:
			v.fault(s.Path(i)+".count", " is %d; the model %q folds one domain, or a heavy and a light one", s.Count,
				v.model.Name)
			return
		}
		for k := range domains {
			d := &domains[k]
			kind := 0
			if d.Kind.Light() {
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
		return fmt.Sprintf("is of a T-cell receptor: the residues %d to %d are a variable domain of its %s chain",
			found[0].Start+1, found[0].End, found[0].Kind)
	}
	return "has no variable domain of an antibody"
}
