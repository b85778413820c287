package admin

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/people"
)

// auditCmd returns the command that prints the audit log from the database. GET /v1/audit shows users their own.
func auditCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "audit",
		Short: "List changes of keys, webhook settings, projects and users, and sign-ins",
		Long: `Lists who created and revoked keys, signed in on the page, and changed webhook settings, projects and the
roles in them, newest first, from the server's database. A change with - as its key and address was made by an
operator; the address of an issuer means that it decided. Entries are kept for 400 days, and the newest 500 of
each user, project and action, or 10,000 if the project is one of several users.`,
		Example: `  pleat audit --user alice
  pleat audit --limit 1000 --json`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := cmd.Flags()
			user, _ := f.GetString("user")
			limit, _ := f.GetInt("limit")
			if limit < 1 {
				return cli.Usagef("--limit is %d; it must be 1 or more", limit)
			}
			return withStore(cmd, func(ctx context.Context, s *store.Store) error {
				rows, err := auditOf(ctx, s, user, limit)
				if err != nil {
					return err
				}
				if asJSON, _ := f.GetBool("json"); asJSON {
					return cli.PrintJSON(cmd.OutOrStdout(), rows)
				}
				text := [][]string{{"TIME", "USER", "BY KEY", "FROM", "ACTION", "SUBJECT", "DETAIL"}}
				for _, r := range rows {
					text = append(text, []string{
						r.At.Format(time.DateTime),
						r.User,
						cmp.Or(r.KeyPrefix, "-"),
						cmp.Or(r.Address, "-"),
						r.Action,
						cmp.Or(r.Subject, "-"),
						cmp.Or(r.Detail, "-"),
					})
				}
				return cli.PrintTable(cmd.OutOrStdout(), text)
			})
		},
	}
	f := c.Flags()
	f.String("user", "", "only entries of this user")
	f.Int("limit", 100, "maximum number of entries")
	f.Bool("json", false, "print JSON")
	config.AddFlags(f, config.Store)
	return c
}

// auditRow is an entry in the output of audit. KeyPrefix is empty without a key, and Address for a change
// by an operator.
type auditRow struct {
	At        time.Time `json:"at"`
	User      string    `json:"user"`
	KeyPrefix string    `json:"keyPrefix"`
	Address   string    `json:"address"`
	Action    string    `json:"action"`
	Subject   string    `json:"subject"`
	Detail    string    `json:"detail"`
}

// auditOf returns the newest entries of the audit log; an empty name means all users.
func auditOf(ctx context.Context, s *store.Store, name string, limit int) ([]auditRow, error) {
	var user pleat.UserID
	if name != "" {
		u, err := userNamed(ctx, s, name)
		if err != nil {
			return nil, err
		}
		user = u.ID
	}
	list, err := s.People.Audit(ctx, people.Reach{User: user}, "", limit)
	return auditRows(list), err
}

// auditRows returns entries as they are printed.
func auditRows(list []people.AuditEntry) []auditRow {
	out := []auditRow{}
	for _, e := range list {
		out = append(out, auditRow{
			At:        e.At,
			User:      e.UserName,
			KeyPrefix: e.KeyPrefix,
			Address:   e.Actor.Address,
			Action:    string(e.Action),
			Subject:   e.Subject,
			Detail:    e.Detail,
		})
	}
	return out
}
