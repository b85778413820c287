package fleet

import (
	"regexp"
	"strings"
)

// Why is the reason of a job that waits, for users.
type Why struct {
	Sentence  string // one clause that begins with the cluster's word, such as: Slurm says Resources: …
	Permanent bool   // the job never starts unless somebody changes the class or the cluster
}

// reasons has what Slurm's words mean, from its page "Job Reason Codes". Where several words differ only in
// what they count, the longest beginning of one that is here decides.
var reasons = map[string]Why{
	"Resources":                 {"the suitable nodes are busy", false},
	"Priority":                  {"jobs of higher priority are first", false},
	"None":                      {"the scheduler has not looked at the job yet", false},
	"Cleaning":                  {"its last run is being cleaned up", false},
	"BeginTime":                 {"its start was put off, for example after it was requeued", false},
	"Dependency":                {"it waits for another job", false},
	"Licenses":                  {"all licenses are in use", false},
	"Reservation":               {"its reservation has not begun", false},
	"ReqNodeNotAvail":           {"the nodes that it needs are down, drained or reserved", false},
	"Nodes_required_for_job":    {"the nodes that it needs are down, drained or reserved", false},
	"NodeDown":                  {"the nodes that it needs are down", false},
	"PartitionDown":             {"the partition is down", false},
	"PartitionInactive":         {"the partition starts no jobs", false},
	"Prolog":                    {"its node is being prepared", false},
	"FrontEndDown":              {"the front end of the cluster is down", false},
	"Assoc":                     {"a limit of the account is reached", false},
	"QOS":                       {"a limit of the quality of service is reached", false},
	"MaxJobsPer":                {"the limit of running jobs is reached", false},
	"PartitionTimeLimit":        {"the class's walltime is longer than the partition allows", true},
	"PartitionNodeLimit":        {"the partition does not have nodes enough for the job", true},
	"PartitionConfig":           {"the job asks for more than the partition has or allows", true},
	"BadConstraints":            {"no node has what the class asks for", true},
	"InvalidAccount":            {"the account of the class is invalid", true},
	"InvalidQOS":                {"the quality of service of the class is invalid", true},
	"AccountNotAllowed":         {"the account of the class may not use the partition", true},
	"AccountingPolicy":          {"the account's rules do not allow the job", true},
	"QOSNotAllowed":             {"the quality of service of the class is not allowed here", true},
	"QOSTimeLimit":              {"the quality of service has used up its time", true},
	"QOSJobLimit":               {"the limit of jobs of the quality of service is reached", false},
	"AssociationTimeLimit":      {"the account has used up its time", true},
	"ReservationDeleted":        {"the reservation of the class was deleted", true},
	"DependencyNeverSatisfied":  {"it waits for a job that failed", true},
	"JobHeldUser":               {"it is held; scontrol release frees it", true},
	"JobHeldAdmin":              {"an administrator holds it", true},
	"JobHoldMaxRequeue":         {"it was requeued too often and is held", true},
	"job_requeued_in_held_stat": {"it was requeued and is held", true},
	"launch_failed_requeued_he": {"its start failed and it is held", true},
	"JobLaunchFailure":          {"its start failed and it is held", true},
	"BadGres":                   {"the cluster does not have the resource that the class asks for", true},
	"DeadLine":                  {"its deadline cannot be met", true},
	"NonZeroExitCode":           {"its last run failed and it is held", true},
	"MaxMemPerLimit":            {"the class asks for more memory than is allowed", true},
}

// limitPerJob matches the limits of a single job, such as QOSMaxGRESPerJob: waiting does not help.
var limitPerJob = regexp.MustCompile(`^(QOS|Assoc)(Max\w*PerJob|Min|MaxWall)`)

// Explain returns what the reason of a job that waits means. Reason is Slurm's, as squeue prints it with %r.
func Explain(reason string) Why {
	word := reason
	if i := strings.IndexAny(word, ",(:"); i >= 0 {
		word = word[:i]
	}
	word = oneLine(word)
	if word == "" {
		return Why{Sentence: "Slurm gives no reason"}
	}
	why := reasons[meaning(strings.ReplaceAll(word, " ", "_"))]
	if limitPerJob.MatchString(word) {
		why = Why{"the class asks for more than one job may have", true}
	}
	if why.Sentence == "" {
		return Why{Sentence: "Slurm says " + word}
	}
	why.Sentence = "Slurm says " + word + ": " + why.Sentence
	if why.Permanent {
		why.Sentence += "; no worker of this class starts until that changes"
	}
	return why
}

// meaning returns the longest beginning of a word that reasons has, or "".
func meaning(word string) string {
	longest := ""
	for known := range reasons {
		if strings.HasPrefix(word, known) && len(known) > len(longest) {
			longest = known
		}
	}
	return longest
}
