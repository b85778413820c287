package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// addEndpoint gives the project of a reach a named endpoint for some events.
func addEndpoint(t *testing.T, s *store.Store, by people.Reach, name string, events ...string) webhooks.Endpoint {
	t.Helper()
	set, err := pleat.ParseEvents("events", events)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Webhooks.AddEndpoint(context.Background(), people.Actor{Reach: by}, webhooks.EndpointSettings{
		Name:    new(name),
		Address: new(storetest.Receiver("https://" + strings.ReplaceAll(name, " ", "-") + ".example.org/x")),
		Token:   new("s1.token"),
		Secret:  "s1.secret of " + name,
		Events:  new(set),
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// fieldOf returns the field that an error names.
func fieldOf(err error) string {
	var e *pleat.Error
	_ = errors.As(err, &e)
	if e == nil {
		return ""
	}
	return e.Field
}

// managed makes a project that a user manages, and returns the reach of the manager in it.
func managed(t *testing.T, s *store.Store) people.Reach {
	t.Helper()
	boss := storetest.User(t, s, "boss")
	return people.Reach{User: boss.User, Project: newProject(t, s, "lab", boss)}
}

// heard lists what each named endpoint of a project gets, as its name, the kind of the source and the event.
func heard(t *testing.T, s *store.Store, by people.Reach) []string {
	t.Helper()
	out := []string{}
	for _, d := range deliveries(t, s, by, webhooks.DeliveryFilter{}) {
		if d.EndpointName != "" {
			out = append(out, fmt.Sprintf("%s %s.%s", d.EndpointName, d.Source.Kind(), d.EventName))
		}
	}
	slices.Sort(out)
	return out
}

// A named endpoint gets the events of its set, beside what the runs ask for themselves: those of the runs that end
// after it was added, those that are ingested, and that of a batch but not of its rows.
func TestNamedEndpointsGetTheirEvents(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u, other := storetest.User(t, s, "ada"), storetest.User(t, s, "ben")
		c := create(t, s, u, "fold") // ends after the endpoints were added
		own := defaultEndpoint(t, s, u, false)
		addEndpoint(t, s, u, "all")
		addEndpoint(t, s, u, "good folds", "fold_job.on_complete")
		addEndpoint(t, s, u, "failures", "workflow.on_failed", "fold_job.on_failed", "batch.on_failed")
		addEndpoint(t, s, u, "batches", "batch.on_complete")
		addEndpoint(t, s, other, "of another project")
		if err := finish(s, claim(t, s, "w1", 1)[0], pleat.StateCompleted); err != nil {
			t.Fatal(err)
		}
		fold(t, s, u, pleat.StateFailed, toEndpoint(own))
		want := []string{
			"all fold_job.on_complete", "all fold_job.on_failed", "failures fold_job.on_failed",
			"good folds fold_job.on_complete",
		}
		if d := cmp.Diff(want, heard(t, s, u)); d != "" {
			t.Error("of two folds: ", d)
		}
		w, err := s.Runs.CreateWorkflow(ctx, newFlow(u, false))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, _, err := s.Webhooks.Ingest(ctx, "once", pleat.Event{
				Source: pleat.Source{Workflow: w.ID}, Name: pleat.OnFailed, Status: pleat.StateFailed,
			}); err != nil {
				t.Fatal(err)
			}
		}
		b := newBatch(u, "b", texts(2)...)
		b.Subs, b.EachRow = []pleat.Subscription{toEndpoint(own)}, true
		createBatch(t, s, b)
		advance(t, s)
		for _, k := range claim(t, s, "w1", 2) {
			if err := finish(s, k, pleat.StateCompleted); err != nil {
				t.Fatal(err)
			}
		}
		advance(t, s)
		want = append(want, "all batch.on_complete", "all workflow.on_failed", "batches batch.on_complete",
			"failures workflow.on_failed")
		slices.Sort(want)
		if d := cmp.Diff(want, heard(t, s, u)); d != "" {
			t.Error("of folds, a workflow and a batch: ", d)
		}
		if got := heard(t, s, other); len(got) != 0 {
			t.Errorf("of another project: %v", got)
		}
		if list := deliveries(t, s, u, webhooks.DeliveryFilter{SourceID: string(c.Job)}); len(list) != 2 {
			t.Errorf("of a job that asks for nothing: %+v", list)
		}
		rows := 0
		for _, d := range deliveries(t, s, u, webhooks.DeliveryFilter{Endpoint: own.ID}) {
			if d.Endpoint != own.ID || d.EndpointName != "" {
				t.Errorf("of the default endpoint: %+v", d)
			}
			if d.EventName == pleat.OnComplete && d.Source.Job != "" {
				rows++
			}
		}
		if rows != 2 {
			t.Errorf("the default endpoint hears of %d rows", rows)
		}
	})
}

// The number and size of named endpoints have bounds, and names are unique in a project.
func TestNamedEndpointsAreBounded(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		by := people.Actor{Reach: u}
		var list []webhooks.Endpoint
		for i := range webhooks.MaxEndpoints {
			list = append(list, addEndpoint(t, s, u, fmt.Sprint("e", i)))
		}
		to := storetest.Receiver("https://x.example.org")
		n := webhooks.EndpointSettings{Name: new("one more"), Address: &to, Secret: "s1.s"}
		if _, err := s.Webhooks.AddEndpoint(ctx, by, n); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("%d endpoints and one more: %v", webhooks.MaxEndpoints, err)
		}
		if err := s.Webhooks.DeleteEndpoint(ctx, by, list[3].ID); err != nil {
			t.Fatal(err)
		}
		n.Name = new("e4")
		if _, err := s.Webhooks.AddEndpoint(ctx, by, n); pleat.CodeOf(err) != pleat.CodeConflict ||
			fieldOf(err) != "name" {
			t.Errorf("a name that is taken: %v", err)
		}
		again := addEndpoint(t, s, u, "e3")
		name := "e4"
		if _, err := s.Webhooks.ChangeEndpoint(
			ctx, by, again.ID, webhooks.EndpointSettings{Name: &name},
		); pleat.CodeOf(
			err,
		) != pleat.CodeConflict {
			t.Errorf("renamed to a name that is taken: %v", err)
		}
		for range 98 {
			if err := s.Webhooks.DeleteEndpoint(ctx, by, again.ID); err != nil {
				t.Fatal(err)
			}
			again = addEndpoint(t, s, u, "e3")
		}
		if err := s.Webhooks.DeleteEndpoint(ctx, by, again.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Webhooks.AddEndpoint(ctx, by, n); pleat.CodeOf(err) != pleat.CodeConflict {
			t.Errorf("added after 100 were deleted: %v", err)
		}
	})
}

// A change needs the token again where another origin would get it, and is recorded.
func TestChangeNamedEndpoint(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		by := people.Actor{Reach: u}
		e := addEndpoint(t, s, u, "ci", "fold_job.on_failed")
		change := func(c webhooks.EndpointSettings) (webhooks.Endpoint, error) {
			t.Helper()
			return s.Webhooks.ChangeEndpoint(ctx, by, e.ID, c)
		}
		elsewhere := storetest.Receiver("https://elsewhere.example.org")
		token, none, all := "s1.new", "", pleat.EventSet(0)
		if _, err := change(webhooks.EndpointSettings{Address: &elsewhere}); fieldOf(err) != "token_value" {
			t.Errorf("the token would go to another host: %v", err)
		}
		sibling := storetest.Receiver("https://CI.example.org:443/y")
		if got, err := change(webhooks.EndpointSettings{Address: &sibling}); err != nil || got.Token != e.Token {
			t.Errorf("another path: %+v %v", got, err)
		}
		got, err := change(webhooks.EndpointSettings{Address: &elsewhere, Token: &token, Events: &all})
		if err != nil || got.Token != token || got.Events != 0 || got.Secret != e.Secret || got.Name != "ci" {
			t.Errorf("%+v %v", got, err)
		}
		if got, err = change(webhooks.EndpointSettings{Token: &none}); err != nil || got.Token != "" {
			t.Errorf("without a token: %+v %v", got, err)
		}
		if _, err := change(webhooks.EndpointSettings{Address: &sibling}); err != nil {
			t.Errorf("there is no token to send elsewhere: %v", err)
		}
		until := s.DB.Now().Add(time.Hour)
		sealed := func(p pleat.ProjectID) string { return "s1.new secret of " + string(p) }
		got, err = s.Webhooks.RotateSecret(ctx, by, e.ID, sealed, until)
		if err != nil || got.Secret != sealed(u.Project) || got.OldSecret != e.Secret {
			t.Errorf("%+v %v", got, err)
		}
		for _, c := range []webhooks.EndpointAction{
			webhooks.EndpointPause, webhooks.EndpointPause, webhooks.EndpointResume,
		} {
			if got, err = s.Webhooks.SwitchEndpoint(ctx, by, e.ID, c); err != nil ||
				got.Paused != (c == webhooks.EndpointPause) {
				t.Errorf("%s: %+v %v", c, got, err)
			}
		}
		if err := s.Webhooks.DeleteEndpoint(ctx, by, e.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Webhooks.Endpoint(ctx, u, webhooks.Default); !errors.Is(err, webhooks.ErrNoEndpoint) {
			t.Errorf("a named endpoint is the default one: %v", err)
		}
		if _, _, err := s.Webhooks.Endpoint(ctx, u, e.ID); !errors.Is(err, webhooks.ErrNoNamedEndpoint) {
			t.Errorf("a deleted one is read: %v", err)
		}
		log, err := s.People.Audit(ctx, u, "", 100)
		var actions []string
		for _, a := range log {
			if strings.HasPrefix(string(a.Action), "webhook.") {
				actions = append(actions, string(a.Action)+" "+a.Subject+" "+a.Detail)
			}
		}
		want := []string{
			"webhook.deleted https://ci.example.org:443 endpoint ci",
			"webhook.resumed https://ci.example.org:443 endpoint ci",
			"webhook.paused https://ci.example.org:443 endpoint ci",
			"webhook.paused https://ci.example.org:443 endpoint ci",
			"webhook.secret_rotated https://ci.example.org:443 endpoint ci",
			"webhook.changed https://ci.example.org:443 endpoint ci: target_url",
			"webhook.changed https://elsewhere.example.org:443 endpoint ci: token",
			"webhook.changed https://elsewhere.example.org:443 endpoint ci: target_url, token, events",
			"webhook.changed https://ci.example.org:443 endpoint ci: target_url",
			"webhook.added https://ci.example.org:443 endpoint ci",
		}
		if d := cmp.Diff(want, actions); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}

// Viewers and members read an endpoint and change nothing; others do not find it.
func TestNamedEndpointRoles(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		boss := managed(t, s)
		e := addEndpoint(t, s, boss, "lab hook")
		for name, role := range map[string]pleat.Role{
			"vera": pleat.Viewer, "mia": pleat.Member, "stranger": pleat.NoRole,
		} {
			by := people.Reach{User: storetest.User(t, s, name).User, Project: boss.Project}
			if role > pleat.NoRole {
				if _, err := s.People.SetMember(ctx, people.Actor{Reach: boss}, name, role); err != nil {
					t.Fatal(err)
				}
			}
			list, err := s.Webhooks.NamedEndpoints(ctx, by)
			_, got, one := s.Webhooks.Endpoint(ctx, people.Reach{User: by.User}, e.ID)
			anywhere := people.Actor{Reach: people.Reach{User: by.User}}
			_, change := s.Webhooks.SwitchEndpoint(ctx, anywhere, e.ID, webhooks.EndpointPause)
			_, add := s.Webhooks.AddEndpoint(ctx, people.Actor{Reach: by}, webhooks.EndpointSettings{Name: new("x")})
			want, refused := 1, pleat.CodeForbidden
			if role == pleat.NoRole {
				want, refused = 0, pleat.CodeNotFound
			}
			if err != nil || len(list) != want || got != role || (one == nil) != (role > 0) ||
				pleat.CodeOf(change) != refused || pleat.CodeOf(add) != refused {
				t.Errorf("%s: %d listed, role %s, %v; %v, %v, %v", name, len(list), got, err, one, change, add)
			}
		}
	})
}

// The deliveries that wait for a deleted endpoint end in passes, those in flight as they do; none can be sent again,
// and what waits for others stays. The row goes with its last delivery.
func TestDeleteEndpoint(t *testing.T) {
	t.Parallel()
	eachAddress(t, func(t *testing.T, s *store.Store, address string) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		by := people.Actor{Reach: u}
		kept := addEndpoint(t, s, u, "kept")
		gone := addEndpoint(t, s, u, "gone")
		c := fold(t, s, u, pleat.StateCompleted)
		const many = 2500
		if err := storetest.FillDeliveries(ctx, address, gone, c.Job, c.Run, 1, many); err != nil {
			t.Fatal(err)
		}
		limits := limitN(3)
		claimed, err := s.Webhooks.ClaimDeliveries(ctx, "d", "", 100, limits)
		if err != nil || len(claimed.List) != 4 {
			t.Fatalf("%d claimed, %v", len(claimed.List), err)
		}
		inFlight := slices.DeleteFunc(claimed.List, func(d webhooks.ClaimedDelivery) bool {
			return d.Endpoint.ID != gone.ID
		})
		if err := s.Webhooks.DeleteEndpoint(ctx, by, gone.ID); err != nil {
			t.Fatal(err)
		}
		failed := func() int {
			return len(deliveries(t, s, u, webhooks.DeliveryFilter{
				Endpoint: gone.ID, Status: pleat.DeliveryFailed, Limit: 2 * many,
			}))
		}
		if n := failed(); n != 1000 {
			t.Errorf("the call has ended %d", n)
		}
		if more := claimDeliveries(t, s, "d", 100); len(more) != 0 {
			t.Errorf("%d claimed of a deleted endpoint", len(more))
		}
		ended := func() {
			t.Helper()
			for more := true; more; {
				var err error
				if more, err = s.Webhooks.EndDeliveries(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		ended()
		if n := failed(); n != many+1-len(inFlight) {
			t.Errorf("%d of %d have failed", n, many+1)
		}
		finishDelivery(t, s, "d",
			webhooks.DeliveryOutcome{Claimed: inFlight[0], OK: true, Status: 200},
			webhooks.DeliveryOutcome{Claimed: inFlight[1], NextAt: s.DB.Now().Add(time.Minute)},
			webhooks.DeliveryOutcome{Claimed: inFlight[2], Aborted: true},
		)
		ended()
		list := deliveries(t, s, u, webhooks.DeliveryFilter{Endpoint: gone.ID, Limit: 2 * many})
		states := map[pleat.DeliveryStatus]int{}
		for _, d := range list {
			states[d.Status]++
			if d.EndpointName != "gone" || d.Status == pleat.DeliveryFailed && d.Reason != "the endpoint was deleted" {
				t.Fatalf("%+v", d)
			}
		}
		want := map[pleat.DeliveryStatus]int{pleat.DeliverySucceeded: 1, pleat.DeliveryFailed: many}
		if d := cmp.Diff(want, states); d != "" {
			t.Error(d)
		}
		if err := s.Webhooks.Redeliver(ctx, u, list[0].ID); pleat.CodeOf(err) != pleat.CodeConflict ||
			!strings.Contains(err.Error(), "deleted") {
			t.Errorf("one is sent again: %v", err)
		}
		for _, status := range []pleat.DeliveryStatus{pleat.DeliveryFailed, pleat.DeliverySucceeded} {
			if n, err := s.Webhooks.RedeliverAll(
				ctx, u, webhooks.DeliveryFilter{Status: status, Limit: 10},
			); err != nil ||
				n != 0 {
				t.Errorf("%d that are %s are sent again, %v", n, status, err)
			}
		}
		// Only the one that is in flight to the other endpoint has a task.
		if n := storetest.Count(t, s, "task"); n != 1 {
			t.Errorf("%d tasks", n)
		}
		if list := deliveries(t, s, u, webhooks.DeliveryFilter{Endpoint: kept.ID}); len(list) != 1 ||
			list[0].Status != pleat.DeliveryRunning {
			t.Errorf("of the other endpoint: %+v", list)
		}
	})
}

// The row of a deleted endpoint goes an hour after its deletion, once nothing shows its name.
func TestDeletedEndpointIsForgotten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		shown := addEndpoint(t, s, u, "shown")
		fold(t, s, u, pleat.StateCompleted)
		unused := addEndpoint(t, s, u, "unused")
		for _, e := range []webhooks.Endpoint{shown, unused} {
			if err := s.Webhooks.DeleteEndpoint(ctx, people.Actor{Reach: u}, e.ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{2, 1, 0} {
			for more := true; more; {
				var err error
				if more, err = s.Webhooks.EndDeliveries(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if n := storetest.Count(t, s, "endpoint"); n != want {
				t.Errorf("%d endpoints, not %d", n, want)
			}
			if want == 1 {
				if _, err := s.Webhooks.ForgetDeliveries(ctx, s.DB.Now().Add(time.Second), 10); err != nil {
					t.Fatal(err)
				}
			}
			clock.Advance(2 * time.Hour)
		}
	})
}

// The bound of a project holds for all its endpoints together.
func TestNamedEndpointsShareTheBound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		u := storetest.User(t, s, "ada")
		addEndpoint(t, s, u, "a")
		addEndpoint(t, s, u, "b")
		own := defaultEndpoint(t, s, u, false)
		for range 4 {
			fold(t, s, u, pleat.StateCompleted, toEndpoint(own))
		}
		got, err := s.Webhooks.ClaimDeliveries(
			context.Background(),
			"d",
			"",
			100,
			webhooks.DeliveryLimits{Window: 4, Owner: 7},
		)
		if err != nil || len(got.List) != 7 {
			t.Errorf("%d of 12 deliveries are in flight, %v", len(got.List), err)
		}
	})
}

// With a deleted project go its endpoints, and with a user those of the own project.
func TestEndpointsGoWithTheirProject(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		boss := managed(t, s)
		addEndpoint(t, s, boss, "lab hook")
		if err := s.Ops.DeleteProject(ctx, people.Actor{Reach: boss}); err != nil {
			t.Fatal(err)
		}
		u := storetest.User(t, s, "ada")
		addEndpoint(t, s, u, "Ada's phone")
		if _, err := s.Ops.EraseUser(ctx, people.Actor{Database: true}, "ada"); err != nil {
			t.Fatal(err)
		}
		for _, row := range storetest.Query(t, s,
			"SELECT name, origin || address, token, secret, active FROM endpoint") {
			if row[1] != "" || row[2] != "" || row[3] != "" || row[4] != "0" || strings.Contains(row[0], "Ada") {
				t.Errorf("%q", row)
			}
		}
		if got := storetest.Query(t, s, "SELECT detail FROM audit WHERE detail LIKE '%phone%'"); len(got) != 0 {
			t.Errorf("the audit log has %q", got)
		}
	})
}

// A new master key seals the tokens and secrets of named endpoints, too; a deleted one has none.
func TestResealNamedEndpoints(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		u := storetest.User(t, s, "ada")
		e := addEndpoint(t, s, u, "kept")
		if err := s.Webhooks.DeleteEndpoint(
			ctx, people.Actor{Reach: u}, addEndpoint(t, s, u, "gone").ID,
		); err != nil {
			t.Fatal(err)
		}
		n, err := s.Webhooks.Reseal(ctx, func(owner pleat.ProjectID, column, sealed string) (string, bool, error) {
			return fmt.Sprintf("%s of %s", column, owner), true, nil
		})
		got, _, readErr := s.Webhooks.Endpoint(ctx, u, e.ID)
		if n != 1 || err != nil || readErr != nil || got.Token != "token of "+string(u.Project) ||
			got.Secret != "secret of "+string(u.Project) {
			t.Errorf("%d, %v, %v: %+v", n, err, readErr, got)
		}
	})
}
