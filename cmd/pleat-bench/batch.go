package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/store"
	"pleat/internal/store/batches"
	"pleat/internal/submit"
)

const (
	// batchCreated is how many rows a batch has whose creation is measured.
	batchCreated = 10_000
	// batchFew and batchMany are how many rows the two batches have whose tables are compared.
	batchFew, batchMany = 10_000, 100_000
	// batchRequests is how often each request on a table is made.
	batchRequests = 60
)

// batches measures how fast a batch of 10,000 rows is acknowledged, next to a bare insert of the same rows in one
// transaction: at least half as fast. And it compares the table of a batch of 100,000 rows with that of 10,000: a page
// takes at most 1.5 times as long.
func (b *bench) batches(ctx context.Context, d database) (err error) {
	h, err := b.newService(ctx, d, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if err := b.batchCreation(ctx, d, h); err != nil {
		return err
	}
	return b.batchTables(ctx, d, h)
}

// batchCreation is the first comparison of batches.
func (b *bench) batchCreation(ctx context.Context, d database, h *service) error {
	in := api.CreateBatch{Name: "bench", Kind: "list", Params: &api.Params{ModelName: "null"}}
	for i := range batchCreated {
		in.Jobs = append(in.Jobs, api.BatchJob{
			Sequences: []api.SequenceItem{{ProteinChain: &api.Polymer{Sequence: benchSequence(i)}}},
		})
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request := rawRequest("POST", "/v1/batches", h.keys[0], string(body))
	conns, closeAll, err := dialAll(ctx, h.addr)
	if err != nil {
		return err
	}
	defer closeAll()
	bare, err := openBare(ctx, h.database)
	if err != nil {
		return err
	}
	defer bare.Close()
	var rates [2][]pace
	for range b.rounds + 1 {
		for i, do := range []func() error{
			func() error { return conns[0].do(request, nil) },
			func() error { return bareInsert(ctx, bare) },
		} {
			began := time.Now()
			if err := do(); err != nil {
				return err
			}
			rates[i] = append(rates[i], pace{rate: batchCreated / time.Since(began).Seconds()})
		}
	}
	for i := range rates {
		rates[i] = rates[i][1:] // the first fills caches and connections
	}
	rate := func(paces []pace) string {
		var x []float64
		for _, p := range paces {
			x = append(x, p.rate)
		}
		return fmt.Sprintf("%.0f rows/s", quantile(0.5, x))
	}
	b.atLeast(line{
		what:     fmt.Sprintf("creating a batch of %d rows over HTTP", batchCreated),
		database: d.name,
		figure:   rate(rates[0]),
		ceiling:  "inserting them bare, in one transaction " + rate(rates[1]),
	}, medianRatio(rates[0], rates[1]), 0.5)
	return nil
}

// benchSequence returns different sequences of 76 residues.
func benchSequence(i int) string {
	const letters = "ACDEFGHIKLMNPQRSTVWY"
	var text strings.Builder
	for range 76 / 4 {
		for k, n := 0, i; k < 4; k, n = k+1, n/20 {
			text.WriteByte(letters[n%20])
		}
	}
	return text.String()
}

// openSQL opens a database without the store. SQLite writes each transaction to the disk.
func openSQL(address string) (*sql.DB, error) {
	path, ok := strings.CutPrefix(address, "sqlite:")
	if !ok {
		return sql.Open("pgx", address)
	}
	return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)&_pragma=synchronous(FULL)")
}

// openBare opens a database without the store, and makes a table like batch_row there.
func openBare(ctx context.Context, address string) (*sql.DB, error) {
	db, err := openSQL(address)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `
		CREATE TABLE bare_row (batch text NOT NULL, number bigint NOT NULL, custom_id text NOT NULL,
			same_as bigint NOT NULL, input text NOT NULL, PRIMARY KEY (batch, number))`)
	return db, err
}

// bareInsert inserts rows like those of a batch in one transaction, 125 in a statement.
func bareInsert(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	const each = 125
	var marks []string
	for i := range each {
		marks = append(marks, fmt.Sprintf("($%d, $%d, $%d, $%d, $%d)", 5*i+1, 5*i+2, 5*i+3, 5*i+4, 5*i+5))
	}
	st, err := tx.PrepareContext(ctx, "INSERT INTO bare_row VALUES "+strings.Join(marks, ", "))
	if err != nil {
		return err
	}
	defer st.Close()
	batch := fmt.Sprint(time.Now().UnixNano())
	for first := 0; first < batchCreated; first += each {
		var args []any
		for i := first; i < first+each; i++ {
			input, err := json.Marshal(benchRow(i).Input)
			if err != nil {
				return err
			}
			args = append(args, batch, i+1, fmt.Sprint(i+1), i+1, string(input))
		}
		if _, err := st.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// benchRow is a row of a batch.
func benchRow(i int) batches.NewRow {
	job := pleat.Job{
		Name: fmt.Sprint("bench ", i+1),
		Sequences: []pleat.Sequence{
			{Kind: pleat.Protein, Text: benchSequence(i), Chains: []string{"A"}, Count: 1},
		},
		Params: pleat.Params{Model: "null"},
	}
	in := batches.RowInput{
		Name:      job.Name,
		Sequences: job.Sequences,
		Run:       submit.JobRun(&job, pleat.Model{Name: "null"}),
	}
	in.Run.Queue = nullQueue
	return batches.NewRow{CustomID: fmt.Sprint(i + 1), Digest: sha256.Sum256([]byte(fmt.Sprint(i))), Input: in}
}

// batchTables is the second comparison of batches.
func (b *bench) batchTables(ctx context.Context, d database, h *service) error {
	var sides [2]pleat.Batch
	for i, rows := range []int{batchFew, batchMany} {
		began := time.Now()
		id, err := h.fillBatch(ctx, rows)
		if err != nil {
			return err
		}
		if sides[i], err = h.store.Batches.Batch(ctx, id); err != nil {
			return err
		}
		fmt.Fprintf(b.progress, "  a batch of %d rows was filled in %s\n", rows, short(time.Since(began)))
	}
	middle := 50.0
	for _, q := range []struct {
		what  string
		query batches.TableQuery
	}{
		{"the first page of a table", batches.TableQuery{}},
		{"the first page, sorted", batches.TableQuery{Sort: "meanPLDDT", Descending: true}},
		{"a page in the middle, sorted", batches.TableQuery{
			Sort: "meanPLDDT", Descending: true, After: &batches.RowPosition{Value: &middle, Number: 1},
		}},
		{"the first page of half of the rows, sorted", batches.TableQuery{
			Sort: "meanPLDDT", Conditions: []pleat.ScoreCondition{{Name: "meanPLDDT", Op: ">=", Value: 50}},
			State: pleat.StateCompleted,
		}},
		{"the hundred rows that a filter selects", batches.TableQuery{
			Sort: "meanPLDDT", Conditions: []pleat.ScoreCondition{{Name: "meanPLDDT", Op: ">="}},
		}},
	} {
		q.query.Limit = 100
		took, err := alternate(batchRequests, func(side int) error {
			if c := q.query.Conditions; len(c) > 0 && c[0].Value != 50 {
				c[0].Value = 100 - 100*100/float64(sides[side].Rows)
			}
			_, _, err := h.store.Batches.BatchTable(ctx, &sides[side], q.query)
			return err
		})
		if err != nil {
			return err
		}
		few, many := quantileTime(0.5, took[0]), quantileTime(0.5, took[1])
		b.atMost(line{
			what:     q.what + fmt.Sprintf(", of %d rows", batchMany),
			database: d.name,
			figure:   short(many),
			ceiling:  fmt.Sprintf("of %d rows %s", batchFew, short(few)),
		}, float64(many)/float64(few), 1.5)
	}
	return nil
}

// fillBatch makes a batch whose jobs have all completed, each with a score. The jobs are made by the store and
// completed by SQL.
func (h *service) fillBatch(ctx context.Context, rows int) (pleat.BatchID, error) {
	created, err := h.store.Batches.CreateBatch(ctx, batches.NewBatch{
		Batch: pleat.Batch{Owner: h.users[0].Project, Name: "bench", Kind: pleat.BatchList, Model: "null"},
		Rows: func(yield func(batches.NewRow, error) bool) {
			for i := range rows {
				if !yield(benchRow(i), nil) {
					return
				}
			}
		},
	})
	if err != nil {
		return "", err
	}
	for more := true; more; {
		if more, err = h.store.Batches.AdvanceBatches(ctx); err != nil {
			return "", err
		}
	}
	db, err := openSQL(h.database)
	if err != nil {
		return "", err
	}
	defer db.Close()
	const score = "(batch_row * 7919) % 10000 / 100.0"
	for _, q := range []string{
		"DELETE FROM task WHERE run_id IN (SELECT run_id FROM job WHERE batch_id = $1)",
		`UPDATE run SET state = 'COMPLETED', finished_at = created_at, started_at = created_at, result =
			'{"predictions":[{"chains":["A"],"mean_plddt":' ||
			(SELECT ` + score + ` FROM job j WHERE j.id = run.job_id) ||
			',"ptm":null,"iptm":null,"max_pae":null}],"timings":{}}'
			WHERE job_id IN (SELECT id FROM job WHERE batch_id = $1)`,
		"UPDATE job SET state = 'COMPLETED' WHERE batch_id = $1",
		"INSERT INTO batch_score SELECT batch_id, batch_row, 'meanPLDDT', " + score + " FROM job WHERE batch_id = $1",
	} {
		if _, err := db.ExecContext(ctx, q, created.Batch); err != nil {
			return "", err
		}
	}
	return created.Batch, nil
}
