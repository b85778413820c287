package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/storetest"
)

// crowded is a snapshot of a large service, whose users and engines have hostile names.
func crowded() *topSnapshot {
	const hostile = "\x1b[2J\x07\u202eevil\r\n\x9b31m日本語の名前"
	g := store.Glance{
		At:    time.Date(2026, 11, 24, 9, 8, 7, 0, time.UTC),
		Rates: store.Rates{Created: store.GlanceCounted, Completed: 950, Failed: 3, Delivered: 12},
	}
	for i := range 12 {
		g.Queues = append(g.Queues, store.QueueCount{
			Queue:  fmt.Sprintf("fold/model-%d", i),
			State:  pleat.TaskQueued,
			N:      1000 * i,
			Oldest: g.At.Add(-time.Duration(i) * time.Hour),
		})
	}
	var workers []pleat.Worker
	for i := range 20 {
		workers = append(workers, pleat.Worker{
			ID:      pleat.WorkerID(fmt.Sprintf("01a20e27-6150-7c4f-812d-%012d", i)),
			Host:    hostile,
			SeenAt:  g.At.Add(-time.Duration(i) * 2 * time.Second),
			Devices: []pleat.Device{{Name: "NVIDIA H100", Memory: 80e9}, {Name: "NVIDIA H100", Memory: 80e9}},
		})
	}
	for i := range 40 {
		g.Running = append(g.Running, store.RunningTask{
			Source: pleat.Source{Job: pleat.JobID(fmt.Sprintf("01a20e27-c3cd-7b8a-be7e-%012d", i))},
			Owner:  hostile,
			Worker: workers[i%20].ID,
			Model:  "boltz-2",
			Stage:  hostile,
			Done:   i,
			Total:  39,
			Began:  g.At.Add(-time.Minute),
		})
	}
	var runs []store.TimedRun
	for i := range 100 {
		runs = append(runs, store.TimedRun{
			Model:   hostile,
			Timings: map[string]float64{"queue": float64(i + 1), "infer": 3600, "trunk": 5},
		})
	}
	return newTopSnapshot(&g, workers, topModels(runs), "postgres")
}

// A frame fits its terminal, however narrow or low, and has no control characters but its own.
func TestTopFrame(t *testing.T) {
	own := regexp.MustCompile(`\x1b\[(H|K|J|[0-9]+m)`)
	for _, size := range [][2]int{{80, 24}, {200, 60}, {200, 5}, {40, 12}, {10, 3}, {1, 1}} {
		for _, colour := range []bool{true, false} {
			s := topScreen{last: crowded(), colour: colour}
			frame := s.frame(size[0], size[1])
			if styled := strings.Contains(frame, resetStyle); styled != colour {
				t.Errorf("a frame with the colours %t has styles: %t", colour, styled)
			}
			lines := strings.Split(own.ReplaceAllString(frame, ""), "\r\n")
			if len(lines) != size[1] {
				t.Errorf("%d lines at %v", len(lines), size)
			}
			for _, line := range lines {
				if w := runewidth.StringWidth(line); w > size[0] {
					t.Errorf("%d cells at %v: %q", w, size, line)
				}
				if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("a control character at %v: %q", size, line)
				}
			}
		}
	}
	text := crowded().text()
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Error("the text has control characters")
	}
	for _, want := range []string{"10000+ created", "16 workers", "4 silent",
		"2 x NVIDIA H100 80GB", "11000", "11h00m"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

// Each table has rows at the usual size of a terminal, and says how many more there are.
func TestTopSharesTheScreen(t *testing.T) {
	s := topScreen{last: crowded()}
	frame := s.frame(80, 24)
	if n := strings.Count(frame, " more"); n != 3 { // the timings have as many rows as there is room for
		t.Errorf("%d tables are cut:\n%s", n, frame)
	}
	if d := cmp.Diff([]int{4, 1, 5, 4}, shares([]int{4, 1, 9, 9}, 14)); d != "" {
		t.Error(d)
	}
}

func TestPercentiles(t *testing.T) {
	var runs []store.TimedRun
	for i := range 100 {
		r := store.TimedRun{Model: "m", Timings: map[string]float64{pleat.StageInfer: float64(100 - i), "trunk": 1}}
		if i == 0 {
			r.Timings[pleat.StageLoad] = 7
		}
		runs = append(runs, r)
	}
	want := []topModel{{Model: "m", Runs: 100, Stages: map[string]topPercentiles{
		pleat.StageInfer: {Runs: 100, P50: 50, P90: 90, P99: 99},
		pleat.StageLoad:  {Runs: 1, P50: 7, P90: 7, P99: 7},
	}}}
	if d := cmp.Diff(want, topModels(runs)); d != "" {
		t.Error(d)
	}
	for s, want := range map[float64]string{
		0: "0ms", 0.0012: "1ms", 0.5: "0.50s", 59.94: "59.9s", 61: "1m01s", 3599.9: "59m59s", 86399: "23h59m",
		90000: "1d1h",
	} {
		if got := shortTime(s); got != want {
			t.Errorf("%v s is %s; want %s", s, got, want)
		}
	}
}

// The command reads either database, beside a server or without one.
func TestTopSnapshot(t *testing.T) {
	for name, fresh := range storetest.Databases() {
		t.Run(name, func(t *testing.T) {
			address := fresh(t)
			s := storetest.OpenAt(t, address, nil)
			job := storetest.CreateJob(t, s, storetest.NewFold(storetest.User(t, s, "ada"), "secret name"))
			env := map[string]string{"PLEAT_DATABASE": address, "PLEAT_DATA": t.TempDir()}
			code, out, errs := runProgram(t, env, "top")
			if code != exitOK || !strings.Contains(out, "fold/null") || !strings.Contains(out, "none: jobs wait") {
				t.Errorf("code %d\n%s%s", code, out, errs)
			}
			storetest.Claim(t, s, "w", storetest.FoldQueue)
			code, out, errs = runProgram(t, env, "top", "--json")
			var got topSnapshot
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK {
				t.Fatalf("code %d, %v\n%s%s", code, err, out, errs)
			}
			if len(got.Running) != 1 || got.Running[0].Job != string(job.Job) || got.Running[0].User != "ada" ||
				got.Minute.Created != 1 || got.Queues[0].Running != 1 {
				t.Errorf("%+v", got)
			}
			if strings.Contains(out, "secret name") {
				t.Error("top shows the name of a job")
			}
			if code, _, errs = runProgram(t, env, "top", "--interval", "1ms"); code != exitUsage {
				t.Errorf("code %d: %s", code, errs)
			}
		})
	}
}
