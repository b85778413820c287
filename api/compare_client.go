package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Compare compares 2 to 4 structures, such as job:ID, job:ID/SAMPLE, library:ID/FILE or pdb:ID, of 4,000 residues in
// all. reference is the position of the reference, counted from 1; 0: there is none. [Client.CreateComparison] compares
// more.
func (c *Client) Compare(ctx context.Context, structures []string, reference int) (Comparison, error) {
	q := url.Values{"of": {strings.Join(structures, ",")}}
	if reference != 0 {
		q.Set("reference", strconv.Itoa(reference))
	}
	return do[Comparison](ctx, c, get("/v1/compare", q))
}

// CreateComparison creates a workflow that compares 2 to 20 structures. [ComparisonOf] reads its result.
func (c *Client) CreateComparison(ctx context.Context, in CreateComparison) (Workflow, error) {
	in.ProjectID = c.in(in.ProjectID)
	return do[Workflow](ctx, c, post("/v1/compare", in))
}

// ComparisonOf returns the result of a workflow compare_v1 that is COMPLETED.
func ComparisonOf(w Workflow) (Comparison, error) {
	var out Comparison
	if len(w.Tasks) == 0 || len(w.Tasks[0].Result) == 0 || string(w.Tasks[0].Result) == "null" {
		return out, fmt.Errorf("the workflow %s has no result; it is %s", w.ID, w.Status)
	}
	err := json.Unmarshal(w.Tasks[0].Result, &out)
	return out, err
}
