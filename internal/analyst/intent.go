package analyst

import (
	_ "embed" // topics.txt
	"slices"
	"strings"
	"sync"
)

// intent is one kind of question, as topics.txt has it.
type intent struct {
	name string
	// needs are alternatives: the concepts of one of them must be in the question.
	needs [][]string
	// takes are further topics that may be in the question.
	takes string
	// filter lists the properties of residues that it may be asked of, or is "anything".
	filter string
	// about says for people what it answers.
	about string
}

//go:embed topics.txt
var topicsText string

// intents lists what can be asked. Each topic of topics.txt is some lines of a key and its value: topic, needs, takes,
// filter and about; an indented line goes on with the one before.
var intents = sync.OnceValue(func() (out []*intent) {
	for line := range strings.Lines(strings.ReplaceAll(topicsText, "\n\t", " ")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if key == "topic" {
			out = append(out, &intent{name: value})
		}
		if len(out) == 0 {
			continue
		}
		in := out[len(out)-1]
		switch key {
		case "needs":
			for alternative := range strings.SplitSeq(value, " | ") {
				in.needs = append(in.needs, strings.Fields(alternative))
			}
		case "takes":
			in.takes = value
		case "filter":
			in.filter = value
		case "about":
			in.about = value
		}
	}
	return out
})

// intentNamed returns an intent by its name; nil where there is none.
func intentNamed(name string) *intent {
	for _, in := range intents() {
		if in.name == name {
			return in
		}
	}
	return nil
}

// lists are the topics that are answered by a function of their own; the others are metrics.
func (q *query) lists() map[string]func() part {
	return map[string]func() part{
		"capability":          q.capability,
		"overview":            q.overview,
		"chains":              q.chainList,
		"residue":             q.identity,
		"residues":            q.residuesWith,
		"secondary structure": q.fold,
		"model scores":        q.scores,
		"contacts":            q.contacts,
		"distance":            q.distance,
		"interface":           q.interfaces,
		"ligands":             q.ligandList,
		"pockets":             q.pocketList,
		"gaps":                q.gapList,
	}
}

// answer answers a query on a topic.
func (q *query) answer(topic string) part {
	if list, ok := q.lists()[topic]; ok {
		return list()
	}
	if _, ok := metrics()[topic]; ok {
		return q.measure(topic)
	}
	return q.pairs(topic)
}

// topics are the concepts of a query that an intent must provide for.
func (q *query) topics() (out []string) {
	for c := range q.has {
		counted := q.counted && oneOf(c, "longest shortest")
		if !soft(c) && !counted && c != "surface" && (c != "not" || q.negated) {
			out = append(out, c)
		}
	}
	return out
}

// onlyTopics reports whether the query has no topics but these.
func (q *query) onlyTopics(allowed string) bool {
	return !slices.ContainsFunc(q.topics(), func(c string) bool { return !oneOf(c, allowed) })
}

// choose finds the intent of a query; nil where it is not understood.
func (q *query) choose() (best *intent) {
	topics := q.topics()
	switch {
	case len(q.atoms) > 0 && len(q.mentions) == 2 && q.onlyTopics("distance atom closest around contact"):
		return intentNamed("distance")
	case len(topics) == 0:
		return intentNamed(q.byShape())
	case q.has["percent"] && q.conditionOn(ofName, ofPlace) && q.onlyTopics("percent not"):
		return intentNamed("residues")
	}
	score := 0
	for _, in := range intents() {
		if w := in.match(q, topics); w > score {
			best, score = in, w
		}
	}
	if best != nil && best.name == "confidence" && q.conditionOn(ofLimit) && !q.has["average"] {
		return intentNamed("residues")
	}
	return best
}

// match weighs how well an intent fits; 0: not at all. The concepts that it needs must be there, and every topic of the
// query must be one that it needs or takes: a topic that nobody provides for makes the question refused. Of two intents
// that fit, the one with more needs wins.
func (in *intent) match(q *query, topics []string) (score int) {
	for _, need := range in.needs {
		weight := 0
		for _, c := range need {
			weight++
			if slices.Contains(topics, c) {
				weight += 2
			}
		}
		missing := slices.ContainsFunc(need, func(c string) bool { return !q.has[c] })
		strange := slices.ContainsFunc(topics, func(c string) bool {
			return !oneOf(c, in.takes) && !slices.Contains(need, c)
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
	case q.countsSegments && q.conditionOn(ofName, ofSurface, ofLimit):
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
	case q.has["residue"] && q.conditionOn(ofPlace):
		return "residues"
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
	alone := q.only(ofChain) && len(q.mentions) == 0 && !rel.far && !rel.not
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
