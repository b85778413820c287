package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// pgbenchScript is a transaction of one row, whose statement pgbench prepares once.
const pgbenchScript = "INSERT INTO pgbench_row (client, body) VALUES (:client_id, 'a row of pgbench');\n"

// pgbenchRate finds the rate in the output of pgbench.
var pgbenchRate = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench returns the load of pgbench, of the installed PostgreSQL, on the database of the service: clients that each
// commit one row after the other, with the same settings of the server. The processor time is that of pgbench. It
// returns nil if pgbench is not installed; scripts/with-postgres adds its folder to PATH.
func (h *service) pgbench(ctx context.Context) (load, error) {
	program, err := exec.LookPath("pgbench")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, h.database)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `
		CREATE TABLE pgbench_row (
			id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, client bigint NOT NULL, body text NOT NULL)`)
	c := conn.Config()
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return nil, err
	}
	script := filepath.Join(h.dir, "pgbench.sql")
	if err := os.WriteFile(script, []byte(pgbenchScript), 0o600); err != nil {
		return nil, err
	}
	env := append(os.Environ(), "PGHOST="+c.Host, fmt.Sprintf("PGPORT=%d", c.Port), "PGUSER="+c.User,
		"PGPASSWORD="+c.Password, "PGDATABASE="+c.Database)
	return func(ctx context.Context, seconds float64) (pace, error) {
		run := exec.CommandContext(ctx, program, "--no-vacuum", "--protocol=prepared", "--file="+script,
			"--client="+strconv.Itoa(clients), "--jobs=2",
			fmt.Sprintf("--time=%d", int(math.Ceil(seconds)))) // it takes whole seconds
		run.Env = env
		out, err := run.CombinedOutput()
		if err != nil {
			return pace{}, fmt.Errorf("pgbench: %w: %s", err, out)
		}
		found := pgbenchRate.FindSubmatch(out)
		if found == nil {
			return pace{}, fmt.Errorf("pgbench printed no rate: %s", out)
		}
		rate, err := strconv.ParseFloat(string(found[1]), 64)
		spent := run.ProcessState.UserTime() + run.ProcessState.SystemTime()
		return pace{rate: rate, cpu: spent.Seconds() / (rate * math.Ceil(seconds))}, err
	}, nil
}
