package apart

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pleat"
	"pleat/internal/engine/builtin"
)

// mainCalled is whether Main was called: without it, a process would be the whole program once more.
var mainCalled atomic.Bool

// Main returns at once in an ordinary process. In one that runs an engine it does that and ends the process. It must be
// called before the program reads its arguments.
func Main() {
	mainCalled.Store(true)
	if len(os.Args) != 2 || os.Args[0] != childName {
		return
	}
	// The kernel ends this process before the worker, where it must end one.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if most, err := strconv.ParseInt(os.Args[1], 10, 64); err == nil && most > 0 {
		debug.SetMemoryLimit(most / 10 * 9)
		go watchMemory(most)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pleat: the engine could not be run:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// watchMemory ends the process when it uses more than most bytes.
func watchMemory(most int64) {
	for ; ; time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile("/proc/self/statm") // in pages; the second number is what is resident
		if err != nil {
			return // the kernel has no such file
		}
		fields := strings.Fields(string(text))
		if len(fields) < 2 {
			return
		}
		if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil && pages*int64(os.Getpagesize()) > most {
			os.Exit(exitMemory)
		}
	}
}

// serve runs the engine of the request that in begins with. The task is cancelled when an answer says so, or in ends.
func serve(in io.Reader, out io.Writer) error {
	dec := json.NewDecoder(bufio.NewReader(in))
	var r request
	if err := dec.Decode(&r); err != nil {
		return err
	}
	e := builtin.New(r.Engine, r.Options)
	if e == nil {
		return fmt.Errorf("there is no built-in engine %q", r.Engine)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	s := &sink{writer: writer{enc: json.NewEncoder(out)}, answers: make(chan answer)}
	go func() {
		defer cancel(nil)
		defer close(s.answers)
		for {
			var a answer
			switch {
			case dec.Decode(&a) != nil:
				return
			case a.Cancel != "":
				cancel(causes[a.Cancel])
			default:
				s.answers <- a
			}
		}
	}()
	w := r.work()
	w.Computed = func() { _ = s.write(line{Computed: true}) }
	output := e.Run(ctx, w, s)
	return s.write(line{Output: &output})
}

// sink reports to the worker. An engine that cannot report is cancelled soon, since its worker has gone.
type sink struct {
	writer
	asking  sync.Mutex // one question at a time
	answers chan answer
}

// ask writes a line and waits for the answer.
func (s *sink) ask(l line) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	if err := s.write(l); err != nil {
		return err
	}
	a, ok := <-s.answers
	switch {
	case !ok:
		return errors.New("the worker has gone")
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

// Progress implements pleat.Sink.
func (s *sink) Progress(stage string, done, total int) {
	_ = s.write(line{Progress: &progress{stage, done, total}})
}

// Log implements pleat.Sink.
func (s *sink) Log(text string) { _ = s.write(line{Log: &text}) }

// Publish implements pleat.Sink.
func (s *sink) Publish(f pleat.File) error { return s.ask(line{Publish: &f}) }

// Checkpoint implements pleat.Sink.
func (s *sink) Checkpoint(path string, step int64) error {
	return s.ask(line{Checkpoint: &checkpoint{path, step}})
}
