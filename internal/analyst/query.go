package analyst

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/facts"
)

const maxRadius = 20 // Å

// query is one part of a question, taken apart.
type query struct {
	f        *facts.Facts
	x        *facts.Index
	items    []item
	has      map[string]bool
	chains   []string
	residues []mention
	atoms    []string
	ligands  []string
	names    []string
	classes  []string
	radius   float64
	ph       *float64
	limit    *item      // @threshold
	chosen   *selection // set where the question is about residues with properties
	barred   string     // a chain or a distance that is not to be had
	problem  string     // that, or a residue that is not there
}

// newQuery sorts items into what the intents look at.
func newQuery(f *facts.Facts, items []item) *query {
	q := &query{f: f, x: f.Index(), items: items, has: map[string]bool{}}
	for _, it := range items {
		if it.concept == "them" && q.speaks() { // the lysines, and where they are
			continue
		}
		if it.concept != "" {
			q.again(it.concept)
			q.has[it.concept] = true
		}
		q.note(it)
	}
	q.spans()
	if len(q.chains) > 1 {
		q.has["@chain2"] = true
	}
	if len(q.residues) > 1 {
		q.has["@residue2"] = true
	}
	if len(q.ligands) > 1 && q.has["distance"] {
		q.has["@ligand2"] = true
	}
	if q.has["overview"] { // describe the interface: a request, not a topic
		for c := range q.has {
			if c != "overview" && c != "@residue" && !soft[c] && !strings.Contains(" "+where+"oligomer average ", " "+c+" ") {
				delete(q.has, "overview")
				break
			}
		}
	}
	q.bindChains()
	q.barred = q.problem
	q.locate()
	return q
}

// note keeps what an item names.
func (q *query) note(it item) {
	switch it.concept {
	case "@chain":
		q.chains = distinct(q.chains, it.name)
		if !it.known && q.problem == "" {
			q.problem = fmt.Sprintf("There is no chain %s. %s", facts.Clip(it.name, 8), chainNames(q.f))
		}
	case "@residue":
		q.residues = append(q.residues, it.mention)
	case "@atom":
		q.atoms = append(q.atoms, it.name)
	case "@ligand":
		q.ligands = distinct(q.ligands, it.name)
	case "@resname":
		q.names = distinct(q.names, it.name)
	case "@class":
		q.classes = distinct(q.classes, it.name)
	case "@radius":
		q.radius = it.value
		if it.value > maxRadius {
			q.problem = fmt.Sprintf("I look at distances up to %d Å around a residue, ligand or chain; %g Å is more.", maxRadius, it.value)
		}
	case "@ph":
		q.ph = &it.value
	case "@threshold":
		q.limit = &it
	}
}

// locate finds what every residue and range named means, and whether these overlap.
func (q *query) locate() {
	seen := map[int]int{} // sites by the mention that meant them, 1 for the first
	for k, m := range q.residues {
		sites, problem := q.find(m)
		if problem != "" && q.problem == "" {
			q.problem = problem
		}
		for _, i := range sites {
			if before := seen[i]; before > 0 && !(m.single() && q.residues[before-1].single()) {
				q.has["@nested"] = true // one range within another: together, or the part in both?
			}
			seen[i] = k + 1
		}
	}
}

// spans marks a stretch that is said to lie between things other than residues: between the helix and the third strand.
func (q *query) spans() {
	for i, it := range q.items {
		j := i + 1
		for j < len(q.items) && q.items[j].concept == "" {
			j++
		}
		if it.concept == "between" && strings.EqualFold(it.text, "between") && j < len(q.items) {
			if c := q.items[j].concept; kindOf[c] == "state" || c == "@nth" || c == "gap" || c == "pocket" {
				q.has["@span"] = true
			}
		}
	}
}

// again marks a second bound of one kind: an intent that looks at one must not answer for both.
func (q *query) again(concept string) {
	switch concept {
	case "@radius", "@threshold", "@ph", "@nth", "@band":
		if q.has[concept] {
			q.has[concept+"2"] = true
		}
	}
}

// speaks says whether anything was named yet that a pronoun could mean.
func (q *query) speaks() bool {
	for c := range q.has {
		if !soft[c] {
			return true
		}
	}
	return false
}

// bindChains gives residues the chain that stands beside them (residue 3 of chain A, chain B's residue 9), or the only one named.
func (q *query) bindChains() {
	k := -1
	for i, it := range q.items {
		if it.concept != "@residue" {
			continue
		}
		k++
		if q.residues[k].chain != "" {
			continue
		}
		if j := q.beside(i, 1); j >= 0 {
			q.residues[k].chain = q.items[j].name
		} else if j := q.beside(i, -1); j >= 0 && !q.hasResidueBefore(j) {
			q.residues[k].chain = q.items[j].name
		} else if len(q.chains) == 1 {
			q.residues[k].chain = q.chains[0]
		} else if len(q.chains) > 1 {
			q.has["@unbound"] = true // which chain the residue is of is not said
		}
	}
	if len(q.residues) == 0 || len(q.chains) < 2 {
		return
	}
	for _, c := range q.chains { // which residues of chain A touch Lys6 of chain B: A is no residue's
		if !slices.ContainsFunc(q.residues, func(m mention) bool { return m.chain == c }) {
			q.has["@unbound"] = true
		}
	}
}

// beside is the item that names the chain of the residue at item i, looking ahead (+1) or back (-1); -1: there is none.
func (q *query) beside(i, step int) int {
	for j := i + step; j >= 0 && j < len(q.items); j += step {
		switch it := q.items[j]; {
		case it.concept == "@chain":
			return j
		case it.concept == "chain", it.concept == "of", it.concept == "" && !clauseWords[strings.ToLower(it.text)]:
			if step < 0 && it.concept == "of" {
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}

// clauseWords part a residue from a chain that is not its own: residue 8 from chain A.
var clauseWords = set("from to with by than against")

// hasResidueBefore says whether the chain at item j belongs to a residue that stands before it.
func (q *query) hasResidueBefore(j int) bool {
	for i := j - 1; i >= 0; i-- {
		if c := q.items[i].concept; c == "@residue" {
			return q.beside(i, 1) == j
		} else if c != "" && c != "of" && c != "chain" {
			return false
		}
	}
	return false
}
