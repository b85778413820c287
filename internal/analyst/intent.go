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
	Needs []string
	// Takes are further topics that may be in the question.
	Takes string
	// Filter lists the properties of residues that it may be asked of, or is "anything".
	Filter string
	// About says for people what it answers.
	About string
	// Geometry: the answer comes from neighbours in space, which are not computed of every structure.
	Geometry bool
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

// intentNamed returns an intent by its name; nil where there is none.
func intentNamed(name string) *intent {
	for _, in := range intents() {
		if in.Name == name {
			return in
		}
	}
	return nil
}

// lists are the topics that are answered by a function of their own.
var lists = map[string]func(*query) part{
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
}

// answer answers a query on a topic.
func (q *query) answer(in *intent) part {
	if list, ok := lists[in.Name]; ok {
		return list(q)
	}
	if _, ok := metrics[in.Name]; ok {
		return q.measure(in)
	}
	return q.pairs(in.Name)
}

// topics are the concepts of a query that an intent must provide for.
func (q *query) topics() (out []string) {
	for c := range q.has {
		counted := q.counted && c == "longest"
		if !soft(c) && !counted && c != "surface" && (c != "not" || q.negated) {
			out = append(out, c)
		}
	}
	return out
}

// choose finds the intent of a query; nil where it is not understood.
func (q *query) choose() (best *intent) {
	topics := q.topics()
	if len(topics) == 0 {
		return intentNamed(q.byShape())
	}
	score := 0
	for _, in := range intents() {
		if w := in.match(q, topics); w > score {
			best, score = in, w
		}
	}
	return best
}

// match weighs how well an intent fits; 0: not at all. The concepts that it needs must be there, and every topic of the
// query must be one that it needs or takes: a topic that nobody provides for makes the question refused. Of two intents
// that fit, the one with more needs wins.
func (in *intent) match(q *query, topics []string) (score int) {
	for _, need := range in.Needs {
		need := strings.Fields(need)
		weight := 0
		for _, c := range need {
			weight++
			if slices.Contains(topics, c) {
				weight += 2
			}
		}
		missing := slices.ContainsFunc(need, func(c string) bool { return !q.has[c] })
		strange := slices.ContainsFunc(topics, func(c string) bool {
			return !oneOf(c, in.Takes) && !slices.Contains(need, c)
		})
		if !missing && !strange {
			score = max(score, weight)
		}
	}
	return score
}

// byShape chooses the intent of a query that names no topic of its own, so that its form decides: a relation asks for
// contacts, "is residue 8 a lysine" for one residue, "is it helical" for the fold, any other filter for residues. It is
// empty where there is none.
func (q *query) byShape() string {
	points := len(q.mentions) > 0 && q.pointMentions()
	lists := q.has["which"] || q.has["list"] || q.has["howmany"]
	asks := lists || q.has["what"] || q.has["where"]
	switch {
	case q.countsSegments && q.relation == nil && q.only(ofState, ofPlace, ofChain):
		return "secondary structure"
	case q.countsSegments:
		return "" // how many helices contain a lysine?
	case q.relation != nil && asks:
		return q.byRelation("residues")
	case q.relation != nil:
		return q.byRelation("contacts")
	case !q.conditionOn(ofName, ofState, ofSurface, ofLimit):
		return q.byNoun()
	case points && !asks && !q.every && !q.anyNot():
		return "residue"
	case q.only(ofState, ofPlace, ofChain) && !q.has["residue"] && !(len(q.mentions) > 0 && lists):
		return "secondary structure"
	}
	return "residues"
}

// byNoun chooses the intent of a query that names chains, numbers or ligands alone.
func (q *query) byNoun() string {
	chain := slices.ContainsFunc([]string{"chain", "@chain", "rna", "dna"}, func(c string) bool { return q.has[c] })
	switch {
	case len(q.mentions) > 0 && !q.has["howmany"] && len(q.ligands) == 0:
		return "residue"
	case q.has["howmany"] && (q.has["residue"] || len(q.mentions) > 0):
		return "length"
	case len(q.ligands) > 0 && q.has["residue"] && q.has["has"]:
		return "contacts"
	case len(q.ligands) > 0:
		return "ligands"
	case chain || q.has["protein"] && (q.has["howmany"] || q.has["any"]):
		return "chains"
	}
	return ""
}

// byRelation chooses between the intents about nearness. A relation alone describes what is near; with a filter it is
// one more condition on the residues listed. OfNumbers is the intent where residues are named by number alone.
func (q *query) byRelation(ofNumbers string) string {
	rel := q.relation
	alone := q.only(ofChain) && len(q.mentions) == 0 && !rel.not
	switch {
	case len(q.ligands) > 0:
		return "distance"
	case len(q.mentions) > 0 && q.only(ofPlace, ofChain):
		return ofNumbers
	case alone && len(rel.chains) > 0 && rel.radius == 0:
		return "interface"
	case alone && len(rel.chains) == 0 && !(q.every && q.opensWithVerb()) &&
		!(q.conditionOn(ofChain) && q.has["residue"]):
		return "contacts"
	}
	return "residues"
}

// conditionOn reports whether the filter has a condition on one of the properties.
func (q *query) conditionOn(list ...property) bool {
	return slices.ContainsFunc(q.conds, func(c *condition) bool { return slices.Contains(list, c.property) })
}

// only reports whether the filter has conditions on these properties alone.
func (q *query) only(list ...property) bool {
	return !slices.ContainsFunc(q.conds, func(c *condition) bool { return !slices.Contains(list, c.property) })
}

// pointMentions reports whether the residues named are single ones.
func (q *query) pointMentions() bool {
	return !slices.ContainsFunc(q.mentions, func(m mention) bool { return !m.single() })
}

// anyNot reports whether a condition of the filter is negated.
func (q *query) anyNot() bool {
	return slices.ContainsFunc(q.conds, func(c *condition) bool { return c.not })
}
