package analyst

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// condition makes the condition that an item stands for; nil where it stands for none.
func (q *query) condition(it item) *condition {
	switch it.concept {
	case "@name": // a modified residue counts as its parent
		return q.newCondition(ofName, it.names[0], func(s *facts.Site) bool { return s.Is(it.names) })
	case "@class":
		return q.classCondition(strings.ReplaceAll(it.names[0], "-", " "), it.names[1])
	case "@chain":
		return q.chainCondition(it.names[0])
	case "rna":
		return q.newCondition(ofChain, "of RNA", func(s *facts.Site) bool { return s.Kind == structure.RNA })
	case "dna":
		return q.newCondition(ofChain, "of DNA", func(s *facts.Site) bool { return s.Kind == structure.DNA })
	case "nucleic":
		return q.newCondition(ofChain, "of nucleic acid", func(s *facts.Site) bool {
			return s.Kind == structure.RNA || s.Kind == structure.DNA
		})
	case "buried":
		return q.newCondition(ofSurface, exposure(0), func(s *facts.Site) bool {
			share, ok := s.Accessible()
			return ok && share < facts.BuriedBelow
		})
	case "exposed", "surface":
		return q.newCondition(ofSurface, exposure(1), func(s *facts.Site) bool {
			share, ok := s.Accessible()
			return ok && share >= facts.BuriedBelow
		})
	case "@limit":
		if it.above {
			return q.newCondition(ofLimit, fmt.Sprintf("at a pLDDT of %g or more", it.value),
				func(s *facts.Site) bool { return s.PLDDT >= it.value })
		}
		return q.newCondition(ofLimit, fmt.Sprintf("below a pLDDT of %g", it.value),
			func(s *facts.Site) bool { return s.PLDDT < it.value })
	case "@residue":
		return q.placeCondition(it.mention)
	case "@ligand": // of no polymer, and so an anchor or an end only
		return &condition{wording: it.names}
	}
	return nil
}

// newCondition makes a condition on a property of single sites.
func (q *query) newCondition(p property, wording string, accept func(s *facts.Site) bool) *condition {
	sites := q.x.Select(func(i int) bool { return accept(&q.x.Sites[i]) })
	return &condition{property: p, wording: []string{wording}, sites: [][]int{sites}}
}

// exposure is the wording for a residue of which a share can be reached by water.
func exposure(share float64) string {
	if share < facts.BuriedBelow {
		return "buried (less than 20 % accessible)"
	}
	return "exposed (20 % accessible or more)"
}

// chainCondition is the residues of a chain. Where the chain does not exist, q.problem says so.
func (q *query) chainCondition(id string) *condition {
	if ids := chainIDs(q.f.Chains); !slices.Contains(ids, id) {
		q.problem = fmt.Sprintf("There is no chain %s. The structure has %s %s.", id,
			facts.Plural(len(ids), "chain", "chains"), facts.OrNone(words.Join(ids, 20)))
	}
	return q.newCondition(ofChain, "in chain "+id, func(s *facts.Site) bool { return s.Ref.Chain == id })
}

func chainIDs(list []facts.Chain) (ids []string) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}

// classCondition is a class of amino acids; the wording says which residues count.
func (q *query) classCondition(name, letters string) *condition {
	var codes []string
	for i := range len(letters) {
		code, _ := structure.Component(structure.Protein, letters[i])
		codes = append(codes, code)
	}
	wording := fmt.Sprintf("%s (%s are counted as such)", name, strings.Join(codes, ", "))
	c := q.newCondition(ofName, wording, func(s *facts.Site) bool {
		return s.Kind == structure.Protein && strings.IndexByte(letters, s.Letter) >= 0
	})
	c.class = true
	return c
}

// stateCondition is a state of secondary structure or, with ordinals or extremes, segments counted along each chain:
// the second helix, the longest strand.
func (q *query) stateCondition(st state, which []item) *condition {
	c := q.newCondition(ofState, st.wording, func(s *facts.Site) bool {
		return strings.IndexByte(st.letters, s.State) >= 0
	})
	c.states = st.letters
	if len(which) == 0 {
		return c
	}
	all := c.sites[0]
	c.counted, c.wording, c.sites = true, nil, nil
	for _, one := range which {
		sites, wording := q.segment(st, all, one)
		if !slices.Contains(c.wording, wording) {
			c.wording, c.sites = append(c.wording, wording), append(c.sites, sites)
		}
	}
	c.states = strings.Repeat(st.letters, len(which))
	return c
}

// segment counts the segments of each chain that the question is about, and returns the sites of one of them and how an
// answer says it. A strand of one residue is an isolated bridge and not counted.
func (q *query) segment(st state, all []int, which item) (sites []int, wording string) {
	var names []string
	for _, ch := range q.f.Chains {
		if len(q.chains) > 0 && !slices.Contains(q.chains, ch.ID) {
			continue
		}
		runs := q.x.Segments(keep(all, func(i int) bool {
			return i >= ch.Polymer.Lo && i < ch.Polymer.Hi && q.x.Sites[i].State != structure.Bridge
		}))
		for _, run := range pickRuns(runs, which) {
			sites = append(sites, run...)
			names = append(names, facts.StateName(q.x.Sites[run[0]].State)+" "+q.x.Span(run))
		}
	}
	text := cmp.Or(words.Join(names, 6), "there is none")
	if st.noun == "helix" && which.value > 1 && len(names) > 0 {
		text += ", counting α-, 3-10 and π-helices along each chain"
	}
	ordinal := strings.ToLower(which.text)
	if which.concept != "@nth" {
		ordinal = which.concept
	}
	return sites, fmt.Sprintf("in the %s %s (%s)", ordinal, st.noun, text)
}

// pickRuns chooses the nth segment of a chain, -1 being the last, or its longest ones.
func pickRuns(runs [][]int, which item) [][]int {
	n := int(which.value)
	switch {
	case len(runs) == 0 || n > len(runs):
		return nil
	case which.concept == "longest":
		best := len(slices.MaxFunc(runs, func(a, b []int) int { return len(a) - len(b) }))
		return keep(runs, func(run []int) bool { return len(run) == best })
	case n < 0:
		return runs[len(runs)-1:]
	}
	return runs[n-1 : n]
}

// placeCondition is a residue, a range of numbers, or a part of each chain. Where no residue is there, q.problem says
// so.
func (q *query) placeCondition(m mention) *condition {
	sites, problem := q.find(m)
	q.problem = cmp.Or(q.problem, problem)
	wording, end := "at "+q.x.List(sites, 4), "first"
	if m.first < 0 {
		end = "last"
	}
	switch {
	case m.first != 0:
		wording = fmt.Sprintf("among the %s %s of the chain (%s)", end, residues(max(m.first, -m.first)),
			q.x.Span(sites))
	case m.lo != m.hi || len(sites) == 0:
		wording = fmt.Sprintf("at %d to %d", m.lo, m.hi)
	}
	return &condition{property: ofPlace, wording: []string{wording}, sites: [][]int{sites}}
}

// find returns the sites that a mention means, or why there are none.
func (q *query) find(m mention) (sites []int, problem string) {
	var ranges []string
	for _, c := range q.f.Chains {
		if m.chain != "" && c.ID != m.chain {
			continue
		}
		ranges = append(ranges, fmt.Sprintf("chain %s runs from %d to %d", c.ID, c.First.Number, c.Last.Number))
		lo, hi := c.Polymer.Lo, c.Polymer.Hi
		switch {
		case m.first > 0:
			hi = min(hi, lo+m.first)
		case m.first < 0:
			lo = max(lo, hi+m.first)
		}
		for i := lo; i < hi; i++ {
			if n := q.x.Sites[i].Ref.Number; m.first != 0 || m.lo <= n && n <= m.hi {
				sites = append(sites, i)
			}
		}
	}
	if len(sites) == 0 {
		number := strconv.Itoa(m.lo)
		if m.lo != m.hi {
			number = fmt.Sprintf("from %d to %d", m.lo, m.hi)
		}
		return nil, fmt.Sprintf("There is no residue %s with coordinates: %s.", number,
			facts.OrNone(words.Join(ranges, 6)))
	}
	named := keep(sites, func(i int) bool { return m.names == nil || q.x.Sites[i].Is(m.names) })
	if len(named) == 0 {
		problem = fmt.Sprintf("Residue %d is not %s: it is %s.", m.lo, m.names[0], q.x.List(sites, 4))
	}
	return named, problem
}

// ligandSites returns the ligands that an item names: by their code, or all molecules or ions.
func (q *query) ligandSites(it item) (sites []int, label string) {
	molecule := slices.ContainsFunc(q.f.Ligands, func(l facts.Ligand) bool { return l.Kind != structure.Ion })
	for _, l := range q.f.Ligands {
		general := len(it.names) == 0 && (l.Kind == structure.Ion) == (it.concept == "ion" || !molecule)
		if general || slices.Contains(it.names, l.Ref.Name) {
			sites = append(sites, l.Site)
		}
	}
	return sites, q.x.List(sites, 6)
}
