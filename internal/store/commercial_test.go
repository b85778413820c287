package store_test

import (
	"errors"
	"testing"

	"pleat"
	"pleat/internal/store"
	"pleat/internal/store/people"
	"pleat/internal/store/storetest"
)

// A project is not commercial until a manager marks it, which is audited; members and strangers cannot.
func TestWhoMarksProjectsCommercial(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		ctx := t.Context()
		ada, bob := lab(t, s)
		yes, no := true, false
		change := func(by people.Reach, mark *bool) error {
			return s.People.ChangeProject(ctx, people.Actor{Reach: by}, people.ProjectChange{Commercial: mark})
		}
		is := func() bool {
			t.Helper()
			got, err := s.People.IsCommercial(ctx, ada.Project)
			m, err2 := s.People.Project(ctx, ada, false)
			if err != nil || err2 != nil || m.Project.Commercial != got {
				t.Errorf("%t, the project has %t: %v %v", got, m.Project.Commercial, err, err2)
			}
			return got
		}
		if err := change(bob, &yes); pleat.CodeOf(err) != pleat.CodeForbidden || is() {
			t.Errorf("a member marks: %v", err)
		}
		if err := change(ada, &yes); err != nil || !is() {
			t.Errorf("a manager marks: %v", err)
		}
		if err := change(ada, nil); err != nil || !is() {
			t.Errorf("another change: %v", err)
		}
		if err := change(ada, &no); err != nil || is() {
			t.Errorf("a manager takes the mark away: %v", err)
		}
		entries, err := s.People.ProjectAudit(ctx, ada, "", 2)
		if err != nil || len(entries) != 2 ||
			entries[0].Detail != "not commercial" || entries[1].Detail != "commercial" {
			t.Errorf("%+v %v", entries, err)
		}
		if _, err := s.People.IsCommercial(ctx, "no project"); !errors.Is(err, pleat.ErrNoProject) {
			t.Errorf("no project: %v", err)
		}
	})
}
