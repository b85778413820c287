package api

import "strings"

// States of jobs, runs, predictions and alignments on the wire.
const (
	Pending     = "PENDING"
	Initialized = "INITIALIZED"
	Running     = "RUNNING"
	Completed   = "COMPLETED"
	Failed      = "FAILED"
	Stopped     = "STOPPED"
)

// Terminal reports whether a state is final.
func Terminal(state string) bool { return state == Completed || state == Failed || state == Stopped }

// Values that several enumerations share, in the form of enums.
const (
	final      = Completed + "," + Failed + "," + Stopped
	queued     = "QUEUED," + Running + "," + final
	begun      = Initialized + "," + Running + "," + final
	polymers   = "protein,rna,dna"
	roles      = "viewer,member"
	jobFormats = "fasta,alphafold-server,alphafold3,boltz"
	sources    = "fold_job,workflow"
)

// enums are the enumerations of the wire by their names: the values in order, separated by commas.
var enums = map[string]string{
	"AttemptOutcome":    "running,done,failed,released,lost",
	"BatchKind":         "list,matrix,ligands,variants,seeds",
	"BatchStatus":       begun,
	"ComparedKind":      "job,library,pdb",
	"ContactChangeType": "gained,lost",
	"CreateMode":        "draft",
	"DatabaseKind":      "sqlite,postgres",
	"DeliverySource":    sources + ",batch,test",
	"DeliveryStatus":    "PENDING,RUNNING,SUCCEEDED,FAILED",
	"DestinationType":   "custom_http,qna,md",
	"EntityType":        polymers + ",ligand",
	"EventKind":         "state,stage,log,artifact",
	"EventName":         "on_complete,on_failed",
	"EventSource":       sources,
	"FinalStatus":       final,
	"GraphMode":         "api,draft",
	"ImportFormat":      jobFormats + ",protenix,openfold3,colabfold,proteinfold",
	"JobFileFormat":     jobFormats,
	"JobStatus":         Pending + "," + begun,
	"LibraryItemType":   "file,folder",
	"LigandProperty":    "affinity",
	"MailEvent":         "confirm,run_completed,run_failed,batch_ended,endpoint_disabled",
	"MailStatus":        "PENDING,SENT,FAILED,SKIPPED",
	"ModelKind":         "fold,qna,md,design,compare",
	"NotifiedSource":    sources + ",batch",
	"Pairing":           "greedy,complete,none",
	"ParamType":         "integer,number,boolean,string",
	"PayloadFormat":     "plain,cloudevents",
	"PolymerType":       polymers,
	"ProjectRoleName":   roles + ",manager",
	"RedeliveredStatus": "SUCCEEDED,FAILED,PENDING",
	"ServiceRole":       roles,
	"SignatureScheme":   "v1,v1a",
	"TaskStatus":        queued,
	"WeightUse":         "commercial,nonCommercial,ask",
	"WorkerState":       "live,draining,silent,stopped",
	"WorkflowStatus":    "DRAFT," + queued,
}

// Enum returns the values of an enumeration of the wire, in order; nil: there is none of that name. The tag enum of a
// field names its enumeration, which is one component of the OpenAPI document.
func Enum(name string) []string {
	values, ok := enums[name]
	if !ok {
		return nil
	}
	return strings.Split(values, ",")
}
