package api

// The documents that the service posts to webhooks, section 7.3 of docs/interface.md. Timestamps are ISO 8601 in UTC
// with milliseconds and Z.

// Notification is the body of a delivery. S is what ended: [NotifiedFold], [NotifiedWorkflow] or [NotifiedBatch], which
// the source kind of the event tells (fold_job, workflow, batch). The source is {} if it could not be read.
type Notification[S any] struct {
	SchemaVersion int            `json:"schema_version" doc:"Rises when a field changes its meaning or is removed." example:"1"`
	Event         NotifiedEvent  `json:"event"`
	Mapping       map[string]any `json:"mapping" doc:"Always empty."`
	Source        S              `json:"source" doc:"{} if it could not be read; source_enrichment_error says why."`
	Problem       string         `json:"source_enrichment_error,omitempty" doc:"Why the source could not be read."`
	Truncated     []string       `json:"truncated,omitempty" doc:"The parts that were cut to keep the body below 20 kB."`
}

// CloudEvent is a notification in the JSON format of CloudEvents 1.0, section 3, in structured mode.
type CloudEvent[D any] struct {
	SpecVersion string `json:"specversion" example:"1.0"`
	ID          string `json:"id" format:"uuid" doc:"The id of the event."`
	Source      string `json:"source" doc:"The list that holds what ended." example:"https://fold.example.org/v1/jobs"`
	Type        string `json:"type" example:"pleat.fold_job.on_complete"`
	Subject     string `json:"subject" format:"uuid" doc:"The id of what ended."`
	Time        string `json:"time" format:"date-time"`
	ContentType string `json:"datacontenttype" example:"application/json"`
	Data        D      `json:"data"`
}

// NotifiedEvent is what ended, when and how.
type NotifiedEvent struct {
	ID         string         `json:"id" format:"uuid"`
	SourceKind string         `json:"source_kind" enum:"NotifiedSource"`
	Name       string         `json:"event_name" enum:"EventName" doc:"on_failed for FAILED and STOPPED."`
	Status     string         `json:"status" enum:"FinalStatus"`
	SourceID   string         `json:"source_id" format:"uuid"`
	OccurredAt string         `json:"occurred_at" format:"date-time"`
	Payload    map[string]any `json:"payload" doc:"The payload of an ingested event; {\"test\": true} for a test delivery."`
}

// NotifiedFold is a fold that ended: the job, its run and the results, without sequences.
type NotifiedFold struct {
	Job     NotifiedJob      `json:"job"`
	Run     NotifiedRun      `json:"job_run"`
	Input   NotifiedInput    `json:"input"`
	Results []NotifiedResult `json:"results"`
}

// NotifiedJob is the job of a fold. Its status is the run's.
type NotifiedJob struct {
	ID     string `json:"id" format:"uuid"`
	Name   string `json:"name"`
	Status string `json:"status" enum:"FinalStatus"`
}

// NotifiedRun is the run that ended.
type NotifiedRun struct {
	ID        string           `json:"id" format:"uuid"`
	Model     string           `json:"model_name" example:"mini"`
	WeightSet string           `json:"weight_set" doc:"The weights that the model used; empty if it has none."`
	Failure   *NotifiedFailure `json:"failure,omitempty"`
}

// NotifiedFailure is the reason why a run failed.
type NotifiedFailure struct {
	Kind    string `json:"kind" doc:"A stable word for programs." example:"model"`
	Message string `json:"message" doc:"One sentence for people, at most 500 bytes."`
}

// NotifiedInput is what the caller asked for, with keys in snake_case, and without sequences and secrets.
type NotifiedInput struct {
	Constraints map[string]any `json:"constraints"`
	Parameters  map[string]any `json:"parameters" doc:"As they took effect, with the model and the seed."`
}

// NotifiedResult is one predicted structure.
type NotifiedResult struct {
	SequenceID   *string            `json:"sequence_id" doc:"Null for the whole complex."`
	SequenceType string             `json:"sequence_type" doc:"protein, rna, dna, ligand or complex." example:"protein"`
	Prediction   NotifiedPrediction `json:"prediction"`
	Artifacts    map[string]string  `json:"artifacts" doc:"Links to its files, such as cif_url and pae_plot_url, valid for a day."`
}

// NotifiedPrediction is the confidence of a predicted structure. null: the model gives none.
type NotifiedPrediction struct {
	MeanPLDDT     *float64 `json:"mean_plddt" doc:"Mean pLDDT, 0 to 100."`
	PredictedRMSD *float64 `json:"predicted_rmsd" doc:"Mean over the residues of the predicted RMSD, in Å: lower is better. Some models give it in place of pLDDT."`
	PTM           *float64 `json:"ptm_score" doc:"pTM, 0 to 1."`
	IPTM          *float64 `json:"iptm_score" doc:"ipTM, 0 to 1; null for a single chain."`
}

// NotifiedWorkflow is a workflow that ended.
type NotifiedWorkflow struct {
	Workflow NotifiedWorkflowHead `json:"workflow"`
	Input    map[string]any       `json:"input"`
	Tasks    []NotifiedTask       `json:"tasks"`
	Metrics  map[string]any       `json:"metrics"`
	Plots    []NotifiedPlot       `json:"plots"`
}

// NotifiedWorkflowHead is the workflow itself, with the number of its tasks.
type NotifiedWorkflowHead struct {
	ID             string `json:"id" format:"uuid"`
	Type           string `json:"workflow_type" example:"md_v1"`
	Status         string `json:"status" enum:"FinalStatus"`
	TasksTotal     int    `json:"tasks_total"`
	TasksCompleted int    `json:"tasks_completed"`
}

// NotifiedTask is a task of a workflow.
type NotifiedTask struct {
	ID     string `json:"task_id" format:"uuid"`
	Type   string `json:"task_type" example:"inference_md"`
	Status string `json:"status"`
}

// NotifiedPlot is a figure of a simulation.
type NotifiedPlot struct {
	Name string `json:"name" example:"rmsd"`
	URL  string `json:"url" format:"uri" doc:"Valid for a day."`
}

// NotifiedBatch is a batch that ended.
type NotifiedBatch struct {
	Batch NotifiedBatchHead `json:"batch"`
}

// NotifiedBatchHead is the batch itself. Its status is that of the event, since rows may run again meanwhile.
type NotifiedBatchHead struct {
	ID     string         `json:"id" format:"uuid"`
	Name   string         `json:"name"`
	Status string         `json:"status" enum:"FinalStatus"`
	Counts map[string]int `json:"counts" doc:"Number of rows by status; a status without rows is absent."`
}
