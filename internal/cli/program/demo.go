package program

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pleat/internal/app"
	"pleat/internal/cli"
	"pleat/internal/cli/client"
	"pleat/internal/config"
	"pleat/internal/store/people"
)

// demoCmd returns the command that shows the whole service without any setup: a server with an empty data folder in
// this process, one job, and its files in --out. It needs no network and no configuration, and reads none. Afterwards
// the server's data is removed; only the files of the job stay.
func demoCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "demo",
		Short: "Fold a small protein without any setup",
		Long: `Starts a server on a free port with an empty data folder, creates an API key, folds the miniprotein
Trp-cage through the API as a user would, writes the structure and the plots into a folder, prints the
scores, and stops the server.`,
		Args: cli.ExactArgs(),
		RunE: runDemo,
	}
	client.AddDemoFlags(c)
	return c
}

// runDemo starts the server, folds the protein and stops the server. It returns when the server has ended.
func runDemo(cmd *cobra.Command, _ []string) error {
	if err := client.CheckDemoFolder(cmd); err != nil {
		return err
	}
	data, err := os.MkdirTemp("", "pleat-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	cfg := config.Default()
	cfg.Data, cfg.Addr = data, "127.0.0.1:0"
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	type start struct {
		app *app.App
		url string
	}
	ready, ended := make(chan start, 1), make(chan error, 1)
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	opt := app.Options{Ready: func(a *app.App, url string) { ready <- start{a, url} }}
	go func() { ended <- app.Serve(ctx, cfg, log, opt) }()
	select {
	case err := <-ended:
		return err
	case s := <-ready:
		fmt.Fprintf(cmd.ErrOrStderr(), "serving on %s\n", s.url)
		err = runDemoJob(cmd, s.app, s.url)
	}
	stop()
	if serr := <-ended; err == nil {
		err = serr
	}
	return err
}

// runDemoJob creates a key in the database, and folds with it.
func runDemoJob(cmd *cobra.Command, a *app.App, url string) error {
	key, err := app.CreateKey(cmd.Context(), a.Store, "demo", people.NewKey{})
	if err != nil {
		return err
	}
	return client.FoldDemo(cmd, url, key)
}
