package scenario

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/testprogram"
)

// The commands of scenarios about webhooks:
//
//	receiver NAME [FLAG...]
//	    start pleat webhooks listen, which verifies with $PLEAT_WEBHOOK_SECRET; sets $NAME to its address
//	[!] heard NAME N REGEXP
//	    wait until N lines of the receiver have the pattern, for at most a minute; negated: none has it now
//	meanwhile NAME ARG...
//	    start any other command of pleat, which reads no environment but that of servers; heard and gone know it
//	heardout VAR NAME REGEXP
//	    set $VAR to the first group of the pattern in the receiver's last line that has it
//	gone NAME
//	    kill the receiver
func init() {
	scenarioCommands["receiver"] = receiverCommand
	scenarioCommands["meanwhile"] = meanwhileCommand
	scenarioCommands["heard"] = heardCommand
	scenarioCommands["heardout"] = heardoutCommand
	scenarioCommands["gone"] = goneCommand
}

func receiverCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	if len(args) < 1 {
		ts.Fatalf("usage: receiver NAME [FLAG...]")
	}
	s, url := startListening(ts, append([]string{"webhooks", "listen", "--listen", "127.0.0.1:0"}, args[1:]...)...)
	keepReceiver(ts, args[0], s)
	ts.Setenv(args[0], url)
}

func meanwhileCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	if len(args) < 2 {
		ts.Fatalf("usage: meanwhile NAME ARG...")
	}
	keepReceiver(ts, args[0], startProcess(ts, args[1:]...))
}

// keepReceiver keeps a process of the scenario under a name.
func keepReceiver(ts *testscript.TestScript, name string, s *process) {
	w := scenarioOf(ts)
	if w.receivers == nil {
		w.receivers = map[string]*process{}
	}
	w.receivers[name] = s
}

// receiverOf returns a receiver of the scenario by its name.
func receiverOf(ts *testscript.TestScript, name string) *process {
	s := scenarioOf(ts).receivers[name]
	if s == nil {
		ts.Fatalf("there is no receiver %s", name)
	}
	return s
}

// matchingLines returns the lines of a receiver that have a pattern.
func matchingLines(s *process, re *regexp.Regexp) []string {
	var out []string
	for line := range strings.Lines(s.log.String()) {
		if re.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

func heardCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, false, args, 3, "[!] heard NAME N REGEXP")
	s := receiverOf(ts, args[0])
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	if neg {
		if got := matchingLines(s, re); len(got) >= n {
			ts.Fatalf("%d lines have %q:\n%s", len(got), args[2], s.log)
		}
		return
	}
	for end := time.Now().Add(60 * time.Second); len(matchingLines(s, re)) < n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			server := ""
			if w := scenarioOf(ts); w.server != nil {
				server = w.server.log.String()
			}
			ts.Fatalf("%d lines have %q; want %d:\n%s\nthe server's log:\n%s", len(matchingLines(s, re)), args[2], n,
				s.log,
				testprogram.LastLines(server, 30))
		}
	}
}

func heardoutCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 3, "heardout VAR NAME REGEXP")
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	got := matchingLines(receiverOf(ts, args[1]), re)
	if len(got) == 0 {
		ts.Fatalf("no line has %q:\n%s", args[2], receiverOf(ts, args[1]).log)
	}
	m := re.FindStringSubmatch(got[len(got)-1])
	if len(m) < 2 {
		ts.Fatalf("%q has no group", args[2])
	}
	ts.Setenv(args[0], m[1])
}

func goneCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "gone NAME")
	receiverOf(ts, args[0]).kill()
	delete(scenarioOf(ts).receivers, args[0])
}
