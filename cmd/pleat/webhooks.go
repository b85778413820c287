package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/webhook"
)

func webhooksCmd() *cobra.Command {
	return group("webhooks", "Receive, list and repeat webhook deliveries", "", webhooksListen(), webhooksList(), webhooksRedeliver(), webhooksTest())
}

func webhooksListen() *cobra.Command {
	c := &cobra.Command{
		Use:   "listen",
		Short: "Receive deliveries, verify them and print them",
		Long: `Receives deliveries for developers: verifies the signature with PLEAT_WEBHOOK_SECRET and the token with PLEAT_WEBHOOK_TOKEN, where
they are set, and prints one line per delivery: whether it holds, the webhook-id, and what it tells. It answers 200 to what holds and
401 to what does not; --answer makes it answer otherwise, to see repeats. Once it listens, it prints: listening on http://HOST:PORT.
The server must allow the network, as make run does for loopback: PLEAT_WEBHOOK_ALLOW=127.0.0.1.`,
		Example: `  PLEAT_WEBHOOK_SECRET=whsec_… pleat webhooks listen --listen 127.0.0.1:9000
  pleat webhooks listen --answer 500,500,200 --json`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := configure(cmd)
			if err != nil {
				return err
			}
			keys, err := c.VerificationKeys()
			if err != nil {
				return err
			}
			l := &listener{keys: keys, token: c.WebhookToken, out: cmd.OutOrStdout()}
			l.json, _ = cmd.Flags().GetBool("json")
			answers, _ := cmd.Flags().GetStringSlice("answer")
			if err := l.parse(answers); err != nil {
				return err
			}
			addr, _ := cmd.Flags().GetString("listen")
			return l.serve(cmd.Context(), addr)
		},
	}
	f := c.Flags()
	f.String("listen", "127.0.0.1:9000", "address to listen on; port 0 takes a free one and prints it")
	f.StringSlice("answer", nil, "statuses to answer the first deliveries with, separated by commas; the last one goes on; gone for a while: close")
	f.Bool("json", false, "print each delivery as JSON, body included")
	f.String("config", "", "YAML file of settings; PLEAT_CONFIG")
	return c
}

// listener is a receiver that verifies what it gets.
type listener struct {
	keys    []webhook.Key
	token   string
	json    bool
	out     io.Writer
	mu      sync.Mutex
	answers []int // left to give; the last one stays
}

func (l *listener) parse(answers []string) error {
	for _, a := range answers {
		n, err := strconv.Atoi(a)
		if err != nil || n < 200 || n > 599 {
			return usagef("--answer has %q; a status is 200 to 599", pleat.Clip(a))
		}
		l.answers = append(l.answers, n)
	}
	return nil
}

func (l *listener) serve(ctx context.Context, addr string) error {
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s; choose another address with --listen: %w", pleat.Clip(addr), err)
	}
	fmt.Fprintln(l.out, "listening on "+app.LocalURL(listen.Addr()))
	srv := &http.Server{Handler: http.HandlerFunc(l.receive), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, MaxHeaderBytes: 32 << 10}
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

// receive answers one delivery.
func (l *listener) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body is too large or broken", http.StatusBadRequest)
		return
	}
	fault := l.verify(r, body)
	status := l.next(fault)
	l.print(r, body, fault, status)
	w.WriteHeader(status)
}

// verify says what is wrong with a delivery; empty: nothing.
func (l *listener) verify(r *http.Request, body []byte) string {
	if r.Method != http.MethodPost {
		return "the method is " + pleat.Clip(r.Method)
	}
	if l.token != "" && r.Header.Get(webhook.HeaderToken) != l.token {
		return "X-Webhook-Token is another"
	}
	if len(l.keys) > 0 {
		if err := webhook.Verify(r.Header, body, time.Now(), webhook.Tolerance, l.keys...); err != nil {
			return err.Error()
		}
	}
	return ""
}

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

// received is a delivery as --json prints it.
type received struct {
	Verified  bool            `json:"verified"`
	Fault     string          `json:"fault,omitempty"`
	Answered  int             `json:"answered"`
	ID        string          `json:"webhook_id"`
	Timestamp string          `json:"webhook_timestamp"`
	Type      string          `json:"content_type"`
	Body      json.RawMessage `json:"body"`
}

func (l *listener) print(r *http.Request, body []byte, fault string, status int) {
	id := r.Header.Get(webhook.HeaderID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.json {
		if !json.Valid(body) {
			body, _ = json.Marshal(string(body)) // a string: cannot fail
		}
		b, err := json.Marshal(received{fault == "" && len(l.keys) > 0, fault, status, id, r.Header.Get(webhook.HeaderTimestamp), r.Header.Get("Content-Type"), body})
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

// summary is what a body tells, in a few words.
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
		return "no JSON"
	}
	e := b.Event
	if e == (event{}) {
		e = b.Data.Event
	}
	return strings.Join([]string{pleat.Clip(e.SourceKind), pleat.Clip(e.SourceID), pleat.Clip(e.Name), pleat.Clip(e.Status)}, " ")
}

func webhooksList() *cobra.Command {
	var f api.DeliveriesFilter
	c := &cobra.Command{
		Use:   "list [DELIVERY]",
		Short: "List deliveries, newest first, or show one with its attempts",
		Args:  cobra.MaximumNArgs(1),
		RunE: onServer(false, func(cmd *cobra.Command, c *api.Client, args []string) error {
			if len(args) == 1 {
				return showDelivery(cmd, c, args[0])
			}
			list, err := c.Deliveries(cmd.Context(), f)
			if err != nil {
				return err
			}
			return showList(cmd, list, []string{"DELIVERY", "STATUS", "EVENT", "SOURCE", "TRIES", "ANSWER", "CREATED", "NEXT"}, func(d api.Delivery) []string {
				return []string{d.ID, d.Status, d.EventName, d.SourceID, strconv.Itoa(d.Attempts), code(d.ResponseStatus), d.CreatedAt.Format(time.DateTime), at(d.NextAttemptAt)}
			})
		}),
	}
	fl := c.Flags()
	fl.StringVar(&f.Status, "status", "", "only those PENDING, RUNNING, SUCCEEDED or FAILED")
	fl.StringVar(&f.SourceID, "job", "", "only those of this job")
	fl.IntVar(&f.Limit, "limit", 50, "how many, at most 200")
	fl.StringVar(&f.Cursor, "cursor", "", "where the page before ended")
	fl.Bool("json", false, "print JSON")
	config.AddFlags(fl, config.Client)
	return c
}

func showDelivery(cmd *cobra.Command, c *api.Client, arg string) error {
	id, err := identifier("delivery", arg)
	if err != nil {
		return err
	}
	d, err := c.Delivery(cmd.Context(), id)
	if err != nil {
		return err
	}
	return showOne(cmd, d, func() error {
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s\n", d.ID, d.Status, d.EventName)
		rows := [][]string{{"ATTEMPT", "STARTED", "OUTCOME", "ANSWER", "TOOK", "WHY"}}
		for _, a := range d.AttemptLog {
			why := ""
			if a.Message != nil {
				why = *a.Message
			}
			rows = append(rows, []string{strconv.Itoa(a.Number), a.StartedAt.Format(time.DateTime), a.Outcome, code(a.ResponseStatus), fmt.Sprintf("%.0f ms", a.Timings.Total), why})
		}
		return table(cmd.OutOrStdout(), rows)
	})
}

func code(status *int) string {
	if status == nil {
		return "-"
	}
	return strconv.Itoa(*status)
}

func at(m *api.Moment) string {
	if m == nil {
		return "-"
	}
	return m.Format(time.DateTime)
}

func webhooksRedeliver() *cobra.Command {
	var in api.Redeliver
	c := &cobra.Command{
		Use:   "redeliver [DELIVERY]",
		Short: "Send ended deliveries again, under the same webhook-id",
		Long:  "Sends one ended delivery again, or all that fit --status, --since and --job, at most a thousand.",
		Example: `  pleat webhooks redeliver 01890a5d-ac96-774b-bcce-b302099a8057
  pleat webhooks redeliver --status FAILED --since 2026-01-02T15:04:05Z`,
		Args: cobra.MaximumNArgs(1),
		RunE: onServer(false, func(cmd *cobra.Command, c *api.Client, args []string) error {
			if len(args) == 0 {
				out, err := c.Redeliver(cmd.Context(), in)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%d deliveries go out again\n", out.Redelivered)
				}
				return err
			}
			if in != (api.Redeliver{}) {
				return usagef("%s takes a delivery or flags that choose several, not both", cmd.CommandPath())
			}
			id, err := identifier("delivery", args[0])
			if err != nil {
				return err
			}
			d, err := c.RedeliverOne(cmd.Context(), id)
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", d.ID, d.Status)
			}
			return err
		}),
	}
	f := c.Flags()
	f.StringVar(&in.Status, "status", "", "those SUCCEEDED or FAILED")
	f.StringVar(&in.Since, "since", "", "those of events from this time on, such as 2026-01-02T15:04:05Z")
	f.StringVar(&in.SourceID, "job", "", "those of this job")
	config.AddFlags(f, config.Client)
	return c
}

func webhooksTest() *cobra.Command {
	c := &cobra.Command{
		Use:   "test",
		Short: "Send a test delivery to your webhook and say how it went",
		Args:  exactly(),
		RunE: onServer(false, func(cmd *cobra.Command, c *api.Client, _ []string) error {
			d, err := c.TestWebhook(cmd.Context())
			if err != nil {
				return err
			}
			return awaitAttempt(cmd, c, d.ID)
		}),
	}
	config.AddFlags(c.Flags(), config.Client)
	return c
}

// awaitAttempt waits for the first attempt at a delivery to end and says how.
func awaitAttempt(cmd *cobra.Command, c *api.Client, id string) error {
	for end := time.Now().Add(30 * time.Second); ; {
		d, err := c.Delivery(cmd.Context(), id)
		if err != nil {
			return err
		}
		if d.Attempts > 0 {
			last := d.AttemptLog[len(d.AttemptLog)-1]
			if d.Status == "SUCCEEDED" {
				fmt.Fprintf(cmd.OutOrStdout(), "%s delivered: answered %s in %.0f ms\n", id, code(last.ResponseStatus), last.Timings.Total)
				return nil
			}
			why := "the attempt failed"
			if last.Message != nil {
				why = *last.Message
			}
			return fmt.Errorf("%s was not delivered: %s", id, why)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is still %s after 30 s; pleat webhooks list %s shows how it goes on", id, d.Status, id)
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
