package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls the service. It is safe for use by several goroutines. A refusal comes back as *Error. Sessions are left
// out on purpose: the cookie is for browsers, a program has its key.
type Client struct {
	Base string       // address of the service, such as http://127.0.0.1:8080
	Key  string       // API key; empty: anonymous, which reads public jobs
	HTTP *http.Client // nil: one that gives up on a silent server after a minute
	// Patience is how long a follower keeps trying to reconnect; 0: a minute.
	Patience time.Duration
}

// maxAnswer bounds the JSON answers that the client reads.
const maxAnswer = 64 << 20

var plainHTTP = &http.Client{Transport: func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	t.MaxIdleConnsPerHost = 64
	return t
}()}

func (c *Client) http() *http.Client { return cmp.Or(c.HTTP, plainHTTP) }

// CreateOptions are what a creation may carry beside its body.
type CreateOptions struct {
	From           string // library item to associate with the job; empty: none
	IdempotencyKey string // the same key and body within 24 h give the first answer; empty: none
	NoCache        bool   // compute it, even where an earlier run of the same input could answer
}

// CreateJob asks for a fold.
func (c *Client) CreateJob(ctx context.Context, job CreateJob, opt CreateOptions) (CreatedJob, error) {
	q, h := url.Values{}, http.Header{}
	if opt.From != "" {
		q.Set("from", opt.From)
	}
	if opt.IdempotencyKey != "" {
		h.Set("Idempotency-Key", opt.IdempotencyKey)
	}
	if opt.NoCache {
		h.Set("Cache-Control", "no-cache")
	}
	return do[CreatedJob](ctx, c, http.MethodPost, "/v1/jobs", q, h, job)
}

// Validate says whether CreateJob would take the job, and what it would cost.
func (c *Client) Validate(ctx context.Context, job CreateJob) (Validation, error) {
	return do[Validation](ctx, c, http.MethodPost, "/v1/jobs/validate", nil, nil, job)
}

// Import reads the job file of another program and makes bodies for CreateJob of it. It creates nothing.
func (c *Client) Import(ctx context.Context, file ImportJobs) (ImportedJobs, error) {
	return do[ImportedJobs](ctx, c, http.MethodPost, "/v1/jobs/import", nil, nil, file)
}

// Export writes a job as a file for another program.
func (c *Client) Export(ctx context.Context, job, format string) (ExportedJob, error) {
	return do[ExportedJob](ctx, c, http.MethodGet, jobPath(job, "/export"), url.Values{"format": {format}, "as": {"json"}}, nil, nil)
}

// Results reads a job's results.
func (c *Client) Results(ctx context.Context, job string) (Results, error) {
	return do[Results](ctx, c, http.MethodGet, jobPath(job, "/results"), nil, nil, nil)
}

// Job reads a job whole.
func (c *Client) Job(ctx context.Context, job string) (JobView, error) {
	return do[JobView](ctx, c, http.MethodGet, jobPath(job, ""), nil, nil, nil)
}

// Jobs lists the caller's jobs, newest first.
func (c *Client) Jobs(ctx context.Context, f JobsFilter) (List[JobRow], error) {
	q := url.Values{}
	for name, v := range map[string]string{"cursor": f.Cursor, "status": f.Status, "q": f.Query} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return do[List[JobRow]](ctx, c, http.MethodGet, "/v1/jobs", q, nil, nil)
}

// SetPublic makes a job public or private.
func (c *Client) SetPublic(ctx context.Context, job string, public bool) (Visibility, error) {
	return do[Visibility](ctx, c, http.MethodPatch, jobPath(job, "/public"), nil, nil, SetPublic{IsPublic: &public})
}

// Cancel stops a job.
func (c *Client) Cancel(ctx context.Context, job string) (CancelledJob, error) {
	return do[CancelledJob](ctx, c, http.MethodPost, jobPath(job, "/cancel"), nil, nil, nil)
}

// RerunOptions are what running a job again may carry beside its body.
type RerunOptions struct {
	NoCache bool // compute it, even where an earlier run of the same input could answer
}

// Rerun runs a job again; nil params are those of the job.
func (c *Client) Rerun(ctx context.Context, job string, params *Params, opt RerunOptions) (CreatedJob, error) {
	h := http.Header{}
	if opt.NoCache {
		h.Set("Cache-Control", "no-cache")
	}
	return do[CreatedJob](ctx, c, http.MethodPost, jobPath(job, "/runs"), nil, h, Rerun{Params: params})
}

// Delete removes a job and its files.
func (c *Client) Delete(ctx context.Context, job string) (DeletedJob, error) {
	return do[DeletedJob](ctx, c, http.MethodDelete, jobPath(job, ""), nil, nil, nil)
}

// Models lists what the service can run.
func (c *Client) Models(ctx context.Context) (List[Model], error) {
	return do[List[Model]](ctx, c, http.MethodGet, "/v1/models", nil, nil, nil)
}

// Usage reads today's quota.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	return do[Usage](ctx, c, http.MethodGet, "/v1/usage", nil, nil, nil)
}

// Keys lists the caller's keys.
func (c *Client) Keys(ctx context.Context) (List[Key], error) {
	return do[List[Key]](ctx, c, http.MethodGet, "/v1/keys", nil, nil, nil)
}

// CreateKey makes another key for the caller; its secret is shown this once.
func (c *Client) CreateKey(ctx context.Context, label string) (NewKey, error) {
	return do[NewKey](ctx, c, http.MethodPost, "/v1/keys", nil, nil, CreateKey{Label: label})
}

// RevokeKey makes a key worthless at once.
func (c *Client) RevokeKey(ctx context.Context, key string) (RevokedKey, error) {
	return do[RevokedKey](ctx, c, http.MethodDelete, "/v1/keys/"+url.PathEscape(key), nil, nil, nil)
}

// Download streams an artifact into w and checks its length and digest, that of the answer where the artifact states none.
// After an error w may hold part of it.
func (c *Client) Download(ctx context.Context, a Artifact, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return fmt.Errorf("download %s: %w", a.Name, err)
	}
	res, err := c.http().Do(req) // without the key: the address carries its own permission
	if err != nil {
		return fmt.Errorf("download %s: %w", a.Name, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("download %s: %w", a.Name, refusal(res))
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(res.Body, a.Bytes+1))
	if err != nil {
		return fmt.Errorf("download %s: %w", a.Name, err)
	}
	if n != a.Bytes {
		return fmt.Errorf("download %s: got another length than the %d bytes of the manifest", a.Name, a.Bytes)
	}
	want := cmp.Or(a.SHA256, strings.Trim(res.Header.Get("ETag"), `"`))
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("download %s: its sha256 is %s, the manifest says %s", a.Name, got, want)
	}
	return nil
}

// Archive streams all files of a job's latest run into w, as a zip, and checks its digest where the service states one.
func (c *Client) Archive(ctx context.Context, job string, w io.Writer) error {
	res, err := c.send(ctx, http.MethodGet, jobPath(job, "/archive.zip"), nil, nil, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), res.Body); err != nil {
		return fmt.Errorf("download the archive: %w", err)
	}
	want := strings.Trim(res.Header.Get("ETag"), `"`)
	if got := hex.EncodeToString(sum.Sum(nil)); len(want) == len(got) && got != want {
		return fmt.Errorf("download the archive: its sha256 is %s, the service says %s", got, want)
	}
	return nil
}

// text reads an answer that is plain text.
func (c *Client) text(ctx context.Context, path string) (string, error) {
	res, err := c.send(ctx, http.MethodGet, path, nil, http.Header{"Accept": {"text/plain"}}, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("GET %s: %w", path, err)
	}
	return string(b), nil
}

func jobPath(job, rest string) string { return "/v1/jobs/" + url.PathEscape(job) + rest }

// do sends one request and reads its JSON answer.
func do[Out any](ctx context.Context, c *Client, method, path string, q url.Values, h http.Header, body any) (Out, error) {
	var out Out
	res, err := c.send(ctx, method, path, q, h, body)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return out, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, fmt.Errorf("%s %s: the answer is not what was expected: %w", method, path, err)
	}
	return out, nil
}

// send makes a request and returns its answer if it is a success; the caller closes the body.
func (c *Client) send(ctx context.Context, method, path string, q url.Values, h http.Header, body any) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		r = bytes.NewReader(b)
	}
	to := strings.TrimRight(c.Base, "/") + path
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, to, r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	for name, v := range h {
		req.Header[name] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	res, err := c.http().Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, refusal(res)
	}
	return res, nil
}

// refusal reads an answer that is not a success.
func refusal(res *http.Response) *Error {
	e := &Error{}
	b, _ := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	_ = json.Unmarshal(b, e) // a proxy's page is not ours: the status alone speaks then
	e.Status = res.StatusCode
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	return e
}
