package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pleat/api"
	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// TestSoak runs until PLEAT_TEST_SOAK (a time such as 2m) is over and PLEAT_TEST_SOAK_KILLS kills are done; make soak
// sets them. On each database in turn it
//
//   - kills a server at random instants while clients create folds, folds with follow-ups, batches and questions,
//     invite users, and accept what they are invited to, and deliveries are sent. Afterwards nothing that was
//     acknowledged is lost, nothing was done twice, and no file is left over;
//   - sends waves of the same work to a server that lives for the whole test, and measures it at rest after each wave.
//     Memory, goroutines, open files, files that no row refers to, and the bytes of the database for each run must not
//     grow; see judge.
func TestSoak(t *testing.T) {
	text := os.Getenv("PLEAT_TEST_SOAK")
	if text == "" {
		t.Skip("PLEAT_TEST_SOAK gives no time; make soak runs it")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("PLEAT_TEST_SOAK is %q; it must be a time such as 2m", text)
	}
	want := 1
	if text := os.Getenv("PLEAT_TEST_SOAK_KILLS"); text != "" {
		if want, err = strconv.Atoi(text); err != nil {
			t.Fatalf("PLEAT_TEST_SOAK_KILLS is %q; it must be a whole number", text)
		}
	}
	databases := storetest.Migrated()
	steady := map[string]*steadyServer{}
	for name, fresh := range databases {
		steady[name] = newSteadyServer(t, fresh(t))
	}
	kills, acked, end := 0, 0, time.Now().Add(length)
	for round := 1; !t.Failed() && (time.Now().Before(end) || kills < want || round <= leastRounds); round++ {
		for name, fresh := range databases {
			t.Run(fmt.Sprintf("%s %d", name, round), func(t *testing.T) { acked += soakKills(t, fresh(t)) })
			kills += killsPerRound
			for range wavesPerRound {
				steady[name].wave()
			}
		}
		t.Logf("round %d: %d kills, %d acknowledged", round, kills, acked)
	}
	for name, s := range steady {
		s.check(name)
	}
	t.Logf("%d kills, %d acknowledged; every one of them ended once", kills, acked)
}

const (
	killsPerRound = 8 // on each database
	wavesPerRound = 3 // to each server that lives for the whole test
	leastRounds   = 3 // a slope needs some points
	waveClients   = 6
	waveCreations = 3 // of each client
)

// newSoakNode starts a server whose deliveries go to a recorder.
func newSoakNode(t *testing.T, database string, env ...string) (*workflowNode, *testprogram.Recorder) {
	n := &workflowNode{Node: testprogram.NewNode(t, database)}
	n.Env = append([]string{"PLEAT_WEBHOOK_ALLOW=127.0.0.1"}, env...)
	w := testprogram.NewRecorder(t)
	n.CreateKey()
	n.restart()
	n.db = n.Open()
	testprogram.ConfigureRecorder(t, n.api, w.URL)
	return n, w
}

// createMix creates, in the proportion of 4 to 1 to 1 to 1, a fold, a fold with follow-ups, a batch, and a question.
// Every fold is delivered to the recorder.
func (n *workflowNode) createMix(question json.RawMessage) (string, error) {
	switch rand.IntN(7) {
	case 0:
		return n.foldWithFollowUps()
	case 1:
		return n.ask(question)
	case 2:
		return n.smallBatch()
	}
	return createNullJob(n.api)
}

// smallBatch creates a batch of three rows, two of which are of one job.
func (n *workflowNode) smallBatch() (string, error) {
	in := api.CreateBatch{Name: "small", Kind: "list", Params: &api.Params{ModelName: "null"}}
	for _, text := range []string{"GSGSA", "GSGSC", "GSGSA"} {
		in.Jobs = append(in.Jobs, api.BatchJob{
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: text}}},
		})
	}
	made, err := n.api.CreateBatch(context.Background(), in, api.CreateOptions{})
	return made.BatchID, err
}

// guests are users who came by an invitation and were told their keys.
type guests struct {
	node    *workflowNode
	project string
	mu      sync.Mutex
	invited map[string]bool   // the ids of the invitations that were acknowledged
	keys    map[string]string // by user
}

// newGuests makes a project whose manager is the user of the node.
func newGuests(n *workflowNode) *guests {
	n.T.Helper()
	if out, code := n.Run("users", "grant", "ada", "operator"); code != 0 {
		n.T.Fatalf("users grant ended with %d:\n%s", code, out)
	}
	p, err := n.api.CreateProject(context.Background(), api.CreateProject{Name: "guests"})
	if err != nil {
		n.T.Fatal(err)
	}
	return &guests{node: n, project: p.ID, invited: map[string]bool{}, keys: map[string]string{}}
}

// invite invites somebody, who accepts.
func (g *guests) invite() error {
	ctx, c := context.Background(), g.node.api
	made, err := c.Invite(ctx, g.project, api.CreateInvitation{Role: "member"})
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.invited[made.ID] = true
	g.mu.Unlock()
	nobody := *c
	nobody.Key = ""
	joined, err := nobody.AcceptInvitation(ctx, api.AcceptInvitation{Token: made.Token, Name: "guest-" + made.ID})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keys[joined.UserID] = *joined.Key
	return nil
}

// check checks that every invitation is there, that nobody joined twice, and that each key that was told is valid.
func (g *guests) check() {
	t := g.node.T
	t.Helper()
	used := map[string]bool{}
	for _, id := range testprogram.QueryStrings(t, g.node.db, "SELECT used_by FROM invitation WHERE used_at <> 0") {
		if used[id] {
			t.Errorf("the user %s joined twice", id)
		}
		used[id] = true
	}
	made := testprogram.QueryStrings(t, g.node.db, "SELECT id FROM invitation")
	for id := range g.invited {
		if !slices.Contains(made, id) {
			t.Errorf("the invitation %s was acknowledged and is gone", id)
		}
	}
	for user, key := range g.keys {
		c := *g.node.api
		c.Key = key
		me, err := c.Me(context.Background())
		if err != nil || !used[user] {
			t.Errorf("the user %s, who has joined (%v): %+v %v", user, used[user], me, err)
		}
	}
	testprogram.WantZero(t, g.node.db, map[string]string{
		"members besides those who joined": fmt.Sprintf(
			"SELECT count(*) - 1 - %d FROM project_member WHERE project_id = '%s'", len(used), g.project),
	})
	t.Logf("%d invitations acknowledged, %d users told that they have joined", len(g.invited), len(g.keys))
}

// soakKills kills a new server killsPerRound times, checks what it did, and returns how many creations it acknowledged.
func soakKills(t *testing.T, database string) int {
	n, w := newSoakNode(t, database)
	question := n.libraryQuestion()
	invited := newGuests(n)
	acked := n.CreateThroughKills(killsPerRound, waveClients, 400*time.Millisecond, n.restart, func() (string, error) {
		time.Sleep(rand.N(100 * time.Millisecond)) // all of it must run in the end
		if rand.IntN(8) == 0 {
			if err := invited.invite(); err != nil {
				return "", err
			}
		}
		return n.createMix(question)
	})
	n.awaitEnd()
	invited.check()
	ended := map[string]bool{}
	for _, q := range []string{
		"SELECT id FROM job WHERE state = 'COMPLETED'", "SELECT id FROM workflow WHERE state = 'COMPLETED'",
		"SELECT id FROM batch WHERE opened_at <> 0 AND ended_at <> 0 AND NOT EXISTS (SELECT 1 FROM job " +
			"WHERE batch_id = batch.id AND state <> 'COMPLETED')",
	} {
		for _, id := range testprogram.QueryStrings(t, n.db, q) {
			ended[id] = true
		}
	}
	for id := range acked {
		if !ended[id] {
			t.Errorf("%s was acknowledged and did not complete", id)
		}
	}
	n.wantFollowUps(killsPerRound)
	n.wantDelivered(w)
	n.wantConsistent()
	return len(acked)
}

// wantDelivered checks that the recorder got every event, and each under one webhook-id.
func (n *workflowNode) wantDelivered(w *testprogram.Recorder) {
	n.T.Helper()
	testprogram.WantZero(n.T, n.db, map[string]string{
		"deliveries that failed": "SELECT count(*) FROM delivery WHERE status <> 'SUCCEEDED'",
	})
	w.Mu.Lock()
	defer w.Mu.Unlock()
	for _, event := range testprogram.QueryStrings(n.T, n.db,
		"SELECT event_id FROM delivery WHERE destination = 'custom_http'") {
		if len(w.IDs[event]) != 1 {
			n.T.Errorf("the event %s arrived with %d webhook-ids", event, len(w.IDs[event]))
		}
	}
}

// steadyServer is a server that is never killed.
type steadyServer struct {
	*workflowNode
	recorder *testprogram.Recorder
	question json.RawMessage
	rest     []restState // after each wave
}

// restState is what a server holds while it has nothing to do.
type restState struct {
	heap       float64 // bytes in use
	goroutines float64
	files      float64 // open
	leftOver   float64 // files in the data folder that no row refers to
	perRun     float64 // bytes of the database for each run
}

func newSteadyServer(t *testing.T, database string) *steadyServer {
	// The garbage collector runs often, so that what is measured is in use.
	n, w := newSoakNode(t, database, "GOGC=20")
	n.api.HTTP = http.DefaultClient // whose idle connections a wave closes
	return &steadyServer{workflowNode: n, recorder: w, question: n.libraryQuestion()}
}

// wave sends work to the server, waits until it has ended, and measures. Before that it closes the connections that
// clients and the recorder keep: how many there are depends on how many calls met.
func (s *steadyServer) wave() {
	s.T.Helper()
	var clients sync.WaitGroup
	for range waveClients {
		clients.Go(func() {
			for range waveCreations {
				if _, err := s.createMix(s.question); err != nil {
					s.T.Error(err)
				}
			}
		})
	}
	clients.Wait()
	s.awaitEnd()
	http.DefaultClient.CloseIdleConnections()
	s.recorder.CloseClientConnections()
	s.rest = append(s.rest, s.measure())
}

// measure returns the state of the server at rest: the lowest of a few looks, since connections and timers of the wave
// end a little later.
func (s *steadyServer) measure() restState {
	s.T.Helper()
	low := s.look()
	for range 5 {
		time.Sleep(100 * time.Millisecond)
		now := s.look()
		low.heap, low.goroutines = min(low.heap, now.heap), min(low.goroutines, now.goroutines)
		low.files, low.leftOver = min(low.files, now.files), min(low.leftOver, now.leftOver)
	}
	return low
}

func (s *steadyServer) look() restState {
	s.T.Helper()
	_, metrics := s.Request("GET", "/metrics", "")
	figure := func(name string) float64 {
		for line := range strings.Lines(string(metrics)) {
			if value, ok := strings.CutPrefix(line, name+" "); ok {
				if v, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
					return v
				}
			}
		}
		s.T.Fatalf("/metrics has no %s", name)
		return 0
	}
	out := restState{heap: figure("go_memstats_heap_inuse_bytes"), goroutines: figure("go_goroutines")}
	for _, path := range s.OpenFiles() {
		// SQLite's open and close with the load; its connections are bounded.
		if !strings.Contains(path, ".db") {
			out.files++
		}
	}
	if strings.HasPrefix(s.Database, "sqlite:") {
		// One writes, and is always open; the others read.
		if now, most := s.SQLiteConnections(), 1+max(4, 2*runtime.GOMAXPROCS(0)); now < 1 || now > most {
			s.T.Errorf("%d connections to SQLite are open, want 1 to %d", now, most)
		}
	}
	stored := 0
	for _, folder := range []string{"blobs", "scratch"} {
		err := filepath.WalkDir(filepath.Join(s.Dir, "data", folder), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				stored++
			}
			return nil // a file may be gone a moment later
		})
		if err != nil {
			s.T.Fatal(err)
		}
	}
	out.leftOver = float64(stored - testprogram.QueryInt(s.T, s.db, referencedFiles))
	out.perRun = float64(s.databaseBytes()) / float64(testprogram.QueryInt(s.T, s.db, "SELECT count(*) FROM run"))
	return out
}

// databaseBytes returns the size of the database. SQLite's is that of its last transaction: the size of the file is
// that of its last checkpoint.
func (s *steadyServer) databaseBytes() int {
	if strings.HasPrefix(s.Database, "sqlite:") {
		return testprogram.QueryInt(s.T, s.db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
	}
	return testprogram.QueryInt(s.T, s.db, "SELECT pg_database_size(current_database())")
}

// check compares how much each figure grew over the waves with what it may: the growth is the slope of a straight
// line through the figures (least squares) over the waves measured, without the first third, in which caches fill.
// Allowed are 25 % of the median and 4 MiB of heap, 10 goroutines and open files (connections to the database open
// late), and 4 left-over files. The bytes of the database for each run may not grow by more than 10 %; they fall, since
// an empty database has a size too.
func (s *steadyServer) check(name string) {
	s.T.Helper()
	waves := s.rest[len(s.rest)/3:]
	for _, f := range []struct {
		what            string
		of              func(restState) float64
		share, constant float64 // of growth allowed, of the median and besides
	}{
		{"bytes of heap", func(r restState) float64 { return r.heap }, .25, 4 << 20},
		{"goroutines", func(r restState) float64 { return r.goroutines }, 0, 10},
		{"open files", func(r restState) float64 { return r.files }, 0, 10},
		{"left-over files", func(r restState) float64 { return r.leftOver }, 0, 4},
		{"bytes of database for each run", func(r restState) float64 { return r.perRun }, .1, 0},
	} {
		var values []float64
		for _, r := range waves {
			values = append(values, f.of(r))
		}
		grown := slope(values) * float64(len(values)-1)
		sorted := slices.Sorted(slices.Values(values))
		median := sorted[len(sorted)/2]
		may := f.share*median + f.constant
		s.T.Logf("%s: %s: median %.0f of %d waves, grown by %.1f; %.1f are allowed: %.0f", name, f.what, median,
			len(values), grown, may, values)
		if grown > may {
			s.T.Errorf("%s: %s grow: %.0f", name, f.what, values)
		}
	}
}

// slope returns the slope of the straight line through values at 0, 1, 2 … that has the least squares.
func slope(values []float64) float64 {
	n := float64(len(values))
	var sx, sy, sxx, sxy float64
	for i, y := range values {
		x := float64(i)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}
