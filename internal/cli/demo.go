package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pleat/api"
	"pleat/internal/app"
	"pleat/internal/config"
	"pleat/internal/store"
)

// trpCage is the sequence of the miniprotein TC10b, Protein Data Bank entry 2JOF (Barua et al., Protein Eng. Des. Sel.
// 21, 171, 2008).
const trpCage = "DAYAQWLKDGGPSSGRPPPS"

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
		Args: exactly(),
		RunE: runDemo,
	}
	addFolderFlags(c, "demo")
	return c
}

// runDemo starts the server, folds the protein and stops the server. It returns when the server has ended.
func runDemo(cmd *cobra.Command, _ []string) error {
	if err := demoFolder(cmd).checkNew(); err != nil {
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
		err = foldDemo(cmd, s.app, s.url)
	}
	stop()
	if serr := <-ended; err == nil {
		err = serr
	}
	return err
}

// foldDemo does what a user does: it creates a key and a job, follows the job and downloads its files. The seed is
// fixed, so that the structure is the same on every machine of one architecture.
func foldDemo(cmd *cobra.Command, a *app.App, url string) error {
	key, err := app.CreateKey(cmd.Context(), a.Store, "demo", store.NewKey{})
	if err != nil {
		return err
	}
	c := &api.Client{Base: url, Key: key}
	seed := "1"
	created, err := c.CreateJob(cmd.Context(), api.CreateJob{
		Name:      "Trp-cage",
		Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: trpCage}}},
		Params:    &api.Params{ModelName: "mini", Seed: &seed},
	}, api.CreateOptions{})
	if err != nil {
		return explain(c, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "folding Trp-cage, %d residues\n", len(trpCage))
	if err := follow(cmd, c, created.JobID); err != nil {
		return err
	}
	return downloadResults(cmd, c, created.JobID, demoFolder(cmd))
}

// demoFolder returns the folder for the files of the demo.
func demoFolder(cmd *cobra.Command) resultsFolder { return folderOf(cmd).or("demo") }
