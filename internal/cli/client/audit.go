package client

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/cli"
)

// auditCmd returns the command that prints the audit log of all users. GET /v1/audit shows users their own.
func auditCmd() *cobra.Command {
	var user string
	var limit int
	c := onServer(&cobra.Command{
		Use:   "audit",
		Short: "List changes of keys, webhook settings, projects and users, and sign-ins, as an operator",
		Long: `Lists who created and revoked keys, signed in on the page, and changed webhook settings, projects and the
roles in them, newest first, with the key of an operator. A change with - as its key and address was made by an
operator on the database; the address of an issuer means that it decided. Entries are kept for 400 days, and the newest
500 of each user, project and action, or 10,000 if the project is one of several users.`,
		Example: `  pleat audit --user alice
  pleat audit --limit 1000 --json`,
	}, keyRequired, func(cmd *cobra.Command, c *api.Client, _ []string) error {
		entries, err := auditOf(cmd.Context(), c, user, limit)
		if err != nil {
			return err
		}
		head := []string{"TIME", "USER", "BY KEY", "FROM", "ACTION", "SUBJECT", "DETAIL"}
		return cli.PrintRows(cmd, entries, head, func(e *auditRow) []string {
			return []string{
				e.At.Format(time.DateTime),
				e.User,
				cmp.Or(e.KeyPrefix, "-"),
				cmp.Or(e.Address, "-"),
				e.Action,
				cmp.Or(e.Subject, "-"),
				cmp.Or(e.Detail, "-"),
			}
		})
	})
	f := c.Flags()
	f.StringVar(&user, "user", "", "only entries of this user")
	f.IntVar(&limit, "limit", 100, "maximum number of entries")
	return checkedFirst(cli.WithJSON(c), func(*cobra.Command, []string) error {
		if limit < 1 {
			return cli.Usagef("--limit is %d; it must be 1 or more", limit)
		}
		return nil
	})
}

// auditRow is an entry in the output of audit. KeyPrefix is empty without a key, and Address for a change by an
// operator on the database.
type auditRow struct {
	At        api.Time `json:"at"`
	User      string   `json:"user"`
	KeyPrefix string   `json:"keyPrefix"`
	Address   string   `json:"address"`
	Action    string   `json:"action"`
	Subject   string   `json:"subject"`
	Detail    string   `json:"detail"`
}

// auditOf returns the newest entries of the audit log, at most limit; an empty name means all users.
func auditOf(ctx context.Context, c *api.Client, name string, limit int) (out []auditRow, err error) {
	out = []auditRow{}
	user := ""
	if name != "" {
		if user, err = userNamed(ctx, c, name); err != nil {
			return nil, err
		}
	}
	read := func(cursor string) (api.List[api.AuditEntry], error) { return c.AllAudit(ctx, cursor) }
	for e, err := range api.All(read) {
		if err != nil {
			return out, err
		}
		if user == "" || e.UserID == user {
			out = append(out, auditRow{e.At, e.UserName, e.KeyPrefix, e.Address, e.Action, e.Subject, e.Detail})
		}
		if len(out) >= limit {
			break
		}
	}
	return out, nil
}
