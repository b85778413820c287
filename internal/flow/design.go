package flow

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/design"
	"pleat/internal/structure"
)

// DesignPlan is a design: a spec of the caller's, or the task that a spec is compiled from.
type DesignPlan struct {
	Params design.Params
	Spec   design.Reference   // the caller's spec; Item empty: Task is set
	Files  []design.Reference // that the spec may name
	Task   *DesignTask
}

// DesignTask is a design as people describe it: a target, and what shall bind it.
type DesignTask struct {
	// The target is Plan.Source, unless one of these is set.
	Sequence string // of a protein
	CCD      string // code of a ligand
	SMILES   string // of a ligand

	Chains         []string        // of the target; empty: all polymers
	Epitope, Avoid []ChainResidues // to bind, and not to bind
	Author         bool            // residues and chains are named as the authors of the structure name them
	Binder         Binder

	// Redesign names what gets other amino acids where nothing binds: SequenceOnly. Residues nil: the whole chain.
	Redesign []ChainResidues
}

// Structure reports whether the target is a structure.
func (t *DesignTask) Structure() bool { return t.Sequence == "" && t.CCD == "" && t.SMILES == "" }

// ChainResidues names residues of a chain.
type ChainResidues struct {
	Chain    string
	Residues []ResidueRange
	Field    string // in the request
}

// ResidueRange is a residue or, if the ends differ, all from First to Last. They are positions or, where the task says
// so, the numbers of the authors.
type ResidueRange struct{ First, Last structure.ResidueNumber }

// Binder is what is designed.
type Binder struct {
	Kind       string // protein, peptide or nanobody
	Sequence   string // with designed parts, as in a spec: 80..120
	Cyclic     bool
	Disulfides [][2]int // pairs of the C's that Sequence has, counted from 1
}

const (
	maxEpitope    = 500 // residues of epitope or avoid
	maxDisulfides = 20
	maxSpecText   = 256 << 10 // bytes: a spec in place of its name is refused as such
)

// The kinds of binder.
const (
	binderProtein  = "protein"
	binderPeptide  = "peptide"
	binderNanobody = "nanobody"
)

// binderKinds are the kinds of binder with the lengths and protocols that they have by default.
var binderKinds = map[string]struct{ length, protocol string }{
	binderProtein:  {"80..120", "protein-anything"},
	binderPeptide:  {"10..20", "peptide-anything"},
	binderNanobody: {"", "nanobody-anything"},
}

// designFields are the fields of a design besides its parameters. Which of them it takes depends on what it is made of.
var designFields = []string{"inputYML", "inputYMLLibraryItemId", "files", "protocol", "target", "targetChains",
	"numbering", "epitope", "avoid", "binder", "redesign"}

// readDesign reads a design into p.
func readDesign(f *fields, p *Plan) {
	d := &DesignPlan{}
	p.Design = d
	if f.raws == nil {
		return // it is no object, which is the only fault
	}
	f.know(designFields...)
	f.know(design.ParamNames...)
	hasSpec := f.raw("inputYML") != nil || f.raw("inputYMLLibraryItemId") != nil
	door := design.Door{Snake: true, NumDesigns: 50, Budget: 5}
	protocol := f.string("protocol", 64)
	switch {
	case hasSpec:
		readOwnSpec(f, d)
	case protocol == pleat.SequenceOnly || string(f.raw("protocolName")) == `"`+pleat.SequenceOnly+`"`:
		readRedesign(f, p)
	default:
		door.Protocol = readDesignTask(f, p)
	}
	if protocol != "" {
		if f.raw("protocolName") != nil {
			f.fail(f.pathOf("protocol"), " and protocolName name one field twice")
		}
		if slices.Contains(design.Protocols, protocol) {
			f.raws["protocolName"] = f.raws["protocol"]
		} else {
			f.failWord("protocol", protocol, design.Protocols)
		}
	}
	if raw := string(f.raw("files")); !hasSpec && raw != "" && raw != "[]" {
		f.fail(f.pathOf("files"), " are those that inputYML names, which is absent")
	}
	var err error
	d.Params, err = design.ReadParams(f.raws, f.path, door)
	f.refuse(err)
	checkRedesign(f, d)
	p.Seed = d.Params.Seed
	f.failMisspelt()
}

// checkRedesign refuses a redesign under another protocol, unless the protocol is none, which is the first fault.
func checkRedesign(f *fields, d *DesignPlan) {
	if f.raw("redesign") == nil || d.Task == nil || d.Params.Protocol == pleat.SequenceOnly ||
		!f.ok("protocol", "protocolName") {
		return
	}
	f.fail(f.pathOf("redesign"), " is taken with the protocol %s alone, and the protocol is %s", pleat.SequenceOnly,
		d.Params.Protocol)
}

// readOwnSpec reads a spec of the caller's and the files that it may name.
func readOwnSpec(f *fields, d *DesignPlan) {
	d.Spec = design.Reference{
		Item:  pleat.ItemID(f.uuid("inputYMLLibraryItemId")),
		Name:  f.string("inputYML", maxSpecText),
		Field: f.pathOf("inputYML"),
	}
	if f.ok("inputYMLLibraryItemId") && d.Spec.Item == "" {
		f.fail(f.pathOf("inputYMLLibraryItemId"), " is required beside inputYML; it is the library item of the spec")
	}
	if f.ok("inputYML") && d.Spec.Name == "" {
		f.fail(f.pathOf("inputYML"), " is required beside inputYMLLibraryItemId; it is the name of the spec")
	} else if f.ok("inputYML") {
		f.refuse(design.CheckSpecName(d.Spec.Name, f.pathOf("inputYML")))
	}
	for _, other := range []string{"target", "targetChains", "epitope", "avoid", "numbering", "binder", "redesign"} {
		if f.raw(other) != nil {
			f.fail(f.pathOf(other), " is not taken beside inputYML, which has all of it")
		}
	}
	var err error
	d.Files, err = design.ReadReferences(f.raw("files"), f.pathOf("files"), d.Spec)
	f.refuse(err)
}

// targetWays are the fields of target, of which it has exactly one.
var targetWays = []string{"sourceJobId", "libraryItemId", "pdbId", "sequence", "ccd", "smiles"}

// readDesignTask reads a target and what is designed for it. It returns the protocol that the kind of binder stands
// for.
func readDesignTask(f *fields, p *Plan) string {
	t := &DesignTask{}
	p.Design.Task = t
	target := f.object("target")
	if target == nil {
		f.fail(f.pathOf("target"), " is required; it must be an object with one of %s", strings.Join(targetWays, ", "))
		return ""
	}
	readTarget(target, p, t)
	readTargetChains(f, t)
	t.Epitope = readResidues(f, "epitope", maxEpitope)
	t.Avoid = readResidues(f, "avoid", maxEpitope)
	readBinder(f, t)
	if !t.Structure() && len(t.Chains) > 0 {
		f.fail(f.pathOf("targetChains"), " is taken for structures alone")
	}
	if t.CCD != "" || t.SMILES != "" {
		return "protein-small_molecule"
	}
	return binderKinds[t.Binder.Kind].protocol
}

// readTargetChains reads which chains of a target are used, and how residues and chains are named.
func readTargetChains(f *fields, t *DesignTask) {
	t.Author = f.enum("numbering", "label", []string{"label", "author"}) == "author"
	if raw := f.raw("targetChains"); raw != nil && json.Unmarshal(raw, &t.Chains) != nil {
		f.fail(f.pathOf("targetChains"), " is %s; it must be a list of names of chains", clip(raw))
	}
}

// readTarget reads the target of a design.
func readTarget(f *fields, p *Plan, t *DesignTask) {
	s := &p.Source
	s.Fold = pleat.FoldRef{Job: pleat.JobID(f.uuid("sourceJobId")), Run: pleat.RunID(f.uuid("sourceJobRunId"))}
	s.Structure = pleat.FileRef{Item: pleat.ItemID(f.uuid("libraryItemId")), Name: f.string("fileName", 255)}
	s.ID = strings.ToUpper(f.string("pdbId", 16))
	t.Sequence = f.protein("sequence", 10_000, "a target has")
	t.CCD = strings.ToUpper(f.string("ccd", 16))
	t.SMILES = readTargetSMILES(f)
	if f.failMisspelt() {
		return
	}
	var named []string
	for _, way := range targetWays {
		if f.raw(way) != nil {
			named = append(named, way)
		}
	}
	switch {
	case len(named) != 1:
		what := "none of them"
		if len(named) > 0 {
			what = strings.Join(named, " and ")
		}
		f.refuse(pleat.Invalidf("%s names %s; it must name exactly one of %s", f.path, what,
			strings.Join(targetWays, ", ")).At(f.path))
	case s.Fold.Job != "":
		s.Kind = SourceFold
	case s.Structure.Item != "":
		s.Kind = SourceLibrary
	case s.ID != "":
		s.Kind = SourcePDB
		if !pleat.IsPDBID(s.ID) {
			f.fail(f.pathOf("pdbId"), " is %q; it must be an id of the Protein Data Bank, such as 1ubq",
				pleat.Clip(s.ID))
		}
	default:
		s.Kind = SourceNone
		if t.Structure() && f.ok(named[0]) {
			f.fail(f.pathOf(named[0]), " is empty")
		}
	}
	if t.CCD != "" && !pleat.IsCCD(t.CCD) {
		f.fail(f.pathOf("ccd"), " is %q; it must be a code of the Chemical Component Dictionary, such as ATP",
			pleat.Clip(t.CCD))
	}
}

// readResidues reads a list of at most most residues by chain. An item of redesign needs no residues.
func readResidues(f *fields, name string, most int) []ChainResidues {
	raw := f.raw(name)
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		f.fail(f.pathOf(name), " must be a list of objects with chain_id and res_idx")
		return nil
	}
	if len(list) > most {
		f.fail(f.pathOf(name), " has %d items; at most %d are allowed", len(list), most)
		return nil
	}
	var out []ChainResidues
	total := 0
	for i, item := range list {
		in := f.within(fmt.Sprintf("%s[%d]", f.pathOf(name), i))
		if json.Unmarshal(item, &in.raws) != nil || in.raws == nil {
			f.fail(in.path, " is %s; it must be an object with chain_id and res_idx", clip(item))
			continue
		}
		one := ChainResidues{Chain: in.string("chain_id", 16), Field: in.path}
		if one.Chain == "" && in.ok("chain_id") {
			in.fail(in.pathOf("chain_id"), " is required; it names a chain of the target")
		}
		residues := in.raw("res_idx")
		if residues != nil || name != "redesign" {
			one.Residues = readRanges(in, residues)
		}
		in.failMisspelt()
		total += max(1, len(one.Residues))
		out = append(out, one)
	}
	if total > most {
		f.fail(f.pathOf(name), " names %d residues; at most %d are allowed", total, most)
	}
	return out
}

// readRanges reads res_idx: numbers, and texts such as 52A and 82A..84.
func readRanges(in *fields, raw json.RawMessage) []ResidueRange {
	var list []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		in.fail(in.pathOf("res_idx"), " must be a list of whole numbers, the positions of residues")
		return nil
	}
	out := make([]ResidueRange, len(list))
	for k, item := range list {
		var ok bool
		if out[k], ok = readRange(item); !ok {
			field := fmt.Sprintf("%s[%d]", in.pathOf("res_idx"), k)
			in.fail(field, " is %s; it must be a whole number, or a text such as \"52A\" or \"82A..84\"", clip(item))
			return nil
		}
	}
	return out
}

// readRange reads a number, or a text with one residue or two.
func readRange(raw json.RawMessage) (out ResidueRange, ok bool) {
	var text string
	if json.Unmarshal(raw, &out.First.Value) == nil && string(raw) != "null" {
		out.Last = out.First
		return out, true
	}
	if json.Unmarshal(raw, &text) != nil {
		return out, false
	}
	first, last, isRange := strings.Cut(text, "..")
	if !isRange {
		last = first
	}
	out.First, ok = structure.ParseResidueNumber(first)
	if ok {
		out.Last, ok = structure.ParseResidueNumber(last)
	}
	return out, ok
}

// readBinder reads what is designed.
func readBinder(f *fields, t *DesignTask) {
	b := &t.Binder
	in := f.object("binder")
	if in == nil {
		in = f.within(f.pathOf("binder"))
	}
	kinds := []string{binderProtein, binderPeptide, binderNanobody}
	b.Kind = in.enum("kind", binderProtein, kinds)
	b.Cyclic = in.flag("cyclic")
	text := in.polymer("sequence", 4000)
	if at := splitNumber.FindString(text); at != "" {
		in.fail(in.pathOf("sequence"), " has %q, a number with white space in it; two numbers need letters between "+
			"them, or one is meant", pleat.Clip(at))
	}
	b.Sequence = strings.ToUpper(strings.Join(strings.Fields(text), ""))
	length := readLength(in)
	switch {
	case b.Sequence != "" && length != "":
		in.fail(in.pathOf("length"), " is not taken beside sequence, which says what is designed")
	case b.Sequence != "":
	case b.Kind == binderNanobody:
		in.fail(in.pathOf("sequence"), " is required for a nanobody: the letters of the framework, "+
			"and numbers for the loops to design")
	case length == "":
		b.Sequence = binderKinds[b.Kind].length
	default:
		b.Sequence = length
	}
	raw := in.raw("disulfides")
	var pairs [][]int
	wrong := raw != nil && json.Unmarshal(raw, &pairs) != nil || len(pairs) > maxDisulfides
	for _, pair := range pairs {
		if wrong = wrong || len(pair) != 2; !wrong {
			b.Disulfides = append(b.Disulfides, [2]int(pair))
		}
	}
	if wrong {
		in.fail(in.pathOf("disulfides"), " must be a list of at most %d pairs such as [1, 2], which count the C's of "+
			"sequence", maxDisulfides)
		b.Disulfides = nil
	}
	checkDisulfides(in, b)
	in.failMisspelt()
}

// checkDisulfides checks that pairs name different cysteines of the sequence.
func checkDisulfides(f *fields, b *Binder) {
	have := strings.Count(b.Sequence, "C")
	used := map[int]bool{}
	for i, pair := range b.Disulfides {
		at := fmt.Sprintf("%s[%d]", f.pathOf("disulfides"), i)
		for _, c := range pair {
			switch {
			case c < 1 || c > have:
				f.fail(at, " is [%d, %d]; the sequence has %d cysteines, counted from 1", pair[0], pair[1], have)
				return
			case used[c]:
				f.fail(at, " is [%d, %d]; cysteine %d has a partner already", pair[0], pair[1], c)
				return
			}
			used[c] = true
		}
	}
}

// splitNumber matches digits that become one number without the white space between them.
var splitNumber = regexp.MustCompile(`[0-9]\s+[0-9]`)

// lengthRange matches the lengths of a binder.
var lengthRange = regexp.MustCompile(`^([0-9]{1,4})(?:\.\.([0-9]{1,4}))?$`)

// readLength reads how many residues are designed: a number or a range; empty if it is absent.
func readLength(f *fields) string {
	raw := f.raw("length")
	if raw == nil {
		return ""
	}
	s := strings.ReplaceAll(strings.Trim(string(raw), `"`), " ", "")
	m := lengthRange.FindStringSubmatch(s)
	low, high := 0, 0
	if m != nil {
		low, _ = strconv.Atoi(m[1])
		if high = low; m[2] != "" {
			high, _ = strconv.Atoi(m[2])
		}
	}
	if m != nil && low > high {
		f.fail(f.pathOf("length"), " is %s; a range must ascend, such as 80..120", clip(raw))
		return ""
	}
	if m == nil {
		f.fail(f.pathOf("length"), " is %s; it must be a number of residues or a range such as 80..120", clip(raw))
		return ""
	}
	if low < 4 {
		f.fail(f.pathOf("length"), " is %s; a binder has at least 4 residues", clip(raw))
		return ""
	}
	if high > design.MaxRange {
		f.fail(f.pathOf("length"), " is %s; a binder has at most %d residues", clip(raw), design.MaxRange)
		return ""
	}
	return s
}

// designInput is what a graph says of its run, as the workflow_input of the same design.
type designInput struct {
	pleat.DesignParams
	Seed     json.RawMessage `json:"seed,omitempty"`
	Spec     string          `json:"inputYML"`
	Item     pleat.ItemID    `json:"inputYMLLibraryItemId"`
	Files    []designFile    `json:"files"`
	Public   json.RawMessage `json:"isPublic,omitempty"`
	Webhooks json.RawMessage `json:"webhooks,omitempty"`
}

// designFile is a file that a spec may name.
type designFile struct {
	Item pleat.ItemID `json:"libraryItemId"`
	Name string       `json:"fileName"`
}

// GraphInput returns what a graph says of its run, as the workflow_input of the same design. Parse reads it.
func GraphInput(g *design.Plan) (json.RawMessage, error) {
	in := designInput{
		DesignParams: g.Params.DesignParams,
		Seed:         json.RawMessage(g.Params.Seed),
		Spec:         g.Main.Name,
		Item:         g.Main.Item,
		Files:        []designFile{},
		Public:       g.Params.IsPublic,
		Webhooks:     g.Params.Webhooks,
	}
	for _, f := range g.Files {
		in.Files = append(in.Files, designFile{f.Item, f.Name})
	}
	return encode(in)
}

// ParseGraph returns the plan of a graph's run. The paths of the fields of its files are those of the graph.
func ParseGraph(alias string, g *design.Plan) (Plan, error) {
	input, err := GraphInput(g)
	if err != nil {
		return Plan{}, err
	}
	path := "jobs." + g.Pipeline + ".inputPayload"
	p, err := parse(Plan{Alias: alias, Draft: true}, input, path)
	if err != nil {
		return p, err
	}
	p.Design.Spec, p.Design.Files = g.Main, slices.Clone(g.Files)
	f := open(input, path)
	f.noSecrets("a design with a graph")
	return p, f.faults.Err()
}

// RemoveTarget removes from the input of a design, given by its fields, the ids of its target, and what names the files
// of a spec.
func RemoveTarget(input map[string]json.RawMessage) error {
	remove(input, "inputYML", "inputYMLLibraryItemId")
	if input["target"] == nil || string(input["target"]) == "null" {
		return nil
	}
	target := map[string]json.RawMessage{}
	if err := json.Unmarshal(input["target"], &target); err != nil {
		return fmt.Errorf("read the target of a design: %w", err)
	}
	remove(target, "sourceJobId", "sourceJobRunId", "libraryItemId", "fileName")
	var err error
	input["target"], err = encode(target)
	return err
}
