package main

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/msa/msatest"
)

// The words of scenarios about alignments:
//
//	colabfold [KEY]                     start a server with ColabFold's interface, whose alignments are made up and which may ask
//	                                    for a key; sets $COLABFOLD
//	refuse CODE BODY                    its answer to the next submission
//	hold                                its tickets stay RUNNING until the word release
//	release
//	tickets N                           so many searches were submitted to it
func init() {
	words["colabfold"] = colabfoldWord
	words["refuse"] = refuseWord
	words["hold"] = holdWord
	words["release"] = releaseWord
	words["tickets"] = ticketsWord
}

func alignerOf(ts *testscript.TestScript) *msatest.Server {
	s := scenarioOf(ts).aligner
	if s == nil {
		ts.Fatalf("there is no server for alignments; start one with colabfold")
	}
	return s
}

func colabfoldWord(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: colabfold [KEY]")
	}
	s := msatest.Start()
	s.Known, s.Key = true, strings.Join(args, "")
	ts.Defer(s.Close)
	scenarioOf(ts).aligner = s
	ts.Setenv("COLABFOLD", s.URL)
}

func refuseWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, neg, args, 2, "refuse CODE BODY")
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	if http.StatusText(code) == "" {
		ts.Fatalf("%d is no status", code)
	}
	s := alignerOf(ts)
	s.Lock()
	defer s.Unlock()
	s.Submit = append(s.Submit, msatest.Answer{Code: code, Body: args[1]})
}

func holdWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, neg, args, 0, "hold")
	s := alignerOf(ts)
	s.Lock()
	defer s.Unlock()
	s.Known, s.Gate = false, make(chan struct{})
}

func releaseWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, neg, args, 0, "release")
	s := alignerOf(ts)
	s.Lock()
	defer s.Unlock()
	close(s.Gate)
	s.Known, s.Gate = true, nil
}

func ticketsWord(ts *testscript.TestScript, neg bool, args []string) {
	only(ts, neg, args, 1, "tickets N")
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := alignerOf(ts)
	s.Lock()
	defer s.Unlock()
	if len(s.Tickets) != n {
		ts.Fatalf("%d searches were submitted; want %d: %v", len(s.Tickets), n, s.Tickets)
	}
}
