package analyst

import (
	"slices"
	"strings"

	"pleat/internal/facts"
)

// Whether what was read of a selection makes one question, and which residues it looks at.

// agrees says whether the properties make one question, and one that is about residues with properties.
func (p *picker) agrees() bool {
	s, has := p.sel, p.q.has
	kinds, negated := map[string]bool{}, false
	for _, c := range s.conds {
		kinds[c.kind] = true
		negated = negated || c.not
	}
	switch {
	case p.score != (kinds["limit"] || s.mean), kinds["limit"] && s.mean, s.mean && negated:
		return false
	case p.absent && (p.count || len(s.conds) != 1 || len(s.each) != 1):
		return false
	case p.most && (!has["which"] || !has["chain"] || len(s.each) != 1 || s.compare):
		return false
	case p.idleWords(), p.tangled(), has["all"] && p.q.items[0].concept == "ask" && len(kinds) > 1: // are all lysines exposed?
		return false
	case s.nearest != nil && (len(s.each) > 1 || s.compare || p.most):
		return false
	case s.compare && !p.compares(), has["percent"] && len(kinds) > 1 && !p.shares(), p.aboutOne():
		return false
	}
	s.chains = s.chains || p.most
	switch {
	case len(s.each) > 0, len(kinds) > 1, has["@band"], has["@nth"], has["@threshold2"]:
		return true
	case kinds["limit"] && has["score"], len(s.about) > 0 && len(p.chains) > 0:
		return true
	}
	if len(kinds) == 0 {
		return false
	}
	return negated || s.strict || s.mean || len(p.ranges) > 0 || kinds["state"] && has["howmany"] && has["residue"]
}

// idleWords says whether a negation negates nothing that was taken, or "between" has nothing to stand between.
func (p *picker) idleWords() bool {
	for i, it := range p.q.items {
		switch {
		case it.concept == "not" && !p.negated[p.not[i]]:
			return true
		case it.concept == "between" && strings.EqualFold(it.text, "between"):
			near := slices.ContainsFunc(p.sel.conds, func(c *condition) bool { return c.kind == "near" })
			if !near && len(p.ranges) == 0 && !p.q.has["@band"] {
				return true
			}
		}
	}
	return false
}

// tangled says whether a property stands between two names, so that it may be of one alone: lysines of chain A and arginines of B.
func (p *picker) tangled() bool {
	if len(p.sel.each) < 2 || p.sel.compare {
		return false
	}
	between, seen := false, false
	for i, it := range p.q.items {
		switch {
		case kindOf[it.concept] == "what" && p.not[i] == 0 && !p.claimed[i]:
			if between {
				return true
			}
			seen = true
		case it.concept == "@chain" || kindOf[it.concept] != "":
			between = between || seen
		}
	}
	return false
}

// compares says whether two counts are there to compare: two names, or one name in two chains.
func (p *picker) compares() bool {
	switch n := len(p.chains); {
	case len(p.sel.each) == 2 && n < 2:
		return true
	case len(p.sel.each) == 1 && (n == 2 || n == 0 && p.q.has["which"] && p.q.has["chain"]):
		p.sel.chains = true
		return true
	}
	return false
}

// shares finds of what a share is asked: what stands before the verb. False: all stands on one side of it.
func (p *picker) shares() bool {
	for _, c := range p.sel.conds {
		if c.side == 0 {
			p.sel.base = append(p.sel.base, c)
		}
	}
	return len(p.sel.base) > 0 && len(p.sel.base) < len(p.sel.conds)
}

// aboutOne says whether single residues are asked about, one by one: is residue 48 charged?
func (p *picker) aboutOne() bool {
	if len(p.ranges) == 0 || p.between() != nil {
		return false
	}
	for _, m := range p.ranges {
		if !m.single() {
			return false
		}
	}
	return !p.count || len(p.ranges) == 1 || len(p.sel.each) == 0
}

// between is the range that two single residues stand for: between positions 10 and 40.
func (p *picker) between() []mention {
	r := p.ranges
	numbered := func(m mention) bool { return m.single() && m.first == 0 }
	if len(r) == 2 && p.q.has["between"] && numbered(r[0]) && numbered(r[1]) && r[0].chain == r[1].chain {
		return []mention{{chain: r[0].chain, lo: min(r[0].lo, r[1].lo), hi: max(r[0].hi, r[1].hi)}}
	}
	return nil
}

// placed works out which residues are looked at; false: the ranges named do not agree.
func (p *picker) placed() bool {
	if m := p.between(); m != nil {
		p.ranges = m
	}
	if len(p.chains) == 0 {
		p.chains = p.joined
	}
	in := map[int]bool{}
	for k, m := range p.ranges {
		sites, problem := p.q.find(m)
		if problem != "" {
			p.problem = problem
		}
		size := len(in)
		for _, i := range sites {
			in[i] = true
		}
		if k > 0 && len(in) < size+len(sites) && (len(in) != size || k > 1 || len(sites) != size) {
			return false // one range within another: together, or the part in both?
		}
	}
	bare := *p.q
	bare.chains = p.chains
	for _, r := range bare.runs() {
		for i := r.Lo; i < r.Hi && !slices.Contains(p.without, p.q.x.Structure.Chains[r.Chain].ID); i++ {
			if in[i] || len(p.ranges) == 0 {
				p.sel.scope = append(p.sel.scope, i)
			}
		}
	}
	p.sel.where = p.place()
	return true
}

// place says where the residues looked at are.
func (p *picker) place() string {
	scope, n := p.sel.scope, len(p.sel.scope)
	switch {
	case n == 0:
		if p.problem == "" {
			p.problem = "There is no residue with coordinates where the question points. " + chainNames(p.q.f)
		}
	case len(p.ranges) > 0 && scope[n-1]-scope[0] == n-1:
		return "Of " + facts.Span(p.q.x.Sites[scope[0]].Ref, p.q.x.Sites[scope[n-1]].Ref) + ", "
	case len(p.ranges) > 0:
		return "Of " + p.q.x.List(scope, 6) + ", "
	case len(p.chains) > 0:
		return "In " + facts.Plural(len(p.chains), "chain ", "chains ") + facts.Join(p.chains, 6) + ", "
	case len(p.without) > 0:
		return "Outside " + facts.Plural(len(p.without), "chain ", "chains ") + facts.Join(p.without, 6) + ", "
	}
	return ""
}
