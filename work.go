package pleat

import "encoding/json"

// Work is one attempt at a task, as an engine gets it. Exactly one of the inputs is set, the one of its kind. Files
// that an input names are in the work's folder.
type Work struct {
	Kind    TaskKind
	Task    TaskID
	Attempt int
	Model   Model
	Fold    *FoldInput
	QnA     *QnAInput
	MD      *MDInput
	Input   string            // of a fold: InputHash of it; empty: not known
	Files   map[string]string // of a fold: SHA-256 in hex of the input files in Dir, alignments for one, by name
	Dir     string            // a fresh folder with the input's files: what the engine writes goes here
	Resume  string            // path of the last attempt's checkpoint; empty: from the start
	Step    int64             // of that checkpoint
	// Computed, if not nil, is called once all is computed and only files are left to be written: what computed it is
	// free for the next task. An engine need not call it.
	Computed func()
}

// FoldInput is what to fold. A model without FeatureComplex folds each sequence on its own.
type FoldInput struct {
	Job         JobID
	Run         RunID
	Owner       UserID
	LibraryItem string // of the owner's, that the job was made from; empty: none
	Name        string
	Sequences   []Sequence
	Params      Params
	Seed        string
	Constraints Constraints
	Complex     bool
	Alignments  []Alignment // in the order of the sequences; empty: none were made
}

// Alignment is what a sequence is aligned to: A3M files, named by their paths below Work.Dir. The first row of each is
// the sequence itself.
type Alignment struct {
	Sequence int    // index into FoldInput.Sequences
	File     string // rows of this sequence alone
	Paired   string // rows that belong, by their order, to those of the other sequences' paired files; empty: none
}

// Output is how an attempt ended: files and a result, or a failure.
type Output struct {
	Files   []File
	Result  *Result
	Failure *Failure // nil: it worked
	// Row is the result_raw_json of a workflow's task; nil for a fold.
	Row    json.RawMessage
	Engine string // name and version of what ran
	MSA    State  // what became of the alignment; PENDING where none was made
}

// File is something an attempt wrote. Path is inside Work.Dir.
type File struct {
	Kind        ArtifactKind
	Name        string // what the artifact is called, unique in the run
	Path        string
	ContentType string
	Sequence    SequenceID // empty: of the whole run
}

// Sink takes what an engine has to say while it works. Calls are cheap, never block for long and may come from any
// goroutine.
type Sink interface {
	// Progress says that a stage has done so much of its total; the total is 0 where it is not known.
	Progress(stage string, done, total int)
	// Log adds one line to the run's log; lines are clipped and their number is bounded.
	Log(line string)
	// Publish makes a file readable before the run ends.
	Publish(f File) error
	// Checkpoint keeps a file from which another attempt may go on.
	Checkpoint(path string, step int64) error
}
