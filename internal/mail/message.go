package mail

import (
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"pleat"
	"pleat/internal/store/mails"
)

// maxShown bounds a name in a mail, in characters. Nothing else of a mail has a length that others choose.
const maxShown = 100

// Composer writes mails.
type Composer struct {
	From mail.Address
	Base string // the public address of the service, without a slash at its end
	// Confirm returns the token that confirms an address, by the mail that asks for it.
	Confirm func(pleat.MailID) string
}

// Compose writes a mail. Repeated attempts give the same text under the same Message-ID. The text has neither sequences
// nor files, and of what users write only names.
func (c *Composer) Compose(m *mails.OutgoingMail, now time.Time) (*gomail.Msg, error) {
	subject, lines := c.text(m)
	msg := gomail.NewMsg(gomail.WithEncoding(gomail.EncodingQP), gomail.WithNoDefaultUserAgent())
	msg.SetAddrHeaderFromMailAddress(gomail.HeaderFrom, &c.From)
	if err := msg.To(m.Address); err != nil {
		return nil, fmt.Errorf("the address cannot be used: %w", err)
	}
	msg.Subject(subject)
	msg.SetDateWithValue(now)
	_, domain, _ := strings.Cut(c.From.Address, "@")
	msg.SetMessageIDWithValue(string(m.ID) + "@" + domain)
	// RFC 3834, section 5: no program is to answer. The second header says so to Exchange.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	settings := c.Base + "/ui/notifications"
	if m.Kind == pleat.MailConfirm {
		lines = append(lines, "", "-- ", "Pleat, "+c.Base)
	} else {
		msg.SetListUnsubscribe("<" + settings + ">")
		lines = append(lines, "", "-- ", "You chose to get such mails. To change that: "+settings)
	}
	msg.SetBodyString(gomail.TypeTextPlain, strings.Join(lines, "\n")+"\n")
	return msg, nil
}

// text returns the subject and the lines of a mail.
func (c *Composer) text(m *mails.OutgoingMail) (subject string, lines []string) {
	switch m.Kind {
	case pleat.MailConfirm:
		return "Pleat: confirm your address", []string{
			"Somebody who uses Pleat at " + c.Base + " wants to get notifications at this address.",
			"If that was you, open this link within 24 hours, sign in as " + asker(m.UserName) + " and confirm:",
			"",
			c.Base + "/ui/confirm#" + c.Confirm(m.ID),
			"",
			"If it was not you, do nothing: no further mails come.",
		}
	case pleat.MailEndpointDisabled:
		subject = "Pleat: a webhook endpoint was disabled"
		what := "the webhook endpoint"
		if m.Label != "" {
			what = title(m.Label, what, "")
		}
		lines = []string{"The service has disabled " + what + " at " + printable(m.Endpoint) + ".", ""}
		lines = append(lines, facts("Project", m.Project, "Reason", m.Reason)...)
		page := c.Base + "/ui/webhooks"
		if m.Project != "" {
			page += "?project=" + string(m.Owner)
		}
		lines = append(lines, "", page)
	case pleat.MailBatchEnded:
		state := endText(m.Batch.State())
		subject = fmt.Sprintf("Pleat: the batch %s", title(m.Name, "", state))
		lines = []string{fmt.Sprintf("The batch %s.", title(m.Name, "", state)), ""}
		lines = append(lines, facts("Project", m.Project, "Rows", counts(m.Batch),
			"Time taken", durationText(pleat.Elapsed(m.Batch.CreatedAt, m.Batch.EndedAt)))...)
		lines = append(lines, "", c.Base+"/ui/batches/"+m.Source.ID())
	default:
		what, path := "fold", "/ui/jobs/"
		if m.Workflow != "" {
			what, path = workflowNames[m.Workflow], "/ui/workflows/"
		}
		is := title(m.Name, what, endText(m.Run.State))
		subject, lines = "Pleat: the "+is, []string{"The " + is + ".", ""}
		reason := ""
		if m.Run.Failure != nil {
			reason = failures[m.Run.Failure.Kind]
		}
		lines = append(lines, facts("Project", m.Project, "Model", m.Run.Model, "Reason", reason,
			"Time taken", durationText(pleat.Elapsed(m.Run.CreatedAt, m.Run.FinishedAt)),
			"Confidence", confidence(m.Run.Result))...)
		lines = append(lines, "", c.Base+path+m.Source.ID())
	}
	if m.Last {
		lines = append(lines, "", fmt.Sprintf(
			"This is mail %d of this day (UTC), the maximum. No more come before tomorrow; the page has everything.",
			mails.MailsPerDay))
	}
	return subject, lines
}

// linkLike finds what a mail program may make a link of.
var linkLike = regexp.MustCompile(`[/:@]|[.]\pL`)

// asker names who asks to confirm an address. The mail may go to a stranger, to whom nobody sends a link by a name.
func asker(name string) string {
	if name = printable(name); name == "" || linkLike.MatchString(name) {
		return "the user who asked"
	}
	return name
}

// workflowNames name the kinds of workflow.
var workflowNames = map[pleat.TaskKind]string{
	pleat.TaskQnA:     "question",
	pleat.TaskMD:      "simulation",
	pleat.TaskDesign:  "design",
	pleat.TaskCompare: "comparison",
	pleat.TaskAlign:   "alignment",
}

// failures say why runs fail. The sentence that the engine gave is on the page: it may quote the input.
var failures = map[pleat.FailureKind]string{
	pleat.FailInvalidInput:   "the model refused the input",
	pleat.FailUnsupported:    "the model cannot do what was asked",
	pleat.FailTooLarge:       "the input is too large for the model or its accelerator",
	pleat.FailMSAUnavailable: "the alignment service did not answer",
	pleat.FailWeightsMissing: "the weights of the model are not installed",
	pleat.FailLoad:           "the model could not be loaded",
	pleat.FailOOM:            "the memory was not enough",
	pleat.FailDeviceLost:     "the accelerator went away",
	pleat.FailTimeout:        "it took longer than is allowed",
	pleat.FailCrashed:        "the process that computed it ended",
	pleat.FailOutputInvalid:  "the model's files are missing or cannot be read",
	pleat.FailStorage:        "the results could not be stored",
	pleat.FailInternal:       "a fault of the service",
}

// endText says how something has ended.
func endText(s pleat.State) string {
	switch s {
	case pleat.StateCompleted:
		return "has completed"
	case pleat.StateFailed:
		return "has failed"
	}
	return "was stopped"
}

// title is what something is, its name, and what has become of it.
func title(name, what, end string) string {
	parts := []string{}
	for _, s := range []string{what, quoted(name), end} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}

// quoted is a name in quotation marks; empty: there is none.
func quoted(name string) string {
	if name = printable(name); name != "" {
		return "«" + name + "»"
	}
	return ""
}

// printable returns a text that others have written for one line: without control characters and those that change the
// direction or the look of what follows, and cut.
func printable(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), 4*maxShown*utf8.UTFMax)], "")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp), r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxShown {
		return string(runes[:maxShown-1]) + "…"
	}
	return string(runes)
}

// facts returns lines of names and values, without the empty ones.
func facts(pairs ...string) (lines []string) {
	for i := 0; i < len(pairs); i += 2 {
		if v := printable(pairs[i+1]); v != "" {
			lines = append(lines, fmt.Sprintf("%-12s %s", pairs[i]+":", v))
		}
	}
	return lines
}

// counts says how the rows of a batch have ended.
func counts(b *pleat.Batch) string {
	out := fmt.Sprintf("%d, of which %d completed", b.Rows, b.Counts[pleat.StateCompleted])
	if n := b.Counts[pleat.StateFailed]; n > 0 {
		out += fmt.Sprintf(", %d failed", n)
	}
	if n := b.Counts[pleat.StateStopped]; n > 0 {
		out += fmt.Sprintf(", %d were stopped", n)
	}
	return out
}

// durationText is a duration for people.
func durationText(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// confidence sums up what the model says of its first prediction; empty: it says nothing.
func confidence(r *pleat.Result) string {
	if r == nil || len(r.Predictions) == 0 {
		return ""
	}
	p := &r.Predictions[0]
	var parts []string
	if p.MeanPLDDT != nil {
		parts = append(parts, fmt.Sprintf("pLDDT %.1f", *p.MeanPLDDT))
	}
	if p.PredictedRMSD != nil {
		parts = append(parts, fmt.Sprintf("predicted RMSD %.2f Å", *p.PredictedRMSD))
	}
	if p.PTM != nil {
		parts = append(parts, fmt.Sprintf("pTM %.2f", *p.PTM))
	}
	if p.IPTM != nil {
		parts = append(parts, fmt.Sprintf("ipTM %.2f", *p.IPTM))
	}
	return strings.Join(parts, ", ")
}

// Test writes a mail by which an operator sees that mails arrive.
func Test(from, to mail.Address, now time.Time) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithEncoding(gomail.EncodingQP), gomail.WithNoDefaultUserAgent())
	msg.SetAddrHeaderFromMailAddress(gomail.HeaderFrom, &from)
	if err := msg.To(to.Address); err != nil {
		return nil, fmt.Errorf("the address cannot be used: %w", err)
	}
	msg.Subject("Pleat: a test")
	msg.SetDateWithValue(now)
	msg.SetMessageID()
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain,
		"An operator of Pleat tests whether notifications arrive. Nothing is to be done.\n")
	return msg, nil
}
