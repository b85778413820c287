package server_test

import (
	"strings"
	"testing"
	"time"

	"pleat/internal/engine/builtin"
	"pleat/internal/server"
	"pleat/internal/store/storetest"
)

// A simulation that would take longer than a run may, or write more than a trajectory may have, is refused before it is
// stored, with what would fit. A request that fits is accepted.
func TestSimulationsAreRefusedByTheirCost(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.MaxTime = 24 * time.Hour })
	h.register(append(builtin.Calvados{}.Models(), testModel)...)
	create := func(residues int, input string) reply {
		return h.as(h.key, "POST", "/v1/workflows", `{"workflow_name":"md","name":"long","workflow_input":{`+
			`"box_length":300,"sequence":"`+strings.Repeat("G", residues)+`",`+input+`}}`)
	}
	for _, c := range []struct {
		residues    int
		input, want string
	}{
		{5000, `"sim_length_ns":1000,"step_size_ns":1`, "workflow_input.sim_length_ns is 1000 ns, for which calvados " +
			"needs about 56 hours with 5000 residues; a run may take 24 hours, which is enough for about 430 ns"},
		{5000, `"sim_length_ns":430,"step_size_ns":1`, ""},
		{990, `"sim_length_ns":1000,"step_size_ns":0.01`, "100000 frames of 990 residues make a trajectory of 1140 MiB; " +
			"at most 1024 MiB are written: raise step_size_ns or lower sim_length_ns"},
		{990, `"sim_length_ns":1000,"step_size_ns":0.1`, ""},
	} {
		stored := storetest.Count(t, h.store, "workflow")
		r := create(c.residues, c.input)
		if c.want == "" {
			if r.status != 200 {
				t.Errorf("%d residues, %s: %d %s", c.residues, c.input, r.status, r.body)
			}
			continue
		}
		if got := r.message(t); r.status != 400 || got != c.want {
			t.Errorf("%d residues, %s: %d %s\nwant %s", c.residues, c.input, r.status, got, c.want)
		}
		if n := storetest.Count(t, h.store, "workflow"); n != stored {
			t.Errorf("%d residues, %s: a refused workflow was stored", c.residues, c.input)
		}
	}
}

// The size of a fold is known, too.
func TestSimulationsOfFoldsAreRefusedByTheirCost(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(c *server.Config) { c.MaxTime = 30 * time.Minute })
	h.register(append(builtin.Calvados{}.Models(), testModel)...)
	const chain = "DAYAQWLKDGGPSSGRPPPS"
	job := h.completed(strings.Replace(trp, chain, strings.Repeat(chain, 10), 1))
	for _, preset := range []string{"single_idr_fasta", "single_af_go"} {
		r := h.as(h.key, "POST", "/v1/workflows", `{"workflow_name":"md","name":"of a fold","workflow_input":{`+
			`"preset":"`+preset+`","source_job_id":"`+job.JobID+`","sim_length_ns":1000,"box_length":300}}`)
		want := "workflow_input.sim_length_ns is 1000 ns, for which calvados needs about 37 minutes with 200 " +
			"residues; a run may take 30 minutes, which is enough for about 800 ns"
		if r.status != 400 || r.message(t) != want {
			t.Errorf("%s: %d %s\nwant %s", preset, r.status, r.body, want)
		}
	}
}
