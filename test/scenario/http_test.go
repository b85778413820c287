package scenario

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/api"
)

// The commands of scenarios, in addition to those of testscript:
//
//	serve [FLAG...]
//	    start a server on the scenario's data and database; sets $URL and PLEAT_URL
//	stopserver
//	    ask the server to stop; it must end within 30 s
//	crash
//	    kill the server
//	key USER
//	    create a key; requests «as USER» have it, and so has $USER
//	http METHOD PATH [as USER] [send FILE] [with 'Name: value']...
//	    one request; the next commands check its response
//	status CODE
//	    the response's status
//	message TEXT
//	    the response is {"message": TEXT} and nothing else
//	[!] body REGEXP
//	    the response's body
//	[!] header NAME REGEXP
//	    a header of the response
//	[!] json PATH = VALUE
//	    check a field of the response, such as a.b.0.c; count compares a length, ~ a pattern, > and < numbers
//	keep NAME PATH
//	    set $NAME to a field of the response
//	await JOB STATE as USER
//	    poll a job's results until its state, for at most a quarter of an hour
//	artifacts N
//	    the last response lists at least N artifacts; fetch each and check its type, length and sha256
//	together N http ...
//	    send one request N times at once; the body is then the number of responses by status
//	until REGEXP http ...
//	    repeat a request until its response has the pattern, for at most a minute
//	same URL URL
//	    two addresses return the same bytes
//	code N PROGRAM [ARG...]
//	    run a program, which must end with the exit code N
//	keepout NAME REGEXP
//	    set $NAME to the first group of the pattern in the last program's standard output
//	cmpdir A B
//	    two folders have the same files
//	worker [FLAG...]
//	    start pleat worker on the scenario's database; it is killed when the scenario ends
//	stopworkers, drainworkers, workersend
//	    send SIGTERM, SIGUSR1 or nothing to the workers, and wait until they have ended with the exit code 0
//	make FILE KIND N
//	    write a body: N levels deep (depth), of N bytes (bytes), or an array of N bytes (array)
var scenarioCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"serve":        serveCommand,
	"stopserver":   stopCommand,
	"crash":        crashCommand,
	"stopworkers":  stopWorkersCommand,
	"key":          keyCommand,
	"http":         httpCommand,
	"status":       statusCommand,
	"message":      messageCommand,
	"body":         bodyCommand,
	"header":       headerCommand,
	"json":         jsonCommand,
	"keep":         keepCommand,
	"await":        awaitCommand,
	"artifacts":    artifactsCommand,
	"together":     togetherCommand,
	"until":        untilCommand,
	"same":         sameCommand,
	"code":         codeCommand,
	"keepout":      keepoutCommand,
	"cmpdir":       cmpdirCommand,
	"worker":       workerCommand,
	"drainworkers": drainWorkersCommand,
	"workersend":   workersEndCommand,
	"workersfail":  workersFailCommand,
	"make":         makeCommand,
	"logged":       loggedCommand,
}

// response is what a request got.
type response struct {
	status int
	header http.Header
	body   []byte
}

var client = &http.Client{
	Timeout: 10 * time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
}

// request reads METHOD PATH [as USER] [send FILE] [with HEADER]….
func request(ts *testscript.TestScript, args []string) (*http.Request, []byte) {
	w := scenarioOf(ts)
	if len(args) < 2 || len(args)%2 != 0 {
		ts.Fatalf("usage: http METHOD PATH [as USER] [send FILE] [with 'Name: value']...")
	}
	to := args[1]
	if strings.HasPrefix(to, "/") {
		to = ts.Getenv("URL") + to
	}
	var body []byte
	header := http.Header{}
	for i := 2; i < len(args); i += 2 {
		switch args[i] {
		case "as":
			key, ok := w.keys[args[i+1]]
			if !ok {
				ts.Fatalf("%s has no key", args[i+1])
			}
			header.Set("Authorization", "Bearer "+key)
		case "send":
			body = []byte(os.Expand(ts.ReadFile(args[i+1]), ts.Getenv))
			if header.Get("Content-Type") == "" {
				header.Set("Content-Type", "application/json")
			}
		case "with":
			name, value, _ := strings.Cut(args[i+1], ":")
			header.Set(name, strings.TrimSpace(value))
		default:
			ts.Fatalf("http does not accept %q", args[i])
		}
	}
	req, err := http.NewRequest(args[0], to, bytes.NewReader(body))
	ts.Check(err)
	req.Header = header
	return req, body
}

func send(req *http.Request) (response, error) {
	res, err := client.Do(req)
	if err != nil {
		return response{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	return response{res.StatusCode, res.Header, body}, err
}

func httpCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	req, _ := request(ts, args)
	a, err := send(req)
	ts.Check(err)
	scenarioOf(ts).last = a
	ts.Logf("%d %s", a.status, excerpt(a.body))
}

// excerpt is the beginning of a body, for a failing scenario's log.
func excerpt(b []byte) string {
	more := ""
	if len(b) > 1000 {
		b, more = b[:1000], "…"
	}
	if bytes.ContainsFunc(b, func(r rune) bool { return r == utf8.RuneError || r < ' ' && r != '\n' }) {
		return fmt.Sprintf("%q", b) + more
	}
	return string(b) + more
}

func statusCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "status CODE")
	if got := strconv.Itoa(scenarioOf(ts).last.status); got != args[0] {
		ts.Fatalf("the status is %s; want %s: %s", got, args[0], excerpt(scenarioOf(ts).last.body))
	}
}

func messageCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "message TEXT")
	var got map[string]any
	if err := json.Unmarshal(scenarioOf(ts).last.body, &got); err != nil {
		ts.Fatalf("the response is not JSON: %v", err)
	}
	if len(got) != 1 || got["message"] != args[0] {
		ts.Fatalf("the response is %v; want the message %q and nothing else", got, args[0])
	}
}

func match(ts *testscript.TestScript, neg bool, what, pattern, got string) {
	re, err := regexp.Compile("(?s)" + pattern)
	ts.Check(err)
	if re.MatchString(got) == neg {
		ts.Fatalf("%s is %q; want match of %q to be %v", what, excerpt([]byte(got)), pattern, !neg)
	}
}

func bodyCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, false, args, 1, "[!] body REGEXP")
	match(ts, neg, "the body", args[0], string(scenarioOf(ts).last.body))
}

func headerCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, false, args, 2, "[!] header NAME REGEXP")
	match(ts, neg, args[0], args[1], scenarioOf(ts).last.header.Get(args[0]))
}

// field walks a path such as data.0.name through the last response.
func field(ts *testscript.TestScript, path string) (any, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(scenarioOf(ts).last.body))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the response is not JSON: %w", err)
	}
	if path == "." {
		return v, nil
	}
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[step]
			if !ok {
				return nil, fmt.Errorf("%s: there is no %q", path, step)
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("%s: the list has %d entries", path, len(x))
			}
			v = x[i]
		default:
			return nil, fmt.Errorf("%s: %q is inside a plain value", path, step)
		}
	}
	return v, nil
}

// plain writes a JSON value as a scenario does: strings without quotes.
func plain(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v) // it came from JSON
	return string(b)
}

func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, false, args, 3, "[!] json PATH =|~|count|>|< VALUE")
	v, err := field(ts, args[0])
	ts.Check(err)
	got, want := plain(v), args[2]
	holds := false
	switch args[1] {
	case "=":
		holds = got == want
	case "~":
		match(ts, neg, args[0], want, got)
		return
	case "count":
		n := -1
		switch x := v.(type) {
		case []any:
			n = len(x)
		case map[string]any:
			n = len(x)
		}
		got, holds = strconv.Itoa(n), strconv.Itoa(n) == want
	case ">", "<":
		a, err := strconv.ParseFloat(got, 64)
		ts.Check(err)
		b, err := strconv.ParseFloat(want, 64)
		ts.Check(err)
		holds = args[1] == ">" && a > b || args[1] == "<" && a < b
	default:
		ts.Fatalf("json does not accept %q", args[1])
	}
	if holds == neg {
		ts.Fatalf("%s is %s; want %s %s to be %v", args[0], got, args[1], want, !neg)
	}
}

func keepCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 2, "keep NAME PATH")
	v, err := field(ts, args[1])
	ts.Check(err)
	ts.Setenv(args[0], plain(v))
}

func awaitCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 4, "await JOB STATE as USER")
	awaitState(ts, "/v1/jobs/"+args[0]+"/results", "job.status", 15*time.Minute, args[1:])
}

// awaitState polls a path until a field of its response is the state of «STATE as USER».
func awaitState(ts *testscript.TestScript, path, at string, patience time.Duration, args []string) {
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		req, _ := request(ts, []string{"GET", path, args[1], args[2]})
		a, err := send(req)
		ts.Check(err)
		scenarioOf(ts).last = a
		if a.status != http.StatusOK {
			ts.Fatalf("%s answers %d: %s", path, a.status, excerpt(a.body))
		}
		v, err := field(ts, at)
		ts.Check(err)
		switch state := plain(v); {
		case state == args[0]:
			return
		case api.Terminal(state):
			ts.Fatalf("%s ended %s; want %s: %s", path, state, args[0], excerpt(a.body))
		case time.Now().After(until):
			ts.Fatalf("%s is still %s; want %s\n%s", path, state, args[0], scenarioOf(ts).server.log)
		}
	}
}

func artifactsCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "artifacts N")
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	var res struct {
		Artifacts []struct {
			Name, Kind, URL, ContentType, SHA256 string
			Bytes                                int
		}
	}
	ts.Check(json.Unmarshal(scenarioOf(ts).last.body, &res))
	if len(res.Artifacts) < least {
		ts.Fatalf("there are %d artifacts; want %d or more", len(res.Artifacts), least)
	}
	seen := map[string]bool{}
	for _, a := range res.Artifacts {
		if seen[a.Name] {
			ts.Fatalf("two artifacts are named %s", a.Name)
		}
		seen[a.Name] = true
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, a.URL, nil)
		ts.Check(err)
		got, err := send(req)
		ts.Check(err)
		sum := sha256.Sum256(got.body)
		switch {
		case got.status != http.StatusOK:
			ts.Fatalf("%s answers %d: %s", a.Name, got.status, excerpt(got.body))
		case len(got.body) != a.Bytes || a.Bytes == 0:
			ts.Fatalf("%s has %d bytes; the manifest says %d", a.Name, len(got.body), a.Bytes)
		case hex.EncodeToString(sum[:]) != a.SHA256:
			ts.Fatalf("%s has another sha256 than the manifest says", a.Name)
		case got.header.Get("Content-Type") != a.ContentType:
			ts.Fatalf("%s is sent as %s; the manifest says %s", a.Name, got.header.Get("Content-Type"), a.ContentType)
		}
	}
}

func togetherCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	if len(args) < 4 || args[1] != "http" {
		ts.Fatalf("usage: together N http METHOD PATH ...")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	responses := make([]response, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		req, _ := request(ts, args[2:])
		wg.Go(func() { responses[i], errs[i] = send(req) })
	}
	wg.Wait()
	count := map[int]int{}
	for i := range n {
		ts.Check(errs[i])
		count[responses[i].status]++
	}
	b, err := json.Marshal(count)
	ts.Check(err)
	scenarioOf(ts).last = response{status: responses[0].status, header: responses[0].header, body: b}
	ts.Logf("%s", b)
}

func sameCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 2, "same URL URL")
	var got [2]response
	for i, to := range args {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, to, nil)
		ts.Check(err)
		got[i], err = send(req)
		ts.Check(err)
		if got[i].status != http.StatusOK || len(got[i].body) == 0 {
			ts.Fatalf("%s answers %d with %d bytes", to, got[i].status, len(got[i].body))
		}
	}
	if !bytes.Equal(got[0].body, got[1].body) {
		ts.Fatalf("the bytes differ: %s against %s", excerpt(got[0].body), excerpt(got[1].body))
	}
}

func untilCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	if len(args) < 4 || args[1] != "http" {
		ts.Fatalf("usage: until REGEXP http METHOD PATH ...")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		req, _ := request(ts, args[2:])
		a, err := send(req)
		ts.Check(err)
		scenarioOf(ts).last = a
		if re.Match(a.body) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("the response is still %s", excerpt(a.body))
		}
	}
}
