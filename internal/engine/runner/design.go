package runner

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"pleat"
	"pleat/internal/design"
	"pleat/internal/flow"
	"pleat/internal/report"
	"pleat/internal/structure"
)

// designInput is the input of a design.
type designInput struct {
	Name string `json:"name"`
	Stem string `json:"stem"` // with which the ids of the designs begin
	Spec string `json:"spec"` // path of the main spec
}

// designRequest returns the request of a design, and its parameters.
func designRequest(d *pleat.DesignInput) *predictRequest {
	q := &predictRequest{input: designInput{Name: d.Name, Stem: d.Stem, Spec: inputPath(d.Spec)}}
	for _, f := range d.Files {
		q.files = append(q.files, inputFile{kind: f.Kind, path: f.Path})
	}
	return q
}

// designLimits bound the structure of a design.
var designLimits = structure.Limits{Bytes: 64 << 20, Atoms: 200_000, Residues: 20_000}

const (
	maxDesignLine = 256 << 10 // bytes of a line of designs.jsonl
	maxDesigns    = pleat.MaxDesigns + 100
)

// designs returns the output of a design, see report.Designs.
func (a *runnerAttempt) designs(ctx context.Context, q *predictRequest) pleat.Output {
	d := report.Designs{
		Work:    a.work,
		Engine:  a.name(),
		Timings: a.timings,
		Notes:   a.notes,
		Runner:  a.describe(),
	}
	err := q.readDesigns(&d)
	if err != nil {
		return a.invalid(err)
	}
	for _, f := range q.others(report.DesignFigures()...) {
		if f.Kind != pleat.ArtifactDesign && f.Kind != pleat.ArtifactDesigns {
			d.Files = append(d.Files, f)
		}
	}
	return d.Write(ctx, a.sink)
}

// readDesigns reads the rows, and says how the structures of the final set are read. An error says how they contradict
// each other.
func (q *predictRequest) readDesigns(d *report.Designs) error {
	file, ok := q.file("designs", 0)
	if !ok {
		return errors.New("it has no designs")
	}
	var err error
	if d.Rows, err = readDesignRows(filepath.Join(q.dir, file.Path)); err != nil {
		return fmt.Errorf("its designs file %w", err)
	}
	byID, files := map[string]flow.DesignRow{}, map[string]wireFile{}
	for _, r := range d.Rows {
		byID[r.Text("id")] = r
		if passed, known := r["pass_filters"].(bool); known {
			d.Metrics.Passed = cmp.Or(d.Metrics.Passed, new(int))
			if passed {
				*d.Metrics.Passed++
			}
		}
	}
	for _, f := range q.result.Files {
		if f.Kind != "design" {
			continue
		}
		row := byID[f.ID]
		if row == nil || row.Rank() != f.Rank {
			return fmt.Errorf("its design %q of rank %d is not among its designs", pleat.Clip(f.ID), f.Rank)
		}
		delete(byID, f.ID)
		d.Set = append(d.Set, row)
		files[f.ID] = f
	}
	if len(d.Set) == 0 || len(d.Set) > d.Work.Design.Params.Budget {
		return fmt.Errorf("it returns %d designs; 1 to %d were asked for", len(d.Set), d.Work.Design.Params.Budget)
	}
	slices.SortStableFunc(d.Set, func(a, b flow.DesignRow) int { return a.Rank() - b.Rank() })
	d.Read = func(row flow.DesignRow) (*report.Design, error) {
		one, err := q.readDesign(files[row.Text("id")], row, d.Work.Design)
		if err != nil {
			return nil, fmt.Errorf("its design %s %w", pleat.Clip(row.Text("id")), err)
		}
		return one, nil
	}
	d.Metrics.Requested, d.Metrics.Considered = d.Work.Design.Params.Designs, len(d.Rows)
	d.Metrics.Generated, d.Metrics.Duplicates = q.count("generated"), q.count("duplicates")
	d.Metrics.Returned = len(d.Set)
	d.Params, err = q.designedBy(&d.Work.Design.Params)
	return err
}

// designedBy returns the parameters as they took effect: those that were asked for, and what the runner says of the
// others.
func (q *predictRequest) designedBy(params *pleat.DesignParams) (pleat.DesignParams, error) {
	if len(q.result.Params) == 0 || string(q.result.Params) == "null" {
		return *params, nil
	}
	values, names := map[string]json.RawMessage{}, design.ParamNames
	if err := json.Unmarshal(q.result.Params, &values); err != nil {
		return *params, errors.New("its params are no object")
	}
	for name := range values {
		if !slices.Contains(names, name) {
			delete(values, name)
		}
	}
	for name, v := range params.Map() {
		raw, err := json.Marshal(v)
		if err != nil {
			return *params, err
		}
		if values[name] == nil || string(values[name]) == "null" {
			values[name] = raw
		}
	}
	p, err := design.ReadParams(values, "its params", design.Door{})
	return p.DesignParams, err
}

// count returns a count of the runner's metrics; nil if it has none.
func (q *predictRequest) count(name string) *int {
	v, ok := q.result.Metrics[name].(float64)
	if n := int(v); ok && v >= 0 && v <= maxDesigns {
		return &n
	}
	return nil
}

// readDesignRows reads designs.jsonl. An error completes a sentence about the file.
func readDesignRows(path string) ([]flow.DesignRow, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	defer in.Close()
	var out []flow.DesignRow
	seen := map[string]bool{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxDesignLine)
	for lines.Scan() {
		n := len(out) + 1
		row, err := flow.ReadDesignRow(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("has a line %d that %w", n, err)
		}
		id := row.Text("id")
		switch {
		case !designID(id) || seen[id]:
			return nil, fmt.Errorf("has a line %d whose id is %q; ids are different names of letters, digits, - and _",
				n, pleat.Clip(id))
		case row.Rank() < 1:
			return nil, fmt.Errorf("has a line %d without a final_rank from 1", n)
		case n > 1 && row.Rank() < out[n-2].Rank():
			return nil, fmt.Errorf("has line %d before one of a better rank", n-1)
		case n > maxDesigns:
			return nil, fmt.Errorf("has more than %d lines", maxDesigns)
		}
		seen[id] = true
		out = append(out, row)
	}
	if err := lines.Err(); err != nil || len(out) == 0 {
		return nil, errors.New("has no line, or one that is too long")
	}
	return out, nil
}

// designID reports whether s may be the id of a design: it becomes a part of file names.
func designID(s string) bool { return s != "" && len(s) <= 80 && safeName(s) == s && s[0] != '.' }

// readDesign reads the structure of a design, with the chains of the spec. Its B-factors are pLDDT from 0 to 100; all
// 0: there is none. An error completes a sentence about the design.
func (q *predictRequest) readDesign(
	f wireFile, row flow.DesignRow, d *pleat.DesignInput,
) (*report.Design, error) {
	in, err := os.Open(filepath.Join(q.dir, f.Path))
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	defer in.Close()
	read := structure.ReadCIF
	if d.Params.Protocol == pleat.SequenceOnly { // the backbone may have gaps, which its sequence has not
		read = structure.ReadWhole
	}
	s, err := read(in, designLimits)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	names := f.ChainMap
	if names == nil {
		names = q.result.ChainMap
	}
	return report.NewDesign(s, row, names, d.Chains)
}
