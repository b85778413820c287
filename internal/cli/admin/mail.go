package admin

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/mail"
)

// mailCmd returns the group of commands on the mail server.
func mailCmd() *cobra.Command {
	return cli.Group("mail", "Test the mail server of the service", "", mailTest())
}

// mailTest returns the command that sends a mail by the configured server, without a database and a running service.
func mailTest() *cobra.Command {
	return cli.Configured(&cobra.Command{
		Use:   "test ADDRESS",
		Short: "Send a mail by the configured mail server",
		Long: `Sends one mail by the server of mail-url and prints what the server said, so that an operator sees
whether notifications can be sent. The settings are those of pleat serve. Only the server's answer is known: whether
the mail arrives is for the receiver to see.`,
		Example: `  PLEAT_MAIL_URL=smtp://pleat@mail.example.org:587 PLEAT_MAIL_PASSWORD=… \
    PLEAT_MAIL_FROM=pleat@example.org pleat mail test ada@example.org`,
		Args: cli.ExactArgs("an address"),
	}, func(cmd *cobra.Command, c config.Config, args []string) error {
		if c.MailURL == "" {
			return cli.Usagef("mail-url is empty: no mail server is configured")
		}
		if err := pleat.CheckMailAddress("ADDRESS", args[0]); err != nil {
			return cli.Usagef("%v", err)
		}
		server, err := app.MailServer(c)
		if err != nil {
			return err
		}
		msg, err := mail.Test(server.From, netmail.Address{Address: args[0]}, time.Now())
		if err != nil {
			return err
		}
		err = server.Send(cmd.Context(), msg)
		var f *mail.Fault
		if errors.As(err, &f) {
			return fmt.Errorf("the mail was not sent: %s", f.Message)
		}
		return cli.Say(cmd, err, "%s has accepted the mail", &server)
	}, config.Server)
}
