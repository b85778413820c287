package api

// JobRow is a job in GET /v1/jobs.
type JobRow struct {
	ID string `json:"id" format:"uuid"`
	Owned
	JobRunID      string   `json:"jobRunId" format:"uuid"`
	Name          string   `json:"name"`
	Status        string   `json:"status" enum:"JobStatus"`
	IsPublic      bool     `json:"isPublic"`
	ModelName     string   `json:"modelName"`
	Stage         string   `json:"stage" doc:"The current stage of the run; empty if it is not known."`
	Done          int      `json:"done"`
	Total         int      `json:"total" doc:"0: not known."`
	MeanPLLDT     *float64 `json:"meanPLLDT"`
	PredictedRMSD *float64 `json:"predictedRmsd" doc:"Mean over the residues of the predicted RMSD, in Å: lower is better. Some models give it in place of pLDDT."`
	Error         *string  `json:"error"`
	Date          Time     `json:"date" doc:"Creation time."`
	UpdatedAt     Time     `json:"updatedAt"`
	StartedAt     *Time    `json:"startedAt"`
	FinishedAt    *Time    `json:"finishedAt"`
}

// JobsFilter narrows GET /v1/jobs. The zero value lists the newest 50.
type JobsFilter struct {
	Limit     int    // 1 to 200; 0: 50
	Cursor    string // NextCursor of the page before
	Status    string
	Query     string // part of the name, any case
	CreatedBy string // me, or the id of a user
}

// JobView is the response of GET /v1/jobs/{id}: all about a job but its files.
type JobView struct {
	Job         JobDetail      `json:"job"`
	Run         Run            `json:"run" doc:"The run that jobRunId names; absent: the latest."`
	Runs        []Run          `json:"runs" doc:"All runs, newest first, at most 200."`
	Progress    RunProgress    `json:"progress"`
	Waiting     *Waiting       `json:"waiting" doc:"Why the run waits; null if it does not wait."`
	Sequences   []ViewSequence `json:"sequences"`
	Constraints *Constraints   `json:"constraints"`
	Predictions []ScoredChains `json:"predictions" doc:"Scores of the run, one per structure."`
	Workflows   []LinkedItem   `json:"workflows" doc:"Workflows about this job, at most 200; readers who are not the owner see the public ones."`
	Deliveries  []LinkedItem   `json:"deliveries" doc:"Webhook deliveries of this job; only its owner sees them."`
	Params      map[string]any `json:"params" doc:"Model and parameters of the run, as given."`
	Links       JobLinks       `json:"links"`
}

// JobDetail is a job with what it is associated with.
type JobDetail struct {
	Job
	Owned
	ChatID        *string `json:"chatId"`
	LibraryItemID *string `json:"libraryItemId"`
	IsOwner       bool    `json:"isOwner" doc:"Whether the caller has a role in the project that owns it."`
	ExpiresAt     *Time   `json:"expiresAt" doc:"When the service may delete the job, at the earliest; null: never, or the run has not ended."`
}

// Run is one execution of a job.
type Run struct {
	ID            string             `json:"id" format:"uuid"`
	Number        int                `json:"number" doc:"Counted from 1."`
	Status        string             `json:"status" enum:"JobStatus"`
	MSAStatus     string             `json:"msaStatus" doc:"PENDING: no alignment was made." enum:"JobStatus"`
	ModelName     string             `json:"modelName"`
	WeightSet     string             `json:"weightSet"`
	Method        string             `json:"method"`
	Engine        string             `json:"engine" doc:"Name and version of the engine; empty until a worker has started the run."`
	Seed          string             `json:"seed"`
	MeanPLDDT     *float64           `json:"meanPLLDT" doc:"Mean pLDDT of the first structure, like the two scores that follow; null before the run has completed, and if the model gives none."`
	PredictedRMSD *float64           `json:"predictedRmsd" doc:"Mean over the residues of the first structure's predicted RMSD, in Å: lower is better. Some models give it in place of pLDDT."`
	PTM           *float64           `json:"ptm_score"`
	IPTM          *float64           `json:"iptm_score"`
	Cached        bool               `json:"cached" doc:"Whether its results are those of an earlier run with the same input, parameters and seed."`
	CreatedAt     Time               `json:"createdAt"`
	StartedAt     *Time              `json:"startedAt"`
	FinishedAt    *Time              `json:"finishedAt"`
	Seconds       float64            `json:"executionSeconds" doc:"Time from the start of the first attempt to the end; 0 until the run has ended."`
	Timings       map[string]float64 `json:"timings" doc:"Seconds per stage."`
	Notes         []string           `json:"notes"`
	Failure       *Failure           `json:"failure,omitempty" doc:"Present if the run ended without a result."`
}

// Failure says why a run ended without a result.
type Failure struct {
	Kind    string `json:"kind" example:"oom"`
	Message string `json:"message"`
}

// RunProgress is where the latest run stands.
type RunProgress struct {
	Stage         string `json:"stage"`
	Done          int    `json:"done"`
	Total         int    `json:"total" doc:"0: not known."`
	QueuePosition *int   `json:"queuePosition" doc:"Position in the queue, 1 for the next run; null if the run does not wait."`
}

// Waiting says why a run waits.
type Waiting struct {
	Class         *string `json:"class" doc:"The class of workers that it waits for; null: none runs its model."`
	Reason        string  `json:"reason" example:"3 runs are before it in the queue of mini"`
	Since         Time    `json:"since" doc:"When it was created, or its last attempt ended."`
	ExpectedStart *Time   `json:"expected_start" doc:"When it is expected to start: the next try after an attempt that failed, or a worker that the cluster will start; null: not known."`
}

// ViewSequence is one item of a job.
type ViewSequence struct {
	ID       string   `json:"id" format:"uuid"`
	Type     string   `json:"type" enum:"EntityType"`
	Name     *string  `json:"name"`
	Sequence string   `json:"sequence"`
	Chains   []string `json:"chains"`
	Count    int      `json:"count"`

	Item SequenceItem `json:"item" doc:"The item in the form that POST /v1/jobs accepts."`
}

// ScoredChains is what one structure scored.
type ScoredChains struct {
	SequenceID    string      `json:"sequenceId,omitempty" doc:"The sequence that was folded; absent: the whole complex."`
	Chains        []string    `json:"chains"`
	MeanPLLDT     *float64    `json:"meanPLLDT"`
	PredictedRMSD *float64    `json:"predictedRmsd" doc:"Mean over the residues of the predicted RMSD, in Å: lower is better. Some models give it in place of pLDDT."`
	PTM           *float64    `json:"ptm_score"`
	IPTM          *float64    `json:"iptm_score"`
	MaxPAE        *float64    `json:"max_pae_score"`
	Confidence    string      `json:"confidence" doc:"The meaning of the confidence scores."`
	Pairs         []PairScore `json:"pairs" doc:"Scores of the interfaces between two chains."`
	Affinity      *Affinity   `json:"affinity_result_raw_json,omitempty"`

	Templates []TemplateScore `json:"templates,omitempty" doc:"How near the structure is to each template; present if the job has templates."`
}

// TemplateScore says how near a chain of a predicted structure is to a template of it.
type TemplateScore struct {
	Template int      `json:"template" doc:"Position in constraints.templates, counted from 0."`
	Chain    string   `json:"chain" doc:"Chain of the job."`
	Residues int      `json:"residues" doc:"Residues that are compared: those of the template that are aligned to the chain."`
	RMSD     *float64 `json:"rmsd" doc:"RMSD of their CA atoms after superposition, in Å; null: there are fewer than 3."`
}

// PairScore rates the interface between two chains.
type PairScore struct {
	A       string   `json:"chainA"`
	B       string   `json:"chainB"`
	IPTM    *float64 `json:"iptm"`
	IPSAE   *float64 `json:"ipsae"`
	PDockQ2 *float64 `json:"pdockq2"`
	LIS     *float64 `json:"lis" doc:"Local interaction score, 0 to 1."`
}

// LinkedItem is a workflow, delivery or subscription of a job.
type LinkedItem struct {
	ID       string `json:"id" format:"uuid"`
	Type     string `json:"type"`
	Status   string `json:"status"`
	Name     string `json:"name"`
	DesignID string `json:"designId,omitempty" doc:"For a job that folds a design: the id of the design."`
}

// JobLinks are the addresses of a job's other views.
type JobLinks struct {
	Results string `json:"results" format:"uri"`
	Events  string `json:"events" format:"uri"`
	Archive string `json:"archive" format:"uri"`
}

// CancelledJob is the response of POST /v1/jobs/{id}/cancel. A running job shows RUNNING until its engine has stopped.
type CancelledJob struct {
	JobID     string `json:"jobId" format:"uuid"`
	JobStatus string `json:"jobStatus" enum:"JobStatus"`
}

// DeletedJob is the response of DELETE /v1/jobs/{id}.
type DeletedJob struct {
	JobID   string `json:"jobId" format:"uuid"`
	Deleted bool   `json:"deleted"`
}

// Event is one event of a run, as GET /v1/jobs/{id}/events and GET /v1/workflows/{id}/events send it. Kind is the name
// of the event on the stream, and Seq its id.
type Event struct {
	Seq      int64     `json:"seq"`
	At       Time      `json:"at"`
	Kind     string    `json:"kind" enum:"EventKind"`
	JobID    string    `json:"jobId,omitempty" doc:"For a job's run."`
	JobRunID string    `json:"jobRunId,omitempty" doc:"For a job's run."`
	Workflow string    `json:"workflowId,omitempty" doc:"For a workflow's task."`
	Task     string    `json:"taskId,omitempty" doc:"For a workflow's task."`
	State    string    `json:"state,omitempty"`
	Stage    string    `json:"stage,omitempty"`
	Done     int       `json:"done,omitempty"`
	Total    int       `json:"total,omitempty"`
	Line     string    `json:"line,omitempty" doc:"A line of the log; only the owner sees it."`
	Error    string    `json:"error,omitempty" doc:"Why the state is FAILED or STOPPED."`
	Artifact *Artifact `json:"artifact,omitempty" doc:"The new file of an artifact event."`
}

// Change is a change of one job or workflow. GET /v1/events sends it as an event named job or workflow, with Cursor as
// its id.
type Change struct {
	Cursor   int64  `json:"cursor"`
	JobID    string `json:"jobId,omitempty" doc:"For a job." format:"uuid"`
	JobRunID string `json:"jobRunId,omitempty" doc:"For a job." format:"uuid"`
	JobName  string `json:"jobName,omitempty" doc:"For a job."`
	Workflow string `json:"workflowId,omitempty" doc:"For a workflow." format:"uuid"`
	Task     string `json:"taskId,omitempty" doc:"For a workflow." format:"uuid"`
	Name     string `json:"name,omitempty" doc:"For a workflow."`
	Status   string `json:"status"`
	Stage    string `json:"stage"`
	Done     int    `json:"done"`
	Total    int    `json:"total"`
	Version  int64  `json:"version" doc:"Rises with every change that readers can see."`
}

// Class is a kind of worker: what its workers run and how many there are.
type Class struct {
	Name    string       `json:"name" example:"gpu"`
	Models  []string     `json:"models" doc:"Names of the models that its workers run."`
	Workers ClassWorkers `json:"workers"`
}

// ClassWorkers counts the workers of a class.
type ClassWorkers struct {
	Running int  `json:"running" doc:"Workers that claim or run jobs now."`
	Wanted  int  `json:"wanted" doc:"Workers that the jobs in the queue and the running jobs need, from min to max."`
	Min     int  `json:"min"`
	Max     *int `json:"max" doc:"null: no limit is configured."`
}

// ClassDemand is the demand for the workers of a class, for programs that scale them.
type ClassDemand struct {
	Class     string  `json:"class"`
	Wanted    int     `json:"wanted" doc:"Workers that there should be, those that run a task included."`
	Queued    int     `json:"queued" doc:"Tasks that wait; of each queue at most 10,000 are counted."`
	Running   int     `json:"running" doc:"Workers that run a task."`
	OldestS   float64 `json:"oldest_s" doc:"Seconds since the oldest task that waits was created; 0: none waits."`
	ExpectedS float64 `json:"expected_s" doc:"Seconds that one worker is expected to need for the tasks that wait."`
}

// Model describes a model: its inputs, limits, parameters and expected cost.
type Model struct {
	Name       string      `json:"name"`
	Kind       string      `json:"kind" enum:"ModelKind"`
	Title      string      `json:"title"`
	Engine     string      `json:"engine"`
	Version    string      `json:"version"`
	WeightSet  string      `json:"weightSet"`
	Method     string      `json:"method"`
	Licence    string      `json:"licence" doc:"The licence in words."`
	WeightUse  string      `json:"weightUse" doc:"The use of the weights that the licence allows; ask: it is not known, or the licence has terms of its own, which the page of the publisher has." enum:"WeightUse"`
	Device     string      `json:"device"`
	Entities   []string    `json:"entities"`
	Features   []string    `json:"features"`
	Params     []ParamSpec `json:"params"`
	MinTokens  int         `json:"minTokens" doc:"Fewest tokens of a chain."`
	MaxTokens  int         `json:"maxTokens" doc:"Most tokens of a structure; 0: not stated."`
	Limits     []string    `json:"limits" doc:"Further limits in words, by which jobs are checked."`
	Memory     Cost        `json:"memory" doc:"Expected bytes for n tokens."`
	Speed      Cost        `json:"speed" doc:"Expected core-seconds for n tokens; of dynamics, for each nanosecond; all 0: not known."`
	Room       int64       `json:"room" doc:"Memory that one structure may use where the model runs, in bytes; 0: not known."`
	Workers    int         `json:"workers" doc:"Live workers that run the model; 0: jobs are accepted and wait for one."`
	Confidence string      `json:"confidence"`
	Notice     string      `json:"notice"`
	Citations  []Citation  `json:"citations"`
	// Paused models accept jobs, which wait.
	Paused       bool    `json:"paused" doc:"Whether the operators have paused the model: its jobs are accepted and wait."`
	PausedReason *string `json:"pausedReason" doc:"Why; null: it is not paused, or without a reason."`
}

// Cost is base + linear·n + square·n².
type Cost struct {
	Base   float64 `json:"base"`
	Linear float64 `json:"linear"`
	Square float64 `json:"square"`
}

// ParamSpec is one parameter of a model.
type ParamSpec struct {
	Name    string   `json:"name"`
	Type    string   `json:"type" enum:"ParamType"`
	Default any      `json:"default"`
	Min     *float64 `json:"min"`
	Max     *float64 `json:"max"`
	Values  []string `json:"values" doc:"Values that a string may have; empty: any."`
	Doc     string   `json:"doc"`
}

// Citation is one entry of a bibliography.
type Citation struct {
	Key    string `json:"key"`
	BibTeX string `json:"bibtex"`
}

// Usage is today's use of the quotas, of which limit and used count job-creation calls, and what the caller's runs have
// spent in the project. The day is UTC.
type Usage struct {
	Limit     int   `json:"limit"`
	Used      int   `json:"used"`
	Remaining int   `json:"remaining"`
	ResetAt   Time  `json:"reset_at"`
	Workflows Quota `json:"workflows" doc:"Workflows that were started today; a draft counts when it is executed."`
	BatchRows Quota `json:"batch_rows" doc:"Rows of batches that were created or run again today."`
	SpentTable
}

// Quota is today's use of one quota. The day is UTC.
type Quota struct {
	Limit     int  `json:"limit"`
	Used      int  `json:"used"`
	Remaining int  `json:"remaining"`
	ResetAt   Time `json:"reset_at"`
}

// Key is an API key without its secret.
type Key struct {
	ID         string   `json:"id" format:"uuid"`
	Prefix     string   `json:"prefix" doc:"The first characters of the key, by which a user recognises it."`
	Label      string   `json:"label"`
	Scopes     []string `json:"scopes" doc:"Permitted uses: read, submit, manage."`
	ProjectID  *string  `json:"projectId" doc:"The only project that it reaches; null: all of the user." format:"uuid"`
	CreatedAt  Time     `json:"createdAt"`
	LastUsedAt *Time    `json:"lastUsedAt"`
	ExpiresAt  *Time    `json:"expiresAt" doc:"When it ends; null: never."`
	RevokedAt  *Time    `json:"revokedAt"`
	Current    bool     `json:"current" doc:"Whether this request was made with it."`
}

// CreateKey is the body of POST /v1/keys ([Client.CreateKey]).
type CreateKey struct {
	Label     string   `json:"label,omitempty" doc:"Purpose of the key, as free text." maxLength:"255"`
	Scopes    []string `json:"scopes,omitempty" doc:"Some of read, submit and manage; absent: those of the key of this request."`
	ExpiresAt *string  `json:"expiresAt,omitempty" doc:"When it ends: a time such as 2027-01-31T00:00:00Z, or a date, its last day; absent: with the key of this request."`
	ProjectID string   `json:"projectId,omitempty" doc:"The only project that it reaches; absent: that of the key of this request, or all." format:"uuid"`
}

// NewKey is the answer to [Client.CreateKey]: the one time that the key is shown.
type NewKey struct {
	Key
	Secret string `json:"key" doc:"The key itself. It is shown this once."`
}

// RevokedKey is the response of DELETE /v1/keys/{id}.
type RevokedKey struct {
	ID      string `json:"id" format:"uuid"`
	Revoked bool   `json:"revoked"`
}

// AuditEntry is one recorded change of keys, sessions, webhook settings, roles, shares and projects.
type AuditEntry struct {
	ID        string  `json:"id" format:"uuid"`
	At        Time    `json:"at"`
	Action    string  `json:"action" example:"key.created"`
	Subject   string  `json:"subject" doc:"The object of the change: the first characters of a key, the origin of a webhook, or a name."`
	Detail    string  `json:"detail"`
	UserID    string  `json:"userId" format:"uuid"`
	UserName  string  `json:"userName" doc:"Empty: an operator, on the database."`
	ProjectID *string `json:"projectId" doc:"The project that the change concerns; null: the user alone." format:"uuid"`
	KeyID     *string `json:"keyId" doc:"With which the change was made; null: by an operator."`
	KeyPrefix string  `json:"keyPrefix" doc:"The first characters of that key."`
	Address   string  `json:"address" doc:"From which the request came."`
}

// OpenSession is the body of POST /v1/session, which gives a browser its cookie.
type OpenSession struct {
	Key string `json:"key" doc:"An API key."`
}

// Session is the answer to [OpenSession].
type Session struct {
	User      string `json:"user"`
	ExpiresAt Time   `json:"expiresAt"`
}

// SessionUser is the response of GET /v1/session.
type SessionUser struct {
	User     *string `json:"user" doc:"The user who is signed in; null: nobody."`
	ByIssuer bool    `json:"byIssuer" doc:"Whether the user signed in by the issuer: the session creates and revokes keys itself."`
	FetchPDB bool    `json:"fetchPdb" doc:"Whether jobs and workflows may name entries of the Protein Data Bank."`
}

// ClosedSession is the response of DELETE /v1/session.
type ClosedSession struct {
	Closed bool `json:"closed"`
}

// Login is the response of GET /v1/login.
type Login struct {
	Issuer  *Issuer `json:"issuer,omitempty" doc:"By which people sign in; absent: they use API keys alone."`
	Failure string  `json:"failure" doc:"Why the last sign-in of this browser has failed, told once; empty: it has not."`
}

// Issuer is an issuer of OpenID Connect.
type Issuer struct {
	URL            string   `json:"url" format:"uri" doc:"As it names itself in its tokens."`
	Title          string   `json:"title" doc:"For a button."`
	DeviceClientID string   `json:"deviceClientId" doc:"The client of programs on terminals (device flow)."`
	Scopes         []string `json:"scopes" doc:"The scopes for which such programs ask."`
}

// Logout is the response of POST /v1/logout.
type Logout struct {
	URL string `json:"url" doc:"Where the browser goes to end its session at the issuer; empty: nowhere."`
}

// ResourceMetadata is the response of GET /.well-known/oauth-protected-resource: the metadata of RFC 9728 about /mcp.
type ResourceMetadata struct {
	Resource      string   `json:"resource" format:"uri"`
	Name          string   `json:"resource_name"`
	Issuers       []string `json:"authorization_servers,omitempty" doc:"Issuers of tokens; absent: API keys alone count."`
	BearerMethods []string `json:"bearer_methods_supported"`
	Documentation string   `json:"resource_documentation" format:"uri"`
}
