package pleat

import (
	"encoding/json"
	"time"
)

// Workflow is a question about a structure, a simulation of it, a design of proteins, a comparison of several
// structures, or an alignment of sequences: what was asked, and its one task. Until it is executed it may be a draft,
// which has no task yet.
type Workflow struct {
	ID          WorkflowID
	Owner       ProjectID
	Creator     UserID   // empty: the user whose own project it is
	CreatorName string   // as the store read it; empty: the user was deleted
	Kind        TaskKind // qna, md, design, compare or align
	Alias       string   // as the caller spelled it: qna, evolla, md, openmm, design, boltzgen, compare, alignment
	Type        string   // its name on the wire, such as qna_v1; see WorkflowType
	Name        string
	Public      bool
	State       State
	Version     int64
	Epoch       int64
	Run         RunID           // of its task; empty for a draft
	Input       json.RawMessage // workflow_input as given, secrets removed
	Source      FoldRef
	Created     time.Time
	Updated     time.Time
}

// TaskType is the type of the workflow's task on the wire.
func (w *Workflow) TaskType() string { return aliasTable[w.Alias].task }

// FoldRef names the fold that a workflow looks at; the zero value: none.
type FoldRef struct {
	Job      JobID
	Run      RunID
	Sequence SequenceID
}

// WorkflowAlias returns the alias and the kind that a workflow's name stands for: «evolla_v1» and «evolla» give evolla.
func WorkflowAlias(name string) (alias string, kind TaskKind, ok bool) {
	for _, key := range workflowAliases() {
		if a := aliasTable[key]; name == a.target || name == key || name == key+"_v1" {
			return key, a.kind, true
		}
	}
	return "", "", false
}

// CreatedBy is the user who created the workflow.
func (w *Workflow) CreatedBy() UserID { return creator(w.Creator, w.Owner) }

// WorkflowType is the workflow's name on the wire for an alias: qna_v1, evolla_v1, md, calvados_openmm_v1,
// compare_v1.
func WorkflowType(alias string) string { return aliasTable[alias].target }

// QnAInput is a question about a structure.
type QnAInput struct {
	Question  string
	Name      string      // of the job that predicted the structure; empty: the file's own title
	Source    string      // fold_job, library, upload, pdb, uniprot
	Reference string      // the ids that tie the run to what it looks at
	File      string      // name of the structure's file, inside Work.Dir
	PAE       string      // name of the PAE file there; empty: none
	Predicted bool        // its B-factors are pLDDT
	Model     string      // what predicted it; empty: not known, or an experiment
	Scores    *Prediction // of the engine that predicted it; nil: not known
}

// MinCompared and MaxCompared are how many structures a comparison may have.
const MinCompared, MaxCompared = 2, 20

// CompareInput is structures to compare.
type CompareInput struct {
	Structures []ComparedStructure
	Reference  int // position of the reference, counted from 1; 0: none
}

// ComparedStructure is one of the structures of a comparison.
type ComparedStructure struct {
	Of        string `json:"of"`               // as it was given: job:ID/SAMPLE
	Kind      string `json:"kind"`             // job, library, pdb
	Name      string `json:"name"`             // of the job, the file or the entry
	File      string `json:"-"`                // name of its file, inside Work.Dir
	Stored    string `json:"stored,omitempty"` // what the file is called where it is stored; empty: it is not stored
	Job       JobID  `json:"job,omitempty"`
	Run       RunID  `json:"run,omitempty"`
	Item      ItemID `json:"item,omitempty"`
	Model     string `json:"model,omitempty"`     // that predicted it; empty: not known
	Predicted bool   `json:"predicted,omitempty"` // its B-factors are pLDDT
}

// AlignInput is a set of proteins to align.
type AlignInput struct {
	Sequences []Sequence // of proteins, validated
	Pairing   string     // greedy, complete or none; empty: as the operator has set it
}

// MDInput is a simulation to run.
type MDInput struct {
	Preset     string  // single_idr_fasta, single_af_go, all_atom
	Profile    string  // calvados2, calvados3
	Sequence   string  // of single_idr_fasta
	File       string  // name of the structure's file, inside Work.Dir; empty: none
	PAE        string  // name of the PAE file there; empty: none
	Temp       float64 // K
	Ionic      float64 // mol/L
	PH         float64
	StepNs     float64 // ns between saved frames
	LengthNs   float64 // ns
	BoxNm      float64 // nm
	Termini    string  // charge state of the chain's ends
	Seed       uint64
	Parameters map[string]any // every input as resolved, for the record
}

// Work is one attempt at a task, as an engine gets it. Exactly one of Fold, QnA, MD, Design and Compare is set, the one
// of Kind. Files that an input names are in Dir.
type Work struct {
	Kind    TaskKind
	Task    TaskID
	Attempt int
	Tries   int // of earlier attempts, whose process died or whose failure may pass
	Model   Model
	Fold    *FoldInput
	QnA     *QnAInput
	MD      *MDInput
	Design  *DesignInput
	Compare *CompareInput
	Input   string            // InputHash of a fold; empty: not known
	Files   map[string]string // SHA-256 in hex of a fold's input files in Dir, such as alignments, by name
	Dir     string            // a fresh folder with the input's files; the engine writes its output here
	Resume  string            // path of the last attempt's checkpoint; empty: start at the beginning
	Step    int64             // of that checkpoint
	// Citations are of the programs that prepared the input, such as a search for alignments, beside those of Model.
	Citations []Citation
	// Computed, if not nil, is called when the computation is done and only files remain to be written, so that the
	// accelerator is free for the next task. An engine need not call it.
	Computed func() `json:"-"`
}

// FoldInput is what to fold. A model without FeatureComplex folds each sequence separately.
type FoldInput struct {
	Job         JobID
	Run         RunID
	Owner       ProjectID
	LibraryItem ItemID // that the job was made from; empty: none
	Name        string
	Sequences   []Sequence
	Params      Params
	Seed        string
	Constraints Constraints
	Complex     bool
	Alignments  []Alignment    // in the order of the sequences; empty: none were made
	Templates   []FoldTemplate // as the worker has read them, in the order of Constraints.Templates
	// Components are those of files, as the worker has read them.
	Components []FoldComponent
}

// FoldComponent is a component of a job from a file of the library: an mmCIF file as the Chemical Component Dictionary
// has them.
type FoldComponent struct {
	Code string
	File string // path below Work.Dir
}

// FoldTemplate is a template of one chain: an mmCIF file whose only chain is named A and has the positions of the
// job's.
type FoldTemplate struct {
	Template int    // index into Constraints.Templates
	Sequence int    // index into FoldInput.Sequences
	Chain    string // of the job
	File     string // path below Work.Dir
	Residues []TemplateResidue
}

// TemplateResidue is a residue of a template.
type TemplateResidue struct {
	Position int        // in the job's chain, counted from 1
	CA       [3]float64 // Å
}

// Alignment is the multiple sequence alignment of one sequence: A3M files, named by their paths below Work.Dir. The
// first row of each is the sequence itself.
type Alignment struct {
	Sequence int    // index into FoldInput.Sequences
	File     string // rows of this sequence alone
	Paired   string // rows that belong, by their order, to those of the other sequences' paired files; empty: none
}

// Output is how an attempt ended: files and a result, or a failure.
type Output struct {
	Files   []File
	Result  *Result  // of a failure, only the timings count
	Failure *Failure // nil: it succeeded
	// Row is the result_raw_json of a workflow's task; nil for a fold.
	Row    json.RawMessage
	Engine string // name and version of the engine
	MSA    State  // of the alignment; PENDING if none was made
}

// File is a file that an attempt wrote. Path is inside Work.Dir.
type File struct {
	Kind        ArtifactKind
	Name        string // what the artifact is called, unique in the run
	Path        string
	ContentType string
	Sequence    SequenceID // that it belongs to; empty: the whole run
}

// Sink receives what an engine reports while it works. Calls are cheap, never block for long and may come from any
// goroutine.
type Sink interface {
	// Progress reports how much of a stage is done; the total is 0 if it is not known.
	Progress(stage string, done, total int)
	// Log adds one line to the run's log. Lines are clipped and their number is bounded.
	Log(line string)
	// Publish makes a file readable before the run ends.
	Publish(f File) error
	// Checkpoint stores a file from which another attempt can resume.
	Checkpoint(path string, step int64) error
}

// Tokens returns the size of a workflow's structure in residues, for the estimate of memory: that of the sequence, else
// a high estimate, since the size of a file is not known before it is read. A nil input, of a question, has a file too.
func (m *MDInput) Tokens() int {
	if m != nil && m.Sequence != "" {
		return len(m.Sequence)
	}
	return 1000
}
