package pleat

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// EntityKind is the kind of molecule that a sequence describes.
type EntityKind string

// The kinds of entity. The values are those of stored documents; ItemKey has those of requests.
const (
	Protein EntityKind = "protein"
	RNA     EntityKind = "rna"
	DNA     EntityKind = "dna"
	Ligand  EntityKind = "ligand"
)

// itemKeys are the keys of the kinds in a creation request, which are part of the paths in Error.Field.
var itemKeys = map[EntityKind]string{
	Protein: "proteinChain",
	RNA:     "rnaSequence",
	DNA:     "dnaSequence",
	Ligand:  "ligandSequence",
}

// Modification replaces one residue of a polymer by a chemical component.
type Modification struct {
	Residue int    `json:"res_idx"` // counted from 1
	CCD     string `json:"ccd"`     // code of the Chemical Component Dictionary, or of a component of the job
}

// Sequence is one entity of a job: a polymer or a ligand, in Count copies. Each copy is one chain.
type Sequence struct {
	ID   SequenceID `json:"id,omitempty"`
	Kind EntityKind `json:"kind"`
	// Text holds the letters of a polymer, in upper case without white space, or the SMILES or CCD code of a ligand.
	Text          string         `json:"sequence"`
	Label         string         `json:"label,omitempty"`
	ChainID       string         `json:"chain_id,omitempty"` // as given; empty: the service chooses the name
	Chains        []string       `json:"chains"`             // one name per copy, in order
	Count         int            `json:"count"`
	PropertyType  string         `json:"property_type,omitempty"` // "affinity" asks for an affinity prediction
	Cyclic        bool           `json:"cyclic,omitempty"`        // the ends of the chain are bonded
	CCD           bool           `json:"is_ccd,omitempty"`        // Text is a CCD code
	Modifications []Modification `json:"modifications,omitempty"`
	Source        string         `json:"source_sequence_id,omitempty"` // sourceSequenceId as given
	// MSA is the alignment of a protein that its owner gives; zero: none.
	MSA       FileRef   `json:"msa,omitzero"`
	CreatedAt time.Time `json:"-"`
}

// FileRef names a file of the library. An empty Name means the item's only, or first suitable, file.
type FileRef struct {
	Item ItemID `json:"item"`
	Name string `json:"name,omitempty"`
}

// Polymer reports whether the sequence is a chain of residues, not a ligand.
func (s *Sequence) Polymer() bool { return s.Kind != Ligand }

// SequenceName returns what a sequence of the job is called: its label, else the name of the job, with the chain if the
// job has several sequences.
func (j *Job) SequenceName(s Sequence) string {
	switch {
	case s.Label != "":
		return s.Label
	case len(j.Sequences) > 1 && len(s.Chains) > 0:
		return j.Name + ", chain " + s.Chains[0]
	}
	return j.Name
}

// ItemKey returns the key of the kind in an item of a creation request, such as proteinChain.
func (k EntityKind) ItemKey() string { return itemKeys[k] }

// Path returns the path of the sequence in a creation request that has it as item i, such as sequences[0].proteinChain.
func (s *Sequence) Path(i int) string { return itemPath(i) + "." + s.Kind.ItemKey() }

// itemPath is the path of item i in a creation request.
func itemPath(i int) string { return indexed("sequences", i) }

// indexed is the path of element i of the array at path.
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Job is a request to fold: a name, entities, parameters, and who may see the results. Its runs execute it.
type Job struct {
	ID          JobID
	Owner       ProjectID
	Creator     UserID // empty: the user whose own project it is
	CreatorName string // as the store read it; empty: the user was deleted
	Name        string
	Public      bool
	ChatID      string // empty: none
	LibraryItem ItemID // empty: none
	Sequences   []Sequence
	Params      Params
	Constraints Constraints
	Complex     bool // one structure holds several chains; set by Validate
	State       State
	Version     int64 // rises with every change that readers can see
	Epoch       int64 // rises when the job becomes private, which makes its signed links invalid
	Run         RunID // the latest run
	Notes       Notes // on what Validate dropped; the store does not keep them
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Clone returns a copy of the job that Validate can change without changing j.
func (j *Job) Clone() Job {
	c := *j
	c.Sequences = slices.Clone(j.Sequences)
	for i := range c.Sequences {
		c.Sequences[i].Modifications = slices.Clone(j.Sequences[i].Modifications)
	}
	c.Params.Values = maps.Clone(j.Params.Values)
	c.Constraints.Templates = slices.Clone(j.Constraints.Templates)
	c.Constraints.Components = slices.Clone(j.Constraints.Components)
	return c
}

// CreatedBy is the user who created the job.
func (j *Job) CreatedBy() UserID { return creator(j.Creator, j.Owner) }

// Run is one execution of a job, or of a workflow.
type Run struct {
	ID         RunID
	Job        JobID
	Number     int // 1 for the first
	State      State
	MSA        State // of the MSA search; PENDING: none was made
	Model      string
	WeightSet  string
	Method     string
	Engine     string // name and version of the engine, once known
	Seed       string
	Params     Params
	Result     *Result  // nil until COMPLETED
	Failure    *Failure // nil unless FAILED or STOPPED
	CreatedAt  time.Time
	StartedAt  time.Time // zero until claimed
	FinishedAt time.Time // zero until terminal
	Stage      string    // the current stage
	Done       int       // steps of the stage that are done
	Total      int       // steps of the stage; 0: not known
}

// Seconds returns the duration of the run, from its first claim to its end. It is 0 until the run has ended.
func (r *Run) Seconds() float64 {
	if r.StartedAt.IsZero() || r.FinishedAt.IsZero() {
		return 0
	}
	return Elapsed(r.StartedAt, r.FinishedAt).Seconds()
}

// Elapsed returns the time between two moments that were stored: 0 if the clock was set back in between, since nothing
// takes a negative time.
func Elapsed(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }

// Prediction holds the scores of one predicted structure. A score that the engine does not give is nil.
type Prediction struct {
	Sequence  SequenceID `json:"sequence_id,omitempty"` // empty: the whole complex
	Chains    []string   `json:"chains"`
	MeanPLDDT *float64   `json:"mean_plddt"` // 0–100
	// PredictedRMSD is the mean over residues of the error that some models state in place of pLDDT, in Å: lower is
	// better.
	PredictedRMSD *float64  `json:"mean_predicted_rmsd,omitempty"`
	PTM           *float64  `json:"ptm"`     // 0–1
	IPTM          *float64  `json:"iptm"`    // 0–1
	MaxPAE        *float64  `json:"max_pae"` // Å
	Affinity      *Affinity `json:"affinity,omitempty"`
	Confidence    string    `json:"confidence,omitempty"` // what the engine's confidence means, in words
	// Pairs holds interface scores per pair of chains, where the engine gives a PAE and there are several chains.
	Pairs []PairScore `json:"pairs,omitempty"`
	// Templates says how near the structure is to each template of its chains.
	Templates []TemplateScore `json:"templates,omitempty"`
}

// TemplateScore says how near a chain of a predicted structure is to a template of it.
type TemplateScore struct {
	Template int      `json:"template"` // index into Constraints.Templates
	Chain    string   `json:"chain"`
	Residues int      `json:"residues"` // whose CA are compared: those of the template that the structure has
	RMSD     *float64 `json:"rmsd"`     // Å, of these CA after superposition; nil: there are fewer than 3
}

// Affinity is the predicted binding of a ligand.
type Affinity struct {
	Value       float64 `json:"affinity_pred_value"`         // log10 of IC50 in µM
	Probability float64 `json:"affinity_probability_binary"` // that the ligand binds at all, 0 to 1
}

// PairScore rates the interface between two chains. Package structure defines and cites the scores.
type PairScore struct {
	A       string   `json:"chain_a"`
	B       string   `json:"chain_b"`
	IPTM    *float64 `json:"iptm"`
	IPSAE   *float64 `json:"ipsae"`
	PDockQ2 *float64 `json:"pdockq2"`
	LIS     *float64 `json:"lis"`
}

// Result is the outcome of a run, as the database stores it in JSON. A completed fold has Predictions, a completed
// question or simulation has Row. A run that failed or was stopped while it ran has Timings alone.
type Result struct {
	Predictions []Prediction       `json:"predictions"`
	Timings     map[string]float64 `json:"timings"`       // seconds by stage; see Stages
	Row         json.RawMessage    `json:"row,omitempty"` // result_raw_json of a workflow's task
	Notes       []string           `json:"notes,omitempty"`
	// AnsweredFrom is the earlier run whose cached result this is; empty: this run computed it. The last note is about
	// that run, which it calls SourceRun.
	AnsweredFrom RunID `json:"answered_from,omitempty"`
}

// TimingsOnly returns a result that has the timings of another and nothing else; nil if there are none.
func (r *Result) TimingsOnly() *Result {
	if r == nil || len(r.Timings) == 0 {
		return nil
	}
	return &Result{Timings: r.Timings}
}

// The stages of a run. They do not overlap: the seconds of those that Result.Timings has add up to at most the time
// from the creation of the run to its end. A stage that did not take place, or whose time is not known, is absent.
const (
	StageQueue   = "queue"   // no worker had the run: it waited in its queues, or for its next attempt
	StageEarlier = "earlier" // attempts before the last, except a search that succeeded; what they did is not known
	StageMSA     = "msa"     // alignments: the search for them, wherever it took place, and the reading of stored ones
	StageFetch   = "fetch"   // the files that a question, a simulation or a comparison reads, and templates of a fold
	StageWait    = "wait"    // for an accelerator, once a worker had the run
	StageLoad    = "load"    // the model was loaded; absent if it was loaded already
	StageInfer   = "infer"   // the computation
	StageWrite   = "write"   // results: checks, figures, archives, until every file is stored
)

// Stages lists the stages of a run in their order. Every other key of Result.Timings is a part of one of them, named by
// the engine (trunk, diffusion, digest) or the service: check and the answer of a cached result are parts of write.
var Stages = []string{
	StageQueue, StageEarlier, StageMSA, StageFetch, StageWait, StageLoad, StageInfer, StageWrite,
}

// SourceRun stands in notes for the run whose result was reused. Only the owner of the new run is told its id.
const SourceRun = "an earlier run"

// Artifact is one file of a run.
type Artifact struct {
	ID          ArtifactID
	Run         RunID
	Sequence    SequenceID // empty: the file belongs to the whole run
	Name        string     // unique in the run
	Kind        ArtifactKind
	ContentType string
	Bytes       int64
	SHA256      string // hex
	Key         string // key in the blob store
	CreatedAt   time.Time
}

// ArtifactNamed returns the file of a run that has a name; nil: it has none.
func ArtifactNamed(files []Artifact, name string) *Artifact {
	for i := range files {
		if files[i].Name == name {
			return &files[i]
		}
	}
	return nil
}

// ArtifactKind is the purpose of a file. Results have one URL per kind.
type ArtifactKind string

// The kinds of artifact. A completed fold has a structure for each prediction and, for the whole run, its metrics, run
// configuration and citations; the others depend on the engine.
const (
	ArtifactCIF       ArtifactKind = "cif"
	ArtifactPDB       ArtifactKind = "pdb"
	ArtifactPAE       ArtifactKind = "pae_json"
	ArtifactPAEPlot   ArtifactKind = "pae_plot"
	ArtifactPLDDTPlot ArtifactKind = "plddt_plot"
	ArtifactRMSDPlot  ArtifactKind = "predicted_rmsd_plot"
	ArtifactCoverage  ArtifactKind = "msa_coverage_plot"
	ArtifactMSA       ArtifactKind = "msa"
	ArtifactMetrics   ArtifactKind = "metrics_json"
	ArtifactConfig    ArtifactKind = "config_json"
	ArtifactCitations ArtifactKind = "citations_bibtex"
	ArtifactPlots     ArtifactKind = "plots"
	ArtifactArchive   ArtifactKind = "archive"

	// Files of workflows.
	ArtifactTopology   ArtifactKind = "topology_pdb"
	ArtifactTrajectory ArtifactKind = "trajectory"
	ArtifactEnergies   ArtifactKind = "energies_csv"
	ArtifactDynamics   ArtifactKind = "dynamics_plot" // RMSD, RMSF, radius of gyration, free energy
	ArtifactAnswer     ArtifactKind = "answer_json"
	ArtifactFacts      ArtifactKind = "facts_json"
	ArtifactJobYAML    ArtifactKind = "job_yaml"

	// Files of designs.
	ArtifactDesign       ArtifactKind = "design_cif"    // of one design of the final set; see DesignFileName
	ArtifactDesignTable  ArtifactKind = "design_table"  // of the engine
	ArtifactDesignReport ArtifactKind = "design_report" // of the engine
	ArtifactDesigns      ArtifactKind = "designs_jsonl" // every design that was considered
	ArtifactDesignSpec   ArtifactKind = "design_spec"
	ArtifactDesignPlot   ArtifactKind = "design_plot"

	ArtifactOther ArtifactKind = "other"
)

// ArtifactKinds are all kinds of artifact.
var ArtifactKinds = []ArtifactKind{
	ArtifactCIF, ArtifactPDB, ArtifactPAE, ArtifactPAEPlot, ArtifactPLDDTPlot, ArtifactRMSDPlot, ArtifactCoverage,
	ArtifactMSA, ArtifactMetrics, ArtifactConfig, ArtifactCitations, ArtifactPlots, ArtifactArchive, ArtifactTopology,
	ArtifactTrajectory, ArtifactEnergies, ArtifactDynamics, ArtifactAnswer, ArtifactFacts, ArtifactJobYAML,
	ArtifactDesign, ArtifactDesignTable, ArtifactDesignReport, ArtifactDesigns, ArtifactDesignSpec,
	ArtifactDesignPlot, ArtifactOther,
}

// Progress is one event in the life of a run, as the event stream shows it. Seq counts the events of a run from 1.
// Which of the other fields are set depends on the kind: State, or Stage with Done and Total, or Line, which is a line
// of the log or the name of an artifact.
type Progress struct {
	Seq   int64           `json:"seq"`
	At    time.Time       `json:"at"`
	Kind  ProgressKind    `json:"kind"`
	State State           `json:"state,omitempty"`
	Stage string          `json:"stage,omitempty"`
	Done  int             `json:"done,omitempty"`
	Total int             `json:"total,omitempty"`
	Line  string          `json:"line,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// ProgressKind is the name of an event on the stream.
type ProgressKind string

// The kinds of progress: a change of state, a step of a stage, a line of the log, and a file that can be read.
const (
	ProgressState    ProgressKind = "state"
	ProgressStage    ProgressKind = "stage"
	ProgressLog      ProgressKind = "log"
	ProgressArtifact ProgressKind = "artifact"
)
