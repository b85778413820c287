package msa

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat/internal/clock"
	"pleat/internal/words"
)

// Server searches through ColabFold's HTTP interface: it requests a ticket, polls it until it is complete, and fetches
// its result. It honours the waiting times that the server asks for. Finder makes sure that one process has at most one
// ticket at a time.
type Server struct {
	URL   string // may hold a user and a password
	Mode  Mode   // empty: ModeEnv
	Agent string // User-Agent: name, version and contact

	// Key, if not empty, is sent with every request in the header KeyHeader: as a bearer token if that is
	// Authorization, unchanged otherwise. It is sent to the origin of URL only.
	Key       string
	KeyHeader string // empty: DefaultKeyHeader

	Clock func() time.Time // for a Retry-After that is a date; nil: the machine's

	// Tests set these: the length of a second in pauses and in timeouts, and the limit of an archive in bytes; 0: a
	// second, maxUnpacked.
	pauseUnit, timeoutUnit time.Duration
	most                   int64
}

// DefaultKeyHeader is the header in which gateways in front of such servers commonly expect a key.
const DefaultKeyHeader = "X-API-Key"

// Times and limits of one search at a server. Times are in seconds.
const (
	requestTime   = 60  // timeout of requesting or polling a ticket
	downloadTime  = 900 // timeout of fetching a result
	firstPoll     = 1   // first interval between polls of a ticket
	lastPoll      = 10  // longest interval between polls
	firstPause    = 5   // first pause after a failure; it doubles each time
	lastPause     = 60  // longest pause after a failure
	maxFailures   = 6   // consecutive failures before the search fails; a rate limit is not a failure
	maxUnknown    = 8   // polls of a ticket that the server does not know, before a new ticket is requested
	maxTickets    = 3   // tickets for one search
	maxTicketBody = 64 << 10
)

// ticket is the server's answer to a submission and to every poll.
type ticket struct {
	ID string `json:"id"`
	// Status is PENDING, RUNNING, COMPLETE, ERROR, UNKNOWN, RATELIMIT or MAINTENANCE.
	Status string `json:"status"`
}

// Database returns the address of the server without a password, and the mode.
func (s *Server) Database() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.URL + " " + string(s.mode())
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/") + " " + string(s.mode())
}

// Pairs returns true: the interface has tickets for paired alignments.
func (s *Server) Pairs() bool { return true }

func (s *Server) mode() Mode {
	return cmp.Or(s.Mode, ModeEnv)
}

// Search implements Searcher.
func (s *Server) Search(ctx context.Context, sequences []string, pairing Pairing, report func(string)) ([]*Alignment,
	error) {
	v := serverSearch{
		Server:   s,
		client:   &http.Client{CheckRedirect: SameOrigin},
		progress: report,
		pairing:  pairing,
		second:   cmp.Or(s.pauseUnit, time.Second),
		allowed:  cmp.Or(s.timeoutUnit, time.Second),
	}
	defer v.client.CloseIdleConnections()
	for range maxTickets {
		id, err := v.ticket(ctx, sequences)
		if err != nil {
			return nil, err
		}
		if id == "" {
			report("the alignment server has lost the search; submitting it again")
			continue
		}
		files, err := v.result(ctx, id)
		if err != nil {
			return nil, err
		}
		out, err := s.read(files, sequences, pairing)
		if err != nil {
			return nil, &Error{Message: "the alignment server's answer cannot be used: " + err.Error(), Retry: true}
		}
		return out, nil
	}
	return nil, &Error{Message: "the alignment server lost the search several times", Retry: true}
}

// SameOrigin is the http.Client.CheckRedirect that follows a few redirects within one origin: the same scheme, host and
// port. A request of the service is meant for the origin that the operator has allowed, and never goes from https to
// http. The client gets any other redirect as the response.
func SameOrigin(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// read extracts the alignments from the files of a result.
func (s *Server) read(files map[string][]byte, sequences []string, pairing Pairing) ([]*Alignment, error) {
	first := "uniref.a3m"
	if pairing != PairNone {
		first = "pair.a3m"
	}
	if files[first] == nil {
		return nil, fmt.Errorf("it has no file %s", first)
	}
	list := [][]byte{files[first]}
	if pairing != PairNone {
		out, err := gather(list, sequences)
		if err == nil {
			err = checkPaired(out)
		}
		return out, err
	}
	var more []string
	for name := range files {
		if name != first && name != "pair.a3m" {
			more = append(more, name)
		}
	}
	slices.Sort(more)
	if without, env := map[Mode]Mode{ModeEnv: ModeAll, ModeEnvNoFilter: ModeNoFilter}[s.mode()]; env && len(more) == 0 {
		return nil, fmt.Errorf("it has no environmental sequences; the operator can search without them by msa-mode %s",
			without)
	}
	for _, name := range more {
		list = append(list, files[name])
	}
	return gather(list, sequences)
}

// serverSearch is one search at the server.
type serverSearch struct {
	*Server
	client   *http.Client
	progress func(string)  // of the caller; see report
	second   time.Duration // how long a second lasts in pauses
	allowed  time.Duration // and in timeouts
	pairing  Pairing
	lastLine string  // of progress
	failures int     // consecutive
	pause    float64 // seconds, after the last failure
}

// report sends a line of progress unless it equals the previous one.
func (v *serverSearch) report(line string) {
	if line != v.lastLine {
		v.lastLine = line
		v.progress(line)
	}
}

// ticketID matches ids that can be part of a path. The server chooses them, so others are refused.
var ticketID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// ticket submits the sequences and waits until the search is complete. The id is empty if the server has lost it.
func (v *serverSearch) ticket(ctx context.Context, sequences []string) (string, error) {
	t, err := v.submit(ctx, sequences)
	if err != nil {
		return "", err
	}
	id, interval, unknown := t.ID, float64(firstPoll), 0
	for {
		switch t.Status {
		case "COMPLETE":
			return id, nil
		case "ERROR":
			return "", &Error{Message: "the alignment server failed on the search", Retry: true}
		case "PENDING":
			v.report("the alignment server has queued the search")
		case "RUNNING":
			v.report("the alignment server is searching")
		case "UNKNOWN":
			if unknown++; unknown > maxUnknown {
				return "", nil
			}
		default:
			return "", &Error{
				Message: fmt.Sprintf(
					"the alignment server's answer has the status %q, which its interface does not define",
					clip([]byte(t.Status))),
			}
		}
		if t.Status != "UNKNOWN" {
			unknown = 0
		}
		if err := v.sleep(ctx, interval); err != nil {
			return "", err
		}
		interval = min(interval*1.5, lastPoll)
		if t, err = v.requestTicket(ctx, http.MethodGet, "ticket/"+id, ""); err != nil {
			return "", err
		}
	}
}

// submit sends the sequences until the server accepts them.
func (v *serverSearch) submit(ctx context.Context, sequences []string) (ticket, error) {
	path, mode := "ticket/msa", string(v.mode())
	if v.pairing != PairNone {
		path, mode = "ticket/pair", "pair"+string(v.pairing)
	}
	form := url.Values{"q": {string(fasta(sequences))}, "mode": {mode}}.Encode()
	for unknown := 0; ; unknown++ {
		t, err := v.requestTicket(ctx, http.MethodPost, path, form)
		switch {
		case err != nil:
			return t, err
		case t.Status == "UNKNOWN" && unknown < maxUnknown: // the server means: try again
			if err := v.sleep(ctx, firstPause); err != nil {
				return t, err
			}
			continue
		case t.Status == "ERROR":
			return t, &Error{Message: "the alignment server refused the search", Retry: true}
		case !ticketID.MatchString(t.ID):
			return t, &Error{Message: "the alignment server's answer has no valid ticket id", Retry: true}
		}
		return t, nil
	}
}

// requestTicket sends a request whose answer is a ticket. It retries while the server is unreachable, in maintenance or
// limits the rate.
func (v *serverSearch) requestTicket(ctx context.Context, method, path, form string) (ticket, error) {
	for {
		var t ticket
		status, after, raw, err := v.request(ctx, method, path, form)
		if err == nil {
			if json.Unmarshal(raw, &t) != nil {
				t = ticket{}
			}
		}
		t.Status = strings.ToUpper(strings.TrimSpace(t.Status))
		switch {
		case ctx.Err() != nil:
			return t, context.Cause(ctx)
		case err != nil:
			err = v.retryLater(ctx, "the alignment server cannot be reached", 0, err)
		case t.Status == "RATELIMIT" || status == http.StatusTooManyRequests:
			v.report("the alignment server limits the rate; waiting")
			v.failures = 0
			err = v.backOff(ctx, after)
		case t.Status == "MAINTENANCE":
			err = v.retryLater(ctx, "the alignment server is in maintenance", after, nil)
		case status >= 500 || status == http.StatusRequestTimeout:
			err = v.retryLater(ctx, fmt.Sprintf("the alignment server answered %d", status), after, nil)
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return t, &Error{Message: fmt.Sprintf("the alignment server answered %d; "+
				"the operator has to check what it asks for: a key, or a user and a password", status)}
		case status != http.StatusOK:
			return t, &Error{
				Message: fmt.Sprintf("the alignment server answered %d; the operator has to check its address", status),
			}
		case t.Status == "":
			err = v.retryLater(ctx, "the alignment server's answer is not a ticket", after, nil)
		default:
			v.failures, v.pause = 0, 0
			return t, nil
		}
		if err != nil {
			return t, err
		}
	}
}

// retryLater waits after a failure. It returns an error after maxFailures consecutive failures.
func (v *serverSearch) retryLater(ctx context.Context, why string, after time.Duration, err error) error {
	if v.failures++; v.failures >= maxFailures {
		return &Error{Message: why, Retry: true, Err: err}
	}
	v.report(why + "; trying again")
	return v.backOff(ctx, after)
}

// backOff waits as long as the server asked for, or else twice as long as the last time.
func (v *serverSearch) backOff(ctx context.Context, after time.Duration) error {
	v.pause = min(max(2*v.pause, firstPause), lastPause)
	if after <= 0 {
		return v.sleep(ctx, v.pause)
	}
	if end, ok := ctx.Deadline(); ok && clock.Until(end) < after {
		return &Error{Message: fmt.Sprintf(
			"the alignment server asks to wait %.0f seconds, longer than a search may take here", after.Seconds()),
			Retry: true}
	}
	return v.sleep(ctx, after.Seconds()/v.second.Seconds())
}

// sleep waits the given number of seconds plus a random part of up to half of it, so that workers do not retry at the
// same moment.
func (v *serverSearch) sleep(ctx context.Context, seconds float64) error {
	t := time.NewTimer(time.Duration(seconds * (1 + rand.Float64()/2) * float64(v.second)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// request sends one request and reads its short answer. The status of an answer is not an error.
func (v *serverSearch) request(ctx context.Context, method, path, form string) (status int, after time.Duration,
	body []byte,
	err error) {
	ctx, done := context.WithTimeout(ctx, requestTime*v.allowed)
	defer done()
	resp, err := v.send(ctx, method, path, form)
	if err != nil {
		return 0, 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxTicketBody))
	return resp.StatusCode, retryAfter(resp.Header, clock.Or(v.Clock)()), body, err
}

// send sends a request with the key, if there is one. The caller closes the body of the answer.
func (v *serverSearch) send(ctx context.Context, method, path, form string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(v.URL, "/")+"/"+path, strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("User-Agent", v.Agent)
	if v.Key != "" {
		name, value := cmp.Or(v.KeyHeader, DefaultKeyHeader), v.Key
		if http.CanonicalHeaderKey(name) == "Authorization" {
			value = "Bearer " + value
		}
		req.Header.Set(name, value)
	}
	resp, err := v.client.Do(req)
	if err != nil {
		return nil, words.WithoutAddress(err)
	}
	return resp, nil
}

// retryAfter parses the header Retry-After, seconds or a date. It returns 0 if the header is absent or invalid.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n < 1e6 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// result fetches and unpacks the result of a ticket. It retries an interrupted transfer.
func (v *serverSearch) result(ctx context.Context, id string) (map[string][]byte, error) {
	v.report("fetching the alignment")
	for {
		files, after, err := v.download(ctx, id)
		var final *Error
		switch {
		case err == nil:
			return files, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.As(err, &final):
			return nil, err
		}
		if err := v.retryLater(ctx, "the alignment could not be fetched whole", after, err); err != nil {
			return nil, err
		}
	}
}

// download fetches a result and unpacks it. An Error is final. After any other error the caller tries again, not before
// the duration has passed that the server asked for; 0: it asked for none.
func (v *serverSearch) download(ctx context.Context, id string) (map[string][]byte, time.Duration, error) {
	ctx, done := context.WithTimeout(ctx, downloadTime*v.allowed)
	defer done()
	resp, err := v.send(ctx, http.MethodGet, "result/download/"+id, "")
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	after := retryAfter(resp.Header, clock.Or(v.Clock)())
	switch {
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return nil, after, fmt.Errorf("the server answered %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, 0, &Error{
			Message: fmt.Sprintf("the alignment server has no result: it answered %d", resp.StatusCode), Retry: true,
		}
	}
	bounded := &io.LimitedReader{R: resp.Body, N: maxArchive + 1}
	files, err := unpack(bounded, cmp.Or(v.most, maxUnpacked))
	switch {
	case bounded.N <= 0:
		return nil, 0, &Error{
			Message: fmt.Sprintf("the alignment server's answer has more than %d MiB", maxArchive>>20),
		}
	case err == nil || errors.Is(err, errArchive):
		return files, after, err
	}
	return nil, 0, &Error{Message: "the alignment server's answer cannot be used: " + err.Error()}
}
