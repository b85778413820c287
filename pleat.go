// Package pleat is the domain of the service: jobs ([Job]), runs ([Run]), tasks ([Task]) and events ([Event]), their
// states ([State]), the validation of requests ([Job.Validate]) and the follow-ups of finished runs ([Subscription]).
//
// It is pure: it uses the standard library only and has no clock, network or disk. Other packages import it; it imports
// only internal/chem, for the atoms of molecules, and internal/words, for the wording of messages. Field paths and JSON
// tags have the spellings of package api, because errors and stored documents show them to clients; apart from these,
// wire types are in package api.
package pleat

// Version of the service, stamped by the build.
var Version = "0.1.0-dev"

// Identifiers are UUIDs in their 36-letter form. They are made by the store (version 7, so that they sort by time).
type (
	UserID         string // of a person, or of a program that works for a project
	ProjectID      string // see OwnProject
	KeyID          string
	AuditID        string
	JobID          string
	RunID          string
	SequenceID     string
	TaskID         string
	ArtifactID     string
	EventID        string
	WorkflowID     string
	WorkerID       string
	SubscriptionID string
	DeliveryID     string
	EndpointID     string
	BatchID        string
	ItemID         string // library item
	InvitationID   string
	ShareID        string
	MailID         string // and of the mail's task
)

// IsUUID reports whether s has the 8-4-4-4-12 form of RFC 9562, in either case of letters.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return false
			}
		}
	}
	return true
}
