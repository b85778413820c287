package scenario

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pleat/internal/store/storetest"
)

// checkArgs refuses a command that is negated or has the wrong number of arguments; n below 0 allows any.
func checkArgs(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg {
		ts.Fatalf("this command cannot be negated")
	}
	if n >= 0 && len(args) != n {
		ts.Fatalf("usage: %s", usage)
	}
}

// process is the program in a process of its own, next to a scenario.
type process struct {
	cmd       *exec.Cmd
	log       *storetest.Log // standard error, and standard output but for its first line
	firstLine chan string
	done      chan error // gets the error of the process when it has ended
}

func (s *process) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// startProcess runs the program next to the scenario, until the scenario ends or kills it.
func startProcess(ts *testscript.TestScript, args ...string) *process {
	s := &process{log: &storetest.Log{}, firstLine: make(chan string, 1), done: make(chan error, 1)}
	s.cmd = exec.Command(lookPath(ts, "pleat"), args...)
	s.cmd.Env = []string{}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "PLEAT_DATABASE", "PLEAT_DATA", "PLEAT_QUOTA",
		"PLEAT_SECRET_KEY", "PLEAT_MSA_KEY", "PLEAT_WEBHOOK_ALLOW", "PLEAT_MAIL_URL",
		"PLEAT_MAIL_FROM", "PLEAT_MAIL_PASSWORD", "PLEAT_MAIL_CA", "PLEAT_PUBLIC_URL",
		"PLEAT_WEBHOOK_TIMEOUT", "PLEAT_WEBHOOK_SECRET", "PLEAT_WEBHOOK_TOKEN", "PLEAT_INGEST_SECRET", "GORACE",
		"GOCOVERDIR", "PLEAT_TEST_MINI_STEPS"} {
		if v := ts.Getenv(name); v != "" {
			s.cmd.Env = append(s.cmd.Env, name+"="+v)
		}
	}
	s.cmd.Dir = ts.Getenv("WORK")
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	go func() {
		r := bufio.NewReader(out)
		l, _ := r.ReadString('\n')
		s.firstLine <- strings.TrimSpace(l)
		_, _ = io.Copy(s.log, r)
		s.done <- s.cmd.Wait()
	}()
	return s
}

// startListening is startProcess for a command that prints its address, which it returns.
func startListening(ts *testscript.TestScript, args ...string) (*process, string) {
	s := startProcess(ts, args...)
	select {
	case line := <-s.firstLine:
		url, ok := strings.CutPrefix(line, "listening on ")
		if !ok {
			s.kill()
			ts.Fatalf("the first line of pleat %s is %q:\n%s", args[0], line, s.log)
		}
		return s, url
	case <-time.After(60 * time.Second):
		s.kill()
		ts.Fatalf("pleat %s does not listen:\n%s", args[0], s.log)
		return nil, ""
	}
}

func serveCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	w := scenarioOf(ts)
	if w.server != nil {
		ts.Fatalf("a server runs already")
	}
	var url string
	w.server, url = startListening(ts,
		append([]string{"serve", "--addr", "127.0.0.1:0", "--engines", "mini,null"}, args...)...)
	ts.Setenv("URL", url)
	ts.Setenv("ADDR", strings.TrimPrefix(url, "http://"))
	ts.Setenv("PLEAT_URL", url)
}

func workerCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	w := scenarioOf(ts)
	if len(args) == 0 {
		args = []string{"--engines", "mini,null"}
	}
	w.workers = append(w.workers, startProcess(ts, append([]string{"worker"}, args...)...))
}

// lookPath finds a program on the scenario's PATH, which is not this process's.
func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		p := filepath.Join(dir, name)
		if info, err := os.Stat(p); err == nil && info.Mode()&0o111 != 0 {
			return p
		}
	}
	ts.Fatalf("%s is not on the PATH", name)
	return ""
}

func stopCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 0, "stop")
	w := scenarioOf(ts)
	ts.Check(w.server.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-w.server.done:
		if err != nil {
			ts.Fatalf("the server ended with %v:\n%s", err, w.server.log)
		}
	case <-time.After(30 * time.Second):
		ts.Fatalf("the server does not stop:\n%s", w.server.log)
	}
	if log := w.server.log.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		ts.Fatalf("the server has a fault:\n%s", log)
	}
	w.server = nil
}

func stopWorkersCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 0, "stopworkers")
	for _, s := range scenarioOf(ts).workers {
		ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	}
	awaitWorkers(ts)
}

// drainWorkersCommand asks the workers to end when their jobs have ended, and waits for that.
func drainWorkersCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 0, "drainworkers")
	for _, s := range scenarioOf(ts).workers {
		ts.Check(s.cmd.Process.Signal(syscall.SIGUSR1))
	}
	awaitWorkers(ts)
}

// workersEndCommand waits until the workers have ended by themselves.
func workersEndCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 0, "workersend")
	awaitWorkers(ts)
}

// workersFailCommand waits until the workers have ended by themselves with an error, which the log has.
func workersFailCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "workersfail REGEXP")
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	w := scenarioOf(ts)
	for _, s := range w.workers {
		select {
		case err := <-s.done:
			if err == nil || !re.MatchString(s.log.String()) {
				ts.Fatalf("a worker ended with %v:\n%s", err, s.log)
			}
		case <-time.After(60 * time.Second):
			ts.Fatalf("a worker does not end:\n%s", s.log)
		}
	}
	w.workers = nil
}

// awaitWorkers waits until the workers have ended in order.
func awaitWorkers(ts *testscript.TestScript) {
	w := scenarioOf(ts)
	for _, s := range w.workers {
		select {
		case err := <-s.done:
			if err != nil {
				ts.Fatalf("a worker ended with %v:\n%s", err, s.log)
			}
		case <-time.After(60 * time.Second):
			ts.Fatalf("a worker does not end:\n%s", s.log)
		}
	}
	w.workers = nil
}

// loggedCommand waits until the log of the server matches.
func loggedCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "logged REGEXP")
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	log := scenarioOf(ts).server.log
	for end := time.Now().Add(60 * time.Second); !re.MatchString(log.String()); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("the log does not match %q:\n%s", args[0], log)
		}
	}
}

func crashCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 0, "crash")
	w := scenarioOf(ts)
	w.server.kill()
	w.server = nil
}

func keyCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 1, "key USER")
	w := scenarioOf(ts)
	ts.Check(ts.Exec("pleat", "keys", "create", "--init", "--user", args[0]))
	key := strings.TrimSuffix(ts.ReadFile("stdout"), "\n")
	if key == "" || strings.ContainsAny(key, " \n") {
		ts.Fatalf("pleat keys create prints %q; want the key alone", key)
	}
	w.keys[args[0]] = key
	ts.Setenv(args[0], key)
}

func codeCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, -1, "")
	if len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		code = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("the exit code is %d; want %s", code, args[0])
	}
}

func keepoutCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 2, "keepout NAME REGEXP")
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("stdout has no match of %q", args[1])
	}
	ts.Setenv(args[0], m[1])
}

func cmpdirCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 2, "cmpdir A B")
	a, b := readDir(ts, args[0]), readDir(ts, args[1])
	if len(a) == 0 {
		ts.Fatalf("%s is empty", args[0])
	}
	for name, content := range a {
		if other, ok := b[name]; !ok || other != content {
			ts.Fatalf("%s is not the same in both folders", name)
		}
	}
	if len(a) != len(b) {
		ts.Fatalf("the folders hold %d and %d files", len(a), len(b))
	}
}

func readDir(ts *testscript.TestScript, dir string) map[string]string {
	out := map[string]string{}
	root := ts.MkAbs(dir)
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, root)] = string(b)
		return err
	}))
	return out
}

func makeCommand(ts *testscript.TestScript, neg bool, args []string) {
	checkArgs(ts, neg, args, 3, "make FILE KIND N")
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	body := ""
	switch args[1] {
	case "depth":
		body = `{"name": "x", "sequences": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
	case "bytes":
		body = `{"name": "` + strings.Repeat("x", n) + `"}`
	case "array":
		body = "[" + strings.Repeat("0,", n/2) + "0]"
	default:
		ts.Fatalf("make does not accept %q", args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(body), 0o600))
}
