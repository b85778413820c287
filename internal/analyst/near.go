package analyst

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// Distances as properties of residues: within 5 Å of Trp6, touching chain A, closest to the zinc.

// vicinity is one such property while it is read.
type vicinity struct {
	at       int // item
	words    map[string]bool
	radius   float64
	anchors  []int // sites
	chains   []string
	label    string
	sequence bool   // the word can mean neighbours in the chain
	link     string // the word before it, where it is no article
	found    bool
}

var sequenceWords = map[string]bool{
	"next to": true, "adjacent": true, "neighbour": true, "neighbor": true, "neighbours": true, "neighbors": true,
	"neighbouring": true, "neighboring": true, "flank": true, "flanking": true,
}

var linking = set("a an the any either with to from by on in at of some")

const maxDistances = 4 // in one question

var nearWords = set("@radius contact around closest interface bind site")

// between a word of distance and what it is measured to.
var nearSkips = set("of between has all atom heavy unit distance residue protein chain structure number bound")

// near finds the distances asked about and what each is measured to; false: one of them is measured to nothing that is named.
func (p *picker) near() bool {
	var list []*vicinity
	var open *vicinity
	for i := 0; i < len(p.q.items); i++ {
		it := p.q.items[i]
		if j := p.residueOf(i); open != nil && j > 0 { // chain A's residue 28
			p.claimed[i] = true
			i, it = j, p.q.items[j]
		}
		switch {
		case nearWords[it.concept]:
			if open == nil {
				open = &vicinity{at: i, words: map[string]bool{}}
				list = append(list, open)
			}
			open.words[it.concept] = true
			open.sequence = open.sequence || sequenceWords[strings.ToLower(it.text)]
			if it.concept == "@radius" {
				if open.radius > 0 {
					return false
				}
				open.radius = it.value
			}
			p.claimed[i] = true
		case open != nil && it.concept == "@resname" && open.words["closest"] && open.link == "":
			// the nearest lysine: what is looked for, not what it is near to
		case open != nil && it.concept == "@resname" && open.sequence && open.radius == 0:
			return false // next to a glutamine: in space, or in the chain?
		case open != nil && it.concept == "residue" && strings.HasPrefix(strings.ToLower(it.text), "side"):
			return false // distances are between residues whole
		case open != nil && anchorWords[it.concept] && p.not[i] == p.not[open.at]:
			i = p.anchor(open, i)
			open = nil
		case it.concept != "" && !nearSkips[it.concept], it.concept == "" && !linking[strings.ToLower(it.text)]:
			open = nil
		case open != nil && it.text != "":
			if w := strings.ToLower(it.text); !articles[w] {
				open.link = w
			}
		}
	}
	if list = p.merge(list); len(list) > maxDistances || list == nil && slices.Contains(p.claimed, true) {
		return false
	}
	for _, v := range list {
		if !v.found && !p.elsewhere(v) || !p.within(v) {
			return false
		}
	}
	return true
}

// residueOf is the item of the residue that the chain at item i stands before; 0: none.
func (p *picker) residueOf(i int) int {
	if p.q.items[i].concept != "@chain" {
		return 0
	}
	for j := i + 1; j < len(p.q.items); j++ {
		switch c := p.q.items[j].concept; {
		case c == "@residue" && p.q.beside(j, 1) < 0 && p.q.beside(j, -1) == i:
			return j
		case c != "" && c != "chain":
			return 0
		}
	}
	return 0
}

var anchorWords = set("@residue @ligand ligand ion @chain @resname otherchain")

// merge gives a radius that stands alone to the distance that has none: the residues of the interface, at 5 Å.
func (p *picker) merge(list []*vicinity) []*vicinity {
	alone := slices.IndexFunc(list, func(v *vicinity) bool { return !v.found && v.radius > 0 && len(v.words) == 1 })
	if alone < 0 || len(list) != 2 {
		return list
	}
	other := list[1-alone]
	if other.radius > 0 {
		return nil
	}
	other.radius = list[alone].radius
	return []*vicinity{other}
}

// anchor claims the things at item i, joined by "and" or "or", that a distance is measured to; it gives the last item claimed.
func (p *picker) anchor(v *vicinity, i int) int {
	concept, last := p.q.items[i].concept, i
	for ; i < len(p.q.items); i++ {
		it := p.q.items[i]
		switch {
		case it.concept == concept:
			p.claim(v, i)
			last = i
			if concept == "@residue" {
				if j := p.q.beside(i, 1); j >= 0 {
					p.claimed[j] = true
					i, last = j, j
				}
			}
		case it.concept == "or" || it.concept == "&" && it.text != "," || it.concept == "" || it.concept == "chain":
		default:
			return last
		}
	}
	return last
}

// claim adds what one item names.
func (p *picker) claim(v *vicinity, i int) {
	q, it := p.q, p.q.items[i]
	p.claimed[i], v.found = true, true
	var sites []int
	switch it.concept {
	case "@residue":
		k := 0
		for _, before := range q.items[:i] {
			if before.concept == "@residue" {
				k++
			}
		}
		var problem string
		if sites, problem = q.find(q.own(i, k)); problem != "" {
			p.problem = problem
		} else if len(sites) > 1 && q.residues[k].single() {
			p.problem = fmt.Sprintf("Residue %d is in several chains (%s); say which one you mean.", q.residues[k].lo, q.x.List(sites, 5))
		}
	case "@chain":
		v.chains = distinct(v.chains, it.name)
	case "otherchain":
		for _, c := range q.f.Chains {
			v.chains = append(v.chains, c.ID)
		}
	case "@resname":
		for j := range q.x.Sites {
			if q.x.Sites[j].Is([]string{it.name}) {
				sites = append(sites, j)
			}
		}
	default:
		sites = q.unpolymerised(it)
	}
	if len(sites) == 0 && len(v.chains) == 0 && p.problem == "" {
		p.problem = fmt.Sprintf("There is no %s in this structure to measure from.", facts.Clip(it.text, 30))
	}
	v.anchors = append(v.anchors, sites...)
}

// unpolymerised are the ligands that an item means: those named, all molecules, or all ions.
func (q *query) unpolymerised(it item) (sites []int) {
	for j := range q.x.Sites {
		s := &q.x.Sites[j]
		meant := s.Ref.Name == it.name
		if it.concept != "@ligand" {
			meant = (it.concept == "ion") == (s.Kind == structure.Ion)
		}
		if meant && !s.Kind.Polymer() {
			sites = append(sites, j)
		}
	}
	return sites
}

// own is the k-th residue named, at item i, with a chain only where it stands beside it: in a question about distances another
// chain may be the one that is measured to.
func (q *query) own(i, k int) mention {
	m := q.residues[k]
	if q.items[i].mention.chain == "" && q.beside(i, 1) < 0 && q.beside(i, -1) < 0 {
		m.chain = ""
	}
	return m
}

var loneAnchors = set("@residue @ligand ligand ion")

// elsewhere finds what a distance is measured to where nothing follows it: what does Trp6 touch; residues at the interface.
func (p *picker) elsewhere(v *vicinity) bool {
	if v.words["interface"] {
		for _, c := range p.q.f.Chains {
			v.chains = append(v.chains, c.ID)
		}
		return true
	}
	at := -1
	for i, it := range p.q.items {
		if p.claimed[i] || !loneAnchors[it.concept] || it.concept == "@residue" && !it.mention.single() {
			continue
		}
		if at >= 0 {
			return false
		}
		at = i
	}
	if at < 0 {
		return false
	}
	p.anchor(v, at)
	return true
}

// within turns a distance into a condition.
func (p *picker) within(v *vicinity) bool {
	q := p.q
	cut := facts.ContactDistance
	if v.radius > 0 {
		cut = v.radius
	}
	if v.words["interface"] && len(v.chains) == 1 && v.link != "with" && v.link != "to" {
		return false // the interface of chain A: its own residues, or those that touch it?
	}
	if len(v.chains) > 0 && len(q.f.Chains) < 2 {
		p.problem = "There is only one polymer chain here, so no residue is near another chain."
	}
	measured := map[int]bool{}
	for _, a := range v.anchors {
		measured[a] = true
	}
	for _, r := range q.x.Polymers {
		for i := r.Lo; i < r.Hi && slices.Contains(v.chains, q.x.Structure.Chains[r.Chain].ID); i++ {
			v.anchors = append(v.anchors, i)
		}
	}
	v.label = "chain " + facts.Join(v.chains, 6)
	if len(v.chains) == 0 {
		v.label = q.x.List(v.anchors, 6)
		p.sel.about = append(p.sel.about, q.x.Refs(facts.Head(v.anchors, 6))...)
	} else if len(v.chains) > 2 || v.words["interface"] {
		v.label = "another chain"
	}
	if v.words["closest"] && v.radius == 0 {
		if len(v.anchors) > 6 || p.not[v.at] > 0 || p.sel.nearest != nil {
			return false
		}
		p.sel.nearest = v.anchors
		return p.add(v.at, &condition{kind: "near", said: "closest to " + v.label, pass: func(i int) bool { return !measured[i] }})
	}
	alone := len(v.chains) == 0 && len(v.anchors) == 1 && p.not[v.at] == 0
	if alone {
		p.sel.beside = slices.DeleteFunc(q.x.Around(v.anchors[0], cut), func(j int) bool { return !q.x.Adjacent(v.anchors[0], j) })
	}
	in := sync.OnceValue(func() map[int]bool { // only once the question is understood
		in := map[int]bool{}
		for _, a := range v.anchors {
			for _, j := range q.x.Around(a, cut) {
				if !measured[j] && !(alone && q.x.Adjacent(a, j)) && (len(v.chains) == 0 || q.x.Sites[j].Chain != q.x.Sites[a].Chain) {
					in[j] = true
				}
			}
		}
		return in
	})
	if len(v.chains) == 2 && !v.words["interface"] || len(v.chains) == 2 && v.found {
		p.joined = v.chains
	}
	said := fmt.Sprintf("within %.1f Å of %s", cut, v.label)
	return p.add(v.at, &condition{kind: "near", said: said, pass: func(i int) bool {
		return in()[i] || measured[i] && p.not[v.at] > 0 // what is asked to be far from a residue is not that residue
	}})
}
