package design

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/yamltree"
)

// Plan is what a graph runs: the spec that its pipeline requires, and the library files that this spec may name.
type Plan struct {
	Params   Params
	Pipeline string         // the pipeline's node
	Payload  map[string]any // inputPayload of the pipeline as sent
	Main     Reference      // the spec that is run
	// Files are the other files that are seen from the main spec: those of its node, the specs upstream of it and
	// their files. Names differ from each other and from that of Main. ReadSpec finds out which of them are used.
	Files []Reference
}

// Reference names a file of the library.
type Reference struct {
	Item  pleat.ItemID // in lower case
	Name  string       // as specs name the file; the only file of the item may be called otherwise
	Field string       // where the graph names it, such as jobs.what.inputPayload.files[0]
}

// Plan returns what executing the graph means.
func (g *Graph) Plan() *Plan { return g.plan }

// makePlan reads the payloads of specs and pipeline.
func (g *graphReader) makePlan(yamltree.Node) error {
	seen := map[string][]Reference{} // by node: its spec and its files
	for i, n := range g.Nodes {
		if n.Type != typeInput {
			continue
		}
		refs, err := references(g.payloads[i], g.payloadOf(n.ID))
		if err != nil {
			return err
		}
		seen[n.ID] = refs
	}
	plan := &Plan{Pipeline: g.idOf(typePipeline)}
	if err := g.params(plan); err != nil {
		return err
	}
	var specs []string
	for _, name := range g.requires[plan.Pipeline] {
		if _, ok := seen[name]; ok {
			specs = append(specs, name)
		}
	}
	switch {
	case len(specs) == 0:
		return pleat.Invalidf("%s: the pipeline %s requires no spec; it must require exactly one node of the type "+
			"input", mainJobs, plan.Pipeline).At(mainJobs)
	case len(specs) > 1:
		return pleat.Invalidf("%s: the pipeline %s requires %d specs, %s; it must require exactly one, which may "+
			"require the others", mainJobs, plan.Pipeline, len(specs), and(specs)).At(mainJobs)
	}
	upstream := reach(specs[0], g.requires)
	refs := slices.Clone(seen[specs[0]])
	for _, n := range g.Nodes {
		if upstream[n.ID] && n.ID != specs[0] {
			refs = append(refs, seen[n.ID]...)
		}
	}
	refs, err := distinct(refs)
	if err != nil {
		return err
	}
	plan.Main, plan.Files = refs[0], refs[1:]
	if len(plan.Files) > maxFiles {
		return pleat.InvalidField(plan.Files[maxFiles].Field, " is one file too many: the node %s sees %d, with those "+
			"of the nodes before it; at most %d are allowed", specs[0], len(plan.Files), maxFiles)
	}
	g.plan = plan
	return nil
}

// payloadOf returns the path of a node's payload.
func (g *graphReader) payloadOf(name string) string { return "jobs." + name + ".inputPayload" }

// params reads the parameters of the pipeline.
func (g *graphReader) params(plan *Plan) error {
	i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.ID == plan.Pipeline })
	plan.Payload = g.Nodes[i].Payload
	if !g.payloads[i].Null() {
		if _, err := fieldsOf(g.payloads[i], ParamNames); err != nil {
			return err
		}
	}
	values := map[string]json.RawMessage{}
	for _, name := range ParamNames {
		if v, ok := plan.Payload[name]; ok {
			raw, err := json.Marshal(v)
			if err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
			values[name] = raw
		}
	}
	var err error
	plan.Params, err = ReadParams(values, g.payloadOf(plan.Pipeline), Door{})
	return err
}

// references reads the payload of a spec's node: the spec, then its files.
func references(n yamltree.Node, at string) ([]Reference, error) {
	if n.Null() {
		return nil, pleat.InvalidField(at, " is required; it must have inputYML and inputYMLLibraryItemId")
	}
	f, err := fieldsOf(n, specFields)
	if err != nil {
		return nil, err
	}
	name, err := required(n, f, "inputYML")
	if err != nil {
		return nil, err
	}
	main := Reference{Field: at + ".inputYML"}
	if main.Name, err = name.Text(); err != nil {
		return nil, err
	}
	if err := CheckSpecName(main.Name, name.At); err != nil {
		return nil, err
	}
	item, err := required(n, f, "inputYMLLibraryItemId")
	if err != nil {
		return nil, err
	}
	if main.Item, err = itemID(item); err != nil {
		return nil, err
	}
	out := []Reference{main}
	if f["files"].Null() {
		return out, nil
	}
	items, err := f["files"].List(maxFiles)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		ref, err := fileReference(item)
		if err != nil {
			return nil, err
		}
		out = append(out, ref)
	}
	return out, nil
}

// fileReference reads an item of files.
func fileReference(n yamltree.Node) (Reference, error) {
	ref := Reference{Field: n.At}
	f, err := fieldsOf(n, fileFields)
	if err != nil {
		return ref, err
	}
	item, err := required(n, f, "libraryItemId")
	if err != nil {
		return ref, err
	}
	if ref.Item, err = itemID(item); err != nil {
		return ref, err
	}
	name, err := required(n, f, "fileName")
	if err != nil {
		return ref, err
	}
	if ref.Name, err = name.Text(); err != nil {
		return ref, err
	}
	return ref, checkFileName(ref.Name, name.At)
}

// itemID reads the id of a library item.
func itemID(n yamltree.Node) (pleat.ItemID, error) {
	s, err := n.Text()
	if err != nil {
		return "", err
	}
	if !pleat.IsUUID(s) {
		return "", invalid(n, " is %q; it must be a UUID", pleat.Clip(s))
	}
	return pleat.ItemID(strings.ToLower(s)), nil
}

// CheckSpecName checks the name of a spec, which a field has: that of a file that ends as specs do.
func CheckSpecName(name, field string) error {
	if strings.ContainsAny(name, "\r\n") {
		return pleat.InvalidField(field, " holds the text of a spec; it must be its name, such as binder.yaml, and "+
			"the text belongs into the library item of inputYMLLibraryItemId")
	}
	if err := checkFileName(name, field); err != nil {
		return err
	}
	if !isSpec(name) {
		return pleat.InvalidField(field, " is %q; it must be the name of a spec, which ends in .yaml or .yml",
			pleat.Clip(name))
	}
	return nil
}

// checkFileName checks the name of a file as specs use it, which a field has: text without slashes and control
// characters.
func checkFileName(s, field string) error {
	if n := len([]rune(s)); n > maxText {
		return pleat.InvalidField(field, " has %d characters; at most %d are allowed", n, maxText)
	}
	if s == "" || s == "." || s == ".." || strings.ContainsAny(s, `/\`) || strings.IndexFunc(s, isControl) >= 0 {
		return pleat.InvalidField(field, " is %q; it must be the name of a file, without a folder", pleat.Clip(s))
	}
	return nil
}

// isControl reports whether a character is a control character.
func isControl(r rune) bool {
	return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// isSpec reports whether a file name has the ending of a spec.
func isSpec(name string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(path.Ext(name)))
}

// distinct drops references that name an item and a name again, and refuses a name that stands for two items.
func distinct(refs []Reference) ([]Reference, error) {
	var out []Reference
	first := map[string]Reference{}
	for _, r := range refs {
		other, ok := first[r.Name]
		switch {
		case !ok:
			first[r.Name] = r
			out = append(out, r)
		case other.Item != r.Item:
			return nil, pleat.Invalidf("the name %q stands for two library items, in %s and %s", pleat.Clip(r.Name),
				other.Field, r.Field).At(r.Field)
		}
	}
	return out, nil
}
