package api

import (
	"encoding/json"
	"reflect"
	"strings"
)

// CreateJob is the body of POST /v1/jobs ([Client.CreateJob]). In all requests null means absent.
type CreateJob struct {
	Name        string         `json:"name" doc:"Name of the job." minLength:"1" maxLength:"255" example:"Trp-cage"`
	IsPublic    bool           `json:"isPublic,omitempty" doc:"Whether anyone may read the results; absent: false."`
	Sequences   []SequenceItem `json:"sequences" doc:"The chains and ligands to fold." minItems:"1" maxItems:"256"`
	Params      *Params        `json:"params" doc:"The model and its parameters."`
	Constraints *Constraints   `json:"constraints,omitempty" doc:"Constraints of the fold, and its webhooks."`
	ChatID      string         `json:"chatId,omitempty" doc:"A chat to associate with the job. The service only stores it." format:"uuid"`
	ProjectID   string         `json:"projectId,omitempty" doc:"The project that owns it; absent: that of the key, else your own." format:"uuid"`
}

// SequenceItem is one entity to fold: exactly one of the four kinds.
type SequenceItem struct {
	ProteinChain   *Polymer        `json:"proteinChain,omitempty" doc:"A protein chain."`
	RNASequence    *Polymer        `json:"rnaSequence,omitempty" doc:"An RNA chain."`
	DNASequence    *Polymer        `json:"dnaSequence,omitempty" doc:"A DNA chain."`
	LigandSequence *LigandSequence `json:"ligandSequence,omitempty" doc:"A ligand."`

	SourceSequenceID string `json:"sourceSequenceId,omitempty" doc:"The sequence of an earlier job from which this one was copied." format:"uuid"`
}

// Kinds returns the keys of the kinds. An item has exactly one of them.
func (SequenceItem) Kinds() []string {
	return []string{"proteinChain", "rnaSequence", "dnaSequence", "ligandSequence"}
}

// check requires exactly one kind.
func (s *SequenceItem) check(p *location) error {
	var has []string
	present := []bool{s.ProteinChain != nil, s.RNASequence != nil, s.DNASequence != nil, s.LigandSequence != nil}
	for i, set := range present {
		if set {
			has = append(has, s.Kinds()[i])
		}
	}
	if len(has) == 1 {
		return nil
	}
	all := strings.Join(s.Kinds(), ", ")
	if len(has) == 0 {
		return refuse(p, "%s must have exactly one of %s; it has none of them", p, all)
	}
	return refuse(p, "%s must have exactly one of %s; it has %s", p, all, and(has))
}

// and joins words for a sentence.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Polymer is a chain of residues, as Count copies.
type Polymer struct {
	Sequence      string         `json:"sequence" doc:"One letter per residue, at most 20,000; white space is ignored, and one * at the end." example:"DAYAQWLKDGGPSSGRPPPS"`
	ChainID       string         `json:"chain_id,omitempty" doc:"Name of the chain: 1 to 4 letters and digits. Absent: A, B, C… in order." maxLength:"4"`
	Label         string         `json:"label,omitempty" doc:"A name for it in the results." maxLength:"255"`
	Count         *int           `json:"count,omitempty" doc:"Number of copies; absent: 1." minimum:"1" maximum:"512"`
	PropertyType  string         `json:"property_type,omitempty" doc:"A property to predict in addition to the structure."`
	Cyclic        bool           `json:"cyclic,omitempty" doc:"Whether the two ends are bonded; absent: false."`
	Modifications []Modification `json:"modifications,omitempty" doc:"Residues replaced by chemical components." maxItems:"20000"`
	MSA           *FileRef       `json:"msa,omitempty" doc:"For a protein: an alignment of one's own in A3M format, which begins with the sequence. Absent: one is searched for, if the model uses alignments."`
}

// FileRef names a file of the caller's library.
type FileRef struct {
	LibraryItemID string `json:"libraryItemId" doc:"A library item of the caller." format:"uuid"`
	FileName      string `json:"fileName,omitempty" doc:"One of its files. Absent: the item's only suitable file." maxLength:"128"`
}

// Modification replaces one residue.
type Modification struct {
	ResIdx int    `json:"res_idx" doc:"Which residue, counted from 1." minimum:"1"`
	CCD    string `json:"ccd" doc:"CCD code of the component that replaces it, or the code of a component of the job." example:"SEP"`
}

// LigandSequence is a small molecule, as Count copies.
type LigandSequence struct {
	Sequence     string `json:"sequence" doc:"A SMILES string, or a code of the Chemical Component Dictionary (CCD), or of a component of the job, if is_ccd is true." maxLength:"2000" example:"CC(=O)Oc1ccccc1C(=O)O"`
	IsCCD        bool   `json:"is_ccd,omitempty" doc:"Whether sequence is a CCD code; absent: false."`
	ChainID      string `json:"chain_id,omitempty" doc:"Name of the chain." maxLength:"4"`
	Label        string `json:"label,omitempty" doc:"A name for it in the results." maxLength:"255"`
	Count        *int   `json:"count,omitempty" doc:"Number of copies; absent: 1." minimum:"1" maximum:"512"`
	PropertyType string `json:"property_type,omitempty" doc:"affinity: predict how strongly it binds." enum:"LigandProperty"`
}

// Params names the model and sets its parameters. Nil stands for the default of the model. GET /v1/models lists the
// parameters of each model.
type Params struct {
	ModelName                string   `json:"modelName" doc:"Name of a fold model, as GET /v1/models lists it." example:"mini"`
	MSAAlgorithm             *string  `json:"msaAlgorithm,omitempty" doc:"How alignments are made: none or mmseqs2, if the model uses them."`
	AlignmentID              *string  `json:"alignmentId,omitempty" doc:"The alignmentId of POST /v1/alignments, whose alignments are used; proteins that it lacks are searched for." format:"uuid"`
	RelaxPrediction          *bool    `json:"relaxPrediction,omitempty" doc:"Whether to relax the structure in a force field; absent: false."`
	Seed                     *string  `json:"seed,omitempty" doc:"0 to 4294967295. The same seed gives the same structure. Absent: the service chooses." example:"42"`
	RecyclingSteps           *int64   `json:"recyclingSteps,omitempty" doc:"Recycling iterations of the network." minimum:"1"`
	SamplingSteps            *int64   `json:"samplingSteps,omitempty" doc:"Diffusion steps of each structure." minimum:"1"`
	DiffusionSample          *int64   `json:"diffusionSample,omitempty" doc:"Number of structures for each seed." minimum:"1"`
	StepScale                *float64 `json:"stepScale,omitempty" doc:"Scale of the diffusion steps." minimum:"0"`
	AffinityMwCorrection     *bool    `json:"affinityMwCorrection,omitempty" doc:"Whether to correct the affinity for the molecular weight."`
	SamplingStepsAffinity    *int64   `json:"samplingStepsAffinity,omitempty" doc:"Diffusion steps of the affinity prediction." minimum:"1"`
	DiffusionSamplesAffinity *int64   `json:"diffusionSamplesAffinity,omitempty" doc:"Number of samples of the affinity prediction." minimum:"1"`
	NumModelSeeds            *int64   `json:"numModelSeeds,omitempty" doc:"Number of seeds, from seed upwards." minimum:"1"`
	NumDiffnSamples          *int64   `json:"numDiffnSamples,omitempty" doc:"Number of structures for each seed." minimum:"1"`
	NumTrunkSamples          *int64   `json:"numTrunkSamples,omitempty" doc:"Number of samples of the trunk network." minimum:"1"`
	NumTrunkRecycles         *int64   `json:"numTrunkRecycles,omitempty" doc:"Recycling iterations of the trunk network." minimum:"1"`
	NumDiffnTimesteps        *int64   `json:"numDiffnTimesteps,omitempty" doc:"Diffusion steps of each structure." minimum:"1"`
}

// Values returns the parameters that are set, without modelName, by their wire names: bool, int64, float64 or string.
func (p *Params) Values() map[string]any {
	out := map[string]any{}
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			out[name] = f.Elem().Interface()
		}
	}
	return out
}

// Constraints restrict a fold. Their chains and residues must exist in the job.
type Constraints struct {
	Pocket     []Pocket        `json:"pocket,omitempty" doc:"Chains that must bind near given residues." maxItems:"1000"`
	Bond       []Bond          `json:"bond,omitempty" doc:"Covalent bonds between atoms." maxItems:"1000"`
	Contact    []Contact       `json:"contact,omitempty" doc:"Pairs of residues that must be near each other." maxItems:"1000"`
	Templates  []Template      `json:"templates,omitempty" doc:"Structures that the model gets as examples of protein chains." maxItems:"20"`
	Components []Component     `json:"components,omitempty" doc:"Molecules of one's own, whose codes the job uses as those of the Chemical Component Dictionary." maxItems:"20"`
	Webhooks   json.RawMessage `json:"webhooks,omitempty" doc:"Webhooks: qna, md and custom_http, each an object with enabled and its settings."`
}

// Pocket asks for a binder chain near residues.
type Pocket struct {
	Binder   ChainRef     `json:"binder"`
	Contacts []ResidueRef `json:"contacts" minItems:"1" maxItems:"1000"`
}

// Bond is a covalent bond between two atoms.
type Bond struct {
	Atom1 AtomRef `json:"atom1"`
	Atom2 AtomRef `json:"atom2"`
}

// Contact asks for two residues near each other.
type Contact struct {
	ChainA   string   `json:"chainA"`
	ResIdxA  int      `json:"res_idxA" minimum:"1"`
	ChainB   string   `json:"chainB"`
	ResIdxB  int      `json:"res_idxB" minimum:"1"`
	Distance *float64 `json:"distance,omitempty" doc:"Largest distance in Å; absent: the model chooses." minimum:"0" maximum:"1000"`
}

// Template is a structure that a model gets as an example of a protein chain. A request has exactly one of
// LibraryItemID, JobID and PDBID.
type Template struct {
	LibraryItemID string   `json:"libraryItemId,omitempty" doc:"A library item of the caller." format:"uuid"`
	JobID         string   `json:"jobId,omitempty" doc:"A job whose latest results the caller may read." format:"uuid"`
	PDBID         string   `json:"pdbId,omitempty" doc:"An entry of the Protein Data Bank, if the operator allows this service to fetch entries." example:"1UBQ"`
	FileName      string   `json:"fileName,omitempty" doc:"A file of the library item or of the job's run, or the number of a sample. Absent: the first structure." maxLength:"512"`
	TemplateChain string   `json:"templateChain,omitempty" doc:"The protein chain of the file, by the name that its authors give. Absent: its only one." maxLength:"64"`
	Chain         string   `json:"chain,omitempty" doc:"The protein chain of the job. Absent: every copy of its only protein." maxLength:"4"`
	Force         bool     `json:"force,omitempty" doc:"Whether to hold the chain within maxDistance of the template; absent: it is an example only. For models with the feature template_force."`
	MaxDistance   *float64 `json:"maxDistance,omitempty" doc:"With force: the largest distance of a residue from the template, in Å." exclusiveMinimum:"0" maximum:"1000"`
}

// Component is a molecule of one's own, which a job uses by its code: as a ligand, or as a modified residue. A request
// has exactly one of SMILES and LibraryItemID.
type Component struct {
	Code          string `json:"code" doc:"1 to 5 letters and digits, in capitals; not that of a standard or unknown residue or of water. In this job it stands for this molecule, even if the dictionary has the code." maxLength:"5" example:"DRG"`
	SMILES        string `json:"smiles,omitempty" doc:"The molecule, with the names of its atoms as in ChemAxon extended SMILES. Atoms without names are called by element and number: C1, C2, O1." maxLength:"4000" example:"CCO |$C1;C2;O1$|"`
	LibraryItemID string `json:"libraryItemId,omitempty" doc:"Instead of smiles: a library item of the caller with a file of the molecule." format:"uuid"`
	FileName      string `json:"fileName,omitempty" doc:"One of its files: an SD file (V2000 or V3000, the first record), or mmCIF as the Chemical Component Dictionary has it. Absent: the item's first." maxLength:"128"`
}

// ChainRef refers to a chain.
type ChainRef struct {
	ChainID string `json:"chain_id"`
}

// ResidueRef refers to a residue, counted from 1.
type ResidueRef struct {
	ChainID string `json:"chain_id"`
	ResIdx  int    `json:"res_idx" minimum:"1"`
}

// AtomRef refers to an atom of a residue, counted from 1.
type AtomRef struct {
	ChainID  string `json:"chain_id"`
	ResIdx   int    `json:"res_idx" minimum:"1"`
	AtomName string `json:"atom_name" example:"SG"`
}

// CreatedJob is the response of POST /v1/jobs and POST /v1/jobs/{id}/runs.
type CreatedJob struct {
	JobID        string   `json:"jobId" format:"uuid"`
	JobRunID     string   `json:"jobRunId" format:"uuid"`
	JobName      string   `json:"jobName"`
	JobStatus    string   `json:"jobStatus" enum:"JobStatus"`
	SequencesIDs []string `json:"sequencesIds" doc:"One id for each item of sequences, in order."`
	Notes        []string `json:"notes" doc:"The parts of sequences that were dropped, with their paths in the body."`
}

// Rerun is the body of POST /v1/jobs/{id}/runs ([Client.Rerun]); it may be left out.
type Rerun struct {
	Params *Params `json:"params,omitempty" doc:"Parameters of the new run; absent: those of the job."`
}

// ImportFile gives a file of the library for a name in the text of an imported file.
type ImportFile struct {
	LibraryItemID string `json:"libraryItemId" doc:"Item of the library." format:"uuid"`
	FileName      string `json:"fileName" doc:"File of the item." maxLength:"128" example:"seq1.a3m"`
	Path          string `json:"path,omitempty" doc:"The name in the text, as it stands there; absent: every name that ends in fileName, in whatever folder." maxLength:"4096" example:"./msa/seq1.a3m"`
}

// ImportJobs is the body of POST /v1/jobs/import ([Client.Import]).
type ImportJobs struct {
	Content   string       `json:"content" doc:"Text of the file, at most 1 MiB." example:">peptide\nDAYAQWLKDGGPSSGRPPPS\n"`
	Format    string       `json:"format,omitempty" doc:"Format of the file; absent: detected." enum:"ImportFormat"`
	ModelName string       `json:"modelName,omitempty" doc:"Model of the jobs; absent: the first one here that accepts them."`
	Name      string       `json:"name,omitempty" doc:"Name of the job if the file has none." maxLength:"255"`
	Files     []ImportFile `json:"files,omitempty" doc:"Files of the library that stand for the names of files in the text; a name that none of them stands for is refused." maxItems:"1000"`
}

// ImportedJobs is the answer to [Client.Import]. Nothing has been created.
type ImportedJobs struct {
	Format string      `json:"format" enum:"ImportFormat"`
	Jobs   []CreateJob `json:"jobs" doc:"Bodies for POST /v1/jobs, one per job of the file."`
	Notes  []string    `json:"notes" doc:"The parts that were dropped, changed or guessed, with their positions in the file."`
}

// ExportedJob is the response of GET /v1/jobs/{id}/export with as=json: the file and what it does not say.
type ExportedJob struct {
	Format      string   `json:"format" enum:"JobFileFormat"`
	FileName    string   `json:"fileName"`
	ContentType string   `json:"contentType"`
	Content     string   `json:"content" doc:"Text of the file."`
	Notes       []string `json:"notes" doc:"The parts that the format cannot express, with their positions in the job."`
}

// SetPublic is the body of PATCH /v1/jobs/{id}/public ([Client.SetPublic]).
type SetPublic struct {
	IsPublic *bool `json:"isPublic" doc:"Whether anyone may read the results."`
}

// Visibility is the answer to [Client.SetPublic].
type Visibility struct {
	JobID    string `json:"jobId" format:"uuid"`
	IsPublic bool   `json:"isPublic"`
}

// Validation is the response of POST /v1/jobs/validate.
type Validation struct {
	Valid      bool            `json:"valid" doc:"Whether POST /v1/jobs would accept this body now."`
	Errors     []FieldError    `json:"errors" doc:"Every fault of the job, at most 100. An exhausted quota is one of them."`
	ModelName  string          `json:"modelName" doc:"The model that would fold it."`
	Params     map[string]any  `json:"params" doc:"Every parameter of the model: the value given, else the default."`
	IsComplex  bool            `json:"isComplex" doc:"Whether one structure would hold several chains."`
	Chains     []ValidatedItem `json:"chains" doc:"The items of the job with the names of their chains."`
	Notes      []string        `json:"notes" doc:"The parts of sequences that were dropped, with their paths in the body."`
	Tokens     int             `json:"tokens" doc:"Residues, and atoms of ligands and modified residues, copies counted. A component whose definition is not known here counts 200."`
	MaxTokens  int             `json:"maxTokens" doc:"The most tokens that the model folds in one structure; 0: not stated."`
	Memory     int64           `json:"expectedMemoryBytes" doc:"Expected peak memory, in bytes."`
	Seconds    float64         `json:"expectedSeconds" doc:"Expected core-seconds, without waiting and without alignments."`
	Cached     *CachedRun      `json:"cached" doc:"The caller's newest completed run of the same request, if the request names its seed; null: there is none."`
	Remaining  int             `json:"quotaRemaining" doc:"Jobs and runs that the caller may still create today."`
	Confidence string          `json:"confidence" doc:"The meaning of the model's confidence scores."`
	Notice     string          `json:"notice" doc:"Notice to read before you rely on the model."`
	// A job for a paused model is accepted and waits.
	Paused       bool    `json:"paused" doc:"Whether the operators have paused the model: the job would wait until they resume it."`
	PausedReason *string `json:"pausedReason" doc:"Why; null: it is not paused, or without a reason."`
}

// CachedRun is an earlier run of the same model, input, parameters and seed. A new job would show its results again,
// unless the model or the alignments have changed since, and count against the quota.
type CachedRun struct {
	JobID     string `json:"jobId" format:"uuid"`
	JobRunID  string `json:"jobRunId" format:"uuid"`
	CreatedAt Time   `json:"createdAt" doc:"When the results were ready."`
}

// ValidatedItem is an item of a job after validation.
type ValidatedItem struct {
	Type     string   `json:"type" enum:"EntityType"`
	Chains   []string `json:"chains"`
	Residues int      `json:"residues" doc:"Residues of one copy; 0 for a ligand."`
	Tokens   int      `json:"tokens" doc:"Residues, and atoms of ligands and modified residues, of one copy."`
}
