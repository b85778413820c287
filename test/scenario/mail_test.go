package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/mail/mailtest"
	"pleat/internal/testprogram"
)

// The commands of scenarios about mails:
//
//	mailbox NAME
//	    start a mail server that wants STARTTLS, the user pleat and the password mail-secret; sets $NAME to its address
//	    and writes its certificate to NAME.pem
//	[!] mailed NAME N REGEXP
//	    wait until N mails have the pattern, in «to», subject and text, for at most a minute; negated: none has it now
//	mailedout VAR NAME REGEXP
//	    set $VAR to the first group of the pattern in the last mail that has it
//	mails NAME N
//	    the server has accepted so many mails
func init() {
	scenarioCommands["mailbox"] = mailboxCommand
	scenarioCommands["mailed"] = mailedCommand
	scenarioCommands["mailedout"] = mailedoutCommand
	scenarioCommands["mails"] = mailsCommand
}

func mailboxCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "mailbox NAME")
	s, stop, err := mailtest.Start(mailtest.Options{StartTLS: true, Auth: true})
	ts.Check(err)
	ts.Defer(stop)
	w := scenarioOf(ts)
	if w.mailboxes == nil {
		w.mailboxes = map[string]*mailtest.Server{}
	}
	w.mailboxes[args[0]] = s
	ts.Setenv(args[0], s.Addr)
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), args[0]+".pem"), s.PEM, 0o600))
}

func mailboxOf(ts *testscript.TestScript, name string) *mailtest.Server {
	s := scenarioOf(ts).mailboxes[name]
	if s == nil {
		ts.Fatalf("there is no mailbox %s", name)
	}
	return s
}

// matchingMails returns the mails of a server that have a pattern, each as text.
func matchingMails(s *mailtest.Server, re *regexp.Regexp) (out []string) {
	for _, m := range s.Mails() {
		if text := m.To + "\n" + m.Subject + "\n\n" + m.Body; re.MatchString(text) {
			out = append(out, text)
		}
	}
	return out
}

func mailedCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, false, args, 3, "[!] mailed NAME N REGEXP")
	s := mailboxOf(ts, args[0])
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	if neg {
		if got := matchingMails(s, re); len(got) >= n {
			ts.Fatalf("%d mails have %q:\n%s", len(got), args[2], got)
		}
		return
	}
	for end := time.Now().Add(60 * time.Second); len(matchingMails(s, re)) < n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%d mails have %q; want %d:\n%+v\nthe server's log:\n%s", len(matchingMails(s, re)), args[2], n,
				s.Mails(), testprogram.LastLines(scenarioOf(ts).server.log.String(), 30))
		}
	}
}

func mailedoutCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 3, "mailedout VAR NAME REGEXP")
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	got := matchingMails(mailboxOf(ts, args[1]), re)
	if len(got) == 0 {
		ts.Fatalf("no mail has %q: %+v", args[2], mailboxOf(ts, args[1]).Mails())
	}
	ts.Setenv(args[0], re.FindStringSubmatch(got[len(got)-1])[1])
}

func mailsCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 2, "mails NAME N")
	if got := mailboxOf(ts, args[0]).Mails(); strconv.Itoa(len(got)) != args[1] {
		ts.Fatalf("%d mails: %+v", len(got), got)
	}
}
