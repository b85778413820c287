package scenario

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/msa/msatest"
)

// The commands of scenarios about alignments:
//
//	colabfold [KEY]
//	    start a server with ColabFold's interface, which makes its alignments up and may ask for a key; sets
//	    $COLABFOLD
//	refuse CODE BODY
//	    its response to the next submission
//	hold
//	    its tickets stay RUNNING until the command release
//	release
//	tickets N
//	    so many searches were submitted to it
func init() {
	scenarioCommands["colabfold"] = colabfoldCommand
	scenarioCommands["refuse"] = refuseCommand
	scenarioCommands["hold"] = holdCommand
	scenarioCommands["release"] = releaseCommand
	scenarioCommands["tickets"] = ticketsCommand
}

func msaServerOf(ts *testscript.TestScript) *msatest.Server {
	s := scenarioOf(ts).msa
	if s == nil {
		ts.Fatalf("there is no MSA server; start one with colabfold")
	}
	return s
}

func colabfoldCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: colabfold [KEY]")
	}
	s := msatest.Start()
	s.Known, s.Key = true, strings.Join(args, "")
	ts.Defer(s.Close)
	scenarioOf(ts).msa = s
	ts.Setenv("COLABFOLD", s.URL)
}

func refuseCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 2, "refuse CODE BODY")
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	if http.StatusText(code) == "" {
		ts.Fatalf("%d is not a status", code)
	}
	s := msaServerOf(ts)
	s.Lock()
	defer s.Unlock()
	s.Submit = append(s.Submit, msatest.Answer{Code: code, Body: args[1]})
}

func holdCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 0, "hold")
	s := msaServerOf(ts)
	s.Lock()
	defer s.Unlock()
	s.Known, s.Gate = false, make(chan struct{})
}

func releaseCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 0, "release")
	s := msaServerOf(ts)
	s.Lock()
	defer s.Unlock()
	close(s.Gate)
	s.Known, s.Gate = true, nil
}

func ticketsCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "tickets N")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := msaServerOf(ts)
	s.Lock()
	defer s.Unlock()
	for end := time.Now().Add(time.Minute); len(s.Tickets) < n && time.Now().Before(end); {
		s.Unlock()
		time.Sleep(20 * time.Millisecond)
		s.Lock()
	}
	if len(s.Tickets) != n {
		ts.Fatalf("%d searches were submitted; want %d: %v", len(s.Tickets), n, s.Tickets)
	}
}
