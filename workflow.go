package pleat

import (
	"encoding/json"
	"time"
)

// Workflow is a question about a structure, or a simulation of it: what was asked, and its one task. Until it is
// executed it may be a draft, which has no task yet.
type Workflow struct {
	ID      WorkflowID
	Owner   UserID
	Kind    TaskKind // qna or md
	Alias   string   // as the caller spelled it: qna, evolla, md, openmm
	Type    string   // the workflow's name on the wire: qna_v1, evolla_v1, md, calvados_openmm_v1
	Name    string
	Public  bool
	State   State
	Version int64
	Epoch   int64
	Run     RunID           // of its task; empty for a draft
	Input   json.RawMessage // workflow_input as given, secrets removed
	Source  FoldRef
	Created time.Time
	Updated time.Time
}

// TaskType is the type of the workflow's task on the wire.
func (w *Workflow) TaskType() string { return aliasTable[w.Alias].task }

// FoldRef names the fold that a workflow looks at; the zero value: none.
type FoldRef struct {
	Job      JobID
	Run      RunID
	Sequence SequenceID
}

// WorkflowWord finds the word that a workflow's name stands for («evolla_v1» → «evolla»), or the word itself.
func WorkflowAlias(name string) (word string, kind TaskKind, ok bool) {
	for _, w := range Aliases() {
		a := aliasTable[w]
		if a.task == "" || name != a.target && name != w && name != w+"_v1" {
			continue
		}
		if a.destination == DestMD {
			return w, TaskMD, true
		}
		return w, TaskQnA, true
	}
	return "", "", false
}

// WorkflowType is the workflow's name on the wire for a word: qna_v1, evolla_v1, md, calvados_openmm_v1.
func WorkflowType(word string) string { return aliasTable[word].target }

// QnAInput is a question about a structure.
type QnAInput struct {
	Question   string
	Name       string // of the job that predicted the structure; empty: the file's own title
	Source     string // fold_job, library, upload, pdb, uniprot
	Reference  string // the ids that tie the run to what it looks at
	File       string // name of the structure's file, inside Work.Dir
	PAE        string // name of the PAE file there; empty: none
	Predicted  bool   // its B-factors are pLDDT
	Model      string // what predicted it; empty: not known, or an experiment
	PTM, IPTM  *float64
	Affinity   *Affinity
	Confidence string // what its confidence is, in words
}

// MDInput is a simulation to run. Units: K, mol/L, ns, nm.
type MDInput struct {
	Preset     string // single_idr_fasta, single_af_go, all_atom
	Profile    string // calvados2, calvados3
	Sequence   string // of single_idr_fasta
	File       string // name of the structure's file, inside Work.Dir; empty: none
	PAE        string // name of the PAE file there; empty: none
	Temp       float64
	Ionic      float64
	PH         float64
	StepNs     float64 // between saved frames
	LengthNs   float64
	BoxNm      float64
	Termini    string
	Seed       uint64
	Parameters map[string]any // every input as resolved, for the record
}
