package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/structure"
)

// find is the sites a mention means, or why there are none.
func (q *query) find(m mention) (sites []int, problem string) {
	for _, r := range q.x.polymers {
		if id := q.x.s.Chains[r.chain].ID; m.chain != "" && id != m.chain {
			continue
		}
		switch {
		case m.half > 0:
			middle := r.lo + (r.hi-r.lo)/2
			for i := []int{r.lo, middle}[m.half-1]; i < []int{middle, r.hi}[m.half-1]; i++ {
				sites = append(sites, i)
			}
		case m.first > 0:
			for i := r.lo; i < min(r.hi, r.lo+m.first); i++ {
				sites = append(sites, i)
			}
		case m.first < 0:
			for i := max(r.lo, r.hi+m.first); i < r.hi; i++ {
				sites = append(sites, i)
			}
		default:
			for i := r.lo; i < r.hi; i++ {
				if n := q.x.sites[i].ref.Number; m.lo <= n && n <= m.hi {
					sites = append(sites, i)
				}
			}
		}
	}
	if len(sites) == 0 {
		return nil, q.missing(m)
	}
	if m.names == nil {
		return sites, ""
	}
	named := slices.DeleteFunc(slices.Clone(sites), func(i int) bool { return !q.x.sites[i].is(m.names) })
	if len(named) == 0 {
		return sites, fmt.Sprintf("Residue %d is not %s: it is %s.", m.lo, m.names[0], q.x.list(sites, 4))
	}
	return named, ""
}

// is says whether a site, or its unmodified parent, has one of the names.
func (s *site) is(names []string) bool {
	if slices.Contains(names, s.ref.Name) {
		return true
	}
	std, ok := structure.Component(s.kind, s.letter)
	return ok && slices.Contains(names, std)
}

func (q *query) missing(m mention) string {
	what := fmt.Sprintf("residue %d", m.lo)
	if m.lo != m.hi {
		what = fmt.Sprintf("residue from %d to %d", m.lo, m.hi)
	}
	var ranges []string
	for _, c := range q.f.Chains {
		if m.chain == "" || m.chain == c.ID {
			ranges = append(ranges, fmt.Sprintf("chain %s runs from %d to %d", c.ID, c.First.Number, c.Last.Number))
		}
	}
	if len(ranges) == 0 {
		return "There is no " + what + ": the structure has no such polymer."
	}
	return fmt.Sprintf("There is no %s with coordinates: %s.", what, and(ranges, 6))
}

// sites are those all mentions mean together; the ends of chains where the question names them.
func (q *query) sites() []int {
	var out []int
	seen := map[int]bool{}
	add := func(list []int) {
		for _, i := range list {
			if !seen[i] {
				seen[i] = true
				out = append(out, i)
			}
		}
	}
	mentions := q.residues
	if len(mentions) == 2 && q.has["between"] && mentions[0].single() && mentions[1].single() && mentions[0].chain == mentions[1].chain {
		a, b := mentions[0].lo, mentions[1].lo // between 10 and 20
		mentions = []mention{{chain: mentions[0].chain, lo: min(a, b), hi: max(a, b)}}
	}
	for _, m := range mentions {
		list, _ := q.find(m)
		add(list)
	}
	if len(mentions) == 0 {
		for _, r := range q.runs() {
			if q.has["nterm"] {
				add([]int{r.lo})
			}
			if q.has["cterm"] {
				add([]int{r.hi - 1})
			}
		}
	}
	return out
}

// points says whether a question is about a chain: one it names, one of a kind it names, or any where it names none.
func (q *query) points(id string, kind structure.Kind) bool {
	if len(q.chains) > 0 {
		return slices.Contains(q.chains, id)
	}
	rna, dna := q.has["rna"] || q.has["nucleic"], q.has["dna"] || q.has["nucleic"]
	return !rna && !dna || rna && kind == structure.RNA || dna && kind == structure.DNA
}

// runs are the polymers the question is about.
func (q *query) runs() []run {
	return slices.DeleteFunc(slices.Clone(q.x.polymers), func(r run) bool {
		return !q.points(q.x.s.Chains[r.chain].ID, q.x.s.Chains[r.chain].Kind)
	})
}

// about is the facts of the polymers the question is about.
func (q *query) about() []Chain {
	return slices.DeleteFunc(slices.Clone(q.f.Chains), func(c Chain) bool { return !q.points(c.ID, c.Kind) })
}

// proteins among them.
func (q *query) proteins() []Chain {
	return slices.DeleteFunc(q.about(), func(c Chain) bool { return c.Kind != structure.Protein })
}

func (f *Facts) chainNames() string {
	var ids []string
	for _, c := range f.Chains {
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		return "The structure has no polymer chain."
	}
	return fmt.Sprintf("The structure has %s %s.", plural(len(ids), "chain", "chains"), and(ids, 20))
}

// classOf gives the letters of a class.
func classOf(name string) string {
	for _, c := range classes {
		if c.name == name {
			return c.letters
		}
	}
	return ""
}

func inClass(letter byte, name string) bool { return strings.IndexByte(classOf(name), letter) >= 0 }

// Words.

func angstrom(d float64) string { return fmt.Sprintf("%.2f Å", d) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// and joins at most n phrases: a, b and c.
func and(list []string, n int) string {
	if len(list) > n {
		return strings.Join(list[:n], ", ") + fmt.Sprintf(" and %d more", len(list)-n)
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

// refList names at most n residues, each chain once.
func refList(refs []ResidueRef, n int) string {
	var groups []string
	for i := 0; i < min(n, len(refs)); {
		j := i
		var names []string
		for j < min(n, len(refs)) && refs[j].Chain == refs[i].Chain {
			names = append(names, refs[j].Short())
			j++
		}
		groups = append(groups, fmt.Sprintf("%s (chain %s)", strings.Join(names, ", "), refs[i].Chain))
		i = j
	}
	out := strings.Join(groups, "; ")
	if len(refs) > n {
		out += fmt.Sprintf(" and %d more", len(refs)-n)
	}
	return out
}

func (x *index) list(sites []int, n int) string { return refList(x.refs(sites), n) }

// span names a stretch.
func span(from, to ResidueRef) string {
	if from == to {
		return from.String()
	}
	return fmt.Sprintf("%s to %s", from.Short(), to)
}
