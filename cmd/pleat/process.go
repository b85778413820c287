package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/engine"
	"pleat/internal/engine/builtin"
	"pleat/internal/engine/remote"
	"pleat/internal/seal"
	"pleat/internal/store"
	"pleat/internal/work"
)

// process is what a server and a worker have in common.
type process struct {
	cfg   Config
	log   *slog.Logger
	store *store.Store
	blobs blob.Store
	ring  *seal.Ring

	engines *engine.Registry // of a worker

	id       pleat.WorkerID
	identity *lockFile // of id
	server   *lockFile // of an SQLite database
}

// openProcess opens the database, at this version's schema, the artifacts and the secret. A server of an SQLite database is
// the only one.
func openProcess(ctx context.Context, c Config, log *slog.Logger, serves bool) (_ *process, err error) {
	p := &process{cfg: c, log: log}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	if path, ok := strings.CutPrefix(c.databaseURL(), "sqlite:"); ok && serves {
		if p.server, err = lockServer(path); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(c.databaseURL(), "sqlite:") && c.SecretKey == "" {
		return nil, usagef("PLEAT_SECRET_KEY is not set, and every node of one PostgreSQL database needs the same; make one with: openssl rand -hex 32")
	}
	if p.store, err = openStore(ctx, c, log); err != nil {
		return nil, err
	}
	from, to, err := migrate(ctx, p.store)
	if err != nil {
		return nil, err
	}
	if from != to {
		log.Info("the database was migrated", "from", from, "to", to)
	}
	if p.blobs, err = blob.Open(ctx, c.blobAddress()); err != nil {
		return nil, err
	}
	p.ring, err = seal.Load(c.SecretKey, filepath.Join(c.Data, "secret.key"))
	return p, err
}

func (p *process) close() {
	if p.engines != nil {
		p.engines.Close()
	}
	if p.store != nil {
		if err := p.store.Close(); err != nil {
			p.log.Warn("the database did not close well", "error", err)
		}
	}
	p.identity.release()
	p.server.release()
}

// node is this process's identity.
func (p *process) node() (pleat.WorkerID, error) {
	var err error
	if p.identity == nil {
		p.id, p.identity, err = takeIdentity(p.cfg.Data)
	}
	return p.id, err
}

// pool makes this process a worker.
func (p *process) pool() (*work.Pool, error) {
	engines, devices, err := newEngines(p.cfg, p.log, nil)
	if err != nil {
		return nil, err
	}
	p.engines = engines
	id, err := p.node()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	scratch := filepath.Join(p.cfg.Data, "scratch", string(id))
	return work.New(work.Config{
		ID: id, Host: host, Dir: scratch,
		Slots: p.cfg.Slots, Memory: p.cfg.memory(), Clock: time.Now, Log: p.log, Devices: devices,
		Sources: work.Sources{PDB: p.cfg.PDBURL, UniProt: p.cfg.UniProtURL},
		Aligner: p.cfg.aligner(filepath.Join(scratch, "search"), p.log), KeepAlignments: time.Duration(p.cfg.MSAKeep) * 24 * time.Hour,
	}, p.store, p.blobs, engines), nil
}

// engineNames are what the setting engines may name.
var engineNames = []string{"mini", "calvados", "analyst", "null"}

// newEngines makes the engines that are set. Stderr, if not nil, gets what runners write there.
func newEngines(c Config, log *slog.Logger, stderr io.Writer) (*engine.Registry, []pleat.Device, error) {
	all, devices, err := runnerEngines(c, log, stderr)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range c.Engines {
		switch name {
		case "mini":
			all = append(all, builtin.Mini{Workers: c.Threads})
		case "calvados":
			all = append(all, builtin.Calvados{Workers: c.Threads, CheckpointInterval: time.Duration(c.Checkpoint) * time.Second})
		case "analyst":
			all = append(all, builtin.Analyst{})
		case "null":
			all = append(all, builtin.Null{})
		}
	}
	if c.ChatURL != "" {
		all = append(all, remote.Chat{URL: c.ChatURL, Model: c.ChatModel, Key: c.ChatKey, MaxTokens: c.ChatTokens, Timeout: time.Duration(c.ChatTimeout) * time.Second})
	}
	if c.NIMURL != "" {
		all = append(all, remote.NIM{URL: c.NIMURL, Key: c.NIMKey, Status: c.NIMStatus, Model: c.NIMModel, Timeout: time.Duration(c.NIMTimeout) * time.Second})
	}
	r, err := engine.New(log, all...)
	return r, devices, err
}
