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
)

// Server searches through ColabFold's HTTP interface: a ticket is asked for, looked at until it is complete, and its
// result fetched. It waits as long as the server asks it to, and never asks for a second ticket before the first is
// done (Finder sees to that).
type Server struct {
	URL   string // may hold a user and a password
	Mode  Mode   // empty: ModeEnv
	Agent string // User-Agent: a name, a version and where to ask

	// Key, if not empty, goes with every request, in the header KeyHeader: as a bearer token in Authorization, as it
	// is in any other. It never leaves the server's origin.
	Key       string
	KeyHeader string // empty: DefaultKeyHeader

	// For tests: how long a second lasts, and how much an archive may hold; 0: a second, maxUnpacked.
	unit time.Duration
	most int64
}

// DefaultKeyHeader is where the gateways before such servers commonly look for a key.
const DefaultKeyHeader = "X-API-Key"

// Bounds of how patiently a server is waited for, in seconds.
const (
	requestTime   = 60  // of asking for a ticket or after it
	downloadTime  = 900 // of fetching a result
	firstLook     = 1   // pauses between looks at a ticket grow from this
	lastLook      = 10  // to this
	firstPause    = 5   // pauses after a refusal double from this
	lastPause     = 60  // to this
	maxTrouble    = 6   // refusals one after another before the server counts as away; a rate limit is waited out
	maxUnknown    = 8   // looks at a ticket that the server does not know, before another is asked for
	maxTickets    = 3   // of one search
	maxTicketBody = 64 << 10
)

// ticket is what the server answers to a submission and to every look at it.
type ticket struct {
	ID     string `json:"id"`
	Status string `json:"status"`
}

// Database names the server and the mode; a password is no part of it.
func (s *Server) Database() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.URL + " " + string(s.mode())
	}
	u.User = nil
	return strings.TrimRight(u.String(), "/") + " " + string(s.mode())
}

// Pairs is true: the interface has tickets for pairs.
func (s *Server) Pairs() bool { return true }

func (s *Server) mode() Mode {
	if s.Mode == "" {
		return ModeEnv
	}
	return s.Mode
}

// Search sends the sequences, waits and reads the result.
func (s *Server) Search(ctx context.Context, sequences []string, pairing Pairing, say func(string)) ([]*Alignment,
	error) {
	v := visit{
		Server:  s,
		client:  &http.Client{CheckRedirect: sameHost},
		say:     say,
		pairing: pairing,
		wait:    cmp.Or(s.unit, time.Second),
	}
	defer v.client.CloseIdleConnections()
	for range maxTickets {
		id, err := v.ticket(ctx, sequences)
		if err != nil {
			return nil, err
		}
		if id == "" {
			say("the alignment server has lost the search; asking again")
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
	return nil, &Error{Message: "the alignment server lost the search again and again", Retry: true}
}

// sameHost keeps redirects on the origin they came from: the sequences and the key are for that alone.
func sameHost(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// read finds the alignments in a result's files.
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

// visit is one search at the server.
type visit struct {
	*Server
	client  *http.Client
	say     func(string)
	wait    time.Duration // a second
	pairing Pairing
	said    string
	trouble int
	pause   float64 // seconds, of the last refusal
}

// tell says what is new.
func (v *visit) tell(line string) {
	if line != v.said {
		v.said = line
		v.say(line)
	}
}

var ticketID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// ticket asks for a search and waits until it is complete. The id is empty where the server lost it.
func (v *visit) ticket(ctx context.Context, sequences []string) (string, error) {
	t, err := v.submit(ctx, sequences)
	if err != nil {
		return "", err
	}
	id, look, unknown := t.ID, float64(firstLook), 0
	for {
		switch t.Status {
		case "COMPLETE":
			return id, nil
		case "ERROR":
			return "", &Error{Message: "the alignment server failed on the search", Retry: true}
		case "PENDING":
			v.tell("the alignment server has queued the search")
		case "RUNNING":
			v.tell("the alignment server is searching")
		case "UNKNOWN":
			if unknown++; unknown > maxUnknown {
				return "", nil
			}
		default:
			return "", &Error{
				Message: fmt.Sprintf(
					"the alignment server's answer has the status %q, which is none of its interface's",
					clip([]byte(t.Status))),
			}
		}
		if t.Status != "UNKNOWN" {
			unknown = 0
		}
		if err := v.sleep(ctx, look); err != nil {
			return "", err
		}
		look = min(look*1.5, lastLook)
		if t, err = v.ask(ctx, http.MethodGet, "ticket/"+id, ""); err != nil {
			return "", err
		}
	}
}

// submit sends the sequences until the server takes them.
func (v *visit) submit(ctx context.Context, sequences []string) (ticket, error) {
	path, mode := "ticket/msa", string(v.mode())
	if v.pairing != PairNone {
		path, mode = "ticket/pair", "pair"+string(v.pairing)
	}
	var q strings.Builder
	for i, s := range sequences {
		fmt.Fprintf(&q, ">%d\n%s\n", firstID+i, s)
	}
	form := url.Values{"q": {q.String()}, "mode": {mode}}.Encode()
	for unknown := 0; ; unknown++ {
		t, err := v.ask(ctx, http.MethodPost, path, form)
		switch {
		case err != nil:
			return t, err
		case t.Status == "UNKNOWN" && unknown < maxUnknown: // it means: try again
			if err := v.sleep(ctx, firstPause); err != nil {
				return t, err
			}
			continue
		case t.Status == "ERROR":
			return t, &Error{Message: "the alignment server refused the search", Retry: true}
		case !ticketID.MatchString(t.ID):
			return t, &Error{Message: "the alignment server's answer has no id that could be asked after", Retry: true}
		}
		return t, nil
	}
}

// ask makes a request that is answered with a ticket, again and again while the server cannot be reached, is in
// maintenance, or asks for patience.
func (v *visit) ask(ctx context.Context, method, path, form string) (ticket, error) {
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
			err = v.refused(ctx, "the alignment server cannot be reached", 0, err)
		case t.Status == "RATELIMIT" || status == http.StatusTooManyRequests:
			v.tell("the alignment server asks for patience: too many searches at a time")
			v.trouble = 0
			err = v.rest(ctx, after)
		case t.Status == "MAINTENANCE":
			err = v.refused(ctx, "the alignment server is in maintenance", after, nil)
		case status >= 500 || status == http.StatusRequestTimeout:
			err = v.refused(ctx, fmt.Sprintf("the alignment server answered %d", status), after, nil)
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return t, &Error{Message: fmt.Sprintf("the alignment server answered %d; the operator has to check what "+
				"it asks for: a key, or a user and a password", status)}
		case status != http.StatusOK:
			return t, &Error{
				Message: fmt.Sprintf("the alignment server answered %d; the operator has to check its address", status),
			}
		case t.Status == "":
			err = v.refused(ctx, "the alignment server's answer is no ticket", after, nil)
		default:
			v.trouble, v.pause = 0, 0
			return t, nil
		}
		if err != nil {
			return t, err
		}
	}
}

// refused waits after a refusal, and gives up after maxTrouble of them.
func (v *visit) refused(ctx context.Context, why string, after time.Duration, err error) error {
	if v.trouble++; v.trouble >= maxTrouble {
		return &Error{Message: why, Retry: true, Err: err}
	}
	v.tell(why + "; trying again")
	return v.rest(ctx, after)
}

// rest waits as long as the server asked for, or twice as long as the last time.
func (v *visit) rest(ctx context.Context, after time.Duration) error {
	v.pause = min(max(2*v.pause, firstPause), lastPause)
	if after <= 0 {
		return v.sleep(ctx, v.pause)
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < after {
		return &Error{Message: fmt.Sprintf(
			"the alignment server asks to wait %.0f seconds, longer than a search may take here", after.Seconds()),
			Retry: true}
	}
	return v.sleep(ctx, after.Seconds()/v.wait.Seconds())
}

// sleep waits so many seconds and up to half as many more, so that workers which were refused together do not come back
// together.
func (v *visit) sleep(ctx context.Context, seconds float64) error {
	t := time.NewTimer(time.Duration(seconds * (1 + rand.Float64()/2) * float64(v.wait)))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// request sends one request and reads its short answer. An answer of any status is no error.
func (v *visit) request(ctx context.Context, method, path, form string) (status int, after time.Duration, body []byte,
	err error) {
	ctx, done := context.WithTimeout(ctx, requestTime*v.wait)
	defer done()
	resp, err := v.send(ctx, method, path, form)
	if err != nil {
		return 0, 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxTicketBody))
	return resp.StatusCode, retryAfter(resp.Header, time.Now()), body, err
}

func (v *visit) send(ctx context.Context, method, path, form string) (*http.Response, error) {
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
		var u *url.Error
		if errors.As(err, &u) { // its text holds the address, and what is in it
			err = u.Err
		}
		return nil, err
	}
	return resp, nil
}

// retryAfter reads the header, which holds seconds or a date; 0 where it is absent or makes no sense.
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

// result fetches and unpacks what a ticket found, again where the transfer broke.
func (v *visit) result(ctx context.Context, id string) (map[string][]byte, error) {
	v.tell("fetching the alignment")
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
		if err := v.refused(ctx, "the alignment could not be fetched whole", after, err); err != nil {
			return nil, err
		}
	}
}

func (v *visit) download(ctx context.Context, id string) (map[string][]byte, time.Duration, error) {
	ctx, done := context.WithTimeout(ctx, downloadTime*v.wait)
	defer done()
	resp, err := v.send(ctx, http.MethodGet, "result/download/"+id, "")
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	after := retryAfter(resp.Header, time.Now())
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
