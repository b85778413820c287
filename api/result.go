package api

// Results is the response of GET /v1/jobs/{id}/results. Job is always an object and Sequences always an array.
type Results struct {
	Job          Job              `json:"job"`
	JobRunID     string           `json:"jobRunId" format:"uuid"`
	Parameters   Parameters       `json:"parameters"`
	Constraints  *Constraints     `json:"constraints" doc:"As given, or null. Only the owner sees webhooks."`
	SequencesIDs []string         `json:"sequencesIds"`
	Sequences    []ResultSequence `json:"sequences"`
	// Prediction is that of the complex, or of the first sequence where each is folded on its own.
	Prediction Prediction `json:"predictionPayload"`
	Artifacts  []Artifact `json:"artifacts" doc:"Every file of the run."`
}

// Job is a job in results and views.
type Job struct {
	ID        string `json:"id" format:"uuid"`
	Status    string `json:"status" enum:"JobStatus"`
	Name      string `json:"name"`
	Date      Time   `json:"date" doc:"Creation time."`
	UpdatedAt Time   `json:"updatedAt"`
	IsComplex bool   `json:"isComplex" doc:"Whether one structure holds several chains."`
	IsPublic  bool   `json:"isPublic"`
	JobRunID  string `json:"jobRunId" doc:"Id of the latest run." format:"uuid"`
}

// Parameters are those of the latest run.
type Parameters struct {
	Count           int    `json:"count" doc:"Number of items of sequences."`
	CreatedAt       Time   `json:"createdAt"`
	ModelName       string `json:"modelName"`
	WeightSet       string `json:"weightSet"`
	Method          string `json:"method"`
	RelaxPrediction bool   `json:"relaxPrediction"`
}

// ResultSequence is one item of the job. Prediction is nil where one structure holds all chains.
type ResultSequence struct {
	ID           string      `json:"id" format:"uuid"`
	CreatedAt    Time        `json:"createdAt"`
	UpdatedAt    Time        `json:"updatedAt"`
	Name         *string     `json:"name" doc:"The label of the request; null if there was none."`
	Sequence     string      `json:"sequence"`
	Type         string      `json:"type" enum:"EntityType"`
	SequenceType string      `json:"sequenceType" doc:"The same as type." enum:"EntityType"`
	JobRunID     string      `json:"jobRunId" format:"uuid"`
	Prediction   *Prediction `json:"predictionPayload,omitempty" doc:"Present if each sequence is folded alone."`
}

// Prediction is what one structure scored and where its files are. A value that an engine does not give is null.
type Prediction struct {
	PredictionStatus string  `json:"predictionStatus" enum:"JobStatus"`
	JobRunStatus     string  `json:"jobRunStatus" enum:"JobStatus"`
	MSAStatus        string  `json:"msaStatus" doc:"PENDING: no alignment was made." enum:"JobStatus"`
	Prediction       bool    `json:"prediction" doc:"Whether there is a prediction."`
	Error            *string `json:"error" doc:"Why there is no prediction; null if there is no failure."`

	MeanPLLDT     *float64 `json:"meanPLLDT" doc:"Mean pLDDT, 0 to 100."`
	PredictedRMSD *float64 `json:"predictedRmsd" doc:"Mean over the residues of the predicted RMSD, in Å: lower is better. Some models give it in place of pLDDT."`
	// Two spellings of one number: the interface has both.
	ExecutionMinutes float64 `json:"executionTimeInMinutes" doc:"Time from the start of the first attempt to the end; 0 until the run has ended."`
	ExecutionSnake   float64 `json:"execution_time_in_minutes" doc:"The same as executionTimeInMinutes."`

	PDB       *string `json:"pdb_url"`
	CIF       *string `json:"cif_url"`
	Coverage  *string `json:"msa_coverage_plot_url"`
	PAEPlot   *string `json:"pae_plot_url"`
	PLDDTPlot *string `json:"plddt_plot_url"`
	RMSDPlot  *string `json:"predicted_rmsd_plot_url"`
	Metrics   *string `json:"metrics_json_url"`
	Config    *string `json:"config_json_url"`
	Citations *string `json:"citations_bibtex_url"`
	Plots     *string `json:"plots_url"`

	PTM    *float64 `json:"ptm_score" doc:"Predicted TM score (pTM), 0 to 1."`
	IPTM   *float64 `json:"iptm_score" doc:"Interface pTM (ipTM), 0 to 1."`
	MaxPAE *float64 `json:"max_pae_score" doc:"Largest predicted aligned error (PAE), in Å."`
	Seed   string   `json:"seed"`

	Affinity *Affinity `json:"affinity_result_raw_json,omitempty" doc:"Present if the request asked for an affinity."`

	Templates []TemplateScore `json:"templates,omitempty" doc:"How near the structure is to each template; present if the job has templates."`
}

// Affinity is how strongly a ligand is predicted to bind.
type Affinity struct {
	Value       float64 `json:"affinity_pred_value" doc:"log10 of the IC50 in µM."`
	Probability float64 `json:"affinity_probability_binary" doc:"Probability that it binds at all, 0 to 1."`
}

// Contacts is the response of GET /v1/jobs/{id}/contacts: which residues, ligands and ions of different chains touch.
type Contacts struct {
	JobID     string           `json:"jobId" format:"uuid"`
	JobRunID  string           `json:"jobRunId" format:"uuid"`
	File      string           `json:"file" doc:"The structure that was measured, among the artifacts of the run." example:"model.cif"`
	Data      []ResidueContact `json:"data" doc:"In the order of the structure."`
	Total     int              `json:"total" doc:"How many contacts there are."`
	Truncated bool             `json:"truncated" doc:"Whether data has not all of them."`
	Reason    *string          `json:"reason" doc:"Why the contacts cannot be computed, or which chains lack atoms that they need; null: data has all."`
}

// ResidueContact is two residues, ligands or ions of different chains of which two heavy atoms are at most 4.5 Å apart.
type ResidueContact struct {
	A        Position `json:"a"`
	B        Position `json:"b"`
	Distance float64  `json:"distance" doc:"Between their closest heavy atoms, in Å."`
	PAEAB    *float64 `json:"paeAB" doc:"Predicted aligned error at b when aligned on a, in Å, the mean over the atoms of a ligand; null: not given."`
	PAEBA    *float64 `json:"paeBA" doc:"The same at a when aligned on b."`
}

// Artifact is one file of a run. URL works without a header; of a private job it lives for at most 24 hours.
type Artifact struct {
	Name        string `json:"name" example:"structure.cif"`
	Kind        string `json:"kind" example:"cif"`
	URL         string `json:"url" format:"uri"`
	ContentType string `json:"contentType"`
	Bytes       int64  `json:"bytes"`
	SHA256      string `json:"sha256" doc:"SHA-256 of the file, in hexadecimal."`
	SequenceID  string `json:"sequenceId,omitempty" doc:"The sequence that the file is about; absent: the whole run."`
}
