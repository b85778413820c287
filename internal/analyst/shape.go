package analyst

// shape is what the intent of a query without a topic of its own depends on.
type shape struct {
	asks      bool // which, what, where, how many, list
	counts    bool // how many
	lists     bool // which, how many, list
	subject   bool // residues, or a name or class of them
	noun      bool // residues
	mentioned bool // residues by number
	single    bool // each of them is one residue
	placed    bool // the filter has numbers and chains alone
}

// byShape chooses the intent of a query that names no topic of its own; empty where there is none.
func (q *query) byShape() string {
	s := shape{
		asks:      q.has["which"] || q.has["what"] || q.has["list"] || q.has["howmany"] || q.has["where"],
		counts:    q.has["howmany"],
		lists:     q.has["which"] || q.has["list"] || q.has["howmany"],
		subject:   q.has["residue"] || q.conditionOn(ofName),
		noun:      q.has["residue"],
		mentioned: len(q.mentions) > 0,
		single:    len(q.mentions) > 0 && q.pointMentions(),
		placed:    q.only(ofPlace, ofChain),
	}
	if q.relation != nil {
		return q.relationShape(s)
	}
	if q.conditionOn(ofName, ofState, ofSurface, ofLimit) {
		return q.filterShape(s)
	}
	switch {
	case s.mentioned && !s.counts && len(q.ligands) == 0:
		return "residue"
	case s.counts && (s.noun || s.mentioned):
		return "length"
	case s.noun && q.conditionOn(ofPlace):
		return "residues"
	case len(q.ligands) > 0 && s.noun && q.has["has"]:
		return "contacts"
	case len(q.ligands) > 0:
		return "ligands"
	case q.has["chain"] || q.has["@chain"] || q.has["rna"] || q.has["dna"] || (s.counts || q.has["any"]) &&
		q.has["protein"]:
		return "chains"
	}
	return ""
}

// filterShape chooses between a list of residues and what is asked of residues that are named by number, or of the
// whole.
func (q *query) filterShape(s shape) string {
	switch {
	case s.single && !s.asks && !q.every && !q.anyNot():
		return "residue"
	case q.only(ofState, ofPlace, ofChain) && q.conditionOn(ofState) && (s.single || !s.noun && !(s.mentioned &&
		s.lists)):
		return "secondary structure"
	case q.only(ofSurface, ofPlace, ofChain) && q.conditionOn(ofSurface) && (s.single || !s.subject):
		return "surface"
	case q.only(ofLimit, ofPlace, ofChain) && q.conditionOn(ofLimit) && !s.subject:
		return "confidence"
	}
	return "residues"
}

// relationShape chooses between the intents about nearness. A relation alone describes what is near; with a filter it
// is one more condition on the residues listed.
func (q *query) relationShape(s shape) string {
	rel := q.relation
	alone := q.only(ofChain) && !s.mentioned && !rel.far && !rel.not
	all := q.every && q.opensWithVerb()
	switch {
	case rel.mutual && len(q.chains) == 2:
		return "interface"
	case rel.mutual:
		return "contacts"
	case len(q.ligands) > 0:
		return "distance"
	case s.mentioned && s.placed && !s.asks:
		return "contacts"
	case alone && len(rel.ligands) > 0 && !q.conditionOn(ofChain):
		return "contacts"
	case alone && len(rel.chains) > 0 && rel.radius > 0:
		return "residues"
	case alone && len(rel.chains) > 0:
		return "interface"
	case alone && !all && !(q.conditionOn(ofChain) && s.noun):
		return "contacts"
	}
	return "residues"
}
