package api

import (
	"encoding/json"
	"maps"
	"slices"
)

// CreateBatch is the body of POST /v1/batches ([Client.CreateBatch]): many fold jobs of one model. Which fields it has
// besides those of every batch depends on the kind.
type CreateBatch struct {
	Name        string          `json:"name" doc:"Name of the batch. A row is called by it and its customId." minLength:"1" maxLength:"255" example:"PD-L1 binders"`
	Kind        string          `json:"kind" doc:"list: jobs; matrix: every binder with every target; ligands: a complex with each ligand; variants: a complex with mutations in a chain; seeds: a complex with many seeds." enum:"BatchKind"`
	ProjectID   string          `json:"projectId,omitempty" doc:"The project that owns it; absent: that of the key, else your own." format:"uuid"`
	IsPublic    bool            `json:"isPublic,omitempty" doc:"Whether anyone may read the batch and the results of its rows; absent: false."`
	Params      *Params         `json:"params" doc:"The model of all rows, and their parameters."`
	Constraints *Constraints    `json:"constraints,omitempty" doc:"Constraints of the rows that have none of their own, without webhooks."`
	Webhooks    json.RawMessage `json:"webhooks,omitempty" doc:"custom_http as in constraints.webhooks of a job, for the event of the batch. With rows: true, each row has an event too."`

	Jobs []BatchJob `json:"jobs,omitempty" doc:"list: the jobs." maxItems:"100000"`

	Content string       `json:"content,omitempty" doc:"list: text of a file of another program, each of whose jobs is a row, instead of jobs."`
	Format  string       `json:"format,omitempty" doc:"list with content: format of the text; absent: detected." enum:"ImportFormat"`
	Files   []ImportFile `json:"files,omitempty" doc:"list with content: files of the library that stand for the names of files in the text; a name that none of them stands for is refused." maxItems:"1000"`

	Binders       []BatchEntry `json:"binders,omitempty" doc:"matrix: what is combined with each target." maxItems:"100000"`
	Targets       []BatchEntry `json:"targets,omitzero" doc:"matrix: the targets; absent: the binders are combined with one another." maxItems:"100000"`
	UpperTriangle bool         `json:"upperTriangle,omitempty" doc:"matrix without targets: each pair once; absent: in both orders."`
	Self          bool         `json:"self,omitempty" doc:"matrix without targets: each binder with itself, too."`

	Sequences []SequenceItem `json:"sequences,omitempty" doc:"ligands, variants, seeds: the complex." maxItems:"256"`

	Ligands []BatchLigand `json:"ligands,omitempty" doc:"ligands: each is folded with the complex." maxItems:"100000"`

	Chain     string        `json:"chain,omitempty" doc:"variants: the chain that is mutated; absent: the only polymer." maxLength:"4"`
	Mutations []string      `json:"mutations,omitempty" doc:"variants: such as A23V, with residues counted from 1; several at once are joined by a colon, and WT is the chain as it is." maxItems:"100000" example:"[\"A23V\",\"A23V:K45R\",\"WT\"]"`
	Scan      *MutationScan `json:"scan,omitempty" doc:"variants: every single mutation of a range."`

	Seeds     []string `json:"seeds,omitempty" doc:"seeds: the seeds, 0 to 4294967295." maxItems:"100000"`
	SeedCount int      `json:"seedCount,omitempty" doc:"seeds: how many, from params.seed upwards or from 0, instead of a list." minimum:"1" maximum:"100000"`
}

// BatchJob is one job of a batch of the kind list.
type BatchJob struct {
	CustomID    string         `json:"customId,omitempty" doc:"Your own id of the row, unique in the batch; absent: its number." maxLength:"255"`
	Name        string         `json:"name,omitempty" doc:"Name of the job; absent: that of the batch and the customId." maxLength:"255"`
	Sequences   []SequenceItem `json:"sequences" doc:"The chains and ligands to fold." minItems:"1" maxItems:"256"`
	Params      *Params        `json:"params,omitempty" doc:"Parameters instead of those of the batch, of the same model."`
	Constraints *Constraints   `json:"constraints,omitempty" doc:"Constraints instead of those of the batch, without webhooks."`
}

// BatchEntry is a binder or a target of a batch of the kind matrix.
type BatchEntry struct {
	CustomID  string         `json:"customId,omitempty" doc:"Your own id, unique among the binders or the targets; absent: its number." maxLength:"255"`
	Sequences []SequenceItem `json:"sequences" doc:"Its chains and ligands." minItems:"1" maxItems:"256"`
}

// BatchLigand is a ligand of a batch of the kind ligands.
type BatchLigand struct {
	CustomID     string `json:"customId,omitempty" doc:"Your own id, unique in the batch; absent: its number." maxLength:"255"`
	Sequence     string `json:"sequence" doc:"A SMILES string, or a CCD code if is_ccd is true." maxLength:"2000" example:"CC(=O)Oc1ccccc1C(=O)O"`
	IsCCD        bool   `json:"is_ccd,omitempty" doc:"Whether sequence is a CCD code; absent: false."`
	PropertyType string `json:"property_type,omitempty" doc:"affinity: predict how strongly it binds." enum:"LigandProperty"`
}

// MutationScan is every mutation of each residue of a range.
type MutationScan struct {
	From     int    `json:"from" doc:"First residue, counted from 1." minimum:"1"`
	To       int    `json:"to" doc:"Last residue." minimum:"1"`
	Residues string `json:"residues,omitempty" doc:"The replacements of each residue, in one-letter codes; absent: the 20 amino acids." maxLength:"26" example:"ADE"`
}

// CreatedBatch is the response to POST /v1/batches.
type CreatedBatch struct {
	BatchID string   `json:"batchId" format:"uuid"`
	Rows    int      `json:"rows" doc:"Rows as given."`
	Jobs    int      `json:"jobs" doc:"Different rows: equal ones are computed once."`
	Notes   []string `json:"notes" doc:"The parts of content, and of sequences, that were dropped, changed or guessed, with their positions."`
}

// Batch is a batch with the states of its rows.
type Batch struct {
	BatchID   string `json:"batchId" format:"uuid"`
	Name      string `json:"name"`
	Kind      string `json:"kind" enum:"BatchKind"`
	ModelName string `json:"modelName"`
	Status    string `json:"status" doc:"COMPLETED where a row has completed, and all have ended; counts says how many failed." enum:"BatchStatus"`
	IsPublic  bool   `json:"isPublic"`
	IsOwner   bool   `json:"isOwner" doc:"Whether the caller has a role in the project that owns it."`
	Owned
	Rows          int            `json:"rows"`
	Jobs          int            `json:"jobs" doc:"Different rows."`
	Counts        map[string]int `json:"counts" doc:"Rows by status. A status that no row has is absent."`
	SourceBatchID *string        `json:"sourceBatchId" doc:"The batch that it repeats with other parameters; null: none."`
	CreatedAt     Time           `json:"createdAt"`
	FinishedAt    *Time          `json:"finishedAt" doc:"When the last row ended; null: one has not."`
	ExpiresAt     *Time          `json:"expiresAt" doc:"When it may be deleted, at the earliest; null: never, or it has not ended."`
}

// ScoreColumn describes a column of the table of a batch.
type ScoreColumn struct {
	Name           string `json:"name" doc:"Name of the score; after a dot the chains, if it is not one of the whole structure." example:"ipsae.A-B"`
	Unit           string `json:"unit" example:"0 to 1"`
	HigherIsBetter bool   `json:"higherIsBetter"`
}

// BatchRows is a page of the table of a batch.
type BatchRows struct {
	Columns    []ScoreColumn `json:"columns" doc:"The scores that the rows may have."`
	Data       []BatchRow    `json:"data"`
	NextCursor *string       `json:"next_cursor" doc:"For the next page; null: this is the last."`
}

// BatchRow is one row of a batch. On the wire its scores stand beside the other fields under their names; a score that
// it does not have is null.
type BatchRow struct {
	Row      int                 `json:"row" doc:"Number of the row, from 1."`
	CustomID string              `json:"customId"`
	JobID    *string             `json:"jobId" doc:"null: the job is not made yet." format:"uuid"`
	Name     string              `json:"name"`
	Status   string              `json:"status" enum:"BatchStatus"`
	Error    *string             `json:"error" doc:"Why the row failed or was stopped; null: it did not."`
	Scores   map[string]*float64 `json:"-"`
}

// rowFields are the fields of a row that are no scores.
type rowFields BatchRow

// MarshalJSON writes the row with its scores in the order of their names.
func (r BatchRow) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(rowFields(r))
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-1]
	for _, name := range slices.Sorted(maps.Keys(r.Scores)) {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(r.Scores[name])
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, ','), key...), ':'), value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *BatchRow) UnmarshalJSON(b []byte) error {
	var f rowFields
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*r = BatchRow(f)
	r.Scores = map[string]*float64{}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	for _, name := range []string{"row", "customId", "jobId", "name", "status", "error"} {
		delete(all, name)
	}
	for name, raw := range all {
		var v *float64
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		r.Scores[name] = v
	}
	return nil
}

// BatchValidation is the response to POST /v1/batches/validate.
type BatchValidation struct {
	Valid            bool         `json:"valid" doc:"Whether POST /v1/batches would accept this body now."`
	Errors           []FieldError `json:"errors" doc:"Faults, at most 100. An exhausted quota is one of them."`
	ModelName        string       `json:"modelName"`
	Rows             int          `json:"rows"`
	Jobs             int          `json:"jobs" doc:"Different rows, which are what is computed."`
	Tokens           int64        `json:"tokens" doc:"Residues and ligand atoms of all jobs, copies counted."`
	LargestTokens    int          `json:"largestTokens" doc:"Those of the largest job."`
	Alignments       int          `json:"alignments" doc:"Different proteins for which the model needs an alignment that no row gives."`
	AlignmentsAtHand int          `json:"alignmentsAtHand" doc:"Those of them whose alignment an earlier search has found."`
	Seconds          float64      `json:"expectedSeconds" doc:"Expected core-seconds of all jobs, without waiting and without alignments."`
	QuotaRemaining   int          `json:"quotaRemaining" doc:"Rows that the caller may still create today."`
	Notes            []string     `json:"notes" doc:"The parts of content, and of sequences, that were dropped, changed or guessed, with their positions."`
}

// RerunBatch is the body of POST /v1/batches/{id}/rerun ([Client.RerunBatch]).
type RerunBatch struct {
	Name     string  `json:"name,omitempty" doc:"Name of the new batch; absent: that of the batch. Rows that were called by the batch are called by the new one." maxLength:"255"`
	IsPublic bool    `json:"isPublic,omitempty" doc:"Whether anyone may read the new batch and the results of its rows; absent: false."`
	Params   *Params `json:"params" doc:"The model of the new rows, and their parameters, instead of those of the batch."`
}

// RetriedBatch is the response to POST /v1/batches/{id}/retry-failed.
type RetriedBatch struct {
	BatchID string `json:"batchId" format:"uuid"`
	Rows    int    `json:"rows" doc:"Rows that are run again."`
}

// BatchVisibility is the response to PATCH /v1/batches/{id}/public.
type BatchVisibility struct {
	BatchID  string `json:"batchId" format:"uuid"`
	IsPublic bool   `json:"isPublic"`
}

// DeletedBatch is the response to DELETE /v1/batches/{id}.
type DeletedBatch struct {
	BatchID string `json:"batchId" format:"uuid"`
	Deleted bool   `json:"deleted"`
}
