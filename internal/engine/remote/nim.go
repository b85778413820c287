// Package remote has the engines that run elsewhere and are called over HTTP.
//
// It owns the clients of these endpoints, and turns their answers into predictions and replies. It must not write
// artifacts (package report does). Keys are sent to the configured endpoint only, and appear in no message, log or
// file. No redirect is followed, because it could carry the input and the key elsewhere.
//
// Files:
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/report"
)

// NIM is Boltz-2 behind the HTTP interface of NVIDIA's container: a local container, or the hosted one. Only URL is
// required. It is safe for concurrent use.
//
// A call is synchronous and sends nothing until it ends, so there is no progress; cancelling closes the connection.
type NIM struct {
	// URL is the address before /biology/mit/boltz2/predict, such as http://127.0.0.1:8000 or
	// https://health.api.nvidia.com/v1.
	URL string
	Key string // bearer token; empty: none
	// Status is the address that returns the answer to a postponed call, with {id} for the id of the call. Empty:
	// that of hosted functions if the host is one of nvidia.com, else postponed calls fail.
	Status  string
	Model   string        // name of the model here; empty: boltz-2
	Timeout time.Duration // of one fold; 0: 30 minutes

	pollInterval time.Duration // between two requests for a postponed answer; 0: one second
	maxAnswer    int64         // bytes; 0: maxNIMAnswer
}

// Limits of the interface, from its documentation.
const (
	nimPolymers = 12
	nimLigands  = 20
	nimResidues = 4096
)

const (
	// Bounds of answers in bytes, the address of postponed answers of hosted functions, and the name of the engine in
	// results.
	maxNIMAnswer  = 512 << 20 // bytes
	maxNIMRefusal = 64 << 10
	nimHosted     = "https://api.nvcf.nvidia.com/v2/nvcf/pexec/status/{id}"
	nimName       = "boltz2-nim"
)

// Models lists the one model. It has no seed, because the interface has none: two runs of a job differ.
func (n NIM) Models() []pleat.Model {
	return []pleat.Model{{
		Name:      cmp.Or(n.Model, "boltz-2"),
		Kind:      pleat.TaskFold,
		Title:     "Boltz-2 at a remote endpoint",
		Engine:    nimName,
		Version:   "1",
		WeightSet: "boltz-2, as the endpoint has it",
		Method:    "diffusion model over a pair representation, with an affinity model",
		Licence:   "MIT, code and weights; the endpoint has its own terms",
		WeightUse: pleat.AskUse,
		Device:    "remote",
		Entities:  []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand},
		Features: []pleat.Feature{
			pleat.FeatureAffinity, pleat.FeatureMSA, pleat.FeatureConstraints, pleat.FeatureModifications,
			pleat.FeatureCyclic, pleat.FeatureComplex,
		},
		Params:    nimParams(),
		MinTokens: 1,
		Limits: pleat.ModelLimits{
			Polymers:    nimPolymers,
			Ligands:     nimLigands,
			Residues:    nimResidues,
			MinChains:   1,
			Affinities:  1,
			Constraints: []string{"pocket", "bond"},
		},
		Memory:     pleat.MemoryModel{Base: 100e6, Square: 100}, // of this worker: the answer as text, and decoded
		Confidence: "pLDDT of the confidence model, from 0 to 100",
		Notice: "Boltz-2, a trained model of structures of proteins, nucleic acids and ligands, run at an endpoint " +
			"that the operator named: sequences and ligands are sent there. It takes no seed, so a run cannot be " +
			"repeated exactly. Without alignments proteins are folded from their single sequences, less accurately.",
		Citations: report.Cite("passaro2025boltz2"),
	}}
}

// nimParams are the parameters of the interface, with the defaults and bounds of its documentation.
func nimParams() []pleat.ParamSpec {
	bound := func(v float64) *float64 { return &v }
	return []pleat.ParamSpec{
		{
			Name:    "recyclingSteps",
			Type:    pleat.ParamInt,
			Default: int64(3),
			Min:     bound(1),
			Max:     bound(10),
			Doc:     "Passes through the trunk after the first.",
		},
		{
			Name:    "samplingSteps",
			Type:    pleat.ParamInt,
			Default: int64(50),
			Min:     bound(10),
			Max:     bound(1000),
			Doc:     "Steps of the diffusion.",
		},
		{
			Name:    "diffusionSample",
			Type:    pleat.ParamInt,
			Default: int64(1),
			Min:     bound(1),
			Max:     bound(25),
			Doc:     "Structures drawn; they are ranked by their confidence score and the best is the result.",
		},
		{
			Name:    "stepScale",
			Type:    pleat.ParamFloat,
			Default: 1.638,
			Min:     bound(0.5),
			Max:     bound(5),
			Doc:     "Size of a diffusion step; lower gives more varied samples.",
		},
		{
			Name:    "affinityMwCorrection",
			Type:    pleat.ParamBool,
			Default: false,
			Doc:     "Corrects the affinity's value for the ligand's molecular weight.",
		},
		{
			Name:    "samplingStepsAffinity",
			Type:    pleat.ParamInt,
			Default: int64(200),
			Min:     bound(10),
			Max:     bound(1000),
			Doc:     "Steps of the diffusion in the affinity model.",
		},
		{
			Name:    "diffusionSamplesAffinity",
			Type:    pleat.ParamInt,
			Default: int64(5),
			Min:     bound(1),
			Max:     bound(10),
			Doc:     "Samples that the affinity model draws.",
		},
	}
}

// Run makes one call and writes the report of its answer. It reports the stage "infer" until then. If ctx ends, it
// closes the connection.
func (n NIM) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	q, failure := newNIMQuery(w)
	if failure != nil {
		return pleat.Output{Failure: failure, Engine: nimName}
	}
	watch := clock.Start()
	sink.Progress("infer", 0, 0)
	c := &nimCall{NIM: n, client: newClient()}
	defer c.client.CloseIdleConnections()
	callCtx, done := context.WithTimeout(ctx, c.timeout())
	defer done()
	answer, failure := c.predict(callCtx, q)
	if ctx.Err() != nil { // the run has ended, not only the call
		return pleat.Output{Failure: engine.Interrupted(ctx), Engine: nimName}
	}
	if failure != nil {
		failure.Message = c.redact(failure.Message)
		return pleat.Output{Failure: failure, Engine: nimName}
	}
	took := watch.Seconds()
	p, notes, err := answer.prediction(w, q)
	if err != nil {
		return pleat.Output{Failure: engine.InvalidOutput(err), Engine: nimName}
	}
	r := &report.Report{
		Work:        w,
		Engine:      nimName,
		Predictions: []report.Prediction{*p},
		Timings:     map[string]float64{pleat.StageInfer: took},
		Notes:       append(q.notes, notes...),
	}
	return r.Write(ctx, sink)
}

// newClient returns a client that follows no redirects: one could carry the input and the key to another host.
func newClient() *http.Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{CheckRedirect: stay}
}

// nimCall is one fold at the endpoint, with an HTTP client of its own.
type nimCall struct {
	NIM
	client *http.Client
}

// timeout returns the time that one fold may take, including all polls.
func (c *nimCall) timeout() time.Duration { return cmp.Or(c.Timeout, 30*time.Minute) }

// redact removes the key from a message, which may quote the endpoint.
func (c *nimCall) redact(s string) string {
	if c.Key == "" {
		return s
	}
	return strings.ReplaceAll(s, c.Key, "…")
}

// predict checks that the endpoint is ready, calls it, and waits for a postponed answer (202) as long as ctx allows. An
// answer of more than maxNIMAnswer bytes, or one that is not a prediction, is a failure of kind output_invalid.
func (c *nimCall) predict(ctx context.Context, q *nimQuery) (*nimAnswer, *pleat.Failure) {
	if f := c.ready(ctx); f != nil {
		return nil, f
	}
	body, err := json.Marshal(q.request)
	if err != nil {
		return nil, pleat.Failed(pleat.FailInternal, "the job could not be written as JSON")
	}
	address := strings.TrimRight(c.URL, "/") + "/biology/mit/boltz2/predict"
	resp, f := c.do(ctx, http.MethodPost, address, body)
	for f == nil && resp.StatusCode == http.StatusAccepted {
		resp, f = c.poll(ctx, resp)
	}
	if f != nil {
		return nil, f
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, c.refusal(ctx, resp)
	}
	limit := cmp.Or(c.maxAnswer, maxNIMAnswer)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, c.noAnswer(ctx)
	}
	if int64(len(raw)) > limit {
		message := fmt.Sprintf("the Boltz-2 endpoint answered more than %d MiB", limit>>20)
		return nil, pleat.Failed(pleat.FailOutputInvalid, message)
	}
	var a nimAnswer
	if err := json.Unmarshal(raw, &a); err != nil {
		message := "the Boltz-2 endpoint sent an answer that is not a prediction: " + engine.OneLine(err.Error(), 200)
		return nil, pleat.Failed(pleat.FailOutputInvalid, message)
	}
	return &a, nil
}

// ready checks the health of the endpoint, so that a large input is not sent to one that is still loading. One without
// a health page, such as the hosted one, counts as ready. The failure may be retried.
func (c *nimCall) ready(ctx context.Context) *pleat.Failure {
	address := strings.TrimSuffix(strings.TrimRight(c.URL, "/"), "/v1") + "/v1/health/ready"
	resp, f := c.do(ctx, http.MethodGet, address, nil)
	if f != nil {
		return f
	}
	drain(resp)
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		message := fmt.Sprintf("the Boltz-2 endpoint is not ready: it answered %d", resp.StatusCode)
		return &pleat.Failure{Kind: pleat.FailLoad, Message: message, Retry: true, RetryAfter: retryAfter(resp)}
	}
	return nil
}

// drain reads and closes a response whose content is not needed, so that the connection can be reused. It reads at most
// maxNIMRefusal bytes.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxNIMRefusal))
	_ = resp.Body.Close()
}

// do sends one request with the key, if there is one. A nil body sends none. The caller closes the response.
func (c *nimCall) do(ctx context.Context, method, address string, body []byte) (*http.Response, *pleat.Failure) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, pleat.Failed(pleat.FailLoad, "the Boltz-2 endpoint's address cannot be used")
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
		req.Header.Set("NVCF-POLL-SECONDS", "60")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, c.noAnswer(ctx)
	}
	return resp, nil
}

// requestID matches valid ids of postponed calls. The id comes from the endpoint and becomes part of an address, so
// that nothing but letters, digits, hyphens and underscores is allowed.
var requestID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// poll waits a second and asks for the answer to a postponed call, whose response it closes. The endpoint waits up to a
// minute before it postpones the call again.
func (c *nimCall) poll(ctx context.Context, resp *http.Response) (*http.Response, *pleat.Failure) {
	id := resp.Header.Get("nvcf-reqid")
	drain(resp)
	if !requestID.MatchString(id) {
		message := "the Boltz-2 endpoint postponed the call (202) without an id to ask for it by"
		return nil, pleat.Failed(pleat.FailOutputInvalid, message)
	}
	address := c.statusAddress()
	if address == "" {
		message := "the Boltz-2 endpoint postponed the call (202), " +
			"and nim-status-url does not say where to ask for the answer"
		return nil, pleat.Failed(pleat.FailLoad, message)
	}
	t := time.NewTimer(cmp.Or(c.pollInterval, time.Second))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil, c.noAnswer(ctx)
	case <-t.C:
	}
	next, f := c.do(ctx, http.MethodGet, strings.ReplaceAll(address, "{id}", id), nil)
	if f == nil && next.StatusCode == http.StatusAccepted && next.Header.Get("nvcf-reqid") == "" {
		next.Header.Set("nvcf-reqid", id)
	}
	return next, f
}

// statusAddress returns the address of postponed answers, with {id} for the id of the call, or nothing if none is
// known. The key is sent there too.
func (c *nimCall) statusAddress() string {
	if c.Status != "" {
		return c.Status
	}
	u, err := url.Parse(c.URL)
	if err == nil && (u.Hostname() == "nvidia.com" || strings.HasSuffix(u.Hostname(), ".nvidia.com")) {
		return nimHosted // only then: the key of another host must not be sent to this one
	}
	return ""
}

// noAnswer returns the failure of a call that got no answer: a timeout, or an endpoint that cannot be reached. Both may
// be retried.
func (c *nimCall) noAnswer(ctx context.Context) *pleat.Failure {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		message := fmt.Sprintf("the Boltz-2 endpoint gave no answer within %s", c.timeout())
		return &pleat.Failure{Kind: pleat.FailTimeout, Message: message, Retry: true}
	}
	message := "the Boltz-2 endpoint cannot be reached, or broke the connection"
	return &pleat.Failure{Kind: pleat.FailLoad, Message: message, Retry: true}
}

// refusal returns the failure of an answer other than 200: 429, 502 and 503 may be retried, timeouts too. It quotes the
// endpoint only if the input is at fault; other messages may be for the operator alone.
func (c *nimCall) refusal(ctx context.Context, resp *http.Response) *pleat.Failure {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxNIMRefusal))
	if err != nil {
		return c.noAnswer(ctx)
	}
	said := fmt.Sprintf("the Boltz-2 endpoint answered %d", resp.StatusCode)
	switch s := resp.StatusCode; {
	case s == http.StatusUnprocessableEntity || s == http.StatusBadRequest:
		return pleat.Failed(pleat.FailInvalidInput, "the Boltz-2 endpoint refused the input: "+nimReason(raw))
	case s == http.StatusRequestEntityTooLarge:
		return pleat.Failed(pleat.FailTooLarge, "the job is larger than the Boltz-2 endpoint accepts")
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable || s == http.StatusBadGateway:
		return &pleat.Failure{Kind: pleat.FailLoad, Message: said, Retry: true, RetryAfter: retryAfter(resp)}
	case s == http.StatusGatewayTimeout || s == http.StatusRequestTimeout:
		return &pleat.Failure{Kind: pleat.FailTimeout, Message: said, Retry: true}
	case s >= 500:
		return pleat.Failed(pleat.FailCrashed, said)
	case s == http.StatusUnauthorized || s == http.StatusForbidden || s == http.StatusPaymentRequired:
		return pleat.Failed(pleat.FailLoad, said+"; the operator has to check its key")
	}
	return pleat.Failed(pleat.FailLoad, said+"; the operator has to check its address")
}

// nimReason returns the endpoint's reason in one line of at most 500 characters: from the list of details of FastAPI,
// or a message under one of the usual names.
func nimReason(raw []byte) string {
	var doc struct {
		Detail  json.RawMessage `json:"detail"`
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
	}
	if json.Unmarshal(raw, &doc) != nil {
		return "it gave no reason"
	}
	for _, v := range []json.RawMessage{doc.Detail, doc.Error, doc.Message} {
		var text string
		if json.Unmarshal(v, &text) == nil && text != "" {
			return engine.OneLine(text, 500)
		}
		var list []struct {
			Loc []any  `json:"loc"`
			Msg string `json:"msg"`
		}
		if json.Unmarshal(v, &list) != nil || len(list) == 0 {
			continue
		}
		var all []string
		for _, d := range list[:min(len(list), 5)] {
			var at []string
			for _, l := range d.Loc {
				at = append(at, fmt.Sprint(l))
			}
			all = append(all, strings.TrimPrefix(strings.Join(at, "."), "body.")+": "+d.Msg)
		}
		return engine.OneLine(strings.Join(all, "; "), 500)
	}
	return "it gave no reason"
}
