package msa

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"pleat"
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

	Clock func() time.Time // for times that are shown, and a Retry-After that is a date; nil: the machine's

	// SharePause, if set, tells the other processes of the service that a server, by its host, asked for a pause,
	// unless that is 0. It returns for how long the server is still to be left alone, as far as any process knows.
	SharePause func(ctx context.Context, host string, pause time.Duration) time.Duration

	paused pause

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
	askInterval   = 10  // shortest time between two questions to the other processes, while there is no pause
	shortPause    = 60  // pause that a server asks for, below which its end is not reported
	maxJitter     = 30  // longest random part of a pause
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
		allowed:  cmp.Or(s.timeoutUnit, time.Second),
	}
	if end, ok := ctx.Deadline(); ok {
		v.longest = clock.Until(end)
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
			return nil, unusable(err)
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
	allowed  time.Duration // how long a second lasts in timeouts
	longest  time.Duration // that the search may take; 0: without end
	pairing  Pairing
	lastLine string          // of progress
	failures int             // consecutive
	pause    float64         // seconds, after the last failure
	asked    clock.Stopwatch // when the other processes were last asked about a pause; see pauseLeft
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
			return t, &Error{Message: "the alignment server's answer has no valid ticket id"}
		}
		return t, nil
	}
}

// requestTicket sends a request whose answer is a ticket. It retries while the server is unreachable, in maintenance or
// limits the rate. An answer that another request would get too ends the search.
func (v *serverSearch) requestTicket(ctx context.Context, method, path, form string) (ticket, error) {
	for {
		var t ticket
		if err := v.awaitTurn(ctx); err != nil {
			return t, err
		}
		a, err := v.request(ctx, method, path, form)
		if err == nil && json.Unmarshal(a.body, &t) != nil {
			t = ticket{}
		}
		t.Status = strings.ToUpper(strings.TrimSpace(t.Status))
		switch {
		case ctx.Err() != nil:
			return t, context.Cause(ctx)
		case err != nil:
			err = v.retryLater(ctx, "the alignment server cannot be reached", 0, err)
		case t.Status == "RATELIMIT" || a.status == http.StatusTooManyRequests:
			if v.failures = 0; a.after == 0 {
				v.report("the alignment server limits the rate; waiting")
			}
			err = v.backOff(ctx, a.after)
		case t.Status == "MAINTENANCE":
			err = v.retryLater(ctx, "the alignment server is in maintenance", a.after, nil)
		case transient(a.status):
			err = v.retryLater(ctx, fmt.Sprintf("the alignment server answered %d", a.status), a.after, nil)
		case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
			return t, &Error{Message: fmt.Sprintf("the alignment server answered %d; "+
				"the operator has to check what it asks for: a key, or a user and a password", a.status)}
		case a.status != http.StatusOK:
			return t, &Error{Message: fmt.Sprintf(
				"the alignment server answered %d; the operator has to check its address", a.status)}
		case len(bytes.TrimSpace(a.body)) == 0:
			err = v.retryLater(ctx, "the alignment server's answer is empty", a.after, nil)
		case t.Status == "":
			return t, unexpected("ticket", a.media, a.body)
		default:
			v.failures, v.pause = 0, 0
			return t, nil
		}
		if err != nil {
			return t, err
		}
	}
}

// transient reports whether another request may get another status: the server failed, or the time was over.
func transient(status int) bool { return status >= 500 || status == http.StatusRequestTimeout }

// unexpected returns the error for an answer that is not what was asked for, but the page of a proxy for example. It
// quotes the beginning of the answer's first line.
func unexpected(want, media string, body []byte) *Error {
	body = bytes.TrimSpace(body)
	if end := bytes.IndexFunc(body, unicode.IsControl); end > 0 {
		body = body[:end]
	}
	return &Error{Message: fmt.Sprintf("the alignment server's answer is no %s but %s that begins with %q; "+
		"the operator has to check its address", want, media, clip(body))}
}

// retryLater waits after a failure. It returns an error after maxFailures consecutive failures.
func (v *serverSearch) retryLater(ctx context.Context, why string, after time.Duration, err error) error {
	if v.failures++; v.failures >= maxFailures {
		return &Error{Message: why, Retry: true, Err: err, RetryAfter: v.leaveAlone(ctx, after)}
	}
	v.report(why + "; trying again")
	return v.backOff(ctx, after)
}

// backOff waits twice as long as the last time. If the server asked for a pause, it records that instead: the next
// request waits for its turn.
func (v *serverSearch) backOff(ctx context.Context, after time.Duration) error {
	v.pause = min(max(2*v.pause, firstPause), lastPause)
	if after > 0 {
		v.leaveAlone(ctx, after)
		v.asked = clock.Stopwatch{}
		return nil
	}
	return v.sleep(ctx, v.pause)
}

// answer is the answer to a request that is not a download.
type answer struct {
	status int
	after  time.Duration // that the server asks to be left alone for; 0: it does not
	media  string
	body   []byte
}

// request sends one request and reads its short answer. The status of an answer is not an error.
func (v *serverSearch) request(ctx context.Context, method, path, form string) (answer, error) {
	ctx, done := context.WithTimeout(ctx, requestTime*v.allowed)
	defer done()
	resp, err := v.send(ctx, method, path, form)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, after: v.retryAfter(resp), media: mediaType(resp)}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, maxTicketBody))
	return a, err
}

// retryAfter returns for how long a response asks to leave the server alone; 0: it does not.
func (s *Server) retryAfter(resp *http.Response) time.Duration {
	return clock.RetryAfter(resp.Header, s.Clock, pleat.MaxSearchPause)
}

// mediaType returns the type of the content of a response for a message.
func mediaType(resp *http.Response) string {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return "data without a type"
	}
	return clip([]byte(media))
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

// result fetches and unpacks the result of a ticket. It retries an interrupted transfer.
func (v *serverSearch) result(ctx context.Context, id string) (map[string][]byte, error) {
	v.report("fetching the alignment")
	for {
		if err := v.awaitTurn(ctx); err != nil {
			return nil, err
		}
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
	switch {
	case transient(resp.StatusCode) || resp.StatusCode == http.StatusTooManyRequests:
		return nil, v.retryAfter(resp), fmt.Errorf("the server answered %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, 0, &Error{
			Message: fmt.Sprintf("the alignment server has no result: it answered %d", resp.StatusCode),
		}
	}
	bounded := &io.LimitedReader{R: resp.Body, N: maxArchive + 1}
	in := bufio.NewReader(bounded)
	if head, _ := in.Peek(peeked); len(head) > 1 && !bytes.HasPrefix(head, gzipMagic) {
		return nil, 0, unexpected("gzipped archive", mediaType(resp), head)
	}
	files, err := unpack(in, cmp.Or(v.most, maxUnpacked))
	switch {
	case bounded.N <= 0:
		return nil, 0, &Error{
			Message: fmt.Sprintf("the alignment server's answer has more than %d MiB", maxArchive>>20),
		}
	case err == nil || errors.Is(err, errArchive):
		return files, 0, err
	}
	return nil, 0, unusable(err)
}

// unusable returns the error for an answer that came whole and cannot be used: the next would be the same.
func unusable(err error) *Error {
	return &Error{Message: "the alignment server's answer cannot be used: " + err.Error()}
}
