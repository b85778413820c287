package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The words of scenarios about webhooks:
//
//	receiver NAME [FLAG...]             start pleat webhooks listen, which verifies with $PLEAT_WEBHOOK_SECRET; sets $NAME to its address
//	[!] heard NAME N REGEXP             wait until N lines of the receiver have the pattern, for at most a minute; negated: none has it now
//	heardout VAR NAME REGEXP            put the first group of the pattern, found in the receiver's last line that has it, into $VAR
//	gone NAME                           kill the receiver
func init() {
	words["receiver"] = receiverWord
	words["heard"] = heardWord
	words["heardout"] = heardoutWord
	words["gone"] = goneWord
}

func receiverWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, neg, args, -1, "")
	if len(args) < 1 {
		ts.Fatalf("usage: receiver NAME [FLAG...]")
	}
	w := scenarioOf(ts)
	s, line := start(ts, append([]string{"webhooks", "listen", "--listen", "127.0.0.1:0"}, args[1:]...)...)
	if w.hooks == nil {
		w.hooks = map[string]*child{}
	}
	w.hooks[args[0]] = s
	select {
	case l := <-line:
		addr, ok := strings.CutPrefix(l, "listening on ")
		if !ok {
			ts.Fatalf("the receiver's first line is %q:\n%s", l, s.log)
		}
		ts.Setenv(args[0], addr)
	case <-time.After(60 * time.Second):
		ts.Fatalf("the receiver does not listen:\n%s", s.log)
	}
}

func hookOf(ts *testscript.TestScript, name string) *child {
	s := scenarioOf(ts).hooks[name]
	if s == nil {
		ts.Fatalf("there is no receiver %s", name)
	}
	return s
}

// lines are those of a receiver that have a pattern.
func lines(s *child, re *regexp.Regexp) []string {
	var out []string
	for line := range strings.Lines(s.log.String()) {
		if re.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

func heardWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, false, args, 3, "[!] heard NAME N REGEXP")
	s := hookOf(ts, args[0])
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	if neg {
		if got := lines(s, re); len(got) >= n {
			ts.Fatalf("%d lines have %q:\n%s", len(got), args[2], s.log)
		}
		return
	}
	for end := time.Now().Add(60 * time.Second); len(lines(s, re)) < n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			server := ""
			if w := scenarioOf(ts); w.server != nil {
				server = w.server.log.String()
			}
			ts.Fatalf("%d lines have %q; want %d:\n%s\nthe server's log:\n%s", len(lines(s, re)), args[2], n, s.log,
				lastLines(server, 30))
		}
	}
}

func heardoutWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, neg, args, 3, "heardout VAR NAME REGEXP")
	re, err := regexp.Compile(args[2])
	ts.Check(err)
	got := lines(hookOf(ts, args[1]), re)
	if len(got) == 0 {
		ts.Fatalf("no line has %q:\n%s", args[2], hookOf(ts, args[1]).log)
	}
	m := re.FindStringSubmatch(got[len(got)-1])
	if len(m) < 2 {
		ts.Fatalf("%q has no group", args[2])
	}
	ts.Setenv(args[0], m[1])
}

func goneWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, neg, args, 1, "gone NAME")
	hookOf(ts, args[0]).kill()
	delete(scenarioOf(ts).hooks, args[0])
}
