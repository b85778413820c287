package server_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/people"
)

// accounted is a fixture with a GPU, an operator, and a project with a manager, a member and a viewer.
type accounted struct {
	*fixture
	project                           string
	operator, manager, member, viewer string // keys
}

func newAccounted(t *testing.T) *accounted {
	t.Helper()
	h := &accounted{fixture: newFixture(t)}
	h.clock.Stop()
	gpu := testModel
	gpu.Device, gpu.Cores, gpu.Speed = "cuda", 4, pleat.SpeedModel{Base: 50}
	h.register(gpu)
	ctx := context.Background()
	_, h.operator = h.newUser("olga")
	if err := h.store.People.SetOperator(ctx, people.Actor{Database: true}, "olga", true); err != nil {
		t.Fatal(err)
	}
	_, h.manager = h.newUser("max")
	p, err := h.store.People.CreateProject(ctx, people.Actor{Database: true}, "=lab", "max")
	if err != nil {
		t.Fatal(err)
	}
	h.project = string(p.ID)
	for name, role := range map[string]pleat.Role{"mia": pleat.Member, "vic": pleat.Viewer} {
		_, key := h.newUser(name)
		if _, err := h.store.People.SetMember(
			ctx, people.Actor{Reach: people.InProject(p.ID)}, name, role,
		); err != nil {
			t.Fatal(err)
		}
		if role == pleat.Member {
			h.member = key
		} else {
			h.viewer = key
		}
	}
	return h
}

// fold completes a job in the project that takes a time.
func (h *accounted) fold(key string, took time.Duration) {
	h.t.Helper()
	body := strings.Replace(trp, "{", `{"projectId":"`+h.project+`",`, 1)
	if r := h.as(key, "POST", "/v1/jobs", body); r.status != 200 {
		h.t.Fatalf("%d %s", r.status, r.body)
	}
	c := h.claim()
	h.clock.Advance(took)
	h.finish(c)
}

// Usage is told apart by what the caller asks for and may see.
func TestUsageOfProjects(t *testing.T) {
	t.Parallel()
	h := newAccounted(t)
	h.fold(h.manager, 1500*time.Millisecond+time.Microsecond)
	h.fold(h.member, 2*time.Second)
	at := "/v1/projects/" + h.project + "/usage"

	own := read[api.Usage](t, h.as(h.member, "GET", "/v1/usage?projectId="+h.project, nil))
	if len(own.Usage) != 1 || own.Total.Seconds != 2 || *own.Total.GPU != 2 || *own.Total.CPU != 8 || own.Used != 2 {
		t.Errorf("%+v", own)
	}
	if r := own.Usage[0]; *r.Model != "mini" || *r.Day != own.To || r.UserID != nil || r.Tokens != 20 || r.Runs != 1 {
		t.Errorf("%+v", r)
	}
	all := read[api.ProjectUsage](t, h.as(h.viewer, "GET", at, nil))
	if all.Total.Seconds != 3.500001 || all.Total.Attempts != 2 || all.ProjectID != h.project || all.Budget.GPU != nil {
		t.Errorf("%+v", all)
	}
	if r := h.as(h.member, "GET", at+"?by=user", nil); r.status != 403 {
		t.Errorf("a member sees what each user has spent: %d", r.status)
	}
	users := read[api.ProjectUsage](t, h.as(h.manager, "GET", at+"?by=user", nil))
	if len(users.Usage) != 2 || users.Usage[0].UserName == nil || users.Total.Seconds != 3.500001 {
		t.Errorf("%+v", users)
	}
	sum := read[api.ProjectUsage](t, h.as(h.manager, "GET", at+"?by=", nil))
	if len(sum.Usage) != 1 || sum.Usage[0].Model != nil {
		t.Errorf("%+v", sum)
	}
	before := read[api.ProjectUsage](t, h.as(h.viewer, "GET", at+"?from=2001-01-01&to=2001-12-31", nil))
	if len(before.Usage) != 0 || before.Total.Seconds != 0 {
		t.Errorf("%+v", before)
	}
	if r := h.as(h.key, "GET", at, nil); r.status != 404 {
		t.Errorf("a stranger reads the usage of a project: %d", r.status)
	}
	if r := h.as(h.manager, "GET", "/v1/operator/usage", nil); r.status != 403 {
		t.Errorf("a manager reads the usage of all projects: %d", r.status)
	}
	if r := h.as(h.operator, "GET", at+"?by=user", nil); r.status != 200 {
		t.Errorf("an operator reads the usage of a project: %d %s", r.status, r.body)
	}
}

// A table of usage is CSV on request, whose texts are no formulas.
func TestUsageAsCSV(t *testing.T) {
	t.Parallel()
	h := newAccounted(t)
	h.fold(h.member, 1234567*time.Microsecond)
	r := h.as(h.operator, "GET", "/v1/operator/usage?by=project,user,model,day&format=csv", nil)
	if got := r.header.Get("Content-Type"); r.status != 200 || got != "text/csv; charset=utf-8" {
		t.Fatalf("%d %s %s", r.status, got, r.body)
	}
	rows, err := csv.NewReader(strings.NewReader(r.body)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}
	for name, want := range map[string]string{
		"projectId": h.project, "projectName": "'=lab", "userName": "mia", "model": "mini", "attempts": "1",
		"seconds": "1.234567", "gpuSeconds": "1.234567", "cpuSeconds": "4.938268", "unknownGpuSeconds": "0", "runs": "1",
		"day": h.clock.Now().UTC().Format(time.DateOnly),
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// Every parameter of usage is checked.
func TestUsageRefuses(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for query, want := range map[string]string{
		"from=yesterday":                `from is "yesterday"; it must be a day such as 2027-01-31`,
		"from=2027-02-01&to=2027-01-31": "from is 2027-02-01, after to, which is 2027-01-31",
		"from=2025-01-01&to=2027-01-31": "from is 760 days before to; at most 400 days are allowed",
		"by=model,planet":               `by names "planet"; it may name model, day, project and user`,
		"format=xlsx":                   `format is "xlsx"; it may be json or csv`,
	} {
		if r := h.as(h.key, "GET", "/v1/usage?"+query, nil); r.status != 400 || r.message(t) != want {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
}

// An operator gives a project a budget. Work that would pass it is refused until the month ends, with who can raise it.
func TestBudgetOfProject(t *testing.T) {
	t.Parallel()
	h := newAccounted(t)
	path := "/v1/projects/" + h.project
	if r := h.as(h.manager, "PATCH", path, `{"budget":{"gpuSeconds":5}}`); r.status != 403 {
		t.Errorf("a manager sets the budget: %d %s", r.status, r.body)
	}
	for _, wrong := range []string{"-2", "1e13"} {
		r := h.as(h.operator, "PATCH", path, `{"budget":{"gpuSeconds":`+wrong+`}}`)
		if r.status != 400 || !strings.HasPrefix(r.message(t), "budget.gpuSeconds is ") {
			t.Errorf("%s: %d %s", wrong, r.status, r.body)
		}
	}
	p := read[api.ProjectRole](t, h.as(h.operator, "PATCH", path, `{"budget":{"gpuSeconds":90}}`))
	if p.Budget.GPU == nil || *p.Budget.GPU != 90 || p.Budget.CPU != nil {
		t.Errorf("%+v", p)
	}
	body := strings.Replace(trp, "{", `{"projectId":"`+h.project+`",`, 1)
	if r := h.as(h.member, "POST", "/v1/jobs", body); r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	r := h.as(h.member, "POST", "/v1/jobs", body)
	const want = "The project has used 0 GPU-seconds of the 90 GPU-seconds of its budget for this month, " +
		"50 GPU-seconds are expected for what waits and runs, and this would take 50 GPU-seconds; " +
		"an operator of this service can raise the budget"
	wait, _ := strconv.Atoi(r.header.Get("Retry-After"))
	left := int(h.store.People.EndOfMonth().Sub(h.clock.Now()) / time.Second)
	if r.status != 429 || r.message(t) != want || wait < left || wait > left+1 {
		t.Errorf("%d %s, Retry-After %d, the month ends in %d", r.status, r.body, wait, left)
	}
	checked := read[api.Validation](t, h.as(h.member, "POST", "/v1/jobs/validate", body))
	if checked.Valid || len(checked.Errors) != 1 || checked.Errors[0].Message != want {
		t.Errorf("the check says %+v", checked.Errors)
	}
	u := read[api.ProjectUsage](t, h.as(h.viewer, "GET", path+"/usage", nil))
	if b := u.Budget; *b.GPU != 90 || b.CPU != nil || b.UsedGPU != 0 || b.ExpectedGPU != 50 || b.ExpectedCPU != 200 {
		t.Errorf("%+v", b)
	}
	if r := h.as(h.operator, "PATCH", path, `{"budget":{"gpuSeconds":-1}}`); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.as(h.member, "POST", "/v1/jobs", body); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	log := read[api.List[api.AuditEntry]](t, h.as(h.manager, "GET", path+"/audit", nil))
	if got := fmt.Sprint(log.Data); !strings.Contains(got, "budget of 90 GPU-seconds a month") {
		t.Errorf("the audit log does not say it: %s", got)
	}
}
