package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// fleetServer is a pleat serve process that runs no jobs itself, and that can be killed and started again.
type fleetServer struct {
	program, dir, database string
	// addr is its host and port, the same after a restart; empty before the first start.
	addr string
	// key is the secret key, and cmd the process; nil: none was started.
	key string
	cmd *exec.Cmd
}

// pid is the process.
func (s *fleetServer) pid() int { return s.cmd.Process.Pid }

// start starts the process and returns when it listens. Its log goes to a file.
func (s *fleetServer) start(ctx context.Context) error {
	listen := s.addr
	if s.addr == "" {
		listen, s.key = "127.0.0.1:0", newSecretKey()
	}
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.CommandContext(ctx, s.program, "serve", "--addr", listen, "--work=false")
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"PLEAT_DATA=" + s.dir,
		"PLEAT_DATABASE=" + s.database,
		"PLEAT_LOG_LEVEL=warn",
		"PLEAT_SECRET_KEY=" + s.key,
	}
	c.Stderr = log
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.cmd = c
	first, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on http://")
	if err != nil || !ok {
		return errors.Join(fmt.Errorf("the server's first line is %q", first), s.stop())
	}
	s.addr = addr
	return nil
}

// kill ends the process at once.
func (s *fleetServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // its error says that it was killed
}

// stop asks the process to end and waits until it has.
func (s *fleetServer) stop() error {
	if s.cmd.ProcessState != nil {
		return nil // a restart failed
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended, which Wait reports
	return s.cmd.Wait()
}

// log is the path of the log.
func (s *fleetServer) log() string { return filepath.Join(s.dir, "log") }

// complaints prints the first warnings and errors of the log, and how many there are.
func (s *fleetServer) complaints(out io.Writer) error {
	if s == nil {
		return nil
	}
	text, err := os.ReadFile(s.log())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	const most = 10
	n := 0
	for l := range strings.Lines(string(text)) {
		if n++; n <= most {
			fmt.Fprint(out, "  server: "+l)
		}
	}
	if n > most {
		fmt.Fprintf(out, "  server: %d lines in all\n", n)
	}
	return err
}

// fillQueued queues n jobs of fleetUsers users as CreateJob leaves them, in the fair order of the queue. Each
// transaction makes up to 50,000.
func fillQueued(ctx context.Context, db *sql.DB, n int) error {
	const most = 50_000
	_, err := db.ExecContext(ctx, `
		INSERT INTO account (id, name, quota, created_at)
		SELECT 'user-' || i, 'user-' || i, -1, 0 FROM generate_series(1, $1::bigint) i`, fleetUsers)
	for from := 0; from < n && err == nil; from += most {
		err = fillPart(ctx, db, from, min(from+most, n)-1)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "VACUUM (ANALYZE)") // as autovacuum does later
	}
	return err
}

// fillPart queues the jobs of some numbers.
func fillPart(ctx context.Context, db *sql.DB, from, to int) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, q := range queuedFills {
		if _, err := t.ExecContext(ctx, q, from, to); err != nil {
			return errors.Join(err, t.Rollback())
		}
	}
	return t.Commit()
}

// queuedFills are the statements of fillPart, one for each table. A job, its run and its task have the same id.
var queuedFills = func() (out []string) {
	for _, q := range []string{
		`
		INSERT INTO job (
			id, account_id, name, public, chat_id, library_item, sequences, constraints, complex, state, version, epoch,
			run_id, runs, created_at, updated_at, deleted_at)
		SELECT
			id, owner, 'ubiquitin', 0, '', '',
			'[{"id":"' || id || '","kind":"protein","sequence":"` + ubiquitin + `","chains":["A"],"count":1}]',
			'{}', 0, 'INITIALIZED', 1, 1, id, 1, at, at, 0`,
		`
		INSERT INTO run (
			id, job_id, account_id, number, kind, state, msa, model, weight_set, method, engine, seed, params, fresh,
			input_hash, result, failure, stage, done, total, event_seq, log_lines, created_at, started_at, finished_at,
			changed_at, bytes)
		SELECT
			id, id, owner, 1, 'fold', 'INITIALIZED', 'PENDING', 'null', '', 'none', '', '2718281828',
			'{"modelName":"null"}', 0, '', '', '', '', 0, 0, 0, 0, at, 0, 0, at, 200`,
		`
		INSERT INTO task (
			id, kind, queue, account_id, tenant, position, run_id, state, attempt, tries, max_tries, memory, expected,
			run_at, lease_until, worker_id, cancel, checkpoint, checkpoint_step, created_at, request)
		SELECT
			id, 'fold', 'fold/null', owner, owner, i / ` + fmt.Sprint(fleetUsers) + `, id, 'queued', 0, 0, 10, 0, 0,
			at, 0, '', 0, '', 0, at, ''`,
	} {
		out = append(out, q+`
		FROM (
			SELECT
				i,
				'01900000-0000-7000-8000-' || lpad(i::text, 12, '0') AS id,
				'user-' || (1 + i % `+fmt.Sprint(fleetUsers)+`) AS owner,
				(extract(epoch FROM now()) * 1000000)::bigint AS at
			FROM generate_series($1::bigint, $2::bigint) i
		) AS n`)
	}
	return out
}()
