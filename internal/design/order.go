package design

import (
	"slices"

	"pleat"
	"pleat/internal/yamltree"
)

// order reads workflows: which node requires which.
func (g *graphReader) order(root yamltree.Node) error {
	f, err := fieldsOf(root, topFields)
	if err != nil {
		return err
	}
	flows, err := required(root, f, "workflows")
	if err != nil {
		return err
	}
	if f, err = flows.Needs([]string{"main"}); err != nil {
		return err
	}
	if f, err = f["main"].Needs([]string{"jobs"}); err != nil {
		return err
	}
	items, err := f["jobs"].List(maxNodes)
	if err != nil {
		return err
	}
	g.requires = map[string][]string{}
	for _, item := range items {
		if err := g.job(item); err != nil {
			return err
		}
	}
	for _, n := range g.Nodes {
		if _, ok := g.requires[n.ID]; !ok {
			return pleat.InvalidField(mainJobs, " does not name the node %s of jobs; it must name every node once",
				n.ID)
		}
	}
	return g.circle()
}

// mainJobs is the path of the order of the nodes.
const mainJobs = "workflows.main.jobs"

// job reads an item of the order: a name, or a mapping from one name to what the node requires.
func (g *graphReader) job(item yamltree.Node) error {
	name, at := item.Value, item
	var body yamltree.Node
	if item.IsMap() {
		entries := item.Entries()
		if len(entries) != 1 {
			return item.Wrong("a name, or a mapping from one name to requires")
		}
		name, body, at = entries[0].Key.Value, entries[0].Value, entries[0].Value
		at.At = item.At
	} else if item.IsList() || item.Null() {
		return item.Wrong("a name, or a mapping from one name to requires")
	}
	if err := g.known(item.At, name, ""); err != nil {
		return err
	}
	if _, twice := g.requires[name]; twice {
		return pleat.InvalidField(item.At, " names the node %s again; it must name every node once", name)
	}
	g.requires[name] = nil
	if body.Null() {
		return nil
	}
	f, err := fieldsOf(body, []string{"requires"})
	if err != nil || f["requires"].Null() {
		return err
	}
	list, err := f["requires"].List(maxNodes)
	if err != nil {
		return err
	}
	for _, r := range list {
		source, err := r.Text()
		if err != nil {
			return err
		}
		if err := g.known(r.At, source, name); err != nil {
			return err
		}
		if slices.Contains(g.requires[name], source) {
			return pleat.InvalidField(r.At, " is %q, which the list has already; leave it out", source)
		}
		g.requires[name] = append(g.requires[name], source)
		g.Edges = append(g.Edges, Edge{ID: source + ":" + name, Source: source, Target: name})
	}
	return nil
}

// known refuses a name that is no node, or the node itself.
func (g *graphReader) known(at, name, self string) error {
	var names []string
	for _, n := range g.Nodes {
		names = append(names, n.ID)
	}
	switch {
	case name == self:
		return pleat.Invalidf("%s: %s requires itself; requirements must not form a circle", mainJobs, name).At(at)
	case slices.Contains(names, name):
		return nil
	}
	if near := pleat.Nearest(name, names); near != "" {
		return pleat.InvalidField(at, " is %q; did you mean %q?", pleat.Clip(name), near)
	}
	return pleat.InvalidField(at, " is %q; it must be a node of jobs: %s", pleat.Clip(name), and(names))
}

// circle refuses requirements that lead back to where they begin.
func (g *graphReader) circle() error {
	const open, done = 1, 2
	state := map[string]int{}
	var path []string
	var visit func(name string) error
	visit = func(name string) error {
		state[name] = open
		path = append(path, name)
		for _, source := range g.requires[name] {
			switch state[source] {
			case open:
				return circleFault(path[slices.Index(path, source):])
			case done:
				continue
			}
			if err := visit(source); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		state[name] = done
		return nil
	}
	for _, n := range g.Nodes {
		if state[n.ID] == 0 {
			if err := visit(n.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// circleFault returns the error for a circle: each name requires the next, and the last one the first.
func circleFault(names []string) error {
	const most = 5
	text := names[0]
	for i, name := range names[1:] {
		if i == 0 {
			text += " requires " + name
		} else if i < most {
			text += ", which requires " + name
		}
	}
	if len(names) > most+1 {
		text += ", and so on,"
	} else {
		text += ","
	}
	return pleat.Invalidf("%s: %s which requires %s; requirements must not form a circle", mainJobs, text,
		names[0]).At(mainJobs)
}

// ways checks that every node lies on a way from the start to the end, and that the pipeline requires one spec.
func (g *graphReader) ways(yamltree.Node) error {
	feeds := map[string][]string{} // the nodes that require a node
	for name, sources := range g.requires {
		for _, s := range sources {
			feeds[s] = append(feeds[s], name)
		}
	}
	for _, n := range g.Nodes {
		switch {
		case n.Type == typeStart && len(g.requires[n.ID]) > 0:
			return pleat.Invalidf("%s: the start node %s requires %s; it must require nothing", mainJobs, n.ID,
				and(g.requires[n.ID])).At(mainJobs)
		case n.Type == typeEnd && len(feeds[n.ID]) > 0:
			slices.Sort(feeds[n.ID])
			return pleat.Invalidf("%s: %s requires the end node %s; nothing may require it", mainJobs, feeds[n.ID][0],
				n.ID).At(mainJobs)
		}
	}
	from := reach(g.idOf(typeStart), feeds)
	to := reach(g.idOf(typeEnd), g.requires)
	for _, n := range g.Nodes {
		if !from[n.ID] {
			return pleat.Invalidf("%s: no way leads from the start to the node %s; it must require something", mainJobs,
				n.ID).At(mainJobs)
		}
	}
	for _, n := range g.Nodes {
		if !to[n.ID] {
			return pleat.Invalidf("%s: the node %s leads to no end; something must require it", mainJobs,
				n.ID).At(mainJobs)
		}
	}
	return nil
}

// idOf returns the name of the only node of a type.
func (g *graphReader) idOf(kind string) string {
	return g.Nodes[slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Type == kind })].ID
}

// reach returns the nodes to which steps lead from a node, and the node itself.
func reach(from string, steps map[string][]string) map[string]bool {
	seen := map[string]bool{from: true}
	for next := []string{from}; len(next) > 0; {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		for _, s := range steps[name] {
			if !seen[s] {
				seen[s] = true
				next = append(next, s)
			}
		}
	}
	return seen
}
