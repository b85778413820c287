package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pleat/api"
)

// trpCage is the miniprotein TC10b, Protein Data Bank entry 2JOF (Barua et al., Protein Eng. Des. Sel. 21, 171, 2008).
const trpCage = "DAYAQWLKDGGPSSGRPPPS"

func demoCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "demo",
		Short: "Fold a small protein from nothing",
		Long: `Starts a server of its own on a free port with fresh data, makes a key, folds the miniprotein Trp-cage through the API as a user
would, writes the structure and the plots into a folder, prints the scores, and stops the server.`,
		Args: exactly(),
		RunE: runDemo,
	}
	c.Flags().String("out", "demo", "folder for the files")
	return c
}

func runDemo(cmd *cobra.Command, _ []string) error {
	data, err := os.MkdirTemp("", "pleat-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	cfg := DefaultConfig()
	cfg.Data, cfg.Addr = data, "127.0.0.1:0"
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	type start struct {
		process *process
		url     string
	}
	ready, ended := make(chan start, 1), make(chan error, 1)
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	go func() { ended <- serve(ctx, cfg, log, func(p *process, url string) { ready <- start{p, url} }) }()
	select {
	case err := <-ended:
		return err
	case s := <-ready:
		fmt.Fprintf(cmd.ErrOrStderr(), "serving on %s\n", s.url)
		err = foldDemo(cmd, s.process, s.url)
	}
	stop()
	if serr := <-ended; err == nil {
		err = serr
	}
	return err
}

// foldDemo is what a user does: a key, a job, its progress, its files.
func foldDemo(cmd *cobra.Command, p *process, url string) error {
	key, err := createKey(cmd.Context(), p.store, "demo", "")
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
	if _, err := follow(cmd, c, created.JobID); err != nil {
		return err
	}
	out, _ := cmd.Flags().GetString("out")
	return deliver(cmd, c, created.JobID, out)
}
