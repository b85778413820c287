package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"pleat"
	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/structure"
	"pleat/internal/structure/structuretest"
)

// service is a whole server with one slot: HTTP, database, files and the worker with the analyst.
type service struct {
	*App
	t   *testing.T
	url string
}

func newService(t *testing.T) *service {
	t.Helper()
	c := config.Default()
	c.Data, c.Addr, c.Engines, c.Slots, c.Deliver = t.TempDir(), "127.0.0.1:0", []string{"analyst"}, 1, false
	return startService(t, c)
}

func startService(t *testing.T, c config.Config) *service {
	t.Helper()
	return startServiceWith(t, c, quiet)
}

func startServiceWith(t *testing.T, c config.Config, log *slog.Logger) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan *service, 1), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, c, log, Options{
			Ready: func(a *App, url string) { ready <- &service{a, t, url} },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case s := <-ready:
		return s
	case err := <-ended:
		ended <- err
		t.Fatal("the server ended: ", err)
		return nil
	}
}

// user returns a client of a new user.
func (s *service) user(name string) *api.Client {
	s.t.Helper()
	key, err := CreateKey(s.t.Context(), s.Store, name, people.NewKey{})
	if err != nil {
		s.t.Fatal(err)
	}
	return &api.Client{Base: s.url, Key: key}
}

// upload stores a file in a user's library and returns the item.
func (s *service) upload(c *api.Client, name string, content []byte) string {
	s.t.Helper()
	ctx := s.t.Context()
	item, err := c.CreateItem(ctx, api.CreateItem{Name: name, Type: "file", FileType: "pdb"})
	if err == nil {
		_, err = c.UploadFile(ctx, item.ID, name, bytes.NewReader(content))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return item.ID
}

// ask queues a question about a library item.
func (s *service) ask(c *api.Client, item, question string) pleat.WorkflowID {
	s.t.Helper()
	w, err := c.CreateWorkflow(s.t.Context(), api.CreateWorkflow{
		WorkflowName: "qna_v1",
		Name:         "question",
		Input: json.RawMessage(fmt.Sprintf(`{"question":%q,"targetSource":"library","libraryItemId":%q}`, question,
			item)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return pleat.WorkflowID(w.ID)
}

func cifOf(t *testing.T, s *structure.Structure) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := structure.WriteCIF(&b, s, structure.Meta{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// One user uploads structures whose atoms lie on one another and asks about their pockets, again and again, of a server
// with one slot. Each question is answered with the reason, and another user's question waits for two of them at most.
//
//nolint:paralleltest // Serve takes secrets out of the environment
func TestCrowdedUploadsDoNotHoldTheServer(t *testing.T) {
	s := newService(t)
	ann, ben := s.user("ann"), s.user("ben")
	crambin, err := os.ReadFile("../structure/testdata/1crn.pdb")
	if err != nil {
		t.Fatal(err)
	}
	mine := s.upload(ben, "crambin.pdb", crambin)
	var crowded []pleat.WorkflowID
	for _, content := range [][]byte{
		cifOf(t, structuretest.CrowdedCube(25_000, 30)),
		cifOf(t, structuretest.CrowdedCube(50_000, 30)),
		cifOf(t, structuretest.CrowdedResidue(9_000)),
	} {
		item := s.upload(ann, "crowded.cif", content)
		for range 2 {
			crowded = append(crowded, s.ask(ann, item, "What pockets are there?"))
		}
	}
	bens := storetest.AwaitWorkflow(t, s.Store, s.ask(ben, mine, "How many residues are there?"), pleat.StateCompleted)
	between := 0
	for _, id := range crowded {
		v := storetest.AwaitWorkflow(t, s.Store, id, pleat.StateCompleted)
		if at := v.Run.StartedAt; at.After(bens.Run.CreatedAt) && !at.After(bens.Run.StartedAt) {
			between++
		}
		var row struct{ Answer string }
		if err := json.Unmarshal(v.Run.Result.Row, &row); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(row.Answer, "ALA") || !strings.Contains(row.Answer, "were not computed") {
			t.Errorf("answer %q", row.Answer)
		}
	}
	if between > 2 {
		t.Errorf("%d questions of one user began while another's waited", between)
	}
}
