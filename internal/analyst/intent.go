package analyst

import (
	_ "embed" // topics.json
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// intent is one kind of question: a topic of topics.json, which has them in the order of docs/analyst.md.
type intent struct {
	Name string
	// Needs are alternatives: the concepts of one of them must be in the question. An intent without needs is chosen by
	// the shape of the question.
	Needs  []string
	Takes  string // more topics that may be in the question
	Filter string // the properties of residues that it may be asked of, or "anything"
	About  string // what it answers, for people
	// Geometry: the answer comes from neighbours in space, which are not computed of every structure.
	Geometry bool
	// Nouns and Rule are of bonds: what one and many are called, and by which rule they are found.
	Nouns []string
	Rule  string
	// Certainty, Protein and Remark are of metrics: what they rest on, whether only proteins have them, and how they
	// were computed.
	Certainty Certainty
	Protein   bool
	Remark    string
}

//go:embed topics.json
var topicsText []byte

// intents lists what can be asked.
var intents = sync.OnceValue(func() (out []*intent) {
	if err := json.Unmarshal(topicsText, &out); err != nil {
		panic("topics.json: " + err.Error())
	}
	return out
})

// answers has the answer of each topic.
var answers = map[string]func(*query) part{
	"overview":            (*query).overview,
	"chains":              (*query).chainList,
	"residue":             (*query).identity,
	"residues":            (*query).residuesWith,
	"secondary structure": (*query).fold,
	"confidence":          (*query).confidence,
	"model scores":        (*query).scores,
	"contacts":            (*query).contacts,
	"distance":            (*query).distance,
	"interface":           (*query).interfaces,
	"ligands":             (*query).ligandList,
	"pockets":             (*query).pocketList,
	"gaps":                (*query).gapList,
	"candidates":          (*query).candidates,
	"disulfides":          (*query).bonds,
	"salt bridges":        (*query).bonds,
	"hydrogen bonds":      (*query).bonds,
	"length":              metric(lengthOf),
	"atoms":               metric(atomsOf),
	"sequence":            metric(sequenceOf),
	"composition":         metric(compositionOf),
	"size":                metric(sizeOf),
	"charge":              metric(chargeOf),
	"weight":              metric(weightOf),
	"surface":             metric(surfaceOf),
}

// topics are the concepts of a query that an intent must provide for.
func (q *query) topics() (out []string) {
	for c := range q.has {
		counted := q.counted && oneOf(c, "longest shortest")
		if !listed(c, "soft") && !counted && c != "surface" && (c != "not" || q.negated) {
			out = append(out, c)
		}
	}
	return out
}

// choose finds the intent of a query; nil where it is not understood.
func (q *query) choose() (best *intent) {
	topics, shape, score := q.topics(), "", 0
	if len(topics) == 0 {
		shape = q.byShape()
	}
	for _, in := range intents() {
		if in.Name == shape {
			return in
		}
		if w := in.match(q, topics); len(topics) > 0 && w > score {
			best, score = in, w
		}
	}
	return best
}

// match weighs how well an intent fits; 0: not at all. The concepts that it needs must be there, and every topic of the
// query must be one that it needs or takes: a topic that nobody provides for makes the question refused. If two intents
// fit, the one with more needs wins.
func (in *intent) match(q *query, topics []string) (score int) {
	for _, needs := range in.Needs {
		need, known := strings.Fields(needs), in.Takes+" "+needs
		missing := slices.ContainsFunc(need, func(c string) bool { return !q.has[c] })
		strange := slices.ContainsFunc(topics, func(c string) bool { return !oneOf(c, known) })
		if missing || strange {
			continue
		}
		named := keep(need, func(c string) bool { return slices.Contains(topics, c) })
		score = max(score, len(need)+2*len(named))
	}
	return score
}

// byShape chooses the intent of a query that names no topic of its own, so that its form decides: a relation asks for
// contacts, "is residue 8 a lysine" for one residue, "is it helical" for the fold, any other filter for residues. It is
// empty where there is none.
func (q *query) byShape() string {
	points := len(q.mentions) > 0 && q.pointMentions()
	lists := q.says("which list howmany")
	asks := lists || q.says("what where")
	foldOnly := q.conds.only(ofState, ofPlace, ofChain)
	switch {
	case q.countsSegments && q.relation == nil && foldOnly:
		return "secondary structure"
	case q.countsSegments:
		return "" // how many helices contain a lysine?
	case q.relation != nil && asks:
		return q.byRelation("residues")
	case q.relation != nil:
		return q.byRelation("contacts")
	case !q.conds.on(ofName, ofState, ofSurface, ofLimit, ofRMSD):
		return q.byNoun()
	case points && !asks && !q.every && !q.conds.negated():
		return "residue"
	case foldOnly && !q.has["residue"] && !(len(q.mentions) > 0 && lists):
		return "secondary structure"
	}
	return "residues"
}

// byNoun chooses the intent of a query that names chains, numbers or ligands alone.
func (q *query) byNoun() string {
	switch {
	case len(q.mentions) > 0 && !q.has["howmany"] && len(q.ligands) == 0:
		return "residue"
	case q.has["howmany"] && (q.has["residue"] || len(q.mentions) > 0):
		return "length"
	case len(q.ligands) > 0 && q.has["residue"] && q.has["has"]:
		return "contacts"
	case len(q.ligands) > 0:
		return "ligands"
	case q.says("chain @chain rna dna"), q.has["protein"] && q.says("howmany any"):
		return "chains"
	}
	return ""
}

// byRelation chooses between the intents about nearness. A relation alone describes what is near; with a filter it is
// one more condition on the residues listed. ofNumbers is the intent where residues are named by number alone.
func (q *query) byRelation(ofNumbers string) string {
	rel := q.relation
	alone := q.conds.only(ofChain) && len(q.mentions) == 0 && !rel.not
	every := q.every && q.opensWithVerb()
	ofChains := q.has["chain"] || q.conds.on(ofChain) && q.opensWithVerb()
	switch {
	case rel.not && ofChains && !q.has["residue"] && q.conds.only(ofChain):
		return "interface" // which is not told of what does not touch
	case len(q.ligands) > 0:
		return "distance"
	case len(q.mentions) > 0 && q.conds.only(ofPlace, ofChain):
		return ofNumbers
	case alone && len(rel.chains) > 0 && rel.radius == 0:
		return "interface"
	case alone && len(rel.chains) == 0 && !every && !(q.conds.on(ofChain) && q.has["residue"]):
		return "contacts"
	}
	return "residues"
}

func (q *query) pointMentions() bool { return len(keep(q.mentions, mention.single)) == len(q.mentions) }

func (q *query) opensWithVerb() bool {
	k := slices.IndexFunc(q.items, func(it item) bool { return !it.is("& or") })
	return k >= 0 && q.items[k].isVerb()
}

// asksYesOrNo reports whether the question asks for neither a list nor a number.
func (q *query) asksYesOrNo() bool {
	return q.opensWithVerb() && !q.says("which howmany list what where percent")
}
