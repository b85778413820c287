package pleat

import "regexp"

// MailKind is what a mail to a user is about.
type MailKind string

// The kinds of mail. A user chooses from all but MailConfirm.
const (
	MailConfirm          MailKind = "confirm" // whether the address is the user's
	MailRunCompleted     MailKind = "run_completed"
	MailRunFailed        MailKind = "run_failed"
	MailBatchEnded       MailKind = "batch_ended"
	MailEndpointDisabled MailKind = "endpoint_disabled" // by the service, in a project that the user manages
)

// MailEvents are the kinds of mail that a user chooses from, in their order.
var MailEvents = []MailKind{MailRunCompleted, MailRunFailed, MailBatchEnded, MailEndpointDisabled}

// MailStatus is what has become of a mail.
type MailStatus string

// The statuses of a mail. The last three are final.
const (
	MailPending MailStatus = "PENDING"
	MailSent    MailStatus = "SENT"    // a mail server has accepted it
	MailFailed  MailStatus = "FAILED"  // a mail server refused it for good, or no attempt is left
	MailSkipped MailStatus = "SKIPPED" // it was not to be sent any more
)

// mailAddress is an address in the form that HTML accepts, without the quoted and the international ones.
var mailAddress = regexp.MustCompile("^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@" +
	"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$")

// CheckMailAddress refuses a text at field that is no address to which mail can be sent.
func CheckMailAddress(field, text string) error {
	if len(text) > 254 || !mailAddress.MatchString(text) {
		return InvalidField(field, " is %q; it must be an address such as ada@example.org", Clip(text))
	}
	return nil
}
