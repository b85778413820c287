package engine

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
)

// NIM is Boltz-2 behind the HTTP interface of NVIDIA's container of it: one of your own, or the hosted one. Only URL is needed.
// A call is synchronous and says nothing until it ends, so there is no progress; cancelling drops the connection.
type NIM struct {
	URL     string        // what /biology/mit/boltz2/predict is appended to: http://127.0.0.1:8000, https://health.api.nvidia.com/v1
	Key     string        // bearer token; empty: none. It is in no message, log or file
	Status  string        // address that a call which was put off is asked for at, {id} standing for it; empty: that of hosted functions, for hosts of nvidia.com
	Model   string        // the name it serves here; empty: boltz-2
	Timeout time.Duration // of one fold; 0: 30 minutes

	pause time.Duration // between two questions about a call that was put off; 0: one second
	most  int64         // bytes of an answer; 0: maxNIMAnswer
}

// Bounds of the interface, as its documentation has them.
const (
	nimPolymers = 12
	nimLigands  = 20
	nimResidues = 4096
)

const (
	maxNIMAnswer  = 512 << 20 // bytes
	maxNIMRefusal = 64 << 10
	nimHosted     = "https://api.nvcf.nvidia.com/v2/nvcf/pexec/status/{id}"
	nimName       = "boltz2-nim"
)

// Models has the one model. It takes no seed: the interface has none, so two runs of one job differ.
func (n NIM) Models() []pleat.Model {
	f := func(v float64) *float64 { return &v }
	return []pleat.Model{{
		Name: cmp.Or(n.Model, "boltz-2"), Kind: pleat.TaskFold, Title: "Boltz-2 at a remote endpoint",
		Engine: nimName, Version: "1", WeightSet: "boltz-2, as the endpoint has it", Method: "diffusion model over a pair representation, with an affinity model",
		Licence: "MIT, code and weights; the endpoint has its own terms", Device: "remote",
		Entities: []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand},
		Features: []pleat.Feature{pleat.FeatureAffinity, pleat.FeatureMSA, pleat.FeatureConstraints, pleat.FeatureModifications, pleat.FeatureCyclic, pleat.FeatureComplex},
		Params: []pleat.ParamSpec{
			{Name: "recyclingSteps", Type: pleat.ParamInt, Default: int64(3), Min: f(1), Max: f(10), Doc: "Passes through the trunk after the first."},
			{Name: "samplingSteps", Type: pleat.ParamInt, Default: int64(50), Min: f(10), Max: f(1000), Doc: "Steps of the diffusion."},
			{Name: "diffusionSample", Type: pleat.ParamInt, Default: int64(1), Min: f(1), Max: f(25), Doc: "Structures drawn; they are ranked by their confidence score and the best is the result."},
			{Name: "stepScale", Type: pleat.ParamFloat, Default: 1.638, Min: f(0.5), Max: f(5), Doc: "Size of a diffusion step; lower gives more varied samples."},
			{Name: "affinityMwCorrection", Type: pleat.ParamBool, Default: false, Doc: "Corrects the affinity's value for the ligand's molecular weight."},
			{Name: "samplingStepsAffinity", Type: pleat.ParamInt, Default: int64(200), Min: f(10), Max: f(1000), Doc: "Steps of the diffusion in the affinity model."},
			{Name: "diffusionSamplesAffinity", Type: pleat.ParamInt, Default: int64(5), Min: f(1), Max: f(10), Doc: "Samples that the affinity model draws."},
		},
		MinTokens: 1, Limits: pleat.Limits{Polymers: nimPolymers, Ligands: nimLigands, Residues: nimResidues, Affinities: 1, Constraints: []string{"pocket", "bond"}},
		Memory:     pleat.MemoryModel{Base: 100e6, Square: 100}, // here: the answer as text, and read
		Confidence: "pLDDT of the confidence model, from 0 to 100",
		Notice: "Boltz-2, a trained model of structures of proteins, nucleic acids and ligands, run at an endpoint that the operator named: sequences and ligands are sent there. " +
			"It takes no seed, so a run cannot be repeated exactly. Without alignments proteins are folded from their single sequences, less accurately.",
		Citations: []pleat.Citation{{Key: "passaro2025boltz2", BibTeX: "@article{passaro2025boltz2,\n  author  = {Passaro, Saro and Corso, Gabriele and Wohlwend, Jeremy and Reveiz, Mateo and Thaler, Stephan and Somnath, Vignesh Ram and Getz, Noah and Portnoi, Tally and Roy, Julien and Stark, Hannes and Kwabi-Addo, David and Beaini, Dominique and Jaakkola, Tommi and Barzilay, Regina},\n  title   = {{Boltz-2}: Towards Accurate and Efficient Binding Affinity Prediction},\n  journal = {bioRxiv},\n  year    = {2025},\n  doi     = {10.1101/2025.06.14.659707}\n}"}},
	}}
}

// Run makes one call and reads its answer.
func (n NIM) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	q, failure := newNIMQuery(w)
	if failure != nil {
		return pleat.Output{Failure: failure, Engine: nimName}
	}
	began := time.Now()
	sink.Progress("infer", 0, 0)
	c := &nimCall{NIM: n, client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, sink: sink}
	defer c.client.CloseIdleConnections()
	within, done := context.WithTimeout(ctx, c.timeout())
	defer done()
	answer, failure := c.predict(within, q)
	if ctx.Err() != nil { // the whole run's, not the call's
		return pleat.Output{Failure: Interrupted(ctx), Engine: nimName}
	}
	if failure != nil {
		failure.Message = c.hide(failure.Message)
		return pleat.Output{Failure: failure, Engine: nimName}
	}
	took := time.Since(began).Seconds()
	m, notes, err := answer.model(w, q)
	if err != nil {
		return pleat.Output{Failure: invalidOutput(err), Engine: nimName}
	}
	r := &report{work: w, engine: nimName, models: []model{*m}, timings: map[string]float64{"infer": took}, notes: append(q.notes, notes...)}
	return r.write(ctx, sink)
}

// nimCall is one fold at the endpoint.
type nimCall struct {
	NIM
	client *http.Client
	sink   pleat.Sink
}

func (c *nimCall) timeout() time.Duration { return cmp.Or(c.Timeout, 30*time.Minute) }

// hide keeps the key out of a sentence, whoever put it there.
func (c *nimCall) hide(s string) string {
	if c.Key == "" {
		return s
	}
	return strings.ReplaceAll(s, c.Key, "…")
}

// predict asks whether the endpoint is ready, calls it, and waits for an answer that was put off.
func (c *nimCall) predict(ctx context.Context, q *nimQuery) (*nimAnswer, *pleat.Failure) {
	if f := c.ready(ctx); f != nil {
		return nil, f
	}
	body, err := json.Marshal(q.request)
	if err != nil {
		return nil, pleat.Failed(pleat.FailInternal, "the job could not be written as JSON")
	}
	resp, f := c.do(ctx, http.MethodPost, strings.TrimRight(c.URL, "/")+"/biology/mit/boltz2/predict", body)
	for f == nil && resp.StatusCode == http.StatusAccepted {
		resp, f = c.later(ctx, resp)
	}
	if f != nil {
		return nil, f
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, c.refusal(ctx, resp)
	}
	most := cmp.Or(c.most, maxNIMAnswer)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, c.silent(ctx)
	}
	if int64(len(raw)) > most {
		return nil, pleat.Failed(pleat.FailOutputInvalid, fmt.Sprintf("the Boltz-2 endpoint answered more than %d MiB", most>>20))
	}
	var a nimAnswer
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, pleat.Failed(pleat.FailOutputInvalid, "the Boltz-2 endpoint answered something that is no prediction: "+oneLine(err.Error(), 200))
	}
	return &a, nil
}

// ready asks for the endpoint's health. One that has no such page, as the hosted one, is taken to be ready.
func (c *nimCall) ready(ctx context.Context) *pleat.Failure {
	resp, f := c.do(ctx, http.MethodGet, strings.TrimSuffix(strings.TrimRight(c.URL, "/"), "/v1")+"/v1/health/ready", nil)
	if f != nil {
		return f
	}
	drain(resp)
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		return &pleat.Failure{Kind: pleat.FailLoad, Message: fmt.Sprintf("the Boltz-2 endpoint is not ready: it answered %d", resp.StatusCode), Retry: true}
	}
	return nil
}

// drain ends with a response of which nothing is wanted.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxNIMRefusal))
	_ = resp.Body.Close()
}

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
		return nil, c.silent(ctx)
	}
	return resp, nil
}

// reqID is what an id of a call that was put off may be: it becomes part of an address.
var reqID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// later asks for the answer to a call that was put off. The endpoint itself waits up to a minute before it puts it off again.
func (c *nimCall) later(ctx context.Context, resp *http.Response) (*http.Response, *pleat.Failure) {
	id := resp.Header.Get("nvcf-reqid")
	drain(resp)
	if !reqID.MatchString(id) {
		return nil, pleat.Failed(pleat.FailOutputInvalid, "the Boltz-2 endpoint put the call off (202) without an id to ask for it by")
	}
	at := c.statusAddress()
	if at == "" {
		return nil, pleat.Failed(pleat.FailLoad, "the Boltz-2 endpoint put the call off (202), and nim-status-url says not where to ask for it")
	}
	t := time.NewTimer(cmp.Or(c.pause, time.Second))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil, c.silent(ctx)
	case <-t.C:
	}
	next, f := c.do(ctx, http.MethodGet, strings.ReplaceAll(at, "{id}", id), nil)
	if f == nil && next.StatusCode == http.StatusAccepted && next.Header.Get("nvcf-reqid") == "" {
		next.Header.Set("nvcf-reqid", id)
	}
	return next, f
}

func (c *nimCall) statusAddress() string {
	if c.Status != "" {
		return c.Status
	}
	if u, err := url.Parse(c.URL); err == nil && (u.Hostname() == "nvidia.com" || strings.HasSuffix(u.Hostname(), ".nvidia.com")) {
		return nimHosted // the key goes to no host that it was not meant for
	}
	return ""
}

// silent is the failure of a call that brought no answer.
func (c *nimCall) silent(ctx context.Context) *pleat.Failure {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &pleat.Failure{Kind: pleat.FailTimeout, Message: fmt.Sprintf("the Boltz-2 endpoint gave no answer within %s", c.timeout()), Retry: true}
	}
	return &pleat.Failure{Kind: pleat.FailLoad, Message: "the Boltz-2 endpoint cannot be reached, or broke the connection", Retry: true}
}

// refusal is the failure that an answer other than 200 stands for. The reason is given where the input is at fault; what else an
// endpoint says may be the operator's business alone.
func (c *nimCall) refusal(ctx context.Context, resp *http.Response) *pleat.Failure {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxNIMRefusal))
	if err != nil {
		return c.silent(ctx)
	}
	said := fmt.Sprintf("the Boltz-2 endpoint answered %d", resp.StatusCode)
	switch s := resp.StatusCode; {
	case s == http.StatusUnprocessableEntity || s == http.StatusBadRequest:
		return pleat.Failed(pleat.FailInvalidInput, "the Boltz-2 endpoint refused the input: "+nimReason(raw))
	case s == http.StatusRequestEntityTooLarge:
		return pleat.Failed(pleat.FailTooLarge, "the job is larger than the Boltz-2 endpoint takes")
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable || s == http.StatusBadGateway:
		return &pleat.Failure{Kind: pleat.FailLoad, Message: said, Retry: true}
	case s == http.StatusGatewayTimeout || s == http.StatusRequestTimeout:
		return &pleat.Failure{Kind: pleat.FailTimeout, Message: said, Retry: true}
	case s >= 500:
		return pleat.Failed(pleat.FailCrashed, said)
	case s == http.StatusUnauthorized || s == http.StatusForbidden || s == http.StatusPaymentRequired:
		return pleat.Failed(pleat.FailLoad, said+"; the operator has to check its key")
	}
	return pleat.Failed(pleat.FailLoad, said+"; the operator has to check its address")
}

// nimReason is the endpoint's own reason in one line: FastAPI's list of details, or a sentence under one of the usual names.
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
			return oneLine(text, 500)
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
		return oneLine(strings.Join(all, "; "), 500)
	}
	return "it gave no reason"
}
