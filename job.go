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

const (
	Protein EntityKind = "protein"
	RNA     EntityKind = "rna"
	DNA     EntityKind = "dna"
	Ligand  EntityKind = "ligand"
)

// itemKeys are the keys of the kinds in a creation request. They are part of the paths in Error.Field.
var itemKeys = map[EntityKind]string{
	Protein: "proteinChain",
	RNA:     "rnaSequence",
	DNA:     "dnaSequence",
	Ligand:  "ligandSequence",
}

// Modification replaces one residue of a polymer by a chemical component.
type Modification struct {
	Residue int    `json:"res_idx"` // 1-based
	CCD     string `json:"ccd"`
}

// Sequence is one entity of a job: a polymer, or a ligand as SMILES or CCD code. It stands for Count chains.
type Sequence struct {
	ID            SequenceID     `json:"id,omitempty"`
	Kind          EntityKind     `json:"kind"`
	Text          string         `json:"sequence"` // upper case without white space for polymers; SMILES or CCD code for ligands
	Label         string         `json:"label,omitempty"`
	ChainID       string         `json:"chain_id,omitempty"` // as given; empty where the service chose
	Chains        []string       `json:"chains"`             // one name per copy, in order
	Count         int            `json:"count"`
	PropertyType  string         `json:"property_type,omitempty"` // "affinity" asks for an affinity prediction
	Cyclic        bool           `json:"cyclic,omitempty"`
	CCD           bool           `json:"is_ccd,omitempty"`
	Modifications []Modification `json:"modifications,omitempty"`
	Source        string         `json:"source_sequence_id,omitempty"` // sourceSequenceId as given
	CreatedAt     time.Time      `json:"-"`
}

// Polymer reports whether the sequence is a chain of residues.
func (s *Sequence) Polymer() bool { return s.Kind != Ligand }

// Path is the path of the sequence in a creation request that has it as item i, such as sequences[0].proteinChain.
func (s *Sequence) Path(i int) string { return itemPath(i) + "." + itemKeys[s.Kind] }

// itemPath is the path of item i in a creation request.
func itemPath(i int) string { return indexed("sequences", i) }

// indexed is the path of element i of the array at path.
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Item is the sequence in the form of a creation request.
func (s *Sequence) Item() map[string]any {
	v := map[string]any{"sequence": s.Text}
	set := func(name string, value any, given bool) {
		if given {
			v[name] = value
		}
	}
	set("chain_id", s.ChainID, s.ChainID != "")
	set("label", s.Label, s.Label != "")
	set("count", s.Count, s.Count > 1)
	set("property_type", s.PropertyType, s.PropertyType != "")
	set("cyclic", s.Cyclic, s.Cyclic)
	set("is_ccd", s.CCD, s.CCD)
	set("modifications", s.Modifications, len(s.Modifications) > 0)
	return map[string]any{itemKeys[s.Kind]: v}
}

// Job is what was asked: a name, entities, parameters, and who may see it.
type Job struct {
	ID          JobID
	Owner       UserID
	Name        string
	Public      bool
	ChatID      string // empty: none
	LibraryItem string // empty: none
	Sequences   []Sequence
	Params      Params
	Constraints Constraints
	Complex     bool // one structure holds several chains
	State       State
	Version     int64 // rises with every change that a reader could see
	Epoch       int64 // visibility epoch: rises when the job becomes private, killing its links
	Run         RunID // the latest run
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
	return c
}

// Run is one go at a job.
type Run struct {
	ID         RunID
	Job        JobID
	Number     int // 1 for the first
	State      State
	MSA        State // PENDING where no alignment was made
	Model      string
	WeightSet  string
	Method     string
	Engine     string // name and version of what ran, once known
	Seed       string
	Params     Params
	Result     *Result  // nil until COMPLETED
	Failure    *Failure // nil unless FAILED or STOPPED
	CreatedAt  time.Time
	StartedAt  time.Time // zero until claimed
	FinishedAt time.Time // zero until terminal
	Stage      string    // what it is doing now
	Done       int
	Total      int
}

// Seconds is how long the run has executed: from its first claim to its end. 0 until both are known.
func (r *Run) Seconds() float64 {
	if r.StartedAt.IsZero() || r.FinishedAt.IsZero() {
		return 0
	}
	return r.FinishedAt.Sub(r.StartedAt).Seconds()
}

// Prediction is what one structure scored. What an engine does not give is nil.
type Prediction struct {
	Sequence   SequenceID `json:"sequence_id,omitempty"` // empty: the whole complex
	Chains     []string   `json:"chains"`
	MeanPLDDT  *float64   `json:"mean_plddt"` // 0–100
	PTM        *float64   `json:"ptm"`        // 0–1
	IPTM       *float64   `json:"iptm"`       // 0–1
	MaxPAE     *float64   `json:"max_pae"`    // Å
	Affinity   *Affinity  `json:"affinity,omitempty"`
	Confidence string     `json:"confidence,omitempty"` // what the confidence is, in words
	// Pairs holds interface scores per pair of chains, where the engine gives a PAE and there are several chains.
	Pairs []PairScore `json:"pairs,omitempty"`
}

// Affinity is a ligand's predicted binding: log10 of IC50 in µM, and the probability that it binds at all.
type Affinity struct {
	Value       float64 `json:"affinity_pred_value"`
	Probability float64 `json:"affinity_probability_binary"`
}

// PairScore rates the interface between two chains; the definitions stand in internal/structure.
type PairScore struct {
	A       string   `json:"chain_a"`
	B       string   `json:"chain_b"`
	IPTM    *float64 `json:"iptm"`
	IPSAE   *float64 `json:"ipsae"`
	PDockQ2 *float64 `json:"pdockq2"`
}

// Result is what a completed run predicted.
type Result struct {
	Predictions []Prediction       `json:"predictions"`
	Timings     map[string]float64 `json:"timings"`       // seconds per stage: queue, msa, load, infer, write
	Row         json.RawMessage    `json:"row,omitempty"` // result_raw_json of a workflow's task
	Notes       []string           `json:"notes,omitempty"`
	// AnsweredFrom is the run that these results were computed by, or came through; empty: this one. The last of Notes says so.
	AnsweredFrom RunID `json:"answered_from,omitempty"`
}

// Artifact is one file of a run, as the manifest lists it.
type Artifact struct {
	ID          ArtifactID
	Run         RunID
	Sequence    SequenceID // empty: of the whole run
	Name        string     // unique in the run
	Kind        ArtifactKind
	ContentType string
	Bytes       int64
	SHA256      string // hex
	Key         string // where internal/blob keeps it
	CreatedAt   time.Time
}

// ArtifactKind says what a file is for; results carry one URL per kind.
type ArtifactKind string

const (
	ArtifactCIF       ArtifactKind = "cif"
	ArtifactPDB       ArtifactKind = "pdb"
	ArtifactPAE       ArtifactKind = "pae_json"
	ArtifactPAEPlot   ArtifactKind = "pae_plot"
	ArtifactPLDDTPlot ArtifactKind = "plddt_plot"
	ArtifactCoverage  ArtifactKind = "msa_coverage_plot"
	ArtifactMSA       ArtifactKind = "msa"
	ArtifactMetrics   ArtifactKind = "metrics_json"
	ArtifactConfig    ArtifactKind = "config_json"
	ArtifactCitations ArtifactKind = "citations_bibtex"
	ArtifactPlots     ArtifactKind = "plots"
	ArtifactArchive   ArtifactKind = "archive"

	// Of workflows.
	ArtifactTopology   ArtifactKind = "topology_pdb"
	ArtifactTrajectory ArtifactKind = "trajectory"
	ArtifactEnergies   ArtifactKind = "energies_csv"
	ArtifactDynamics   ArtifactKind = "dynamics_plot" // RMSD, RMSF, radius of gyration, free energy
	ArtifactAnswer     ArtifactKind = "answer_json"
	ArtifactFacts      ArtifactKind = "facts_json"
	ArtifactJobYAML    ArtifactKind = "job_yaml"

	ArtifactOther ArtifactKind = "other"
)

// Progress is one thing that happened in a run, as the event stream shows it.
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

// ProgressKind is the event name on the stream.
type ProgressKind string

const (
	ProgressState    ProgressKind = "state"
	ProgressStage    ProgressKind = "stage"
	ProgressLog      ProgressKind = "log"
	ProgressArtifact ProgressKind = "artifact"
)
