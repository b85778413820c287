package design

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/words"
	"pleat/internal/yamltree"
)

// graphFile is what messages call the text of a graph.
const graphFile = "workflow.yml"

// Limits of a graph.
const (
	maxNodes = 100
	maxFiles = 64  // of a spec's node
	maxText  = 255 // characters of a label, a description or a file name
)

// The types of nodes.
const (
	typeStart    = "start"
	typeEnd      = "end"
	typeInput    = "input"
	typePipeline = "pipeline"
)

// The kinds of work of nodes, in both spellings: ours and that of the engine that others name.
var (
	specSubTypes     = []string{"design_specification_yml"}
	specTasks        = []string{"input_design_spec_v1", "input_design_spec_boltzgen_v1"}
	pipelineSubTypes = []string{"design", "boltzgen"}
	pipelineTasks    = []string{"pipeline_run_design_v1", "pipeline_run_boltzgen_v1"}
)

// Fields of the places of a graph, with which others are compared.
var (
	topFields   = []string{"version", "jobs", "workflows"}
	nodeFields  = []string{"type", "subType", "workflowTaskTypeId", "label", "description", "position", "inputPayload"}
	placeFields = []string{"x", "y"}
	specFields  = []string{"inputYML", "inputYMLLibraryItemId", "files"}
	fileFields  = []string{"libraryItemId", "fileName"}
)

var nodeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ReadGraph reads a workflow.yml. The error is a pleat.Error whose message is one sentence: CodeTooLarge for more than
// 256 KiB, else CodeInvalid.
func ReadGraph(text []byte) (*Graph, error) {
	root, err := yamltree.Read(graphFile, text, "version, jobs and workflows")
	if err != nil {
		return nil, err
	}
	g := &graphReader{Graph: &Graph{Nodes: []Node{}, Edges: []Edge{}}}
	for _, step := range []func(yamltree.Node) error{g.top, g.order, g.ways, g.makePlan} {
		if err := step(root); err != nil {
			return nil, err
		}
	}
	return g.Graph, nil
}

// graphReader reads a graph.
type graphReader struct {
	*Graph
	jobs     yamltree.Node       // the mapping of the nodes
	payloads []yamltree.Node     // inputPayload, by the place of its node
	requires map[string][]string // by name
}

// fieldsOf returns the fields of a mapping. A field that is not known is passed over, unless it misspells one that is.
func fieldsOf(n yamltree.Node, known []string) (map[string]yamltree.Node, error) {
	if !n.IsMap() {
		return nil, n.Wrong("a mapping with " + strings.Join(known, ", "))
	}
	out := map[string]yamltree.Node{}
	for _, e := range n.Entries() {
		if !slices.Contains(known, e.Key.Value) {
			for _, k := range known {
				if words.Misspells(e.Key.Value, k) {
					return nil, n.Unknown(e.Key, []string{k})
				}
			}
			continue
		}
		if !e.Value.Null() {
			out[e.Key.Value] = e.Value
		}
	}
	return out, nil
}

// required returns a field that must be there.
func required(n yamltree.Node, f map[string]yamltree.Node, name string) (yamltree.Node, error) {
	v, ok := f[name]
	if !ok {
		at := name
		if n.At != "" {
			at = n.At + "." + name
		}
		return v, pleat.InvalidField(at, " is required (%s of %s)", fmt.Sprintf("line %d", n.Line), graphFile)
	}
	return v, nil
}

// invalid returns an error about a value of the graph, whose path alone says where it is.
func invalid(n yamltree.Node, format string, args ...any) error {
	return pleat.InvalidField(n.Position(), format, args...)
}

// textOf reads a text of at most maxText characters; empty if it is absent.
func textOf(n yamltree.Node) (string, error) {
	if n.Null() {
		return "", nil
	}
	s, err := n.Text()
	if err == nil && len([]rune(s)) > maxText {
		err = invalid(n, " has %d characters; at most %d are allowed", len([]rune(s)), maxText)
	}
	return s, err
}

// wordOf reads one of several words; empty if it is absent.
func wordOf(n yamltree.Node, known []string) (string, error) {
	s, err := textOf(n)
	if err != nil || s == "" || slices.Contains(known, s) {
		return s, err
	}
	return "", notOneOf(n.At, s, known)
}

// notOneOf returns the error for a word that is none of those known.
func notOneOf(at, got string, known []string) error {
	if near := pleat.Nearest(got, known); near != "" {
		return pleat.InvalidField(at, " is %q; did you mean %q?", pleat.Clip(got), near)
	}
	return pleat.InvalidField(at, " is %q; it must be %s", pleat.Clip(got), alternatives(known))
}

// alternatives lists words for a message: a, b or c.
func alternatives(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// top reads version and jobs.
func (g *graphReader) top(root yamltree.Node) error {
	f, err := fieldsOf(root, topFields)
	if err != nil {
		return err
	}
	version, err := required(root, f, "version")
	if err != nil {
		return err
	}
	if v, err := version.Text(); err != nil || v != "1" {
		return version.Wrong("1")
	}
	if g.jobs, err = required(root, f, "jobs"); err != nil {
		return err
	}
	if !g.jobs.IsMap() {
		return g.jobs.Wrong("a mapping from the names of nodes to nodes")
	}
	entries := g.jobs.Entries()
	if len(entries) > maxNodes {
		return invalid(g.jobs, " has %d nodes; at most %d are allowed", len(entries), maxNodes)
	}
	for _, e := range entries {
		if !nodeName.MatchString(e.Key.Value) {
			return pleat.Invalidf("jobs has the node %q (line %d of %s); a name has 1 to 64 letters, digits, "+
				"underscores and hyphens", pleat.Clip(e.Key.Value), e.Key.Line, graphFile).At("jobs")
		}
		if err := g.node(e.Key.Value, e.Value); err != nil {
			return err
		}
	}
	return g.count()
}

// node reads a node.
func (g *graphReader) node(name string, n yamltree.Node) error {
	f, err := fieldsOf(n, nodeFields)
	if err != nil {
		return err
	}
	out := Node{ID: name, X: "0", Y: "0", Payload: map[string]any{}, Extra: map[string]any{}}
	if _, err = required(n, f, "type"); err != nil {
		return err
	}
	if out.Type, err = wordOf(f["type"], []string{typeStart, typeEnd, typeInput, typePipeline}); err != nil {
		return err
	}
	if err := out.kind(n, f); err != nil {
		return err
	}
	if out.Label, err = textOf(f["label"]); err != nil {
		return err
	}
	if out.Label == "" {
		out.Label = name
	}
	if out.Description, err = textOf(f["description"]); err != nil {
		return err
	}
	if out.X, out.Y, err = position(f["position"]); err != nil {
		return err
	}
	payload := f["inputPayload"]
	if !payload.Null() {
		if !payload.IsMap() {
			return payload.Wrong("a mapping")
		}
		out.Payload = payload.JSON().(map[string]any)
	}
	for _, e := range n.Entries() {
		if !slices.Contains(nodeFields, e.Key.Value) {
			out.Extra[e.Key.Value] = e.Value.JSON()
		}
	}
	g.Nodes, g.payloads = append(g.Nodes, out), append(g.payloads, payload)
	return nil
}

// kind reads what a node runs: one of two fields for a spec or a pipeline, and nothing that is checked for others.
func (out *Node) kind(n yamltree.Node, f map[string]yamltree.Node) (err error) {
	subs, tasks := specSubTypes, specTasks
	switch out.Type {
	case typePipeline:
		subs, tasks = pipelineSubTypes, pipelineTasks
	case typeStart, typeEnd:
		if out.SubType, err = textOf(f["subType"]); err != nil {
			return err
		}
		out.TaskType, err = textOf(f["workflowTaskTypeId"])
		return err
	}
	if out.SubType, err = wordOf(f["subType"], subs); err != nil {
		return err
	}
	if out.TaskType, err = wordOf(f["workflowTaskTypeId"], tasks); err != nil {
		return err
	}
	if out.SubType == "" && out.TaskType == "" {
		return invalid(n, " has neither subType nor workflowTaskTypeId; the type %s needs the subType %s, or the "+
			"workflowTaskTypeId %s", out.Type, alternatives(subs), alternatives(tasks))
	}
	// The lists name the same things in the same order; clients read the one that was not sent too.
	if out.TaskType == "" {
		out.TaskType = tasks[slices.Index(subs, out.SubType)]
	}
	if out.SubType == "" {
		out.SubType = subs[min(slices.Index(tasks, out.TaskType), len(subs)-1)]
	}
	return nil
}

// position reads the place of a node in a drawing; 0, 0 if it is absent.
func position(n yamltree.Node) (x, y json.Number, err error) {
	x, y = "0", "0"
	if n.Null() {
		return x, y, nil
	}
	f, err := fieldsOf(n, placeFields)
	if err != nil {
		return x, y, err
	}
	for name, to := range map[string]*json.Number{"x": &x, "y": &y} {
		v := f[name]
		if v.Null() {
			continue
		}
		number, ok := v.JSON().(json.Number)
		if !ok {
			return x, y, v.Wrong("a number")
		}
		*to = number
	}
	return x, y, nil
}

// count checks how many nodes there are of each type.
func (g *graphReader) count() error {
	byType := map[string][]string{}
	for _, n := range g.Nodes {
		byType[n.Type] = append(byType[n.Type], n.ID)
	}
	for _, t := range []string{typeStart, typePipeline, typeEnd} {
		switch names := byType[t]; {
		case len(names) == 0:
			return pleat.InvalidField("jobs", " has no %s node; it must have exactly one", t)
		case len(names) > 1:
			return pleat.InvalidField("jobs", " has %d %s nodes, %s; it must have exactly one", len(names), t,
				and(names))
		}
	}
	if len(byType[typeInput]) == 0 {
		return pleat.InvalidField("jobs", " has no input node; it must have at least one, with the spec of the design")
	}
	return nil
}

// and lists names in a message.
func and(names []string) string { return words.Join(names, 5) }

// MarshalJSON writes a node as clients read it. Absent words are null.
func (n Node) MarshalJSON() ([]byte, error) {
	word := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	out := map[string]any{}
	for k, v := range n.Extra {
		out[k] = v
	}
	out["id"], out["type"], out["workflowTaskTypeId"] = n.ID, n.Type, word(n.TaskType)
	out["position"] = map[string]any{"x": n.X, "y": n.Y}
	out["data"] = map[string]any{"label": n.Label, "subType": word(n.SubType), "description": word(n.Description)}
	out["inputPayload"] = n.Payload
	return json.Marshal(out)
}
