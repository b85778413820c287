package analyst

import (
	"fmt"
	"slices"
	"strings"

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
	needs string // concepts that it must speak of: alternatives by |, each a list
	takes string // further topics that it may speak of
	scope scope
	about string // what it answers, for people
	reply func(*query) part
}

// intents lists what can be asked, in the order in which the documentation names it. A topic without needs is chosen by
// the
// shape of the question, see byShape.
func intents() []*intent {
	return []*intent{
		{
			name:  "capability",
			needs: "capability",
			scope: ofStructure,
			about: "what I can answer",
			reply: (*query).capability,
		},
		{
			name:  "overview",
			needs: "overview",
			takes: "oligomer",
			scope: ofChains,
			about: "a summary of the structure",
			reply: (*query).overview,
		},
		{
			name:  "chains",
			needs: "oligomer|rna dna|rna|dna|nucleic",
			takes: "oligomer",
			scope: ofChains,
			about: "chains and what they are",
			reply: (*query).chainList,
		},
		{
			name:  "identical",
			needs: "identical",
			takes: "sequence oligomer not",
			scope: ofChains,
			about: "whether chains have the same sequence",
			reply: (*query).identicalChains,
		},
		{
			name:  "length",
			needs: "howlong|longest chain|shortest chain|modelled residue",
			takes: "longest shortest modelled",
			about: "the length of chains and segments",
			reply: (*query).length,
		},
		{
			name:  "atoms",
			needs: "atom|hydrogen|heavy",
			takes: "atom heavy hydrogen not",
			about: "numbers of atoms",
			reply: (*query).atomCount,
		},
		{
			name:  "sequence",
			needs: "sequence",
			about: "the sequence of a chain or of a part of it",
			reply: (*query).sequence,
		},
		{
			name:  "identity",
			scope: ofNumbers,
			about: "which residue has a number",
			reply: (*query).identity,
		},
		{
			name:  "yes or no",
			scope: ofNumbers,
			about: "whether a residue is of a name or class",
			reply: (*query).identity,
		},
		{
			name:  "residues",
			needs: "more|percent|score @limit",
			takes: "modelled confidence than score average percent more doubt interface nterm cterm inchain atom " +
				"heavy",
			about: "which residues pass a filter, how many, what share of them, whether all or any do",
			reply: (*query).residuesWith,
		},
		{
			name:  "composition",
			needs: "composition|mostcommon|which absent",
			takes: "percent sequence not",
			about: "amino acid composition",
			reply: (*query).composition,
		},
		{
			name:  "charge",
			needs: "charge|pi|charge whichph",
			takes: "whichph pi",
			about: "net charge and isoelectric point",
			reply: (*query).charge,
		},
		{
			name:  "weight",
			needs: "weight",
			about: "molecular weight",
			reply: (*query).weight,
		},
		{
			name:  "secondary structure",
			needs: "secondary|percent helix|percent strand|percent coil|percent turn|longest helix|longest strand",
			takes: "percent longest shortest nterm cterm not",
			about: "secondary structure: helices and strands, of a residue or range",
			reply: (*query).secondaryStructure,
		},
		{
			name:  "confidence",
			needs: "confidence|trust|doubt|sure|disorder|average confidence|predicted confidence",
			takes: "average trust doubt sure disorder confidence predicted not score percent",
			about: "the model's confidence (pLDDT), of the whole or of a part",
			reply: (*query).confidence,
		},
		{
			name:  "aligned error",
			needs: "pae|domain",
			takes: "trust confidence doubt sure average score",
			scope: ofChains,
			about: "predicted aligned error and domains, where it was given",
			reply: (*query).alignedError,
		},
		{
			name:  "model scores",
			needs: "ptm|score",
			takes: "confidence interface sure",
			scope: ofChains,
			about: "pTM, ipTM and interface scores of a prediction",
			reply: (*query).modelScores,
		},
		{
			name: "size",
			needs: "gyration|size|compact|endtoend|distance nterm cterm|distance terminus|around nterm cterm|" +
				"distance residue endtoend",
			takes: "around distance nterm cterm terminus nm longest endtoend compact gyration size closest",
			about: "size: radius of gyration, longest dimension, end-to-end distance, compactness",
			reply: (*query).size,
		},
		{
			name:  "residue contacts",
			takes: "hbond bridge contact",
			about: "what a residue, a segment or a set of residues touches",
			reply: (*query).residueContacts,
		},
		{
			name:  "distance",
			needs: "distance|closest|@atom|closest nterm|around nterm|around cterm",
			takes: "atom ligand ion nterm cterm nm closest around contact bind",
			scope: ofEnds,
			about: "distances between residues, atoms, ligands or chains",
			reply: (*query).distance,
		},
		{
			name:  "interface",
			needs: "interface|chain contact|@chain contact|chain hbond|chain bridge|@chain hbond interface",
			takes: "contact around bind bound hbond bridge size closest distance affinity oligomer score",
			scope: ofChains,
			about: "the interface between two chains",
			reply: (*query).interfaces,
		},
		{
			name: "interface area",
			needs: "interface area|interface size|area buried|area between @chain|area between chain|area contact|" +
				"area bound",
			takes: "contact bind bound area interface around size",
			scope: ofChains,
			about: "how much surface an interface buries",
			reply: (*query).interfaces,
		},
		{
			name:  "ligands",
			needs: "ligand|ion|water|bound",
			takes: "ligand ion water bound absent",
			scope: ofChains,
			about: "which ligands, ions and waters there are",
			reply: (*query).ligandList,
		},
		{
			name: "ligand surroundings",
			needs: "site|ligand bind|ligand contact|ligand around|ion bind|ion around|ligand hbond|ion contact|" +
				"bind|ligand residue|ion residue",
			takes: "ligand ion bound hbond bridge contact around closest bind pocket distance where",
			about: "what surrounds a ligand",
			reply: (*query).ligandSurroundings,
		},
		{
			name:  "affinity",
			needs: "affinity",
			takes: "predicted ligand bind bound score confidence contact",
			scope: ofChains,
			about: "the predicted affinity, where there is one",
			reply: (*query).affinity,
		},
		{
			name:  "pockets",
			needs: "pocket|pocket volume",
			takes: "longest volume around ligand site contact",
			about: "pockets and cavities, by geometry alone",
			reply: (*query).pocketList,
		},
		{
			name:  "disulfides",
			needs: "disulfide|free @name|free",
			takes: "free not bound distance bridge contact",
			about: "disulfides and free cysteines",
			reply: (*query).disulfides,
		},
		{
			name:  "salt bridges",
			needs: "bridge",
			takes: "contact not interface",
			about: "salt bridges",
			reply: (*query).saltBridges,
		},
		{
			name:  "hydrogen bonds",
			needs: "hbond",
			takes: "contact interface not",
			about: "candidates of hydrogen bonds",
			reply: (*query).hydrogenBonds,
		},
		{
			name:  "termini",
			needs: "nterm|cterm|terminus",
			scope: ofChains,
			about: "the first and last residues",
			reply: (*query).termini,
		},
		{
			name:  "gaps",
			needs: "gap|absent residue|gap modelled",
			takes: "absent sequence not nterm cterm modelled",
			scope: ofPlaces,
			about: "gaps in the chains",
			reply: (*query).gapList,
		},
		{
			name:  "surface",
			needs: "area|exposure|percent buried|percent exposed",
			takes: "percent not area exposure",
			about: "accessible surface, buried and exposed residues",
			reply: (*query).surface,
		},
		{
			name:  "hydrophobic patches",
			needs: "patch",
			about: "hydrophobic patches on the surface",
			reply: (*query).patches,
		},
		{
			name:  "method",
			needs: "method|resolution|predicted",
			takes: "not resolution predicted",
			scope: ofStructure,
			about: "whether it is a prediction; method and resolution where given",
			reply: (*query).method,
		},
		{
			name:  "modified residues",
			needs: "modified",
			takes: "not",
			about: "modified residues",
			reply: (*query).modified,
		},
	}
}

func intentNamed(name string) *intent {
	list := intents()
	return list[slices.IndexFunc(list, func(in *intent) bool { return in.name == name })]
}

// topics are the concepts of a query that an intent must provide for.
func (q *query) topics() (out []string) {
	for c := range q.has {
		if !soft(c) && !(c == "not" && !q.negated) && !(oneOf(c, "longest shortest") && q.segmentsChosen()) &&
			c != "surface" {
			out = append(out, c)
		}
	}
	return out
}

// segmentsChosen says whether "longest" was read as part of a segment's name.
func (q *query) segmentsChosen() bool {
	return slices.ContainsFunc(q.conds, func(c *condition) bool { return c.segments != nil })
}

// choose finds the intent of a query; nil where it is not understood.
func (q *query) choose() *intent {
	topics := q.topics()
	if q.has["interface"] && q.conditionOn(ofName, ofState, ofSurface, ofLimit, ofPlace) && !q.has["area"] {
		if q.nearInterface() {
			return intentNamed("residues")
		}
	}
	if len(q.chains) == 2 && q.has["surface"] && q.has["buried"] && q.only(ofSurface, ofChain) && !q.anyNot() &&
		!q.has["@radius"] {
		q.relation, q.conds = nil, nil
		return intentNamed("interface area")
	}
	if len(q.atoms) > 0 && len(q.mentions) == 2 {
		return intentNamed("distance")
	}
	if q.segments != nil && len(topics) == 0 && q.conditionOn(ofName, ofSurface, ofLimit) {
		return intentNamed("residues")
	}
	if len(topics) == 0 {
		if name := q.byShape(); name != "" {
			return intentNamed(name)
		}
		return nil
	}
	if q.has["percent"] && q.conditionOn(ofName, ofPlace) && q.onlyTopics("percent not") {
		return intentNamed("residues")
	}
	var best *intent
	score := 0
	for _, in := range intents() {
		if w := in.match(q, topics); w > score {
			best, score = in, w
		}
	}
	return best
}

func (q *query) onlyTopics(allowed string) bool {
	return !slices.ContainsFunc(q.topics(), func(c string) bool { return !oneOf(c, allowed) })
}

// match weighs how well an intent fits; 0: not at all.
func (in *intent) match(q *query, topics []string) (score int) {
	if in.needs == "" {
		return 0
	}
	for alternative := range strings.SplitSeq(in.needs, "|") {
		need := strings.Fields(alternative)
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

// byShape chooses the intent of a query that names no topic of its own; empty where there is none.
func (q *query) byShape() string {
	asks := q.has["which"] || q.has["what"] || q.has["list"] || q.has["howmany"] || q.has["where"]
	subject := q.has["residue"] || q.conditionOn(ofName)
	switch {
	case q.relation != nil:
		return q.relationShape(asks)
	case len(q.mentions) > 0 && q.only(ofPlace, ofChain) && !q.has["howmany"] && len(q.ligands) == 0:
		return "identity"
	case len(q.mentions) > 0 && q.only(ofPlace, ofChain, ofName) && !asks && !q.every && !q.anyNot() &&
		q.pointMentions():
		return "yes or no"
	case q.conditionOn(ofState) && !q.pointMentions() && (q.has["which"] || q.has["list"] || q.has["howmany"]):
		return "residues"
	case q.conditionOn(ofState) && q.only(ofState, ofPlace, ofChain) && !q.has["residue"]:
		return "secondary structure"
	case q.conditionOn(ofState) && q.only(ofState, ofPlace, ofChain) && q.pointMentions() && len(q.mentions) > 0:
		return "secondary structure"
	case q.conditionOn(ofSurface) && q.only(ofSurface, ofPlace, ofChain) && (!subject || q.pointMentions() &&
		len(q.mentions) > 0):
		return "surface"
	case q.conditionOn(ofLimit) && q.only(ofLimit, ofPlace, ofChain) && !subject:
		return "confidence"
	case q.conditionOn(ofName, ofState, ofSurface, ofLimit):
		return "residues"
	case q.has["residue"] && q.has["howmany"], q.has["howmany"] && len(q.mentions) > 0:
		return "length"
	case q.has["residue"] && q.conditionOn(ofPlace):
		return "residues"
	case len(q.ligands) > 0 && q.has["residue"] && q.has["has"]:
		return "ligand surroundings"
	case len(q.ligands) > 0:
		return "ligands"
	case q.has["chain"] || q.has["@chain"] || q.has["rna"] || q.has["dna"] || q.has["howmany"] && q.has["protein"]:
		return "chains"
	}
	return ""
}

// relationShape chooses between the intents about nearness.
func (q *query) relationShape(asks bool) string {
	rel := q.relation
	plain := q.only(ofPlace, ofChain) && len(q.mentions) == 0 && !q.conditionOn(ofPlace)
	switch {
	case rel.mutual && len(q.chains) == 2:
		return "interface"
	case rel.mutual:
		return "residue contacts"
	case len(q.ligands) > 0:
		return "distance"
	case len(q.mentions) > 0 && q.only(ofPlace, ofChain) && !asks:
		return "residue contacts"
	case plain && len(rel.ligands) > 0 && !rel.far && !rel.not && !q.conditionOn(ofChain):
		return "ligand surroundings"
	case plain && len(rel.chains) > 0 && !rel.not && !rel.far:
		return "interface"
	case plain && !rel.not && !rel.far && !(q.conditionOn(ofChain) && q.has["residue"]) && !(q.every &&
		q.opensWithVerb()):
		return "residue contacts"
	}
	return "residues"
}

// pointMentions says whether the residues named are single ones.
func (q *query) pointMentions() bool {
	return !slices.ContainsFunc(q.mentions, func(m mention) bool { return !m.single() })
}

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
