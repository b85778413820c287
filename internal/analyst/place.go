package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// placeCondition is a residue, a range of residues, or a part of each chain, where there must be a residue.
func (q *query) placeCondition(m mention) *condition {
	sites, problem := q.find(m)
	wording, end := "at "+q.x.List(sites, 4), "first"
	if m.first < 0 {
		end = "last"
	}
	switch {
	case m.first != 0:
		wording = fmt.Sprintf("among the %s %s of the chain (%s)", end, residues(max(m.first, -m.first)),
			q.x.Span(sites))
	case m.lo.Value == beginning:
		wording = "up to residue " + m.hi.String()
	case m.lo != m.hi:
		wording = fmt.Sprintf("at %s to %s", m.lo, m.hi)
	}
	if n := len(q.polymersOf(m.kind)); m.kind != "" && n > 0 && n < len(q.x.Polymers) {
		wording += " of " + kinds[m.kind].name
	}
	return &condition{
		property: ofPlace,
		wording:  []string{wording},
		sites:    [][]int{sites},
		label:    q.x.Span(sites),
		mentions: []mention{m},
		problem:  problem,
	}
}

// maxSites is how many residues the places and conditions of one message look at.
const maxSites = 20_000_000

// tooMany refuses a message once it has looked at maxSites.
const tooMany = "This compares too many residues with too many conditions; please ask of fewer, or in several messages."

// finder finds residues by what a question calls them, and counts how many it looks at.
type finder struct {
	x    *facts.Index
	left *int // what is left of maxSites for the message
}

// look takes n residues off what is left; it returns false if nothing is left.
func (f finder) look(n int) bool {
	if *f.left > 0 {
		*f.left -= n
	}
	return *f.left > 0
}

// find returns the sites that a mention means, in file order, or why there are none. A range goes by the order in the
// chain, because insertion codes and numbers need not ascend.
func (f finder) find(m mention) (sites []int, problem string) {
	x, polymers := f.x, f.x.Polymers
	if m.chain != "" {
		if why := noChain(x, m.chain); why != "" {
			return nil, why
		}
		polymers = x.PolymersOf(m.chain)
	}
	if m.kind != "" {
		if polymers = keep(polymers, f.isOf(m.kind)); len(polymers) == 0 {
			return nil, f.noKind(m.kind)
		}
	}
	var all []int
	for _, p := range polymers {
		if !f.look(10) { // the time that finding its ends takes
			return nil, tooMany
		}
		part, why := f.locate(p, m)
		if why != "" {
			return nil, why
		}
		all = append(all, part...)
		if f.areNamed(part, m) {
			sites = append(sites, part...)
		}
	}
	switch {
	case len(all) == 0:
		return nil, f.noResidue(polymers, m)
	case len(sites) == 0 && m.single():
		return nil, fmt.Sprintf("Residue %s is not %s: it is %s.", m.lo, m.names[0], x.List(all, 4))
	case len(sites) == 0:
		return nil, fmt.Sprintf("There are no residues from %s to %s: these numbers are %s and %s.",
			named(m.names, m.lo), named(m.last, m.hi), x.Sites[all[0]].Ref, x.Sites[all[len(all)-1]].Ref)
	}
	return sites, ""
}

// isOf returns a function that reports whether a polymer is of a kind.
func (f finder) isOf(kind string) func(facts.Polymer) bool {
	return func(p facts.Polymer) bool { return slices.Contains(kinds[kind].of, f.x.Sites[p.Lo].Kind) }
}

func (f finder) polymersOf(kind string) []facts.Polymer { return keep(f.x.Polymers, f.isOf(kind)) }

// noKind says that residues of a kind of polymer are not there.
func (f finder) noKind(kind string) string {
	if len(f.polymersOf(kind)) > 0 {
		return fmt.Sprintf("This chain is no %s.", kinds[kind].name)
	}
	return fmt.Sprintf("There is no %s in this structure.", kinds[kind].name)
}

// named writes a residue with its component code, if a question names one.
func named(names []string, n structure.ResidueNumber) string {
	if names == nil {
		return "residue " + numberText(n)
	}
	return names[0] + " " + numberText(n)
}

// areNamed reports whether the ends of a range, or a residue, have the names by which a mention calls them.
func (f finder) areNamed(sites []int, m mention) bool {
	if len(sites) == 0 {
		return false
	}
	is := func(number structure.ResidueNumber, names []string) bool {
		return names == nil || slices.ContainsFunc(sites, func(i int) bool {
			return hasNumber(f.x.Sites[i].Ref, number) && f.x.Sites[i].Is(names)
		})
	}
	return is(m.lo, m.names) && is(m.hi, m.last)
}

// hasNumber reports whether a residue has a number; the case of an insertion code does not matter.
func hasNumber(r facts.ResidueRef, n structure.ResidueNumber) bool {
	return n.Value == r.Number && strings.EqualFold(n.Ins, r.Ins)
}

// locate returns the sites of one polymer that a mention means. A range that begins before the chain or ends after it
// means what there is of it; in a chain whose numbers do not ascend, nobody could tell what that is.
func (f finder) locate(p facts.Polymer, m mention) (sites []int, problem string) {
	switch {
	case m.first > 0:
		return f.span(p.Lo, min(p.Hi, p.Lo+m.first)), ""
	case m.first < 0:
		return f.span(max(p.Lo, p.Hi+m.first), p.Hi), ""
	}
	from := f.sitesAt(p, m.lo)
	if m.lo == m.hi {
		return from, ""
	}
	if to := f.sitesAt(p, m.hi); len(from) > 0 && len(to) > 0 {
		ends := slices.Concat(from, to)
		return f.span(slices.Min(ends), slices.Max(ends)+1), ""
	}
	return f.clipped(p, m.lo, m.hi)
}

// clipped returns the sites of a range of which the polymer lacks an end: from the end that it has, by the order in the
// chain, to the number of the other.
func (f finder) clipped(p facts.Polymer, lo, hi structure.ResidueNumber) (sites []int, problem string) {
	if lo.Value > hi.Value {
		lo, hi = hi, lo
	}
	from, to := f.sitesAt(p, lo), f.sitesAt(p, hi)
	sites = keep(f.span(p.Lo, p.Hi), func(i int) bool {
		n, begun, ended := f.x.Sites[i].Ref.Number, len(from) > 0 && i >= from[0], len(to) > 0 && i > to[len(to)-1]
		return (begun || len(from) == 0 && n >= lo.Value) && !(ended || len(to) == 0 && n >= hi.Value)
	})
	if len(sites) == 0 || lo.Ins != "" && len(from) == 0 || hi.Ins != "" && len(to) == 0 {
		return nil, ""
	}
	ascends := func(a, b facts.Site) int { return a.Ref.Number - b.Ref.Number }
	if !slices.IsSortedFunc(f.x.Sites[p.Lo:p.Hi], ascends) {
		return nil, fmt.Sprintf("The numbers of chain %s do not ascend, and it does not have both %s and %s; please "+
			"name a first and a last residue that it has.", f.x.Sites[p.Lo].Ref.Chain, lo, hi)
	}
	return sites, ""
}

// span lists the sites from lo to before hi.
func (f finder) span(lo, hi int) (sites []int) {
	f.look(hi - lo)
	for i := lo; i < hi; i++ {
		sites = append(sites, i)
	}
	return sites
}

// sitesAt returns the sites of a polymer with a number: with exactly its insertion code or, if there is none, with the
// code in the other case.
func (f finder) sitesAt(p facts.Polymer, n structure.ResidueNumber) (sites []int) {
	all, exact := f.x.At(n.Value), false
	from, _ := slices.BinarySearch(all, p.Lo)
	to, _ := slices.BinarySearch(all, p.Hi)
	f.look(to - from)
	for _, i := range all[from:to] {
		if r := f.x.Sites[i].Ref; hasNumber(r, n) {
			sites, exact = append(sites, i), exact || r.Ins == n.Ins
		}
	}
	return keep(sites, func(i int) bool { return !exact || f.x.Sites[i].Ref.Ins == n.Ins })
}

// maxRanges is how many chains a refusal describes, and maxChains how many it names.
const maxRanges, maxChains = 6, 20

// noResidue says that the structure has no residue that a mention could mean, and what it has instead.
func (f finder) noResidue(polymers []facts.Polymer, m mention) string {
	x := f.x
	for _, end := range []structure.ResidueNumber{m.lo, m.hi} {
		has := func(p facts.Polymer) bool { return len(f.sitesAt(p, end)) > 0 }
		if m.lo != m.hi && end.Ins != "" && !slices.ContainsFunc(x.Polymers, has) {
			m.lo, m.hi = end, end
		}
	}
	ranges := make([]string, len(polymers))
	for k, p := range facts.Head(polymers, maxRanges) {
		first, last := x.Sites[p.Lo].Ref, x.Sites[p.Hi-1].Ref
		ranges[k] = fmt.Sprintf("chain %s runs from %d%s to %d%s", first.Chain, first.Number, first.Ins, last.Number,
			last.Ins)
	}
	var others []int
	if m.single() {
		others = keep(x.At(m.lo.Value), func(i int) bool { return m.chain == "" || x.Sites[i].Ref.Chain == m.chain })
		f.look(len(others))
	}
	number := m.lo.String()
	if m.lo != m.hi {
		number = fmt.Sprintf("from %s to %s", numberText(m.lo), m.hi)
	}
	has := facts.OrNone(words.Join(ranges, maxRanges))
	if len(others) > 0 {
		has = "there is " + x.List(others, 6)
	}
	return fmt.Sprintf("There is no residue %s with coordinates: %s.", number, has)
}

// noChain says that no polymer has the name of a chain, and which names there are; empty where one has.
func noChain(x *facts.Index, id string) string {
	if len(x.PolymersOf(id)) > 0 {
		return ""
	}
	var ids []string
	for _, p := range x.Polymers {
		ids = append(ids, x.Sites[p.Lo].Ref.Chain)
	}
	has := fmt.Sprintf("The structure has %s %s.", words.Plural(len(ids), "chain", "chains"),
		facts.OrNone(words.Join(ids, maxChains)))
	for _, c := range x.Structure.Chains {
		switch {
		case c.ID == id && !c.Kind.Polymer():
			return fmt.Sprintf("What the file calls chain %s is %s and no protein, RNA or DNA. %s", id,
				nounOf(c.Kind), has)
		case c.Label == id && c.Kind.Polymer():
			return fmt.Sprintf("There is no chain %s by the names of the authors (auth_asym_id), which answers use; "+
				"the file has this label (label_asym_id) for chain %s. %s", id, c.ID, has)
		}
	}
	return fmt.Sprintf("There is no chain %s. %s", id, has)
}

func nounOf(k structure.Kind) string {
	switch k {
	case structure.Water:
		return "water"
	case structure.Ion:
		return "an ion"
	}
	return "a ligand"
}
