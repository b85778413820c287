package api

import (
	"context"
	"net/url"
	"strings"
)

// Spent is what runs have spent. It is counted when an attempt at a run ends, whatever its outcome.
type Spent struct {
	Attempts int64    `json:"attempts" doc:"Attempts that have ended: retries, and those whose worker was lost, too."`
	Seconds  float64  `json:"seconds" doc:"How long they took, from when a worker took the run to when it gave it back."`
	GPU      *float64 `json:"gpuSeconds" doc:"These seconds by the GPUs of an attempt, where they are known; null: of no attempt."`
	CPU      *float64 `json:"cpuSeconds" doc:"These seconds by the cores of an attempt, where they are known; null: of no attempt."`
	NoGPU    float64  `json:"unknownGpuSeconds" doc:"Seconds of the attempts whose GPUs are not known."`
	NoCPU    float64  `json:"unknownCpuSeconds" doc:"Seconds of the attempts whose cores are not known."`
	Runs     int64    `json:"runs" doc:"Runs that have completed."`
	Tokens   int64    `json:"tokens" doc:"Tokens of the input of completed folds."`
	Bytes    int64    `json:"bytes" doc:"Size of the files of runs when they ended."`
}

// SpentRow is one sum of what runs have spent. A field by which the sums are not split is null.
type SpentRow struct {
	Day         *string `json:"day" doc:"UTC, on which the attempts and runs have ended." format:"date"`
	ProjectID   *string `json:"projectId" format:"uuid"`
	ProjectName *string `json:"projectName"`
	UserID      *string `json:"userId" doc:"The user who created the runs." format:"uuid"`
	UserName    *string `json:"userName"`
	Model       *string `json:"model"`
	Spent
}

// SpentTable is what was spent on some days.
type SpentTable struct {
	From  string     `json:"from" doc:"The first day, UTC." format:"date"`
	To    string     `json:"to" doc:"The last day, UTC." format:"date"`
	Total Spent      `json:"total" doc:"The sum over all rows."`
	Usage []SpentRow `json:"usage" doc:"One row for each of what the request tells apart."`
}

// ProjectUsage is the response of GET /v1/projects/{id}/usage.
type ProjectUsage struct {
	ProjectID string    `json:"projectId" format:"uuid"`
	Budget    BudgetUse `json:"budget"`
	SpentTable
}

// Budget is what a project may spend in a month of UTC.
type Budget struct {
	GPU *float64 `json:"gpuSeconds" doc:"GPU-seconds a month; null: without a limit."`
	CPU *float64 `json:"cpuSeconds" doc:"CPU-seconds a month; null: without a limit."`
}

// BudgetUse is a budget and how much of it is used this month.
type BudgetUse struct {
	Budget
	UsedGPU     float64 `json:"usedGpuSeconds"`
	UsedCPU     float64 `json:"usedCpuSeconds"`
	ExpectedGPU float64 `json:"expectedGpuSeconds" doc:"The time that waiting and running work is expected to take, as far as it is known."`
	ExpectedCPU float64 `json:"expectedCpuSeconds" doc:"The time that waiting and running work is expected to take, as far as it is known."`
	ResetAt     Time    `json:"resetAt" doc:"When the next month begins."`
}

// BudgetChange changes a budget. Absent fields stay.
type BudgetChange struct {
	GPU *float64 `json:"gpuSeconds,omitempty" doc:"GPU-seconds a month; -1: without a limit." minimum:"-1"`
	CPU *float64 `json:"cpuSeconds,omitempty" doc:"CPU-seconds a month; -1: without a limit." minimum:"-1"`
}

// SpentQuery selects what was spent. Empty fields stand for the defaults of the server.
type SpentQuery struct {
	From, To string   // days such as 2027-01-31, both included
	By       []string // the fields by which sums are split: user, project, model, day
}

func (q SpentQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"from": q.From, "to": q.To, "by": strings.Join(q.By, ",")} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// OwnUsage returns today's use of the quotas and what the user's runs have spent in the project.
func (c *Client) OwnUsage(ctx context.Context, q SpentQuery) (Usage, error) {
	return do[Usage](ctx, c, c.list("/v1/usage", q.values()))
}

// ProjectUsage returns what the runs of a project have spent, and its budget.
func (c *Client) ProjectUsage(ctx context.Context, project string, q SpentQuery) (ProjectUsage, error) {
	return do[ProjectUsage](ctx, c, get("/v1/projects/"+url.PathEscape(project)+"/usage", q.values()))
}

// AllUsage returns what the runs of all projects have spent, to an operator.
func (c *Client) AllUsage(ctx context.Context, q SpentQuery) (SpentTable, error) {
	return do[SpentTable](ctx, c, get("/v1/operator/usage", q.values()))
}
