package analyst

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// selection is the residues a question asks for by their properties: charged residues in the helix of chain B.
type selection struct {
	scope   []int // residues looked at: the chains and ranges named
	where   string
	conds   []*condition       // all must hold
	each    []*condition       // names and classes, told one by one where there are several
	base    []*condition       // those of conds that say of what a share is asked
	nearest []int              // sites of which only the closest residue is asked for; nil: all
	about   []facts.ResidueRef // what distances are measured to
	strict  bool               // without the neighbours in the chain
	beside  []int              // neighbours in the chain of the residue that distances are measured to
	compare bool               // two counts are to be compared
	chains  bool               // chain by chain
	mean    bool               // their mean confidence is asked for
	problem string
}

// condition is one property, said so that it can stand after "are".
type condition struct {
	kind string // subject, name, state, limit, surface, near, range
	said string
	pass func(i int) bool
	not  bool
	what string // of names: @resname or @class
	side int    // 1: said after the verb
}

func (c *condition) holds(i int) bool { return c.pass(i) != c.not }

func (c *condition) String() string {
	if c.not {
		return "not " + c.said
	}
	return c.said
}

// picker reads a query's items into a selection. Every item must find its place; one that does not makes the whole no selection.
type picker struct {
	q       *query
	sel     *selection
	claimed []bool       // items that belong to a distance
	negated map[int]bool // negations that a property, range or chain stands under
	not     []int        // which negation an item stands under; 0: none
	side    []int
	chains  []string
	without []string // chains
	joined  []string // chains that a distance is measured between
	ranges  []mention
	count   bool // which, how many, list
	score   bool // confidence was named
	most    bool
	absent  bool
	leaning bool // what comes first is the subject of the question before
	nth     float64
	problem string
}

// selection is nil where the question is not one of residues with properties, or says something that cannot be placed.
func (q *query) selection() *selection {
	if q.has["@span"] {
		return nil
	}
	n := len(q.items)
	p := &picker{q: q, sel: &selection{}, negated: map[int]bool{}, claimed: make([]bool, n), not: make([]int, n), side: make([]int, n)}
	p.scopes()
	p.leaning = q.has["ofthem"]
	if !p.near() {
		return nil
	}
	k := -1
	for i, it := range q.items {
		if it.concept == "@residue" {
			k++
		}
		if p.claimed[i] {
			continue
		}
		if it.concept == "@residue" {
			if !p.stretch(i, q.own(i, k)) {
				return nil
			}
		} else if !p.take(i, it) {
			return nil
		}
	}
	if !p.agrees() || !p.placed() {
		return nil
	}
	if p.sel.problem = p.problem; q.barred != "" {
		p.sel.problem = q.barred
	}
	return p.sel
}

// scopes finds how far each negation reaches (to the next comma or verb), and what stands before and after the verb.
func (p *picker) scopes() {
	number, current, side := 0, 0, 0
	asked, object := false, false // object: the negation has said of what
	for i, it := range p.q.items {
		low := strings.ToLower(it.text)
		if object && verbs[low] {
			current = 0
		}
		object = current > 0 && (object || kindOf[it.concept] == "what" || it.concept == "@residue")
		switch it.concept {
		case "not":
			if current == 0 || i > 0 && p.q.items[i-1].concept != "not" {
				number++
				current = number
			}
		case "ask", "which", "what", "howmany", "list", "percent", "where":
			current = 0
			if asked && it.concept == "ask" {
				side = 1
			}
			asked = asked || it.concept != "ask"
		case "&":
			if it.text == "," && !p.goesOn(i) {
				current = 0
			}
		}
		p.not[i], p.side[i] = current, side
	}
}

// verbs that end what a negation speaks of: which residues except lysines lie within 5 Å.
var verbs = set("lie lies sit sits come comes fall falls found located contact contacts touch touches bind binds " +
	"surround surrounds line lines interact interacts")

// goesOn says whether a comma stands inside a list of one kind: not lysine, arginine or glutamate.
func (p *picker) goesOn(i int) bool {
	j := i + 1
	for j < len(p.q.items) && p.q.items[j].concept == "" {
		j++
	}
	return i > 0 && j < len(p.q.items) && kindOf[p.q.items[i-1].concept] == "what" && p.q.items[j].concept == p.q.items[i-1].concept
}

// idle concepts say nothing of a residue, or are looked at elsewhere: chains of a kind, negations, "between".
var idle = func() map[string]bool {
	out := set("& or ask not structure residue protein of has between number all chain rna dna nucleic modelled it them what where percent")
	out[""] = true
	return out
}()

// take places one item; false: it has no place.
func (p *picker) take(i int, it item) bool {
	if idle[it.concept] {
		return true
	}
	switch it.concept {
	case "ofthem":
		p.leaning = false
		return true
	case "which", "howmany", "list":
		p.count = true
		return true
	case "@chain":
		return p.chain(i, it)
	case "nterm":
		return p.stretch(i, mention{first: 1})
	case "cterm":
		return p.stretch(i, mention{first: -1})
	case "@resname", "@class":
		return p.what(i, it)
	case "@nth":
		p.nth = it.value
		return p.nthApplies(i)
	case "helix", "strand", "coil", "turn", "threeten", "pihelix":
		return p.state(i, it)
	case "buried", "exposed", "surface":
		return p.exposure(i, it)
	case "@threshold", "@band":
		return p.limit(i, it)
	case "confidence", "score":
		p.score = true
		return true
	case "average":
		p.sel.mean = true
		return true
	case "more":
		p.sel.compare = true
		return true
	case "longest":
		p.most = true
		return strings.EqualFold(it.text, "most")
	case "absent":
		p.absent = true
		return true
	case "inchain":
		p.sel.strict = true
		p.negated[p.not[i]] = true
		return p.not[i] > 0
	case "howlong":
		p.count = true
		return p.q.has["@nth"]
	case "sequence":
		return p.q.has["@resname"] || p.q.has["@class"]
	case "heavy", "atom", "distance":
		return slices.ContainsFunc(p.sel.conds, func(c *condition) bool { return c.kind == "near" })
	}
	return false
}

// add puts a condition under the negation it stands in; false: the negation's reach is not clear.
func (p *picker) add(i int, c *condition) bool {
	n := p.not[i]
	c.not, c.side = n > 0, p.side[i]
	p.negated[n] = true
	if n > 0 {
		for j := range p.q.items[:i] {
			if p.not[j] == n && kindOf[p.q.items[j].concept] != "" && kindOf[p.q.items[j].concept] != kindOf[p.q.items[i].concept] {
				return false
			}
		}
	}
	opposite := func(o *condition) bool { return o.kind == "name" && o.not != c.not && o.what == c.what }
	if c.kind == "name" && slices.ContainsFunc(p.sel.conds, opposite) {
		return false // lysines that are not arginines: nobody asks that
	}
	for _, old := range p.sel.conds { // prolines and glycines; neither helix nor strand
		if old.kind == c.kind && old.not == c.not && c.kind != "near" && c.kind != "limit" {
			if c.kind == "surface" || old.side != c.side && c.kind != "name" {
				return false
			}
			before := old.pass
			old.pass = func(i int) bool { return before(i) || c.pass(i) }
			old.said += " or " + c.said
			return c.kind != "state" || p.nth == 0
		}
	}
	p.sel.conds = append(p.sel.conds, c)
	return true
}

// kindOf groups the concepts that a negation may take together.
var kindOf = map[string]string{
	"@resname": "what", "@class": "what", "helix": "state", "strand": "state", "coil": "state", "turn": "state", "threeten": "state",
	"pihelix": "state", "buried": "surface", "exposed": "surface", "surface": "surface", "@threshold": "limit", "@band": "limit",
	"@residue": "range", "nterm": "range", "cterm": "range", "contact": "near", "around": "near", "@radius": "near", "closest": "near",
}

// chain takes a chain to look at, or, where it is what a negation speaks of first, one to leave out.
func (p *picker) chain(i int, it item) bool {
	for j := range p.q.items[:i] {
		if p.not[i] == 0 || p.not[j] == p.not[i] && kindOf[p.q.items[j].concept] != "" {
			p.chains = distinct(p.chains, it.name)
			return true
		}
	}
	if p.not[i] > 0 {
		p.negated[p.not[i]] = true
		p.without = append(p.without, it.name)
	} else {
		p.chains = distinct(p.chains, it.name)
	}
	return true
}

// stretch takes a range: one to look at, or one to leave out.
func (p *picker) stretch(i int, m mention) bool {
	if p.not[i] == 0 {
		p.ranges = append(p.ranges, m)
		return true
	}
	if i > 0 && strings.HasPrefix(strings.ToLower(p.q.items[i-1].text), "but") && len(p.sel.about) > 0 {
		return false // near Lys27 but not Asp52: not that residue, or not near it?
	}
	sites, problem := p.q.find(m)
	if problem != "" {
		p.problem = problem
	}
	in := map[int]bool{}
	for _, s := range sites {
		in[s] = true
	}
	return p.add(i, &condition{kind: "range", said: "one of " + p.q.x.List(sites, 6), pass: func(i int) bool { return in[i] }})
}

// what takes a residue's name or a class. Several side by side are told one by one; where they may mean one thing that is
// both (polar aromatic), there is no telling.
func (p *picker) what(i int, it item) bool {
	c := &condition{kind: "name", said: it.name, pass: func(i int) bool { return p.q.x.Sites[i].Is([]string{it.name}) }}
	if base := strings.TrimPrefix(it.name, "D"); len(base) == 1 {
		c.said, c.pass = base, func(i int) bool { return p.q.x.Sites[i].Is([]string{base, "D" + base}) }
	}
	if it.concept == "@class" {
		var names []string
		for _, l := range classOf(it.name) {
			name, _ := structure.Component(structure.Protein, byte(l))
			names = append(names, name)
		}
		c.said = fmt.Sprintf("%s (counted as such: %s)", it.name, strings.Join(names, ", "))
		c.pass = func(i int) bool {
			return p.q.x.Sites[i].Kind == structure.Protein && inClass(p.q.x.Sites[i].Letter, it.name)
		}
	}
	if c.what = it.concept; p.not[i] > 0 {
		return p.add(i, c)
	}
	if p.leaning {
		c.kind = "subject"
		return p.add(i, c)
	}
	if slices.ContainsFunc(p.sel.each, func(o *condition) bool { return o.said == c.said }) {
		return true
	}
	if len(p.sel.each) > 0 && !p.listed(i) {
		return false
	}
	each := *c
	p.sel.each = append(p.sel.each, &each)
	return p.add(i, c)
}

// listed says whether a name is joined to the one before it: by "and", "or", a comma, or a question word of its own.
func (p *picker) listed(i int) bool {
	for j := i - 1; j >= 0; j-- {
		switch it := p.q.items[j]; it.concept {
		case "&", "or", "howmany", "list", "more":
			return true
		case "@resname", "@class":
			return it.text == ""
		}
	}
	return false
}

func (p *picker) nthApplies(i int) bool {
	if i+1 >= len(p.q.items) || p.not[i] > 0 {
		return false
	}
	c := p.q.items[i+1].concept
	return c == "helix" || c == "strand" || c == "threeten" || c == "pihelix"
}

var stateKinds = map[string]struct{ states, said string }{
	"helix": {"HGI", "in a helix"}, "threeten": {"G", "in a 3-10 helix"}, "pihelix": {"I", "in a π-helix"},
	"strand": {"EB", "in a β-strand or bridge"}, "coil": {"TS-", "outside helices and strands"}, "turn": {"T", "in a turn"},
}

// state takes a place in the fold: in a helix, helical. A helix that is itself counted or listed is no such place.
func (p *picker) state(i int, it item) bool {
	if i > 0 && p.not[i] == 0 {
		last := i - 1
		for last > 0 && p.q.items[last].concept == "" && articles[strings.ToLower(p.q.items[last].text)] {
			last--
		}
		before := p.q.items[last].concept
		adjective := strings.HasSuffix(strings.ToLower(it.text), "al")
		if counted := asksFor[before] || before == "or" && !p.stateBefore(i); counted && !adjective && !p.residueNext(i) {
			return false
		}
	}
	k := stateKinds[it.concept]
	if p.nth != 0 {
		return p.nthState(i, it)
	}
	return p.add(i, &condition{kind: "state", said: k.said + " (DSSP)", pass: func(i int) bool {
		s := p.q.x.Sites[i].State
		return s != 0 && strings.IndexByte(k.states, s) >= 0
	}})
}

var asksFor = set("& howmany which list what")

var articles = set("a an the any its their")

func (p *picker) residueNext(i int) bool {
	return i+1 < len(p.q.items) && (p.q.items[i+1].concept == "residue" || kindOf[p.q.items[i+1].concept] == "what")
}

func (p *picker) stateBefore(i int) bool {
	return slices.ContainsFunc(p.q.items[:i], func(it item) bool { return kindOf[it.concept] == "state" })
}

func (p *picker) exposure(i int, it item) bool {
	if !p.q.x.HasSurface {
		p.problem = "The accessible surface was not computed for this structure."
	}
	first, _, _ := strings.Cut(strings.ToLower(it.text), " ")
	if it.concept == "surface" && first != "on" && first != "at" && !p.residueNext(i) {
		return false // the surface itself
	}
	buried := it.concept == "buried"
	said := map[bool]string{true: "buried (less than 20 % accessible)", false: "exposed (20 % accessible or more)"}[buried]
	return p.add(i, &condition{kind: "surface", said: said, pass: func(i int) bool {
		share, ok := p.q.x.Sites[i].Accessible()
		return ok && share < facts.BuriedBelow == buried
	}})
}

// limit takes a bound on the confidence.
func (p *picker) limit(i int, it item) bool {
	said := fmt.Sprintf("at a pLDDT %s %g", map[bool]string{true: "of at least", false: "below"}[it.above], it.value)
	pass := func(i int) bool { v := p.q.x.Sites[i].PLDDT; return !math.IsNaN(v) && v < it.value != it.above }
	if it.concept == "@band" {
		said = fmt.Sprintf("at a pLDDT from %g to %g", it.value, it.high)
		pass = func(i int) bool { v := p.q.x.Sites[i].PLDDT; return it.value <= v && v <= it.high }
	}
	return p.add(i, &condition{kind: "limit", said: said, pass: pass})
}
