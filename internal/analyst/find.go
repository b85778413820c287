package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// find is the sites a mention means, or why there are none.
func (q *query) find(m mention) (sites []int, problem string) {
	for _, r := range q.x.Polymers {
		if id := q.x.Structure.Chains[r.Chain].ID; m.chain != "" && id != m.chain {
			continue
		}
		switch {
		case m.half > 0:
			middle := r.Lo + (r.Hi-r.Lo)/2
			for i := []int{r.Lo, middle}[m.half-1]; i < []int{middle, r.Hi}[m.half-1]; i++ {
				sites = append(sites, i)
			}
		case m.first > 0:
			for i := r.Lo; i < min(r.Hi, r.Lo+m.first); i++ {
				sites = append(sites, i)
			}
		case m.first < 0:
			for i := max(r.Lo, r.Hi+m.first); i < r.Hi; i++ {
				sites = append(sites, i)
			}
		default:
			for i := r.Lo; i < r.Hi; i++ {
				if n := q.x.Sites[i].Ref.Number; m.lo <= n && n <= m.hi {
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
	named := slices.DeleteFunc(slices.Clone(sites), func(i int) bool { return !q.x.Sites[i].Is(m.names) })
	if len(named) == 0 {
		return sites, fmt.Sprintf("Residue %d is not %s: it is %s.", m.lo, m.names[0], q.x.List(sites, 4))
	}
	return named, ""
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
	return fmt.Sprintf("There is no %s with coordinates: %s.", what, facts.Join(ranges, 6))
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
				add([]int{r.Lo})
			}
			if q.has["cterm"] {
				add([]int{r.Hi - 1})
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
func (q *query) runs() []facts.Polymer {
	return slices.DeleteFunc(slices.Clone(q.x.Polymers), func(r facts.Polymer) bool {
		return !q.points(q.x.Structure.Chains[r.Chain].ID, q.x.Structure.Chains[r.Chain].Kind)
	})
}

// about is the facts of the polymers the question is about.
func (q *query) about() []facts.Chain {
	return slices.DeleteFunc(slices.Clone(q.f.Chains), func(c facts.Chain) bool { return !q.points(c.ID, c.Kind) })
}

// proteins among them.
func (q *query) proteins() []facts.Chain {
	return slices.DeleteFunc(q.about(), func(c facts.Chain) bool { return c.Kind != structure.Protein })
}

func chainNames(f *facts.Facts) string {
	var ids []string
	for _, c := range f.Chains {
		ids = append(ids, c.ID)
	}
	if len(ids) == 0 {
		return "The structure has no polymer chain."
	}
	return fmt.Sprintf("The structure has %s %s.", facts.Plural(len(ids), "chain", "chains"), facts.Join(ids, 20))
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
