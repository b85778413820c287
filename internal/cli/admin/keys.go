package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pleat"
	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/store"
	"pleat/internal/store/people"
)

// keysCmd returns the group of commands on API keys. They work on the database itself, next to a running server or
// without one, so that the first key can be created; they need no API key.
func keysCmd() *cobra.Command {
	return cli.Group("keys", "Create, list and revoke API keys in the server's database",
		`These commands open the server's database, next to a running server or without one, and need no key. A server
lets users create, list and revoke their own keys only (/v1/keys).`,
		keysCreate(), keysList(), keysRevoke())
}

// keysCreate returns the command that creates a key, and the user if there is none of that name, and prints the key
// alone on standard output. Only a digest of the key is stored. Each repetition creates a further key.
func keysCreate() *cobra.Command {
	c := cli.Complete(&cobra.Command{
		Use:   "create --user NAME",
		Short: "Create a key and print it",
		Long: `Creates an API key for a user and prints only the key on standard output. The key is not shown again. A
user who does not exist is created. A running server accepts the key at once. The database must exist, so
that a mistyped folder is not taken for a new service; --init creates one that does not.

The command works on the database because the first key must exist before anybody can call a server.`,
		Example: `  export PLEAT_KEY=$(pleat keys create --user alice)
  pleat keys create --user alice --label cluster --user-quota 500
  pleat keys create --user alice --label dashboard --scopes read --expires 2027-01-31
  pleat keys create --user alice --project "Lab A"`,
	}, func(cmd *cobra.Command, _ []string) error {
		if err := cli.RequireFlags(cmd, "user"); err != nil {
			return err
		}
		f := cmd.Flags()
		user := cli.FlagText(cmd, "user")
		n, err := newKeyOf(f)
		if err != nil {
			return err
		}
		if err := initDatabase(cmd); err != nil {
			return err
		}
		return withStore(cmd, func(ctx context.Context, s *store.Store) error {
			if err := bindKey(ctx, s, f, user, &n); err != nil {
				return err
			}
			key, err := app.CreateKey(ctx, s, user, n)
			if err != nil {
				return err
			}
			if f.Changed("user-quota") {
				quota, _ := f.GetInt("user-quota")
				if err := s.People.SetQuota(ctx, user, quota); err != nil {
					return err
				}
			}
			fmt.Fprintln(cmd.OutOrStdout(), key)
			return nil
		})
	}, config.Store)
	f := c.Flags()
	f.String("user", "", "user to whom the key belongs")
	f.String("label", "", "purpose of the key")
	f.String("project", "", "id or name of the only project that the key reaches, in which the user has a role; "+
		"default: all of the user")
	f.StringSlice("scopes", nil, "what the key may be used for, of read, submit and manage; default all")
	f.String("expires", "", cli.ExpiryUsage("the key")+"; default never")
	f.Bool("init", false, "create the database if it does not exist, before the first start of a server")
	f.Int("user-quota", 0, "daily quota of this user; negative: the server's default")
	return c
}

// initDatabase creates the database if --init is given and there is none.
func initDatabase(cmd *cobra.Command) error {
	if !cli.IsOn(cmd, "init") {
		return nil
	}
	c, err := cli.LoadConfig(cmd)
	if err != nil {
		return err
	}
	return app.InitDatabase(cmd.Context(), c, app.NewLog(cmd.ErrOrStderr(), c))
}

// newKeyOf returns the key that the flags of keys create describe.
func newKeyOf(f *pflag.FlagSet) (people.NewKey, error) {
	var n people.NewKey
	n.Label, _ = f.GetString("label")
	if f.Changed("scopes") {
		names, _ := f.GetStringSlice("scopes")
		var err error
		if n.Scopes, err = pleat.ParseScopes("--scopes", names); err != nil {
			return n, cli.UsageError(err)
		}
	}
	if !f.Changed("expires") {
		return n, nil
	}
	expires, _ := f.GetString("expires")
	at, err := pleat.ParseEnd("--expires", expires)
	if err != nil {
		return n, cli.UsageError(err)
	}
	if !at.After(time.Now()) {
		return n, cli.Usagef("--expires is %s, which is in the past; it must be in the future", expires)
	}
	n.ExpiresAt = at
	return n, nil
}

// bindKey sets the project of a new key to that of the flag --project, which must be one in which the user has a role.
func bindKey(ctx context.Context, s *store.Store, f *pflag.FlagSet, user string, n *people.NewKey) error {
	text, _ := f.GetString("project")
	if text == "" {
		return nil
	}
	u, err := userNamed(ctx, s, user)
	if err != nil {
		return err
	}
	list, err := s.People.Memberships(ctx, people.Reach{User: u.ID})
	if err != nil {
		return err
	}
	for _, m := range list {
		if string(m.Project.ID) != strings.ToLower(text) && m.Project.Name != text {
			continue
		}
		if n.Project != "" {
			return cli.Usagef("--project: %s has 2 projects %q; name one by its id: %s or %s", user, pleat.Clip(text),
				n.Project, m.Project.ID)
		}
		n.Project = m.Project.ID
	}
	if n.Project == "" {
		return cli.Usagef("--project: %s has no role in a project %q", pleat.Clip(user), pleat.Clip(text))
	}
	return nil
}

// keysList returns the command that lists keys by their prefix, revoked ones too. It never prints a whole key.
func keysList() *cobra.Command {
	c := onStore(&cobra.Command{
		Use:   "list",
		Short: "List keys by their prefix",
		Long: `Lists the keys of all users by their prefix, with the revoked ones. The command works on the database
because a server shows users their own keys only.`,
	}, func(cmd *cobra.Command, s *store.Store, _ []string) error {
		keys, err := keysOf(cmd.Context(), s, cli.FlagText(cmd, "user"))
		if err != nil {
			return err
		}
		head := []string{
			"KEY", "USER", "PREFIX", "LABEL", "SCOPES", "PROJECT", "CREATED", "LAST USED", "EXPIRES", "REVOKED",
		}
		return cli.PrintRows(cmd, keys, head, func(k *keyRow) []string {
			return []string{
				k.ID,
				k.User,
				k.Prefix,
				k.Label,
				strings.Join(k.Scopes, ","),
				cli.TextOrDash(k.ProjectID),
				cli.FormatTime(&k.CreatedAt),
				cli.FormatTime(k.LastUsedAt),
				cli.FormatTime(k.ExpiresAt),
				cli.FormatTime(k.RevokedAt),
			}
		})
	})
	c.Flags().String("user", "", "only keys of this user")
	return cli.WithJSON(c)
}

// keyRow is a key in the output of keys list. Times are null if the key was never used, never expires or is not
// revoked.
type keyRow struct {
	ID   string `json:"id"`
	User string `json:"user"`
	// Prefix is the part of the key that is not secret.
	Prefix     string     `json:"prefix"`
	Label      string     `json:"label"`
	Scopes     []string   `json:"scopes"`
	ProjectID  *string    `json:"projectId"` // the only one that it reaches; null: all of the user
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	RevokedAt  *time.Time `json:"revokedAt"`
}

// keysOf returns the keys of a user, revoked ones too; an empty name means all users.
func keysOf(ctx context.Context, s *store.Store, user string) ([]keyRow, error) {
	keys, err := s.People.Keys(ctx, people.Reach{})
	if err != nil {
		return nil, err
	}
	out := []keyRow{}
	for _, k := range keys {
		if user == "" || k.UserName == user {
			out = append(out, keyRow{
				ID:         string(k.ID),
				User:       k.UserName,
				Prefix:     k.Prefix,
				Label:      k.Label,
				Scopes:     strings.Fields(k.Scopes.String()),
				ProjectID:  cli.TextOrNil(string(k.Project)),
				CreatedAt:  k.CreatedAt,
				LastUsedAt: optional(k.LastUsedAt),
				ExpiresAt:  optional(k.ExpiresAt),
				RevokedAt:  optional(k.RevokedAt),
			})
		}
	}
	return out, nil
}

// optional returns nil for the zero time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// keysRevoke returns the command that revokes one key, named by its identifier or its prefix. Servers refuse it from
// then on; jobs that were created with the key continue. Nothing is changed if several keys have the prefix.
func keysRevoke() *cobra.Command {
	return onStore(&cobra.Command{
		Use:   "revoke KEY",
		Short: "Revoke a key",
		Long: `Revokes a key; it is refused from then on. KEY is the identifier or, if only one key has it, the prefix
that pleat keys list shows. The command works on the database because a server lets users revoke their own keys only,
and an operator must be able to end a leaked key of anybody, also while no server runs.`,
		Args: cli.ExactArgs("a key's identifier"),
	}, func(cmd *cobra.Command, s *store.Store, args []string) error {
		keys, err := s.People.Keys(cmd.Context(), people.Reach{})
		if err != nil {
			return err
		}
		var match []people.Key
		for _, k := range keys {
			if string(k.ID) == args[0] || k.Prefix == args[0] {
				match = append(match, k)
			}
		}
		switch len(match) {
		case 0:
			return fmt.Errorf("there is no key %q; pleat keys list shows them", pleat.Clip(args[0]))
		case 1:
		default:
			const text = "%d keys begin with %q; name one by its identifier"
			return fmt.Errorf(text, len(match), pleat.Clip(args[0]))
		}
		key := &match[0]
		err = s.People.RevokeKey(cmd.Context(), operatorFor(key.User), key.ID)
		return cli.Say(cmd, err, "revoked %s of %s", key.Prefix, pleat.Clip(key.UserName))
	})
}
