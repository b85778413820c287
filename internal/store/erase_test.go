package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/store/storetest"
	"pleat/internal/store/webhooks"
)

// personal is the name of a user that nothing else contains.
const personal = "Augusta K. Byron"

// written makes a user with something in every table where the name or another trace of a person can stand, in a
// project of several users too, and returns the user and a job in that project.
func written(t *testing.T, s *store.Store) (people.Reach, runs.Created) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	u, boss, operator := storetest.User(t, s, personal), storetest.User(t, s, "boss"), people.Actor{Database: true}
	k, err := s.People.CreateKey(ctx, people.Actor{Reach: u}, people.NewKey{
		Prefix: "pk", Hash: "k", Label: "laptop of " + personal,
	})
	must(err)
	by := people.Actor{Reach: u, Key: k.ID, Address: "192.0.2.77"}
	_, err = s.People.CreateSession(ctx, by, "s", s.DB.Now().Add(time.Hour))
	must(err)
	defaultEndpoint(t, s, u, false)
	_, err = s.Webhooks.PutEndpoint(ctx, by, webhooks.EndpointSettings{
		Address: new(storetest.Receiver("https://augusta-k.example/in")), Token: new("s1.t"), Secret: "s1.s",
	})
	must(err)

	for range 2 { // one of which has failed, and one waits
		_, err = s.Webhooks.PingEndpoint(ctx, people.Actor{Reach: u}, webhooks.Default)
		must(err)
	}
	finishDelivery(t, s, "w", webhooks.DeliveryOutcome{
		Claimed: claimDeliveries(t, s, "w", 1)[0], Detail: "no such host augusta-k.example", Reason: "it was a test",
	})

	p, err := s.People.CreateProject(ctx, operator, "Lab", string(boss.User))
	must(err)
	manage := people.Actor{Reach: boss}.In(p.ID)
	_, err = s.People.SetMember(ctx, manage, personal, pleat.Viewer)
	must(err)
	_, err = s.People.Invite(ctx, manage, people.Invitation{
		Role: pleat.Member, Label: "for " + personal, ExpiresAt: s.DB.Now().Add(time.Hour),
	}, "i")
	must(err)
	_, err = s.People.AcceptInvitation(ctx, by, "i")
	must(err)
	_, err = s.People.CreateProject(ctx, operator, "Other", personal)
	must(err)
	must(s.People.SetOperator(ctx, operator, personal, true))

	shared := people.Reach{User: u.User, Project: p.ID}
	n := newJob(shared, "shared")
	n.Key, n.Digest = "a key of "+personal, "digest"
	kept := storetest.CreateJob(t, s, n)
	_, err = s.People.CreateShare(
		ctx,
		people.Actor{Reach: shared},
		pleat.Source{Job: kept.Job},
		"h",
		s.DB.Now().Add(time.Hour),
	)
	must(err)
	create(t, s, u, "fold of "+personal)
	createBatch(t, s, newBatch(u, "batch of "+personal, texts(3)...))
	folder, err := s.Runs.CreateItem(ctx, u, runs.LibraryItem{
		Owner: u.Project, Name: "folder of " + personal, Type: "folder",
	})
	must(err)
	_, err = s.Runs.CreateItem(ctx, u, runs.LibraryItem{
		Owner: u.Project, Name: "file of " + personal, Type: "file", Parent: folder.ID,
	})
	must(err)
	return u, kept
}

// The data that is stored about a person can be listed, and no table has the name after the deletion.
func TestEraseUser(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		ctx := context.Background()
		u, kept := written(t, s)
		before, err := s.People.User(ctx, u.User)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		list, err := s.Ops.UserContents(ctx, u.User)
		for _, m := range list {
			kinds[m.Kind]++
		}
		want := "map[batch:1 invitation:1 job:2 library_item:2 link:1 webhook:1]"
		if got := fmt.Sprint(kinds); err != nil || got != want {
			t.Errorf("made %s, want %s: %v", got, want, err)
		}
		about, err := s.Ops.AuditOf(ctx, before)
		if err != nil || len(about) < 8 {
			t.Errorf("%d entries of the audit log: %v", len(about), err)
		}

		_, err = s.Ops.EraseUser(ctx, people.Actor{Database: true}, personal)
		if pleat.CodeOf(err) != pleat.CodeConflict ||
			!strings.Contains(err.Error(), `only manager of the project "Other"`) {
			t.Fatalf("the only manager of a project was deleted: %v", err)
		}
		other := projectNamed(t, s, "Other")
		if _, err := s.People.SetMember(
			ctx, people.Actor{Database: true}.In(other), "boss", pleat.Manager,
		); err != nil {
			t.Fatal(err)
		}
		after, err := s.Ops.EraseUser(ctx, people.Actor{Database: true}, personal)
		if err != nil || !strings.HasPrefix(after.Name, "deleted-") || after.ID != u.User {
			t.Fatalf("%+v %v", after, err)
		}
		if _, err := s.People.SetDisabled(ctx, people.Actor{Database: true}, after.Name, false); pleat.CodeOf(err) !=
			pleat.CodeConflict {
			t.Errorf("a deleted user is enabled: %v", err)
		}
		clock.Advance(2 * time.Hour)
		advance(t, s)
		purge(t, s)
		for table, rows := range storetest.Tables(t, s) {
			for _, row := range rows {
				for _, trace := range []string{personal, "augusta-k.example", "192.0.2.77"} {
					if strings.Contains(fmt.Sprint(row), trace) {
						t.Errorf("%s still has %q: %v", table, trace, row)
					}
				}
			}
		}

		if _, err := s.People.Identify(ctx, key("k")); !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("the key: %v", err)
		}
		if _, err := s.People.Identify(ctx, session("s")); !errors.Is(err, pleat.ErrUnauthorized) {
			t.Errorf("the session: %v", err)
		}
		if v, err := s.Runs.View(ctx, kept.Job); err != nil || v.Job.Name != "shared" || v.Job.Creator != u.User {
			t.Errorf("the job in a project of several users: %+v %v", v.Job, err)
		}
		if list, err := s.Ops.UserContents(ctx, u.User); err != nil || len(list) != 3 { // job, link, invitation
			t.Errorf("%+v %v", list, err)
		}
		if _, err := s.Ops.EraseUser(ctx, people.Actor{Database: true}, personal); pleat.CodeOf(
			err,
		) != pleat.CodeNotFound {
			t.Errorf("a second deletion: %v", err)
		}
	})
}

// projectNamed returns the id of a project that is not a user's own.
func projectNamed(t *testing.T, s *store.Store, name string) pleat.ProjectID {
	t.Helper()
	list, err := s.People.Projects(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Name == name {
			return p.ID
		}
	}
	t.Fatalf("there is no project %q", name)
	return ""
}

// A service user is not a person; its project ends it.
func TestEraseServiceUser(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := context.Background()
		storetest.User(t, s, "boss")
		p, err := s.People.CreateProject(ctx, people.Actor{Database: true}, "Lab", "boss")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.People.CreateServiceUser(ctx, people.Actor{Database: true}.In(p.ID), "robot", pleat.Member,
			people.NewKey{Hash: "r"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ops.EraseUser(ctx, people.Actor{Database: true}, "robot"); pleat.CodeOf(
			err,
		) != pleat.CodeConflict {
			t.Errorf("a service user was deleted: %v", err)
		}
	})
}
