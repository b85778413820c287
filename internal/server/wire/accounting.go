package wire

import (
	"math"
	"slices"
	"strconv"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store/people"
	"pleat/internal/words"
)

// seconds returns microseconds in seconds. Their six decimals are exact up to 285 years.
func seconds(us int64) float64 { return float64(us) / 1e6 }

// spent returns what runs have spent.
func spent(v *people.Spent) api.Spent {
	known := func(us, unknown int64) *float64 {
		if v.Wall > 0 && unknown == v.Wall.Microseconds() {
			return nil
		}
		s := seconds(us)
		return &s
	}
	return api.Spent{
		Attempts: v.Attempts,
		Seconds:  seconds(v.Wall.Microseconds()),
		GPU:      known(v.GPU, v.NoGPU),
		CPU:      known(v.CPU, v.NoCPU),
		NoGPU:    seconds(v.NoGPU),
		NoCPU:    seconds(v.NoCPU),
		Runs:     v.Runs,
		Tokens:   v.Tokens,
		Bytes:    v.Bytes,
	}
}

// SpentTable returns the sums of a query, and the sum of all of them.
func SpentTable(q *people.SpentQuery, list []people.Spent) api.SpentTable {
	out := api.SpentTable{
		From: q.From.Format(time.DateOnly), To: q.To.Format(time.DateOnly), Usage: []api.SpentRow{},
	}
	var all people.Spent
	for i := range list {
		v := &list[i]
		all.Add(v)
		row := api.SpentRow{
			ProjectID:   OptionalString(v.Project),
			ProjectName: OptionalString(v.ProjectName),
			UserID:      OptionalString(v.User),
			UserName:    OptionalString(v.UserName),
			Spent:       spent(v),
		}
		if !v.Day.IsZero() {
			day := v.Day.UTC().Format(time.DateOnly)
			row.Day = &day
		}
		if slices.Contains(q.By, people.UsageByModel) {
			row.Model = &v.Model
		}
		out.Usage = append(out.Usage, row)
	}
	out.Total = spent(&all)
	return out
}

// SpentHeader returns the header of a table of the sums as CSV, and SpentCells the cells of one.
func SpentHeader() []string {
	return []string{
		"day", "projectId", "projectName", "userId", "userName", "model", "attempts", "seconds", "gpuSeconds",
		"cpuSeconds", "unknownGpuSeconds", "unknownCpuSeconds", "runs", "tokens", "bytes",
	}
}

// SpentCells returns the cells of a sum. A cell that is not known, or by which the sums are not split, is empty.
func SpentCells(r *api.SpentRow) []string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return words.Cell(*s)
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	integer := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		text(r.Day), text(r.ProjectID), text(r.ProjectName), text(r.UserID), text(r.UserName), text(r.Model),
		integer(r.Attempts), number(&r.Seconds), number(r.GPU), number(r.CPU), number(&r.NoGPU), number(&r.NoCPU),
		integer(r.Runs), integer(r.Tokens), integer(r.Bytes),
	}
}

// Budget returns a budget.
func Budget(b people.Budget) api.Budget {
	limit := func(us int64) *float64 {
		if us < 0 {
			return nil
		}
		s := seconds(us)
		return &s
	}
	return api.Budget{GPU: limit(b.GPU), CPU: limit(b.CPU)}
}

// BudgetUse returns a budget and how much of it is used.
func BudgetUse(u *people.BudgetUse) api.BudgetUse {
	return api.BudgetUse{
		Budget:      Budget(u.Budget),
		UsedGPU:     seconds(u.Spent.GPU),
		UsedCPU:     seconds(u.Spent.CPU),
		ExpectedGPU: seconds(u.Expected.GPU),
		ExpectedCPU: seconds(u.Expected.CPU),
		ResetAt:     api.At(u.Month.AddDate(0, 1, 0)),
	}
}

// maxBudget is the largest budget in seconds: of a million GPUs for a month.
const maxBudget = 1e13 / 4

// ToBudgetChange returns the change of a budget that a request asks for.
func ToBudgetChange(in *api.BudgetChange) (*people.BudgetChange, error) {
	if in == nil {
		return nil, nil
	}
	var out people.BudgetChange
	for _, f := range []struct {
		name string
		in   *float64
		out  **int64
	}{{"budget.gpuSeconds", in.GPU, &out.GPU}, {"budget.cpuSeconds", in.CPU, &out.CPU}} {
		switch {
		case f.in == nil:
		case *f.in == -1:
			none := int64(-1)
			*f.out = &none
		case *f.in >= 0 && *f.in <= maxBudget:
			us := int64(math.Round(*f.in * 1e6))
			*f.out = &us
		default:
			return nil, pleat.InvalidField(f.name, " is %g; it must be 0 to %g seconds, or -1 for no limit", *f.in,
				maxBudget)
		}
	}
	return &out, nil
}
