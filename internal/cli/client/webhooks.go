package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/webhook"
)

// webhooksCmd returns the group of commands on deliveries. listen is a receiver and needs no server; the others are
// clients of a server.
func webhooksCmd() *cobra.Command {
	return cli.Group("webhooks", "Receive, list and resend webhook deliveries", "",
		webhooksListen(), webhooksList(), webhooksRedeliver(), webhooksTest(), webhooksEndpoints())
}

// webhooksListen returns the command that receives deliveries during development and prints one line for each. It runs
// until SIGINT or SIGTERM and ends with cli.ExitOK. It stores nothing.
func webhooksListen() *cobra.Command {
	c := cli.Configured(&cobra.Command{
		Use:   "listen",
		Short: "Receive deliveries, verify them and print them",
		Long: `Receives webhook deliveries during development. It verifies the signature with PLEAT_WEBHOOK_SECRET and
the token with PLEAT_WEBHOOK_TOKEN, if they are set, and prints one line per delivery: the result of the
verification, the webhook-id and the event. It answers 200 to a valid delivery and 401 to any other;
--answer sets other status codes, to test retries. Once it listens, it prints: listening on
http://HOST:PORT.

The server must allow deliveries to this network, as make run does for loopback:
PLEAT_WEBHOOK_ALLOW=127.0.0.1.`,
		Example: `  PLEAT_WEBHOOK_SECRET=whsec_… pleat webhooks listen --listen 127.0.0.1:9000
  pleat webhooks listen --answer 500,500,200 --json`,
	}, func(cmd *cobra.Command, c config.Config, _ []string) error {
		keys, err := c.VerificationKeys()
		if err != nil {
			return err
		}
		l := &listener{keys: keys, token: c.WebhookToken, out: cmd.OutOrStdout(), json: cli.IsOn(cmd, "json")}
		answers, _ := cmd.Flags().GetStringSlice("answer")
		if err := l.setAnswers(answers); err != nil {
			return err
		}
		return l.serve(cmd.Context(), cli.FlagText(cmd, "listen"))
	})
	f := c.Flags()
	f.String("listen", "127.0.0.1:9000", "address to listen on; port 0 selects a free port, which is printed")
	f.StringSlice("answer", nil, "status codes for the first deliveries, separated by commas; "+
		"the last one applies to all further deliveries")
	f.Bool("json", false, "print each delivery as JSON with its body")
	return c
}

// listener is a receiver that verifies deliveries, prints them and answers with chosen status codes.
type listener struct {
	// keys verify the signature, and token is the expected X-Webhook-Token. Without them nothing is verified.
	keys  []webhook.Key
	token string
	// json selects the format of the lines.
	json bool
	out  io.Writer
	// mu guards answers and the lines of out.
	mu sync.Mutex
	// answers are the status codes of the next deliveries. The last one is not used up; empty: 200.
	answers []int
}

// setAnswers parses the flag --answer: HTTP status codes from 200 to 599.
func (l *listener) setAnswers(answers []string) error {
	for _, a := range answers {
		n, err := strconv.Atoi(a)
		if err != nil || n < 200 || n > 599 {
			return cli.Usagef("--answer has %q; a status code is 200 to 599", pleat.Clip(a))
		}
		l.answers = append(l.answers, n)
	}
	return nil
}

// serve prints the address once it listens, and receives deliveries until ctx ends. Deliveries in progress then have 3
// s.
func (l *listener) serve(ctx context.Context, addr string) error {
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s; choose another address with --listen: %w", pleat.Clip(addr), err)
	}
	fmt.Fprintln(l.out, "listening on "+config.LocalURL(listen.Addr().String()))
	srv := &http.Server{
		Handler:           http.HandlerFunc(l.receive),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		MaxHeaderBytes:    32 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(listen) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err = srv.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// receive verifies one delivery, prints it and responds. A body of more than 1 MiB is refused.
func (l *listener) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body is too large or incomplete", http.StatusBadRequest)
		return
	}
	fault := l.verify(r, body)
	status := l.next(fault)
	l.print(r, body, fault, status)
	w.WriteHeader(status)
}

// verify returns what is wrong with a delivery: its method, its token, or its signature and time stamp, which may be
// webhook.Tolerance from now. Empty: nothing.
func (l *listener) verify(r *http.Request, body []byte) string {
	if r.Method != http.MethodPost {
		return "the method is " + pleat.Clip(r.Method)
	}
	if l.token != "" && r.Header.Get(webhook.HeaderToken) != l.token {
		return "X-Webhook-Token does not match"
	}
	if len(l.keys) > 0 {
		err := webhook.Verify(r.Header, body, time.Now(), webhook.Tolerance, l.keys...)
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

// next returns the status code of the response: 401 after a fault, which uses up no code of --answer.
func (l *listener) next(fault string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if fault != "" {
		return http.StatusUnauthorized
	}
	if len(l.answers) == 0 {
		return http.StatusOK
	}
	status := l.answers[0]
	if len(l.answers) > 1 {
		l.answers = l.answers[1:]
	}
	return status
}

// received is a delivery in the output of --json. Verified is false if there was nothing to verify with; Fault says why
// a delivery was refused; Answered is the status code of the response.
type received struct {
	Verified  bool            `json:"verified"`
	Fault     string          `json:"fault,omitempty"`
	Answered  int             `json:"answered"`
	ID        string          `json:"webhook_id"`
	Timestamp string          `json:"webhook_timestamp"`
	Type      string          `json:"content_type"`
	Body      json.RawMessage `json:"body"`
}

// print writes one line for a delivery: "verified", "unverified" if there is nothing to verify with, or "REFUSED" with
// the reason; then the webhook-id, the event and the status code. With --json it is a JSON object.
func (l *listener) print(r *http.Request, body []byte, fault string, status int) {
	id := r.Header.Get(webhook.HeaderID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		if !json.Valid(body) {
			body, _ = json.Marshal(string(body)) // a string: cannot fail
		}
		b, err := json.Marshal(received{
			Verified:  fault == "" && len(l.keys) > 0,
			Fault:     fault,
			Answered:  status,
			ID:        id,
			Timestamp: r.Header.Get(webhook.HeaderTimestamp),
			Type:      r.Header.Get("Content-Type"),
			Body:      body,
		})
		if err == nil {
			fmt.Fprintf(l.out, "%s\n", b)
		}
		return
	}
	word := "verified"
	switch {
	case fault != "":
		word = "REFUSED (" + fault + ")"
	case len(l.keys) == 0:
		word = "unverified"
	}
	fmt.Fprintf(l.out, "%s %s %s answered %d\n", word, pleat.Clip(id), summary(body), status)
}

// summary returns the source, its identifier, the name and the status of the event in a body, which may be a
// CloudEvent.
func summary(body []byte) string {
	type event struct {
		SourceKind string `json:"source_kind"`
		Name       string `json:"event_name"`
		Status     string `json:"status"`
		SourceID   string `json:"source_id"`
	}
	var b struct {
		Event event `json:"event"`
		Data  struct {
			Event event `json:"event"`
		} `json:"data"` // CloudEvents
	}
	if json.Unmarshal(body, &b) != nil {
		return "not JSON"
	}
	e := b.Event
	if e == (event{}) {
		e = b.Data.Event
	}
	kind, id, name, status := pleat.Clip(e.SourceKind), pleat.Clip(e.SourceID), pleat.Clip(e.Name), pleat.Clip(e.Status)
	return strings.Join([]string{kind, id, name, status}, " ")
}

// webhooksList returns the command that lists deliveries to the caller's endpoint, or shows one delivery with all its
// attempts.
func webhooksList() *cobra.Command {
	var f api.DeliveriesFilter
	c := inProject(&cobra.Command{
		Use:   "list [DELIVERY]",
		Short: "List deliveries, newest first, or show one with its attempts",
		Args:  cobra.MaximumNArgs(1),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		if len(args) == 1 {
			return showDelivery(cmd, c, args[0])
		}
		if err := resolveEndpoint(cmd.Context(), c, &f.Endpoint); err != nil {
			return err
		}
		list, err := c.Deliveries(cmd.Context(), f)
		if err != nil {
			return err
		}
		return printDeliveries(cmd, list)
	})
	fl := c.Flags()
	fl.StringVar(&f.Status, "status", "", "only deliveries with this status: PENDING, RUNNING, SUCCEEDED or FAILED")
	fl.StringVar(&f.SourceID, "job", "", "only deliveries of this job")
	fl.StringVar(&f.Endpoint, "endpoint", "", "only deliveries to this endpoint, by its name or id")
	return withPages(c, "deliveries", &f.Limit, &f.Cursor)
}

// printDeliveries prints a page of deliveries. A column names their endpoints if one has a name.
func printDeliveries(cmd *cobra.Command, list api.List[api.Delivery]) error {
	head := []string{
		"DELIVERY", "STATUS", "EVENT", "ABOUT", "SOURCE", "ATTEMPTS", "RESPONSE", "CREATED", "NEXT ATTEMPT",
	}
	row := func(d *api.Delivery) []string {
		attempts, response := strconv.Itoa(d.Attempts), cli.NumberOrDash(d.ResponseStatus)
		created, next := d.CreatedAt.Format(time.DateTime), cli.FormatTime(d.NextAttemptAt)
		about := strings.TrimSuffix(d.SourceKind, "_job")
		return []string{d.ID, d.Status, d.EventName, about, d.SourceID, attempts, response, created, next}
	}
	isNamed := func(d api.Delivery) bool { return d.EndpointName != nil }
	if !slices.ContainsFunc(list.Data, isNamed) {
		return printList(cmd, list, head, row)
	}
	const place = 2 // after the status
	return printList(cmd, list, slices.Insert(head, place, "ENDPOINT"), func(d *api.Delivery) []string {
		return slices.Insert(row(d), place, cli.TextOrDash(d.EndpointName))
	})
}

// showDelivery prints one delivery and a table of its attempts, with durations in ms.
func showDelivery(cmd *cobra.Command, c *api.Client, id string) error {
	if err := checkIdentifier("delivery", id); err != nil {
		return err
	}
	d, err := c.Delivery(cmd.Context(), id)
	if err != nil {
		return err
	}
	return cli.PrintResult(cmd, d, func() error {
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s\n", d.ID, d.Status, d.EventName)
		head := []string{"ATTEMPT", "STARTED", "OUTCOME", "RESPONSE", "DURATION", "REASON"}
		return cli.PrintTable(cmd.OutOrStdout(), cli.Rows(head, d.AttemptLog, func(a *api.DeliveryAttempt) []string {
			return []string{
				strconv.Itoa(a.Number),
				a.StartedAt.Format(time.DateTime),
				a.Outcome,
				cli.NumberOrDash(a.ResponseStatus),
				fmt.Sprintf("%.0f ms", a.Timings.Total),
				cli.ValueOr(a.Message, ""),
			}
		}))
	})
}

// webhooksRedeliver returns the command that sends deliveries again, one or all that the flags select. The
// webhook-id stays the same, so that receivers recognise a repetition.
func webhooksRedeliver() *cobra.Command {
	var in api.Redeliver
	c := inProject(&cobra.Command{
		Use:   "redeliver [DELIVERY]",
		Short: "Resend deliveries with the same webhook-id",
		Long: `Resends one finished delivery, or all that match --status, --since, --job and --endpoint, at most a
thousand. With --status PENDING, those that wait for their next attempt are sent now.`,
		Example: `  pleat webhooks redeliver 01890a5d-ac96-774b-bcce-b302099a8057
  pleat webhooks redeliver --status FAILED --since 2026-01-02T15:04:05Z
  pleat webhooks redeliver --status PENDING`,
		Args: cobra.MaximumNArgs(1),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		if len(args) == 0 {
			if in == (api.Redeliver{}) {
				return cli.Usagef("%s needs a delivery, or at least one of --status, --since, --job and --endpoint",
					cmd.CommandPath())
			}
			if err := resolveEndpoint(cmd.Context(), c, &in.Endpoint); err != nil {
				return err
			}
			out, err := c.Redeliver(cmd.Context(), in)
			return cli.Say(cmd, err, "%d deliveries will be sent again", out.Redelivered)
		}
		if in != (api.Redeliver{}) {
			return cli.Usagef("%s accepts a delivery or flags that select several, not both", cmd.CommandPath())
		}
		if err := checkIdentifier("delivery", args[0]); err != nil {
			return err
		}
		d, err := c.RedeliverOne(cmd.Context(), args[0])
		return cli.Say(cmd, err, "%s %s", d.ID, d.Status)
	})
	f := c.Flags()
	f.StringVar(&in.Status, "status", "", "deliveries with this status: SUCCEEDED, FAILED or PENDING")
	f.StringVar(&in.Since, "since", "", "deliveries of events since this time, such as 2026-01-02T15:04:05Z")
	f.StringVar(&in.SourceID, "job", "", "deliveries of this job")
	f.StringVar(&in.Endpoint, "endpoint", "", "deliveries to this endpoint, by its name or id")
	return c
}

// webhooksTest returns the command that has the server send a test delivery to the caller's endpoint, and waits for the
// first attempt. The exit code is cli.ExitFailed if it was not answered with success. Each repetition sends a further
// delivery, which is listed like any other.
func webhooksTest() *cobra.Command {
	return inProject(&cobra.Command{
		Use:   "test",
		Short: "Send a test delivery to your webhook and show the result",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		d, err := c.TestWebhook(cmd.Context())
		if err != nil {
			return err
		}
		return awaitAttempt(cmd, c, d.ID)
	})
}

// awaitAttempt waits up to 30 s for the first attempt of a delivery and prints its result. A failed attempt is an error
// that gives the reason; the server may try again later.
func awaitAttempt(cmd *cobra.Command, c *api.Client, id string) error {
	for end := time.Now().Add(30 * time.Second); ; {
		d, err := c.Delivery(cmd.Context(), id)
		if err != nil {
			return err
		}
		if d.Attempts > 0 {
			last := d.AttemptLog[len(d.AttemptLog)-1]
			if d.Status == string(pleat.DeliverySucceeded) {
				fmt.Fprintf(cmd.OutOrStdout(), "%s delivered: answered %s in %.0f ms\n",
					id, cli.NumberOrDash(last.ResponseStatus), last.Timings.Total)
				return nil
			}
			return fmt.Errorf("%s was not delivered: %s", id, cli.ValueOr(last.Message, "the attempt failed"))
		}
		if time.Now().After(end) {
			const text = "%s is still %s after 30 s; to see its attempts, run: pleat webhooks list %s"
			return fmt.Errorf(text, id, d.Status, id)
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
