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
	"time"

	"github.com/jackc/pgx/v5"
)

// pgbenchScript makes the tables of a script of pgbench, and returns the script.
type pgbenchScript func(context.Context, *pgx.Conn) (string, error)

// oneRow returns a transaction of one row, whose statement pgbench prepares once.
func oneRow(ctx context.Context, conn *pgx.Conn) (string, error) {
	_, err := conn.Exec(ctx, `
		CREATE TABLE pgbench_row (
			id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, client bigint NOT NULL, body text NOT NULL)`)
	return "INSERT INTO pgbench_row (client, body) VALUES (:client_id, 'a row of pgbench');\n", err
}

// rowsOfCreation returns a transaction of the rows that a creation writes, sent at once: a job, its run and its task,
// as the last creation has left them, with new ids, into tables with the same columns and indexes, and the day's count
// of its user. Each client is a user.
func rowsOfCreation(ctx context.Context, conn *pgx.Conn) (string, error) {
	script := "\\startpipeline\nBEGIN;\n"
	for _, table := range []string{"job", "run", "task"} {
		var columns, values string
		err := conn.QueryRow(ctx, `
			SELECT string_agg(column_name, ', '), string_agg(
				CASE WHEN column_name IN ('id', 'job_id', 'run_id') THEN 'gen_random_uuid()' ELSE column_name END, ', ')
			FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name = $1`,
			table).Scan(&columns, &values)
		if err != nil {
			return "", err
		}
		if _, err := conn.Exec(ctx, fmt.Sprintf(`
			CREATE TABLE pgbench_%[1]s (LIKE %[1]s INCLUDING ALL);
			CREATE TABLE pgbench_one_%[1]s AS SELECT * FROM %[1]s ORDER BY id DESC LIMIT 1`, table)); err != nil {
			return "", err
		}
		script += fmt.Sprintf("INSERT INTO pgbench_%[1]s (%[2]s) SELECT %[3]s FROM pgbench_one_%[1]s;\n",
			table, columns, values)
	}
	_, err := conn.Exec(ctx, "CREATE TABLE pgbench_quota_day (LIKE quota_day INCLUDING ALL)")
	return script + `INSERT INTO pgbench_quota_day (project_id, day, used) VALUES (:client_id, 1, 1)
		ON CONFLICT (project_id, day) DO UPDATE SET used = pgbench_quota_day.used + 1;
COMMIT;
\endpipeline
`, err
}

// pgbenchRate finds the rate in the output of pgbench.
var pgbenchRate = regexp.MustCompile(`tps = ([0-9.]+)`)

// pgbench returns the load of pgbench, of the installed PostgreSQL, on the database of the service: clients that each
// commit one transaction after the other, with the same settings of the server. The processor time is that of pgbench.
// It returns nil if pgbench is not installed; scripts/with-postgres adds its folder to PATH.
func (h *service) pgbench(ctx context.Context, prepare pgbenchScript) (load, error) {
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
	text, err := prepare(ctx, conn)
	c := conn.Config()
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return nil, err
	}
	script := filepath.Join(h.dir, fmt.Sprintf("pgbench-%d.sql", time.Now().UnixNano()))
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
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
