package analyst

import (
	_ "embed" // topics.txt
	"fmt"
	"slices"
	"strings"
	"sync"

	"pleat/internal/facts"
)

// scope says which filter a topic can be asked of.
type scope int

const (
	ofAnything  scope = iota // any filter
	ofEnds                   // residues by number, segments, chains: what a distance is measured between
	ofNumbers                // residues by number, with a name or class, and chains
	ofPlaces                 // residues by number, and chains
	ofChains                 // chains only
	ofStructure              // the whole structure only
)

// intent is one kind of question.
type intent struct {
	name  string
	needs [][]string // concepts that it must speak of: alternatives
	takes string     // further topics that it may speak of
	scope scope
	about string // what it answers, for people
}

//go:embed topics.txt
var topicsText string

// intents lists what can be asked, as topics.txt has it.
var intents = sync.OnceValue(func() (out []*intent) {
	scopes := map[string]scope{
		"anything": ofAnything, "ends": ofEnds, "numbers": ofNumbers, "places": ofPlaces, "chains": ofChains,
		"structure": ofStructure,
	}
	for line := range strings.Lines(strings.ReplaceAll(topicsText, "\n\t", " ")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if key == "topic" {
			out = append(out, &intent{name: value})
			continue
		}
		if len(out) == 0 || line[0] == '#' {
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
			in.scope = scopes[value]
		case "about":
			in.about = value
		}
	}
	return out
})

// answer answers a query on a topic.
func (q *query) answer(topic string) part {
	switch topic {
	case "capability":
		return q.capability()
	case "overview":
		return q.overview()
	case "chains":
		return q.chainList()
	case "residue":
		return q.identity()
	case "residues":
		return q.residuesWith()
	case "model scores":
		return q.scores()
	case "contacts":
		return q.contacts()
	case "distance":
		return q.distance()
	case "interface":
		return q.interfaces()
	case "ligands":
		return q.ligandList()
	case "pockets":
		return q.pocketList()
	case "disulfides", "salt bridges", "hydrogen bonds":
		return q.pairs(topic)
	case "gaps":
		return q.gapList()
	case "hydrophobic patches":
		return q.patches()
	case "method":
		return q.method()
	case "secondary structure":
		return q.fold()
	case "modified residues":
		return q.modified()
	}
	return q.measure(topic)
}

// intentNamed returns an intent by its name, which must exist.
func intentNamed(name string) *intent {
	list := intents()
	return list[slices.IndexFunc(list, func(in *intent) bool { return in.name == name })]
}

// topics are the concepts of a query that an intent must provide for.
func (q *query) topics() (out []string) {
	for c := range q.has {
		if !soft(c) && !(c == "not" && !q.negated) && !(oneOf(c, "longest shortest") && q.counted) &&
			c != "surface" {
			out = append(out, c)
		}
	}
	return out
}

// choose finds the intent of a query; nil where it is not understood.
func (q *query) choose() *intent {
	topics := q.topics()
	if name := q.special(len(topics)); name != "" {
		return intentNamed(name)
	}
	if len(topics) == 0 {
		if name := q.byShape(); name != "" {
			return intentNamed(name)
		}
		return nil
	}
	var best *intent
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

// special chooses the intent of queries whose topic means something else with this filter; empty for all others.
func (q *query) special(topics int) string {
	rel := q.relation
	switch {
	case q.has["interface"] && !q.has["area"] && q.conditionOn(ofName, ofState, ofSurface, ofLimit, ofPlace) &&
		q.nearInterface():
		return "residues"
	case len(q.chains) == 2 && q.has["surface"] && q.has["buried"] && q.only(ofSurface, ofChain) && !q.anyNot() &&
		(rel == nil || rel.radius == 0):
		q.relation, q.conds = nil, nil // the surface that two chains bury
		return "interface"
	case rel != nil && rel.mutual && rel.radius == 0 && q.has["endtoend"]:
		return "size"
	case len(q.atoms) > 0 && len(q.mentions) == 2:
		return "distance"
	case rel != nil && rel.words["closest"] && q.has["between"] && rel.radius == 0:
		return "distance"
	case q.segments != nil && topics == 0 && q.conditionOn(ofName, ofSurface, ofLimit):
		return "residues"
	case q.has["percent"] && topics > 0 && q.conditionOn(ofName, ofPlace) && q.onlyTopics("percent not"):
		return "residues"
	}
	return ""
}

// onlyTopics says whether the query has no topics but these.
func (q *query) onlyTopics(allowed string) bool {
	return !slices.ContainsFunc(q.topics(), func(c string) bool { return !oneOf(c, allowed) })
}

// match weighs how well an intent fits; 0: not at all.
func (in *intent) match(q *query, topics []string) (score int) {
	for _, need := range in.needs {
		weight := 0
		for _, c := range need {
			if !q.has[c] {
				weight = -100
			}
			weight++
			if slices.Contains(topics, c) {
				weight += 2
			}
		}
		covered := !slices.ContainsFunc(topics, func(c string) bool {
			return !oneOf(c, in.takes) &&
				!slices.Contains(need, c)
		})
		if covered && weight > score {
			score = weight
		}
	}
	return score
}

// conditionOn says whether the filter has a condition on one of the properties.
func (q *query) conditionOn(list ...property) bool {
	return slices.ContainsFunc(q.conds, func(c *condition) bool { return slices.Contains(list, c.property) })
}

// only says whether the filter has conditions on these properties alone.
func (q *query) only(list ...property) bool {
	return !slices.ContainsFunc(q.conds, func(c *condition) bool { return !slices.Contains(list, c.property) })
}

// pointMentions says whether the residues named are single ones.
func (q *query) pointMentions() bool {
	return !slices.ContainsFunc(q.mentions, func(m mention) bool { return !m.single() })
}

// anyNot says whether a condition of the filter is negated.
func (q *query) anyNot() bool {
	return slices.ContainsFunc(q.conds, func(c *condition) bool { return c.not })
}

// nearInterface turns "at the interface" into a condition: within the contact distance, or the one asked for, of
// another chain.
func (q *query) nearInterface() bool {
	if len(q.x.Polymers) < 2 {
		return false
	}
	cut := facts.ContactDistance
	if q.radius > 0 {
		cut = q.radius
	}
	q.conds = append(q.conds, &condition{
		property: ofDistance,
		wording:  []string{fmt.Sprintf("within %.1f Å of another chain", cut)},
		accepts: []func(int) bool{func(i int) bool {
			return slices.ContainsFunc(q.x.Around(i, cut), func(j int) bool {
				return q.x.Sites[j].Kind.Polymer() && q.x.Sites[j].Chain != q.x.Sites[i].Chain
			})
		}},
	})
	q.relation = nil
	for _, c := range [...]string{"interface", "@radius", "contact"} {
		delete(q.has, c)
	}
	return true
}
