package client

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
)

// notificationsCmd returns the command that prints which mails the caller gets and what became of the last ones. With
// flags it changes that first.
func notificationsCmd() *cobra.Command {
	c := onServer(&cobra.Command{
		Use:   "notifications",
		Short: "Show or set which mails you get",
		Long: `Prints the address to which the service sends mails, what they come about and what became of the last
ones. --mail and --events change that; what is not named stays. Another address gets a mail with a link that
confirms it, unless you signed in with it. The events are run_completed, run_failed, batch_ended and
endpoint_disabled.`,
		Example: `  pleat notifications --mail ada@example.org --events run_failed,batch_ended
  pleat notifications --events none`,
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		n, err := setNotifications(cmd, c)
		if err != nil {
			return err
		}
		return cli.PrintResult(cmd, n, func() error { return printNotifications(cmd, &n) })
	})
	f := c.Flags()
	f.String("mail", "", "address for mails; none: no address")
	f.StringSlice("events", nil, "what mails come about, separated by commas; none: nothing")
	return cli.WithJSON(c)
}

// setNotifications makes the changes that flags ask for, and returns what is set then.
func setNotifications(cmd *cobra.Command, c *api.Client) (api.Notifications, error) {
	n, err := c.Notifications(cmd.Context())
	f := cmd.Flags()
	if err != nil || !f.Changed("mail") && !f.Changed("events") {
		return n, err
	}
	in := api.SetNotifications{Mail: n.Mail, Events: n.Events}
	if address := cli.FlagText(cmd, "mail"); f.Changed("mail") {
		in.Mail = &address
		if address == "none" {
			in.Mail = nil
		}
	}
	if events, _ := f.GetStringSlice("events"); f.Changed("events") {
		in.Events = append([]string{}, events...)
		if len(events) == 1 && events[0] == "none" {
			in.Events = []string{}
		}
	}
	return c.SetNotifications(cmd.Context(), in)
}

// printNotifications prints which mails the caller gets.
func printNotifications(cmd *cobra.Command, n *api.Notifications) error {
	out := cmd.OutOrStdout()
	switch {
	case !n.Available:
		fmt.Fprintln(out, "This service sends no mails.")
		return nil
	case n.Mail == nil:
		fmt.Fprintln(out, "No address is set: no mails come.")
	case n.Confirmed:
		fmt.Fprintf(out, "Mails go to %s.\n", *n.Mail)
	case n.LinkUntil != nil:
		fmt.Fprintf(out, "Open the link in the mail to %s until %s UTC; no other mails come before.\n", *n.Mail,
			n.LinkUntil.Format(time.DateTime))
	default:
		fmt.Fprintf(out, "%s is not confirmed: no mails come. The page sends another link.\n", *n.Mail)
	}
	fmt.Fprintf(out, "They come about: %s.\n", cmp.Or(strings.Join(n.Events, ", "), "nothing"))
	if n.OffReason != nil {
		fmt.Fprintf(out, "No mails are sent: %s.\n", *n.OffReason)
	}
	if len(n.Recent) == 0 {
		return nil
	}
	head := []string{"CREATED", "EVENT", "STATUS", "ATTEMPTS", "ABOUT", "REASON"}
	return cli.PrintTable(out, cli.Rows(head, n.Recent, func(m *api.NotificationMail) []string {
		return []string{
			m.CreatedAt.Format(time.DateTime),
			m.Event,
			m.Status,
			strconv.Itoa(m.Attempts),
			cli.ValueOr(m.SourceID, ""),
			cli.ValueOr(m.Reason, ""),
		}
	}))
}
