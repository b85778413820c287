package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// CreateBatch creates a batch of jobs, whole or not at all. Its rows count against a quota of their own. With an
// IdempotencyKey the call can be repeated safely after an error.
func (c *Client) CreateBatch(ctx context.Context, batch CreateBatch, opt CreateOptions) (CreatedBatch, error) {
	batch.ProjectID = c.in(batch.ProjectID)
	h := http.Header{}
	if opt.IdempotencyKey != "" {
		h.Set("Idempotency-Key", opt.IdempotencyKey)
	}
	if opt.NoCache {
		h.Set("Cache-Control", "no-cache")
	}
	return do[CreatedBatch](ctx, c, request{method: http.MethodPost, path: "/v1/batches", header: h, body: batch})
}

// ValidateBatch checks a batch as [Client.CreateBatch] does and says what it comes to. It creates nothing.
func (c *Client) ValidateBatch(ctx context.Context, batch CreateBatch) (BatchValidation, error) {
	batch.ProjectID = c.in(batch.ProjectID)
	return do[BatchValidation](ctx, c, post("/v1/batches/validate", batch))
}

// BatchesFilter narrows GET /v1/batches. The zero value lists the newest 50.
type BatchesFilter struct {
	Limit     int    // 1 to 200; 0: 50
	Cursor    string // NextCursor of the page before
	CreatedBy string // me, or the id of a user
}

// Batches lists a page of the caller's batches, newest first.
func (c *Client) Batches(ctx context.Context, f BatchesFilter) (List[Batch], error) {
	q := url.Values{}
	for name, v := range map[string]string{"cursor": f.Cursor, "createdBy": f.CreatedBy} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return do[List[Batch]](ctx, c, c.list("/v1/batches", q))
}

// Batch reads a batch with the states of its rows.
func (c *Client) Batch(ctx context.Context, id string) (Batch, error) {
	return do[Batch](ctx, c, get(batchPath(id, ""), nil))
}

// RowsQuery selects and orders rows of a batch. The zero value selects all, in their order.
type RowsQuery struct {
	Sort   string // name of a score, with :asc or :desc
	Filter string // conditions joined by commas, such as meanPLDDT>=80,status=COMPLETED
	Cursor string // next_cursor of the previous page
	Limit  int    // 0: the service's default
}

func (q RowsQuery) values() url.Values {
	out := url.Values{}
	for name, v := range map[string]string{"sort": q.Sort, "filter": q.Filter, "cursor": q.Cursor} {
		if v != "" {
			out.Set(name, v)
		}
	}
	if q.Limit != 0 {
		out.Set("limit", strconv.Itoa(q.Limit))
	}
	return out
}

// BatchRows reads a page of the table of a batch.
func (c *Client) BatchRows(ctx context.Context, id string, q RowsQuery) (BatchRows, error) {
	return do[BatchRows](ctx, c, get(batchPath(id, "/rows"), q.values()))
}

// BatchFile writes a file of a batch to w: table.csv, table.jsonl, table.parquet or archive.zip, with the rows that the
// query selects. After an error w may hold a part of it.
func (c *Client) BatchFile(ctx context.Context, id, name string, q RowsQuery, w io.Writer) error {
	res, err := c.send(ctx, get(batchPath(id, "/"+name), q.values()))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(w, res.Body); err != nil {
		return fmt.Errorf("download %s: %w", name, err)
	}
	return nil
}

// FollowBatch calls fn with the batch, now and whenever its counts have changed, until all its rows have ended. It
// reconnects where the stream breaks, and ends as [Client.Follow] does.
func (c *Client) FollowBatch(ctx context.Context, id string, fn func(Batch) error) error {
	return c.stream(ctx, batchPath(id, "/events"), "", func(data []byte) error {
		var b Batch
		if err := json.Unmarshal(data, &b); err != nil {
			return fmt.Errorf("follow %s: %w", id, err)
		}
		if err := fn(b); err != nil {
			return err
		}
		if b.FinishedAt != nil {
			return Done
		}
		return nil
	})
}

// CancelBatch stops the rows of a batch that have not ended. 409: all have.
func (c *Client) CancelBatch(ctx context.Context, id string) (Batch, error) {
	return do[Batch](ctx, c, post(batchPath(id, "/cancel"), nil))
}

// RetryBatch runs the rows of a batch again that failed or were stopped. 409: it has not ended, or has none.
func (c *Client) RetryBatch(ctx context.Context, id string) (RetriedBatch, error) {
	return do[RetriedBatch](ctx, c, post(batchPath(id, "/retry-failed"), nil))
}

// RerunBatch creates a batch of the same rows with other parameters.
func (c *Client) RerunBatch(ctx context.Context, id string, in RerunBatch) (CreatedBatch, error) {
	return do[CreatedBatch](ctx, c, post(batchPath(id, "/rerun"), in))
}

// SetBatchPublic makes a batch and its jobs public or private.
func (c *Client) SetBatchPublic(ctx context.Context, id string, public bool) (BatchVisibility, error) {
	return do[BatchVisibility](ctx, c, request{method: http.MethodPatch, path: batchPath(id, "/public"),
		body: SetPublic{IsPublic: &public}})
}

// DeleteBatch deletes a batch with its jobs and their files, and stops what runs.
func (c *Client) DeleteBatch(ctx context.Context, id string) (DeletedBatch, error) {
	return do[DeletedBatch](ctx, c, request{method: http.MethodDelete, path: batchPath(id, "")})
}

func batchPath(id, rest string) string { return "/v1/batches/" + url.PathEscape(id) + rest }
