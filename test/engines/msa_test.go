package engines

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"pleat/api"
	"pleat/internal/msa/msatest"
)

// TestRealEnginesTakeAlignments has Boltz fold a complex from alignments, unpaired and paired. The server of alignments
// makes them up and the weights are random: what is proved is that they reach the model, which gives another structure
// for the same seed.
func TestRealEnginesTakeAlignments(t *testing.T) {
	server := msatest.New(t)
	server.Known = true
	t.Setenv("PLEAT_MSA_SERVER", server.URL)
	l := startEngines(t, "boltz")
	pair := trp + `,{"proteinChain":{"sequence":"GSHMKTAYIAKQ"}}`
	with := l.fold(pair, quick, "")
	if with.Run.MSAStatus != "COMPLETED" || with.Run.Timings["msa"] <= 0 ||
		hasNote(with.Run.Notes, "without an alignment") {
		t.Errorf("the alignment is %s, timings %v, notes %q", with.Run.MSAStatus, with.Run.Timings, with.Run.Notes)
	}
	if len(server.Tickets) != 2 || server.Tickets[1].Mode != "pairgreedy" {
		t.Errorf("submitted %v", server.Tickets)
	}
	res, err := l.api.Results(context.Background(), with.Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if res.Prediction.Coverage == nil || !strings.Contains(*res.Prediction.Coverage, "coverage.png") {
		t.Errorf("the plot is at %v", res.Prediction.Coverage)
	}
	if bib := l.file(with.Job.ID, "citations_bibtex"); !bytes.Contains(bib, []byte("steinegger2017mmseqs2")) {
		t.Errorf("the search is not cited:\n%s", bib)
	}
	without := l.fold(pair, quick+`,"msaAlgorithm":"none"`, "")
	if without.Run.MSAStatus != "PENDING" || !hasNote(without.Run.Notes, "without an alignment") {
		t.Errorf("the alignment is %s, notes %q", without.Run.MSAStatus, without.Run.Notes)
	}
	if bytes.Equal(l.file(with.Job.ID, "cif"), l.file(without.Job.ID, "cif")) {
		t.Error("the structure is the same with alignments and without: they did not reach the model")
	}
}

// TestRealEnginesEsmFold2TakesAlignments has ESMFold2 fold a complex with alignments and without.
func TestRealEnginesEsmFold2TakesAlignments(t *testing.T) {
	takesAlignments(t, "esm", `"modelName":"esmfold2","seed":"1","recyclingSteps":1,"samplingSteps":10`)
}

// TestRealEnginesProtenixTakesAlignments has Protenix fold a complex with alignments and without.
func TestRealEnginesProtenixTakesAlignments(t *testing.T) {
	takesAlignments(t, "protenix",
		`"modelName":"protenix","seed":"1","recyclingSteps":1,"samplingSteps":5,"diffusionSample":1`)
}

// TestRealEnginesProtenixTakesAlignmentsOfRNA has Protenix fold RNA with an alignment of its own and without.
func TestRealEnginesProtenixTakesAlignmentsOfRNA(t *testing.T) {
	l := startEngines(t, "protenix")
	ctx := context.Background()
	item, err := l.api.CreateItem(ctx, api.CreateItem{Name: "rna", FileType: "msa"})
	if err != nil {
		t.Fatal(err)
	}
	const rows = ">query\nGGGAAACCC\n>one\nGGCAAAGCC\n>two\nGCGA-ACGuC\n"
	if _, err := l.api.UploadFile(ctx, item.ID, "rna.a3m", strings.NewReader(rows)); err != nil {
		t.Fatal(err)
	}
	const params = `"modelName":"protenix","seed":"1","recyclingSteps":1,"samplingSteps":5,"diffusionSample":1`
	with := l.fold(fmt.Sprintf(`{"rnaSequence":{"sequence":"GGGAAACCC","msa":{"libraryItemId":%q}}}`, item.ID), params, "")
	without := l.fold(`{"rnaSequence":{"sequence":"GGGAAACCC"}}`, params, "")
	if with.Run.MSAStatus != "COMPLETED" || without.Run.MSAStatus != "PENDING" {
		t.Errorf("the alignments are %s and %s", with.Run.MSAStatus, without.Run.MSAStatus)
	}
	if bytes.Equal(l.file(with.Job.ID, "cif"), l.file(without.Job.ID, "cif")) {
		t.Error("the structure is the same with the alignment and without: it did not reach the model")
	}
}

// takesAlignments has an engine fold a complex of two chains from alignments, unpaired and paired, and without.
func takesAlignments(t *testing.T, engine, params string) {
	server := msatest.New(t)
	server.Known = true
	t.Setenv("PLEAT_MSA_SERVER", server.URL)
	l := startEngines(t, engine)
	pair := trp + `,{"proteinChain":{"sequence":"GSHMKTAYIAKQ"}}`
	with := l.fold(pair, params, "")
	if with.Run.MSAStatus != "COMPLETED" || len(server.Tickets) != 2 || server.Tickets[1].Mode != "pairgreedy" {
		t.Errorf("the alignment is %s, submitted %v", with.Run.MSAStatus, server.Tickets)
	}
	without := l.fold(pair, params+`,"msaAlgorithm":"none"`, "")
	if bytes.Equal(l.file(with.Job.ID, "cif"), l.file(without.Job.ID, "cif")) {
		t.Error("the structure is the same with alignments and without: they did not reach the model")
	}
}
