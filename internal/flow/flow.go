// Package flow knows the two workflows, questions about a structure (qna) and dynamics (md): what their input may
// hold, which engine serves them, what a fold hands to its follow-ups, what the result's row looks like and which
// outputs there are.
//
// It is pure: no file, clock, network, database or chance. It decides what is asked; internal/engine answers it, and
// internal/work brings the files that a Source names.
package flow

import (
	"encoding/json"
	"slices"
	"strings"

	"pleat"
)

// SourceKind says where a workflow's structure comes from.
type SourceKind string

// The kinds of source, as targetSource and sourceType spell them.
const (
	SourceFold    SourceKind = "fold_job"
	SourceLibrary SourceKind = "library"
	SourceUpload  SourceKind = "upload"
	SourcePDB     SourceKind = "pdb"
	SourceUniProt SourceKind = "uniprot"
	SourceNone    SourceKind = "none" // a sequence alone
)

// FileRef names a file of the library. Name is empty for the item's only, or first fitting, file.
type FileRef struct {
	Item string
	Name string
}

// Source is what a workflow looks at. Which fields are set follows from Kind.
type Source struct {
	Kind      SourceKind
	Fold      pleat.FoldRef // of fold_job; Run empty: the job's latest; Sequence empty: the first protein
	Structure FileRef       // of library and upload
	PAE       FileRef       // of upload
	ID        string        // of pdb and uniprot, in upper case
}

// Reference is the ids that tie a result to its source, in one line.
func (s Source) Reference() string {
	parts := []string{string(s.Kind)}
	switch s.Kind {
	case SourceFold:
		parts = append(parts, string(s.Fold.Job), string(s.Fold.Run), string(s.Fold.Sequence))
	case SourceLibrary, SourceUpload:
		parts = append(parts, s.Structure.Item, s.Structure.Name)
	default:
		parts = append(parts, s.ID)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "/")
}

// Plan is a workflow_input read and checked. Exactly one of QnA and MD is set, the one of Kind; the names of their
// files are empty until the source has been brought into a folder.
type Plan struct {
	Kind     pleat.TaskKind
	Word     string
	Source   Source
	QnA      *pleat.QnAInput
	MD       *pleat.MDInput
	Seed     string // as given; empty: to be chosen
	Public   bool
	Webhooks json.RawMessage // as given, checked; nil: none

	Destinations []pleat.DestinationSetting // Webhooks, parsed
}

// Bounds of an input.
const (
	MaxInput    = 256 << 10 // bytes of a workflow_input
	MaxQuestion = 8 << 10   // bytes of a question
)

// Parse reads the workflow_input of a workflow by its word (qna, evolla, md, openmm). Keys are read in snake_case and
// in camelCase; null equals absent; unknown ones are left alone, but in md one that misspells a known field, or asks
// for physics that the engine does not do, is refused. Only a draft's question may be empty. A refusal is one
// sentence.
func Parse(word string, input json.RawMessage, draft bool) (Plan, error) {
	return parse(word, input, draft, "workflow_input")
}

func parse(word string, input json.RawMessage, draft bool, path string) (Plan, error) {
	if len(input) > MaxInput {
		return Plan{}, pleat.InvalidField(path, " has %d bytes; at most %d are taken", len(input), MaxInput)
	}
	_, kind, ok := pleat.WorkflowAlias(word)
	if !ok {
		return Plan{}, pleat.InvalidField("workflow_name", " is %q; it must be qna_v1, md, evolla_v1 or calvados_openmm_v1",
			pleat.Clip(word))
	}
	f := open(input, path)
	p := Plan{Kind: kind, Word: word, Public: f.flag("isPublic", false)}
	p.Webhooks = f.raw("webhooks")
	if kind == pleat.TaskMD {
		readMD(f, &p)
	} else {
		readQnA(f, &p, draft)
	}
	if *f.err != nil {
		return Plan{}, *f.err
	}
	var err error
	if p.Destinations, err = pleat.ParseWebhooks(p.Webhooks, path+".webhooks", true); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// readFold reads the ids of a fold.
func readFold(f *fields) pleat.FoldRef {
	return pleat.FoldRef{
		Job:      pleat.JobID(f.uuid("source_job_id")),
		Run:      pleat.RunID(f.uuid("source_job_run_id", "source_run_id")),
		Sequence: pleat.SequenceID(f.uuid("source_sequence_id")),
	}
}

// readFile reads one entry of files.
func readFile(files *fields, name string) FileRef {
	one := files.object(name)
	if one == nil {
		return FileRef{}
	}
	ref := FileRef{Item: one.uuid("libraryItemId"), Name: one.text("fileName", 255)}
	switch {
	case ref.Item == "":
		one.fail(one.path+".libraryItemId", " is required; POST /v1/library/create makes an item")
	case ref.Name != "" && !safeName(ref.Name):
		one.fail(one.path+".fileName", " is %q; it must be the plain name of a file", pleat.Clip(ref.Name))
	}
	return ref
}

// safeName reports whether s is a file name without path.
func safeName(s string) bool {
	return s != "." && s != ".." && !strings.ContainsAny(s, "/\\") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
