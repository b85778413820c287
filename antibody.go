package pleat

import (
	"fmt"
	"slices"
	"strings"

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
// domain, in the order of the job; the same with the heavy domain first, as such models are trained; and notes on the
// cuts. A chain with a heavy and a light domain becomes two, H and L.
func VariableDomains(sequences []Sequence) (folded, heavyFirst []Sequence, notes Notes) {
	for i := range sequences {
		s := &sequences[i]
		domains := domainsOf(sequences, i)
		for _, d := range domains {
			one := *s
			one.Text = s.Text[d.Start:d.End]
			if len(domains) > 1 {
				one.Chains = []string{strings.ToUpper(d.chain()[:1])}
			}
			folded = append(folded, one)
			if d.Kind.Light() {
				heavyFirst = append(heavyFirst, one)
			} else {
				heavyFirst = slices.Insert(heavyFirst, 0, one)
			}
		}
		notes = append(notes, domainNotes(s, i, domains)...)
	}
	return folded, heavyFirst, notes
}

// longH3 is the number of residues of a CDR-H3 (IMGT) above which models of antibodies are known to be weak.
const longH3 = 17

// domainNotes says which residues of a sequence are folded, unless all are, as one chain; what a domain lacks; and
// where models are weak.
func domainNotes(s *Sequence, i int, domains []variableDomain) (notes Notes) {
	say := func(format string, args ...any) {
		notes = append(notes, Note{s.Path(i) + ".sequence", fmt.Sprintf(format, args...)})
	}
	if len(domains) == 2 {
		a, b := &domains[0], &domains[1]
		say("the residues %d to %d (%s domain) and %d to %d (%s domain) of %d are folded, as the chains H and L, the "+
			"heavy one as H; each is numbered from 1, and all other residues, such as the linker, are left out",
			a.Start+1, a.End, a.chain(), b.Start+1, b.End, b.chain(), len(s.Text))
	}
	for _, d := range domains {
		if len(domains) == 1 && d.End-d.Start < len(s.Text) {
			say("the residues %d to %d of %d are folded, the variable domain of a %s chain, numbered from 1; all "+
				"others are left out", d.Start+1, d.End, len(s.Text), d.chain())
		}
		for _, region := range d.Lacks() {
			say("the %s domain lacks %s, so that its structure is less certain", d.chain(), region)
		}
		if n := len(d.Part(s.Text, "CDR3", antibody.IMGT)); d.Kind == antibody.Heavy && n > longH3 {
			say("CDR-H3 has %d residues (IMGT); models of antibodies are often wrong in one of more than %d", n, longH3)
		}
	}
	return notes
}

// variableDomains checks that the chains hold one heavy domain, one light domain, or one of each, where the model folds
// nothing else. It runs only if the job has no other fault, since that bounds its size.
func (v *validation) variableDomains() {
	if !v.model.Limits.VariableDomains || len(v.faults) > 0 {
		return
	}
	var notes Notes
	first := map[bool]*variableDomain{} // by whether it is light
	for i := range v.job.Sequences {
		s := &v.job.Sequences[i]
		domains := domainsOf(v.job.Sequences, i)
		switch {
		case len(domains) == 0:
			v.textFault(i, " %s; the model %q folds variable domains of antibodies only", noDomain(s.Text),
				v.model.Name)
			return
		case s.Count > 1:
			v.fault(s.Path(i)+".count", " is %d; the model %q folds one domain, or a heavy and a light one", s.Count,
				v.model.Name)
			return
		}
		for k := range domains {
			d := &domains[k]
			if other := first[d.Kind.Light()]; other != nil {
				where := itemPath(other.sequence) + " has one already"
				if other.sequence == i {
					where = fmt.Sprintf("another one at %d to %d", other.Start+1, other.End)
				}
				v.textFault(i, " has a %s domain at the residues %d to %d, and %s; the model %q folds one of each",
					d.chain(), d.Start+1, d.End, where, v.model.Name)
				return
			}
			first[d.Kind.Light()] = d
			if missing := d.Lacks(); slices.ContainsFunc(missing, inner) {
				v.textFault(i, ", residues %d to %d: the %s domain lacks %s; the model %q folds whole domains",
					d.Start+1, d.End, d.chain(), missing[slices.IndexFunc(missing, inner)], v.model.Name)
				return
			}
		}
		notes = append(notes, domainNotes(s, i, domains)...)
	}
	v.job.Notes = append(v.job.Notes, notes...)
}

// inner reports whether a region is neither the first nor the last of a domain, which many sequences lack.
func inner(r antibody.Region) bool { return r != "FR1" && r != "FR4" }

// noDomain says why a sequence has no variable domain of an antibody.
func noDomain(text string) string {
	if found := antibody.Find(text); len(found) > 0 {
		return fmt.Sprintf("is of a T-cell receptor: the residues %d to %d are a variable domain of its %s chain",
			found[0].Start+1, found[0].End, found[0].Kind)
	}
	return "has no variable domain of an antibody"
}
