package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// webhooksEndpoints returns the group of commands on the named endpoints of a project. An endpoint is given by its name
// or its id.
func webhooksEndpoints() *cobra.Command {
	return cli.Group("endpoints", "List and change the named endpoints of a project", "",
		endpointsList(), endpointsAdd(), endpointsChange(), endpointsRemove(), endpointsTest(),
		endpointsSwitch("pause", "Let the deliveries to an endpoint wait", (*api.Client).PauseWebhookEndpoint),
		endpointsSwitch("resume", "Send what waits for an endpoint, and what follows",
			(*api.Client).ResumeWebhookEndpoint),
		endpointsRotate())
}

// endpointsList returns the command that lists where the events of a project go, its default endpoint first.
func endpointsList() *cobra.Command {
	return cli.WithJSON(inProject(&cobra.Command{
		Use:   "list",
		Short: "List the endpoints of a project with their events",
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		list, err := c.WebhookEndpoints(cmd.Context())
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, list, func() error {
			rows := [][]string{{"NAME", "URL", "EVENTS", "STATE", "ENDPOINT"}}
			if d := list.Default; d != nil {
				events := "of runs that ask for it"
				if d.EnabledByDefault {
					events = "of every run"
				}
				state := endpointState(d.IsActive, d.IsPaused, d.RestsUntil)
				rows = append(rows, []string{"(default)", d.TargetURL, events, state, d.ID})
			}
			for _, e := range list.Data {
				rows = append(rows, []string{e.Name, e.TargetURL, eventsText(e.Events),
					endpointState(e.IsActive, e.IsPaused, e.RestsUntil), e.ID})
			}
			return cli.PrintTable(cmd.OutOrStdout(), rows)
		})
	}))
}

// endpointState is the state of an endpoint in one word.
func endpointState(active, paused bool, rests *api.Moment) string {
	switch {
	case !active:
		return "disabled"
	case paused:
		return "paused"
	case rests != nil:
		return "resting"
	}
	return "active"
}

// eventsText lists the events of an endpoint.
func eventsText(events []string) string { return cmp.Or(strings.Join(events, ","), "all") }

// endpointSettings are the flags that add and change share.
type endpointSettings struct {
	events    []string
	format    string
	tokenFile string
}

// flags adds the flags to a command.
func (s *endpointSettings) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&s.events, "event", nil,
		"an event that the endpoint gets, such as fold_job.on_failed; several with commas; all: every event")
	f.StringVar(&s.format, "format", "", "format of the bodies: plain or cloudevents")
	f.StringVar(&s.tokenFile, "token-file", "", "file with the value of X-Webhook-Token; -: standard input")
}

// list returns the events for a request; empty: all.
func (s *endpointSettings) list() []string {
	if slices.Equal(s.events, []string{"all"}) {
		return []string{}
	}
	return s.events
}

// token reads the token of --token-file, of which a line end is cut off.
func (s *endpointSettings) token(cmd *cobra.Command) (string, error) {
	in, err := openInput(cmd, s.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, 64<<10))
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// endpointsAdd returns the command that adds an endpoint and prints its signing secret, which nothing shows again.
func endpointsAdd() *cobra.Command {
	var s endpointSettings
	c := inProject(&cobra.Command{
		Use:   "add NAME URL",
		Short: "Add an endpoint to a project; prints its signing secret once",
		Example: `  pleat webhooks endpoints add "on call" https://hooks.example.org/alerts --event fold_job.on_failed
  pleat webhooks endpoints add archive https://hooks.example.org/all --token-file token.txt`,
		Args: cli.ExactArgs("NAME", "URL"),
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		in := api.CreateEndpoint{Name: args[0], TargetURL: args[1], Format: s.format, Events: s.list()}
		if s.tokenFile != "" {
			var err error
			if in.TokenValue, err = s.token(cmd); err != nil {
				return err
			}
		}
		e, err := c.CreateWebhookEndpoint(cmd.Context(), in)
		return printEndpoint(cmd, e, err)
	})
	s.flags(c)
	return cli.WithJSON(c)
}

// printEndpoint prints an endpoint that a call has returned, and its secret if it is new. It returns the error of the
// call.
func printEndpoint(cmd *cobra.Command, e api.WebhookEndpoint, err error) error {
	if err != nil {
		return err
	}
	return cli.PrintResult(cmd, e, func() error {
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s %s\n", e.ID, pleat.Clip(e.Name),
			endpointState(e.IsActive, e.IsPaused, e.RestsUntil), eventsText(e.Events))
		switch {
		case e.SigningSecret != "":
			fmt.Fprintf(cmd.OutOrStdout(), "signing secret, shown only now: %s\n", e.SigningSecret)
		case e.VerificationKey != nil:
			fmt.Fprintf(cmd.OutOrStdout(), "verification key: %s\n", *e.VerificationKey)
		}
		return nil
	})
}

// namedEndpoint returns the id of an endpoint that is given by its id or its name.
func namedEndpoint(ctx context.Context, c *api.Client, arg string) (string, error) {
	if pleat.IsUUID(arg) {
		return arg, nil
	}
	list, err := c.WebhookEndpoints(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range list.Data {
		if e.Name == arg {
			return e.ID, nil
		}
		names = append(names, e.Name)
	}
	return "", cli.Usagef("there is no endpoint %q; %s", pleat.Clip(arg),
		cli.Suggest(arg, names, "see pleat webhooks endpoints list"))
}

// resolveEndpoint replaces the name of an endpoint that --endpoint gives by the id; empty: there is none.
func resolveEndpoint(ctx context.Context, c *api.Client, arg *string) (err error) {
	if *arg != "" {
		*arg, err = namedEndpoint(ctx, c, *arg)
	}
	return err
}

// onEndpoint completes a command whose only argument is an endpoint.
func onEndpoint(c *cobra.Command, do func(cmd *cobra.Command, c *api.Client, id string) error) *cobra.Command {
	c.Args = cli.ExactArgs("ENDPOINT")
	return inProject(c, keyRequired, func(cmd *cobra.Command, c *api.Client, args []string) error {
		id, err := namedEndpoint(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		return do(cmd, c, id)
	})
}

// endpointsChange returns the command that changes the settings of an endpoint which its flags name.
func endpointsChange() *cobra.Command {
	var s endpointSettings
	var name, target string
	c := onEndpoint(&cobra.Command{
		Use:   "change ENDPOINT",
		Short: "Change the name, the address, the token or the events of an endpoint",
		Example: `  pleat webhooks endpoints change "on call" --event all
  pleat webhooks endpoints change archive --target-url https://new.example.org/ --token-file token.txt`,
	}, func(cmd *cobra.Command, c *api.Client, id string) error {
		var in api.ChangeEndpoint
		f := cmd.Flags()
		if f.Changed("name") {
			in.Name = &name
		}
		if f.Changed("target-url") {
			in.TargetURL = &target
		}
		if f.Changed("format") {
			in.Format = &s.format
		}
		if f.Changed("event") {
			list := s.list()
			in.Events = &list
		}
		if f.Changed("token-file") {
			token, err := s.token(cmd)
			if err != nil {
				return err
			}
			in.TokenValue = &token
		}
		if in == (api.ChangeEndpoint{}) {
			return cli.Usagef("%s needs at least one of --name, --target-url, --token-file, --format and --event",
				cmd.CommandPath())
		}
		e, err := c.ChangeWebhookEndpoint(cmd.Context(), id, in)
		return printEndpoint(cmd, e, err)
	})
	s.flags(c)
	c.Flags().StringVar(&name, "name", "", "the new name")
	c.Flags().StringVar(&target, "target-url", "", "the new address")
	return cli.WithJSON(c)
}

// endpointsRemove returns the command that deletes an endpoint.
func endpointsRemove() *cobra.Command {
	return onEndpoint(&cobra.Command{
		Use:   "remove ENDPOINT",
		Short: "Delete an endpoint; deliveries that wait for it fail",
	}, func(cmd *cobra.Command, c *api.Client, id string) error {
		_, err := c.DeleteWebhookEndpoint(cmd.Context(), id)
		return cli.Say(cmd, err, "%s deleted", id)
	})
}

// endpointsTest returns the command that sends a test delivery to an endpoint, as webhooksTest does to the default one.
func endpointsTest() *cobra.Command {
	return onEndpoint(&cobra.Command{
		Use:   "test ENDPOINT",
		Short: "Send a test delivery to an endpoint and show the result",
	}, func(cmd *cobra.Command, c *api.Client, id string) error {
		d, err := c.TestWebhookEndpoint(cmd.Context(), id)
		if err != nil {
			return err
		}
		return awaitAttempt(cmd, c, d.ID)
	})
}

// endpointsSwitch returns a command that makes one change to an endpoint.
func endpointsSwitch(
	name, short string, change func(*api.Client, context.Context, string) (api.WebhookEndpoint, error),
) *cobra.Command {
	return cli.WithJSON(onEndpoint(&cobra.Command{Use: name + " ENDPOINT", Short: short},
		func(cmd *cobra.Command, c *api.Client, id string) error {
			e, err := change(c, cmd.Context(), id)
			return printEndpoint(cmd, e, err)
		}))
}

// endpointsRotate returns the command that replaces the signing secret of an endpoint and prints the new one.
func endpointsRotate() *cobra.Command {
	var in api.RotateSecret
	c := onEndpoint(&cobra.Command{
		Use:   "rotate ENDPOINT",
		Short: "Create a new signing secret of an endpoint; the old one signs too for a day",
	}, func(cmd *cobra.Command, c *api.Client, id string) error {
		e, err := c.RotateEndpointSecret(cmd.Context(), id, in)
		return printEndpoint(cmd, e, err)
	})
	c.Flags().StringVar(&in.Scheme, "scheme", "", "v1: a shared secret, the default; v1a: an Ed25519 key")
	return cli.WithJSON(c)
}
