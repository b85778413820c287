// Package flow defines the workflows, questions about a structure (qna), molecular dynamics (md), comparisons of
// structures (compare), designs (design) and alignments: the fields of their input, the engines that serve them, the
// input that a fold gives to its follow-ups, the rows of their results and the catalogue of their outputs.
//
// It must not use files, a clock, the network, a database or random numbers. internal/engine executes a workflow, and
// internal/work fetches the files that a StructureSource names.
package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/words"
)

// SourceKind is the origin of a workflow's structure.
type SourceKind string

// The kinds of source, in the spelling of targetSource and sourceType.
const (
	SourceFold    SourceKind = "fold_job"
	SourceLibrary SourceKind = "library"
	SourceUpload  SourceKind = "upload"
	SourcePDB     SourceKind = "pdb"
	SourceUniProt SourceKind = "uniprot"
	SourceNone    SourceKind = "none" // only a sequence
)

// StructureSource identifies the structure of a workflow. Kind determines which fields are set.
type StructureSource struct {
	Kind      SourceKind
	Fold      pleat.FoldRef // of fold_job; Run empty: the job's latest; Sequence empty: the first protein
	Structure pleat.FileRef // of library and upload
	PAE       pleat.FileRef // of upload and library
	ID        string        // of pdb and uniprot, in upper case
	Sample    string        // of a fold_job that is compared: number or file name of a sample; empty: its structure

	// Name is what the resolver of the source calls it: the job, the sequence or the file; empty: not known.
	Name string
}

// Stored reports whether the structure is one that a user has on this service.
func (s StructureSource) Stored() bool {
	return s.Kind == SourceFold || s.Kind == SourceLibrary || s.Kind == SourceUpload
}

// Reference returns the ids that identify the source, in one line.
func (s StructureSource) Reference() string {
	parts := []string{string(s.Kind)}
	switch s.Kind {
	case SourceFold:
		parts = append(parts, string(s.Fold.Job), string(s.Fold.Run), string(s.Fold.Sequence))
	case SourceLibrary, SourceUpload:
		parts = append(parts, string(s.Structure.Item), s.Structure.Name)
	default:
		parts = append(parts, s.ID)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "/")
}

// PublicReference returns what anybody may know of a Reference: its kind, and the id of an entry of a public database.
// Ids of folds, and ids and file names of library items, are left out, because they are private.
func PublicReference(reference string) string {
	kind, _, _ := strings.Cut(reference, "/")
	if k := SourceKind(kind); k == SourcePDB || k == SourceUniProt {
		return reference
	}
	return kind
}

// RemoveFold removes from an input, given by its fields, the ids of a fold.
func RemoveFold(input map[string]json.RawMessage) {
	remove(input, "source_job_id", "source_job_run_id", "source_run_id", "source_sequence_id")
}

// RemoveFiles removes from an input, given by its fields, the ids of library items and the names of their files.
func RemoveFiles(input map[string]json.RawMessage) { remove(input, "libraryItemId", "files") }

// remove removes fields under each of their spellings.
func remove(input map[string]json.RawMessage, names ...string) {
	for _, name := range names {
		for _, spelling := range spellings(name) {
			delete(input, spelling)
		}
	}
}

// Plan is a parsed and validated workflow_input. Exactly one of QnA, MD, Design, Compare and Align is set, according to
// Kind.
// The file names of the former two are empty until the source has been fetched into a folder.
type Plan struct {
	Kind     pleat.TaskKind
	Alias    string // the word for the workflow, as given: qna, evolla, md, openmm, compare, alignment
	Draft    bool   // it waits for its owner: its question may be blank and its fold may still run
	Source   StructureSource
	QnA      *pleat.QnAInput
	MD       *pleat.MDInput
	Design   *DesignPlan
	Compare  *Comparison // instead of Source
	Align    *pleat.AlignInput
	Seed     string // as given; empty: the service chooses
	Public   bool
	Webhooks json.RawMessage // as given, validated; nil: none

	Destinations []pleat.DestinationSetting // Webhooks, parsed

	// Notes say what was dropped from the input, which is stored as it was given.
	Notes pleat.Notes

	strict bool // unknown fields are refused

	// Size is what the resolver of the source knows of its files, see Choose.
	Size SourceSize
}

// SourceSize is the size of a source. 0 means that there is none, or that it is not known before the file is fetched.
type SourceSize struct {
	Structure, PAE  int64 // bytes of the structure and of its predicted aligned errors
	Residues, Chain int   // of the proteins in the structure, and of the one that the workflow is about
}

// Limits of an input.
const (
	maxInput    = 256 << 10 // bytes of a workflow_input
	maxQuestion = 8 << 10   // bytes of a question
)

// inputPath is the path of a workflow's input in a request.
const inputPath = "workflow_input"

// Name returns the name of a workflow that was given none: the question, or what is simulated.
func (p *Plan) Name() string {
	if p.Compare != nil {
		return fmt.Sprintf("Comparison of %d structures", len(p.Compare.Of))
	}
	if p.QnA != nil {
		if question := strings.Join(strings.Fields(p.QnA.Question), " "); question != "" {
			return words.Shorten(question, pleat.MaxName)
		}
	}
	if p.Design != nil {
		return "Design"
	}
	if p.Align != nil {
		n := len(p.Align.Sequences)
		if n == 1 {
			return fmt.Sprintf("Alignment of a protein of %d residues", len(p.Align.Sequences[0].Text))
		}
		return fmt.Sprintf("Alignment of %d proteins", n)
	}
	return nameOf(p.Kind, cmp.Or(p.Source.Name, p.Source.ID, "a disordered chain"))
}

// nameOf returns the name of a workflow of a kind about what has a name.
func nameOf(kind pleat.TaskKind, about string) string {
	what := "Question about "
	if kind == pleat.TaskMD {
		what = "Dynamics of "
	}
	return words.Shorten(what+about, pleat.MaxName)
}

// Sources returns the structures that a plan is about.
func (p *Plan) Sources() []StructureSource {
	if p.Compare != nil {
		return p.Compare.Of
	}
	return []StructureSource{p.Source}
}

// Parse parses the workflow_input of a workflow, given by its alias (qna, evolla, md, openmm, compare, alignment). Keys
// are read in snake_case and in camelCase; null equals absent. It is for an input that was accepted before: unknown
// fields are ignored, except that md refuses misspelt fields and physics that the engine does not support.
//
// An error is a [pleat.Errors] with CodeInvalid: every fault with the path of its field, but only the first of a field.
// Checks that depend on a field with a fault are left out.
func Parse(alias string, input json.RawMessage) (Plan, error) {
	return parse(Plan{Alias: alias}, input, inputPath)
}

// ParseDraft is [Parse] for a draft, whose question may be blank.
func ParseDraft(alias string, input json.RawMessage) (Plan, error) {
	return parse(Plan{Alias: alias, Draft: true}, input, inputPath)
}

// ParseRequest is [Parse], or [ParseDraft], for the input of a new workflow, in which unknown fields are refused too.
func ParseRequest(alias string, draft bool, input json.RawMessage) (Plan, error) {
	return parse(Plan{Alias: alias, Draft: draft, strict: true}, input, inputPath)
}

// unusedFields are the fields of inputs that clients of the founding interface send and that mean nothing here, besides
// those that a kind reads and does not use.
var unusedFields = []string{
	"name", // of the workflow, once more: forms of simulations
}

// parse completes a plan, of which Alias and Draft are set, from its input at a path.
func parse(p Plan, input json.RawMessage, path string) (Plan, error) {
	if len(input) > maxInput {
		return Plan{}, pleat.InvalidField(cmp.Or(path, "the body"), " has %d bytes; at most %d are allowed", len(input),
			maxInput)
	}
	var known bool
	if _, p.Kind, known = pleat.WorkflowAlias(p.Alias); !known {
		return Plan{}, pleat.InvalidField("workflow_name",
			" is %q; it must be qna_v1, md, design_v1, alignment_v1, compare_v1, evolla_v1, calvados_openmm_v1 "+
				"or boltzgen_v1",
			pleat.Clip(p.Alias))
	}
	if p.Draft && p.Kind == pleat.TaskAlign {
		return Plan{}, pleat.InvalidField("create_mode",
			" is draft, but an alignment has nothing to edit; leave it out")
	}
	f := open(input, path)
	p.Public = f.flag("isPublic")
	p.Webhooks = f.raw("webhooks")
	switch p.Kind {
	case pleat.TaskMD:
		readMD(f, &p)
	case pleat.TaskDesign:
		readDesign(f, &p)
	case pleat.TaskCompare:
		readComparison(f, &p)
	case pleat.TaskAlign:
		readAlignment(f, &p)
	default:
		readQnA(f, &p)
	}
	var err error
	p.Destinations, err = pleat.ParseWorkflowWebhooks(p.Webhooks, f.pathOf("webhooks"))
	f.refuse(err)
	if p.strict {
		f.know(unusedFields...)
		f.refuseUnknown()
	}
	// An unknown field comes first: it explains why another is missing.
	slices.SortStableFunc(*f.faults, func(a, b *pleat.Error) int {
		unknown := func(e *pleat.Error) bool { return strings.HasPrefix(e.Message, "unknown field ") }
		switch {
		case unknown(a) == unknown(b):
			return 0
		case unknown(a):
			return -1
		}
		return 1
	})
	if err := f.faults.Err(); err != nil {
		return Plan{}, err
	}
	p.Notes = *f.notes
	return p, nil
}

// readFold reads the ids of a fold, its run and its sequence.
func readFold(f *fields) pleat.FoldRef {
	return pleat.FoldRef{
		Job:      pleat.JobID(f.uuid("source_job_id")),
		Run:      pleat.RunID(f.uuid("source_job_run_id", "source_run_id")),
		Sequence: pleat.SequenceID(f.uuid("source_sequence_id")),
	}
}

// readFile reads one entry of files.
func readFile(files *fields, name string) pleat.FileRef {
	f := files.object(name)
	if f == nil {
		return pleat.FileRef{}
	}
	ref := pleat.FileRef{Item: pleat.ItemID(f.uuid("libraryItemId")), Name: f.string("fileName", 255)}
	if ref.Item == "" {
		f.fail(f.pathOf("libraryItemId"), " is required; POST /v1/library/create makes an item")
	}
	if ref.Name != "" && !safeName(ref.Name) {
		f.fail(f.pathOf("fileName"), " is %q; it must be the plain name of a file", pleat.Clip(ref.Name))
	}
	return ref
}

// safeName reports whether s is a file name without a path.
func safeName(s string) bool {
	return s != "." && s != ".." && !strings.ContainsAny(s, "/\\") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
