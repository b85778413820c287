package client

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pleat"
	"pleat/api"
	"pleat/internal/cli/results"
)

// scoredBy returns a row of a model with scores; a nil one has none.
func scoredBy(model string, group int, plddt, ptm, iptm any) ranked {
	value := func(v any) *float64 {
		if f, ok := v.(float64); ok {
			return &f
		}
		return nil
	}
	return ranked{
		job:    foldJob{base: "job", request: api.CreateJob{Params: &api.Params{ModelName: model}}},
		group:  group,
		scores: api.Prediction{MeanPLLDT: value(plddt), PTM: value(ptm), IPTM: value(iptm)},
	}
}

// withRMSD returns a row of a model that gives a predicted RMSD in place of pLDDT.
func withRMSD(model string, rmsd float64) ranked {
	r := scoredBy(model, 0, nil, nil, nil)
	r.scores.PredictedRMSD = &rmsd
	return r
}

// The best comes first, of each thing that was folded; what failed comes last.
func TestRank(t *testing.T) {
	failed := scoredBy("failed", 0, nil, nil, nil)
	failed.why = "out of memory"
	for name, c := range map[string]struct {
		rows []ranked
		by   string
		want string // model and rank, in order
	}{
		"by pLDDT": {
			[]ranked{scoredBy("a", 0, 70.0, nil, nil), failed, scoredBy("b", 0, 90.0, nil, nil)},
			"mean pLDDT", "b 1, a 2, failed -",
		},
		"by interface where all have one": {
			[]ranked{scoredBy("a", 0, 90.0, 0.5, 0.5), failed, scoredBy("b", 0, 70.0, 0.5, 0.6)},
			"0.8 ipTM", "b 1, a 2, failed -",
		},
		"one without an interface": {
			[]ranked{scoredBy("a", 0, 90.0, 0.5, nil), scoredBy("b", 0, 70.0, 0.5, 0.6)},
			"mean pLDDT", "a 1, b 2",
		},
		"predicted RMSD, low being good, where none has pLDDT": {
			[]ranked{withRMSD("a", 2), failed, withRMSD("b", 0.5), scoredBy("c", 0, nil, nil, nil)},
			"mean predicted RMSD", "b 1, a 2, c 3, failed -",
		},
		"predicted RMSD is not compared with pLDDT": {
			[]ranked{withRMSD("a", 0.5), scoredBy("b", 0, 10.0, nil, nil)}, "mean pLDDT", "b 1, a 2",
		},
		"no structure": {[]ranked{failed}, "mean pLDDT", "failed -"},
		"no score": {
			[]ranked{scoredBy("a", 0, nil, nil, nil), scoredBy("b", 0, 70.0, nil, nil)},
			"mean pLDDT", "b 1, a 2",
		},
		"several sequences": {
			[]ranked{
				scoredBy("a", 0, 70.0, nil, nil), scoredBy("a", 1, 80.0, nil, nil),
				scoredBy("b", 0, 90.0, nil, nil), scoredBy("b", 1, 60.0, nil, nil),
			},
			"mean pLDDT", "b 1, a 2, a 1, b 2",
		},
	} {
		by := rank(c.rows)
		var got []string
		for _, row := range rankingTable(c.rows)[1:] {
			got = append(got, row[2]+" "+row[0])
		}
		if strings.Join(got, ", ") != c.want || !strings.HasPrefix(by, c.by) {
			t.Errorf("%s: %s by %s; want %s by %s", name, got, by, c.want, c.by)
		}
	}
}

// Jobs and folders are named after what distinguishes them, in names that every file system takes.
func TestVariantsAreNamed(t *testing.T) {
	long := strings.Repeat("é/", 200)
	requests := []api.CreateJob{
		{Name: "Trp-cage", Params: &api.Params{ModelName: "x"}},
		{Name: "Trp cage", Params: &api.Params{ModelName: "x"}},
		{Name: long, Params: &api.Params{ModelName: "x"}},
	}
	jobs, err := variants{models: []string{"mini", "boltz-2"}, seeds: []string{"1"}}.jobs(requests, results.Folder{})
	if err != nil {
		t.Fatal(err)
	}
	var names, folders []string
	for _, j := range jobs {
		if n := utf8.RuneCountInString(j.request.Name); n > pleat.MaxName || len(j.folder) > 200 {
			t.Errorf("%d characters, folder %s", n, j.folder)
		}
		names, folders = append(names, j.request.Name), append(folders, j.folder)
	}
	if d := cmp.Diff([]string{"Trp-cage (mini, seed 1)", "Trp-cage (boltz-2, seed 1)", "Trp cage (mini, seed 1)"},
		names[:3]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"Trp-cage-mini-seed1", "Trp-cage-boltz-2-seed1", "Trp-cage-mini-seed1-2",
		"Trp-cage-boltz-2-seed1-2", "job-mini-seed1", "job-boltz-2-seed1"}, folders); d != "" {
		t.Error(d)
	}
	if !strings.HasSuffix(names[4], "… (mini, seed 1)") {
		t.Errorf("the job is named %q", names[4])
	}
	if requests[0].Params.ModelName != "x" {
		t.Error("the request was changed")
	}
}

// Records of a stranger's FASTA file are no formulas in the table of the ranking.
func TestRankingHasNoFormulas(t *testing.T) {
	path, err := writeRanking(results.Folder{Dir: t.TempDir()}, [][]string{
		{"1", "=HYPERLINK(1)", "null", "7", "-", "91.0", "x;@SUM(A1)"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := "1,'=HYPERLINK(1),null,7,-,91.0,x;'@SUM(A1)\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
