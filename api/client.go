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
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls the service. It is safe for concurrent use. An error response is returned as [*Error]. After any other
// error it is not known whether the service has executed the call. The Client has no sessions: their cookie is for
// browsers, and a program has its key.
//
// Methods that read a job or workflow may be called by its owner and, if it is public, by everyone. Methods that change
// one are for the owner. An object that the caller may not read is answered like one that does not exist, with 404.
type Client struct {
	Base string // address of the service, such as http://127.0.0.1:8080
	Key  string // API key; empty: see Token
	// Token, where there is no Key, returns the bearer token of a request; nil: the caller is anonymous, who can read
	// public jobs.
	Token func(context.Context) (string, error)
	HTTP  *http.Client // nil: a client that waits a minute for the headers of a response
	// Project is the id of the project in which the methods create and list, unless the body of a call names another.
	// Empty: that of the key, else the caller's own.
	Project string
	// Patience is how long [Client.Follow] and [Client.Watch] try to reconnect; 0: a minute.
	Patience time.Duration
}

const (
	maxAnswer = 64 << 20 // bytes of a JSON response
	maxError  = 1 << 20  // bytes of an error response
)

// plainHTTP is the HTTP client of a Client that has none. It bounds the time until the headers of a response, but not
// that of the body, which may be a large file or an event stream.
var plainHTTP = &http.Client{Transport: func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	t.MaxIdleConnsPerHost = 64
	return t
}()}

func (c *Client) http() *http.Client { return cmp.Or(c.HTTP, plainHTTP) }

// CreateOptions are the options of [Client.CreateJob] that are not in its body.
type CreateOptions struct {
	From           string // library item to associate with the job; empty: none
	IdempotencyKey string // the same key and body within 24 h get the first response; empty: none
	NoCache        bool   // do not use the cached result of an earlier run of the same input
}

// CreateJob creates a job, which counts against the quota of the day. Its sequences are folded asynchronously;
// [Client.Wait] waits for the end. With an IdempotencyKey the call can be repeated safely after an error.
func (c *Client) CreateJob(ctx context.Context, job CreateJob, opt CreateOptions) (CreatedJob, error) {
	q, h := url.Values{}, http.Header{}
	if opt.From != "" {
		q.Set("from", opt.From)
	}
	job.ProjectID = c.in(job.ProjectID)
	if opt.IdempotencyKey != "" {
		h.Set("Idempotency-Key", opt.IdempotencyKey)
	}
	if opt.NoCache {
		h.Set("Cache-Control", "no-cache")
	}
	return do[CreatedJob](ctx, c, request{
		method: http.MethodPost,
		path:   "/v1/jobs",
		query:  q,
		header: h,
		body:   job,
	})
}

// Validate checks a job as [Client.CreateJob] does and estimates its cost. It creates nothing.
func (c *Client) Validate(ctx context.Context, job CreateJob) (Validation, error) {
	job.ProjectID = c.in(job.ProjectID)
	return do[Validation](ctx, c, post("/v1/jobs/validate", job))
}

// Import converts the job file of another program to bodies for [Client.CreateJob]. It creates nothing.
func (c *Client) Import(ctx context.Context, file ImportJobs) (ImportedJobs, error) {
	return do[ImportedJobs](ctx, c, post("/v1/jobs/import", file))
}

// Export returns a job as a file for another program, with notes on what the format cannot express. format is one of
// fasta, alphafold-server, alphafold3 and boltz.
func (c *Client) Export(ctx context.Context, job, format string) (ExportedJob, error) {
	return do[ExportedJob](ctx, c, get(jobPath(job, "/export"), url.Values{"format": {format}, "as": {"json"}}))
}

// Results returns the results of a job's latest run. It may be called in any state; scores and files are nil until the
// run is COMPLETED.
func (c *Client) Results(ctx context.Context, job string) (Results, error) {
	return do[Results](ctx, c, get(jobPath(job, "/results"), nil))
}

// RunResults is [Client.Results] for any run of a job of the caller's.
func (c *Client) RunResults(ctx context.Context, job, run string) (Results, error) {
	return do[Results](ctx, c, get(jobPath(job, "/results"), url.Values{"jobRunId": {run}}))
}

// Job returns a job with its progress and runs.
func (c *Client) Job(ctx context.Context, job string) (JobView, error) {
	return do[JobView](ctx, c, get(jobPath(job, ""), nil))
}

// Jobs lists the caller's jobs, newest first.
func (c *Client) Jobs(ctx context.Context, f JobsFilter) (List[JobRow], error) {
	q := url.Values{}
	for name, v := range map[string]string{
		"cursor": f.Cursor, "status": f.Status, "q": f.Query, "createdBy": f.CreatedBy,
	} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return do[List[JobRow]](ctx, c, c.list("/v1/jobs", q))
}

// SetPublic makes a job public or private. When it becomes private, the links to its files stop working.
func (c *Client) SetPublic(ctx context.Context, job string, public bool) (Visibility, error) {
	return do[Visibility](ctx, c, request{method: http.MethodPatch, path: jobPath(job, "/public"),
		body: SetPublic{IsPublic: &public}})
}

// Cancel stops a job. A running one keeps its state until its engine has stopped. 409: it has ended.
func (c *Client) Cancel(ctx context.Context, job string) (CancelledJob, error) {
	return do[CancelledJob](ctx, c, post(jobPath(job, "/cancel"), nil))
}

// RerunOptions are the options of [Client.Rerun] that are not in its body.
type RerunOptions struct {
	NoCache bool // do not use the cached result of an earlier run of the same input
}

// Rerun runs a job again, which counts against the quota like a new job. If params is nil, the parameters are those of
// the job. 409: the latest run has not ended.
func (c *Client) Rerun(ctx context.Context, job string, params *Params, opt RerunOptions) (CreatedJob, error) {
	h := http.Header{}
	if opt.NoCache {
		h.Set("Cache-Control", "no-cache")
	}
	return do[CreatedJob](ctx, c, request{
		method: http.MethodPost,
		path:   jobPath(job, "/runs"),
		header: h,
		body:   Rerun{Params: params},
	})
}

// Delete deletes a job with its runs and files and the workflows that its runs have started, and stops those that run.
func (c *Client) Delete(ctx context.Context, job string) (DeletedJob, error) {
	return do[DeletedJob](ctx, c, request{method: http.MethodDelete, path: jobPath(job, "")})
}

// Models lists the models that the service can run now, with their limits and parameters.
func (c *Client) Models(ctx context.Context) (List[Model], error) {
	return do[List[Model]](ctx, c, get("/v1/models", nil))
}

// Classes lists the classes of workers, with how many workers each has and needs.
func (c *Client) Classes(ctx context.Context) (List[Class], error) {
	return do[List[Class]](ctx, c, get("/v1/classes", nil))
}

// Login says how people sign in by an issuer of OpenID Connect.
func (c *Client) Login(ctx context.Context) (Login, error) {
	return do[Login](ctx, c, get("/v1/login", nil))
}

// Usage returns today's use of the quotas.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	return do[Usage](ctx, c, c.list("/v1/usage", nil))
}

// Keys lists the caller's keys.
func (c *Client) Keys(ctx context.Context) (List[Key], error) {
	return do[List[Key]](ctx, c, get("/v1/keys", nil))
}

// CreateKey creates another key for the caller, with at most the scopes and the lifetime of the caller's own. The
// service shows its secret only once, in this response.
func (c *Client) CreateKey(ctx context.Context, key CreateKey) (NewKey, error) {
	return do[NewKey](ctx, c, post("/v1/keys", key))
}

// Audit reads a page of the caller's audit log, newest first. Cursor is the next_cursor of the page before; empty: the
// first page.
func (c *Client) Audit(ctx context.Context, cursor string) (List[AuditEntry], error) {
	return do[List[AuditEntry]](ctx, c, get("/v1/audit", url.Values{"cursor": {cursor}}))
}

// RevokeKey revokes a key with immediate effect.
func (c *Client) RevokeKey(ctx context.Context, key string) (RevokedKey, error) {
	return do[RevokedKey](ctx, c, request{method: http.MethodDelete, path: "/v1/keys/" + url.PathEscape(key)})
}

// GzipSuffix ends the entity tag of a file that is sent with gzip. The text before it is the SHA-256 of the file.
const GzipSuffix = "-gzip"

// Download writes an artifact to w and checks its length and its SHA-256, which the response states if the artifact
// does not. After an error w may hold a part of the file.
func (c *Client) Download(ctx context.Context, a Artifact, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return fmt.Errorf("download %s: %w", a.Name, err)
	}
	res, err := c.http().Do(req) // without the key: the URL carries its own permission
	if err != nil {
		return fmt.Errorf("download %s: %w", a.Name, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("download %s: %w", a.Name, errorOf(res))
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(res.Body, a.Bytes+1))
	if err != nil {
		return fmt.Errorf("download %s: %w", a.Name, err)
	}
	if n != a.Bytes {
		return fmt.Errorf("download %s: the file does not have the %d bytes that its artifact states", a.Name, a.Bytes)
	}
	want := cmp.Or(a.SHA256, strings.TrimSuffix(strings.Trim(res.Header.Get("ETag"), `"`), GzipSuffix))
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("download %s: its SHA-256 is %s; its artifact states %s", a.Name, got, want)
	}
	return nil
}

// Archive writes a zip of all files of the latest run to w, and checks its SHA-256 if the service states one. After an
// error w may hold a part of the file. 409: the run is not COMPLETED.
func (c *Client) Archive(ctx context.Context, job string, w io.Writer) error {
	res, err := c.send(ctx, get(jobPath(job, "/archive.zip"), nil))
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
		return fmt.Errorf("download the archive: its SHA-256 is %s; the service states %s", got, want)
	}
	return nil
}

// text returns a response that is plain text.
func (c *Client) text(ctx context.Context, path string) (string, error) {
	res, err := c.send(ctx, request{method: http.MethodGet, path: path, header: http.Header{"Accept": {"text/plain"}}})
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

// request is one call of the service.
type request struct {
	method string
	path   string
	query  url.Values
	header http.Header
	body   any // sent as JSON; nil: no body
}

func get(path string, query url.Values) request {
	return request{method: http.MethodGet, path: path, query: query}
}

// in returns the project of what is created: the one that its body names, or that of the client.
func (c *Client) in(named string) string { return cmp.Or(named, c.Project) }

// list is get in the project of the client.
func (c *Client) list(path string, query url.Values) request { return c.inProject(get(path, query)) }

// inProject returns a request whose query names the project of the client, if it has one.
func (c *Client) inProject(r request) request {
	if c.Project != "" {
		if r.query == nil {
			r.query = url.Values{}
		}
		r.query.Set("projectId", c.Project)
	}
	return r
}

func post(path string, body any) request {
	return request{method: http.MethodPost, path: path, body: body}
}

// String names the call in errors.
func (r *request) String() string { return r.method + " " + r.path }

// build makes the HTTP request of a call. It prefers errors as problem details, which list every fault.
func (c *Client) build(ctx context.Context, r *request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	to := strings.TrimRight(c.Base, "/") + r.path
	if len(r.query) > 0 {
		to += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, to, body)
	if err != nil {
		return nil, err
	}
	for name, v := range r.header {
		req.Header[name] = v
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json, "+ProblemType)
	}
	key := c.Key
	if key == "" && c.Token != nil {
		if key, err = c.Token(ctx); err != nil {
			return nil, err
		}
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, nil
}

// send makes a call. It returns the response if it is a success, and *Error if it is not. The caller closes the body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	req, err := c.build(ctx, &r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", &r, err)
	}
	res, err := c.http().Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", &r, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, errorOf(res)
	}
	return res, nil
}

// do makes a call and decodes its JSON response.
func do[Out any](ctx context.Context, c *Client, r request) (Out, error) {
	var out Out
	res, err := c.send(ctx, r)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return out, fmt.Errorf("%s: %w", &r, err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return out, fmt.Errorf("%s: decode the response: %w", &r, err)
	}
	return out, nil
}

// errorOf reads an error response. If the body is not an error of the service, but the page of a proxy for example, the
// error has only the status.
func errorOf(res *http.Response) *Error {
	e := &Error{Status: res.StatusCode}
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxError))
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == ProblemType {
		var p Problem
		if json.Unmarshal(b, &p) == nil {
			e.Message, e.Faults = p.Detail, p.Errors
		}
	} else {
		_ = json.Unmarshal(b, e)
	}
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		e.RetryAfter = time.Duration(n) * time.Second
	}
	return e
}
