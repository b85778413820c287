package submit

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
	"pleat/internal/webhook"
)

// world is a store with two users and one job of ann, of a ligand and a protein.
type world struct {
	*Resolver
	ann, ben people.Reach
	job      runs.Created
}

var mini = pleat.Model{
	Name:     "mini",
	Kind:     pleat.TaskFold,
	Entities: []pleat.EntityKind{pleat.Protein, pleat.Ligand},
	Features: []pleat.Feature{pleat.FeatureComplex},
	Params:   []pleat.ParamSpec{{Name: "seed", Type: pleat.ParamString}},
	Memory:   pleat.MemoryModel{Base: 10, Linear: 1},
}

func newWorld(t *testing.T, s *store.Store) *world {
	t.Helper()
	ctx := t.Context()
	w := &world{Resolver: &Resolver{
		References: References{People: s.People, Runs: s.Runs},
		Workers:    s.Workers,
		Webhooks:   s.Webhooks,
	}}
	for name, id := range map[string]*people.Reach{"ann": &w.ann, "ben": &w.ben} {
		u, err := s.People.EnsureUser(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		*id = people.Own(u.ID)
	}
	w.job = w.create(t)
	return w
}

// create makes a job of ann.
func (w *world) create(t *testing.T) runs.Created {
	t.Helper()
	ctx := t.Context()
	job := pleat.Job{
		Name:  "fold",
		Owner: w.ann.Project,
		Sequences: []pleat.Sequence{
			{Kind: pleat.Ligand, Text: "CCO", Count: 1},
			{Kind: pleat.Protein, Text: "ACDEFGHIK", Count: 1},
		},
		Params: pleat.Params{Model: "mini"},
	}
	if err := job.Validate(mini); err != nil {
		t.Fatal(err)
	}
	created, err := w.Runs.CreateJob(ctx, runs.NewJob{Job: job, Run: JobRun(&job, mini)})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestSourceFold(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w := newWorld(t, s)
		ctx := t.Context()
		other := w.create(t)
		ligand, protein := w.job.Sequences[0], w.job.Sequences[1]
		fold := func(run pleat.RunID, q pleat.SequenceID) pleat.FoldRef {
			return pleat.FoldRef{Job: w.job.Job, Run: run, Sequence: q}
		}
		for name, c := range map[string]struct {
			owner pleat.ProjectID
			ref   pleat.FoldRef
			want  string // of the error; empty: the run and the protein of the job
		}{
			"latest run, first protein": {w.ann.Project, fold("", ""), ""},
			"named":                     {w.ann.Project, fold(w.job.Run, protein), ""},
			"ligand":                    {w.ann.Project, fold("", ligand), "names a ligand; it must be a protein"},
			"another job's sequence":    {w.ann.Project, fold("", other.Sequences[1]), "is not a sequence of the job"},
			"another job's run":         {w.ann.Project, fold(other.Run, ""), "is not a run of the job"},
			"another user's job":        {w.ben.Project, fold("", ""), pleat.ErrJobNotFound.Message},
		} {
			got, err := w.SourceFold(ctx, c.owner, c.ref)
			switch {
			case c.want == "" && (err != nil || got.View.Run.ID != w.job.Run || got.Sequence.ID != protein):
				t.Errorf("%s: %v %v", name, got, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
		if err := s.Runs.SetPublic(ctx, w.ann, w.job.Job, true); err != nil {
			t.Fatal(err)
		}
		got, err := w.SourceFold(ctx, w.ben.Project, fold("", ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := got.checkCompleted(); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("a fold that waits is complete: %v", err)
		}
	})
}

// The request and the worker must find the same file.
func TestFile(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w := newWorld(t, s)
		ctx := t.Context()
		item, err := s.Runs.CreateItem(ctx, w.ann, runs.LibraryItem{
			Owner:    w.ann.Project,
			Name:     "item",
			Type:     "file",
			Metadata: json.RawMessage("{}"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"notes.json", "a.PDB", "b.cif"} {
			f := runs.LibraryFile{Name: name, Key: "library/" + name, Bytes: int64(len(name)), Created: s.DB.Now()}
			if _, err := s.Runs.AddFile(ctx, w.ann, item.ID, f); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			owner      people.Reach
			name       string
			role       fileRole
			want, fail string
		}{
			{w.ann, "", structureFile, "a.PDB", ""},
			{w.ann, "b.cif", structureFile, "b.cif", ""},
			{w.ann, "", paeFile, "notes.json", ""},
			{w.ann, "a.PDB", paeFile, "", `has no PAE file named "a.PDB"`},
			{w.ann, "c.cif", structureFile, "", `has no structure file named "c.cif"`},
			{w.ben, "", structureFile, "", runs.ErrNoItem.Message},
		} {
			got, err := w.File(ctx, c.owner, pleat.FileRef{Item: item.ID, Name: c.name}, c.role)
			if got.Name != c.want || (err == nil) != (c.fail == "") || err != nil &&
				!strings.Contains(err.Error(), c.fail) {
				t.Errorf("%q as %s: %q %v", c.name, c.role.Name, got.Name, err)
			}
		}
		p := &flow.Plan{Source: flow.StructureSource{Kind: flow.SourceLibrary, Structure: pleat.FileRef{Item: item.ID},
			PAE: pleat.FileRef{Item: item.ID}}}
		want := flow.SourceSize{Structure: int64(len("a.PDB")), PAE: int64(len("notes.json"))}
		if err := w.checkSource(ctx, w.ann.Project, p); err != nil || p.Size != want {
			t.Errorf("the size of the source is %+v, %v; want %+v", p.Size, err, want)
		}
	})
}

func TestJobRun(t *testing.T) {
	job := pleat.Job{Sequences: []pleat.Sequence{{Kind: pleat.Protein, Text: "ACDEF", Count: 1}}}
	job.Params = pleat.Params{Model: "mini", Values: map[string]any{"seed": "7"}}
	if err := job.Validate(mini); err != nil && pleat.CodeOf(err) != pleat.CodeInvalid { // it has no name
		t.Fatal(err)
	}
	if got := JobRun(&job, mini); got.Seed != "7" || got.Model != "mini" || got.Memory < 10 {
		t.Errorf("%+v", got)
	}
	job.Params.Values = nil
	if a, b := JobRun(&job, mini).Seed, JobRun(&job, mini).Seed; a == "" || a == b {
		t.Errorf("seeds that were not given: %q and %q", a, b)
	}
}

// Without an engine a request is refused, but a follow-up waits for the one that every worker has.
func TestWorkflowRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w := newWorld(t, s)
		p := &flow.Plan{Kind: pleat.TaskQnA, QnA: &pleat.QnAInput{}, Seed: "3"}
		if _, err := w.WorkflowRun(t.Context(), w.ann.Project, p); pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("no engine: %v", err)
		}
		got, err := w.WorkflowRun(t.Context(), w.ann.Project, p, flow.Builtin()...)
		if err != nil || got.Model != "analyst" || got.Seed != "3" || got.Kind != pleat.TaskQnA {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// The receiver of a run's end: its own address, else the owner's endpoint if it is enabled or the default.
func TestJobWebhooks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w := newWorld(t, s)
		ctx := t.Context()
		ring, err := seal.Parse(strings.Repeat("ab", 32))
		if err != nil {
			t.Fatal(err)
		}
		w.Ring = ring
		w.Guard = webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil, nil)
		e, err := s.Webhooks.PutEndpoint(ctx, people.Actor{Reach: w.ann}, webhooks.EndpointSettings{
			Address: new(storetest.Receiver("https://hooks.example.org")), Token: new("token"), Secret: "secret",
		})
		if err != nil {
			t.Fatal(err)
		}
		type result struct {
			Settings, Endpoint, URL, Fail string
			Default                       bool
		}
		for _, c := range []struct {
			owner pleat.ProjectID
			raw   string
			want  result
		}{
			{w.ann.Project, ``, result{Default: true}},
			{w.ann.Project, `{"custom_http":{}}`, result{Settings: `{"custom_http":{}}`, Default: true}},
			{w.ann.Project, `{"custom_http":{"enabled":true}}`, result{Settings: `{"custom_http":{"enabled":true}}`,
				Endpoint: string(e.ID)}},
			{w.ann.Project, `{"custom_http":{"enabled":false}}`, result{Settings: `{"custom_http":{"enabled":false}}`}},
			{w.ann.Project, `{"custom_http":{"enabled":true,"target_url":"http://127.0.0.1/x","token_value":"long-enough"}}`,
				result{Settings: `{"custom_http":{"enabled":true}}`, URL: "http://127.0.0.1/x"}},
			{w.ann.Project, `{"custom_http":{"enabled":true,"target_url":"http://127.0.0.1/x"}}`,
				result{Fail: "target_url is given without token_value"}},
			{w.ben.Project, ``, result{Default: true}},
			{w.ben.Project, `{"custom_http":{"enabled":true}}`, result{Fail: "is enabled but no endpoint is set up"}},
		} {
			hooks, err := w.jobWebhooks(ctx, c.owner, json.RawMessage(c.raw))
			got := result{Settings: string(hooks.Settings)}
			for _, sub := range hooks.Subscriptions {
				got.Endpoint, got.Default = string(sub.Endpoint), sub.Default
				if sub.Custom != nil {
					url, err := ring.Open(string(c.owner), webhooks.AddressColumn, sub.Custom.Address.Sealed)
					if got.URL = string(url); err != nil {
						t.Error(err)
					}
				}
			}
			if err != nil {
				got = result{Fail: c.want.Fail}
				if c.want.Fail == "" || !strings.Contains(err.Error(), c.want.Fail) {
					got.Fail = err.Error()
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", c.raw, d)
			}
		}
	})
}

// A follow-up is started although the endpoint that its settings enable is gone.
func TestFollowUpSubscriptions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		w := newWorld(t, s)
		p, err := flow.Parse("qna",
			json.RawMessage(`{"question":"q","pdbId":"1UBQ","webhooks":{"custom_http":{"enabled":true}}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.workflowWebhooks(context.Background(), w.ben.Project, &p)
		if pleat.CodeOf(err) != pleat.CodeInvalid {
			t.Errorf("a request: %v", err)
		}
		subs, err := w.FollowUpSubscriptions(context.Background(), w.ben.Project, &p)
		if err != nil || len(subs) != 0 {
			t.Errorf("%+v %v", subs, err)
		}
	})
}
