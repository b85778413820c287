package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"pleat"
	"pleat/internal/clock"
	"pleat/internal/engine"
	"pleat/internal/facts"
	"pleat/internal/flow"
	"pleat/internal/structure"
)

// The files of an answer.
const (
	answerFile   = "answer.json" // the question and the answer
	factsFile    = "facts.json"  // what the answer is based on
	metadataFile = "job.yaml"    // what ran, on which structure
)

const (
	// maxStructureBytes is the largest file of a structure that is read, in bytes.
	maxStructureBytes = 128 << 20
	// factsTime is how long an attempt may read its files and compute the facts. A protein of 40,000 atoms takes a
	// second or two.
	factsTime = 5 * time.Minute
)

// Reply is the answer of a Q&A engine: a text for the reader, and details for answer.json.
type Reply struct {
	Text   string
	Detail any // what else the engine says, for answer.json
}

// Answer runs a question: it reads the structure, computes its facts, calls generate with them and writes the result
// with the files answer.json, facts.json and job.yaml among its artifacts.
//
// generate is the engine. Its failure is the run's. A PAE file that cannot be read is left out with a note, because
// most questions do not need it; a structure that cannot be read ends the run. When ctx ends, the output is a failure.
func Answer(
	ctx context.Context,
	w pleat.Work,
	sink pleat.Sink,
	generate func(context.Context, *facts.Facts) (Reply, *pleat.Failure),
) pleat.Output {
	watch := clock.Start()
	sink.Progress("digest", 0, 3)
	f, notes, failure := digest(ctx, w, factsTime)
	if failure != nil {
		return pleat.Output{Failure: failure}
	}
	if ctx.Err() != nil {
		return pleat.Output{Failure: engine.Interrupted(ctx)}
	}
	digested := watch.Elapsed()
	sink.Log(fmt.Sprintf("%s: polymer chains %d, residues %d, ligands %d",
		filepath.Base(w.QnA.File), len(f.Chains), f.Residues, len(f.Ligands)))
	sink.Progress("answer", 1, 3)
	reply, failure := generate(ctx, f)
	switch {
	case ctx.Err() != nil:
		return pleat.Output{Failure: engine.Interrupted(ctx)}
	case failure != nil:
		return pleat.Output{Failure: failure}
	}
	answered := watch.Elapsed()
	result := pleat.Result{Notes: notes, Timings: map[string]float64{
		"digest":         digested.Seconds(),
		"answer":         (answered - digested).Seconds(),
		pleat.StageInfer: answered.Seconds(),
	}}
	sink.Progress("write", 2, 3)
	a := answer{work: w, engine: w.Model.Name + " " + w.Model.Version, facts: f, reply: reply}
	a.folder.dir = w.Dir
	row, err := a.write()
	if err != nil {
		message := "the answer could not be written: " + engine.PublicMessage(err)
		return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, message)}
	}
	result.Timings[pleat.StageWrite] = (watch.Elapsed() - answered).Seconds()
	sink.Progress("write", 3, 3)
	return pleat.Output{Files: a.files, Result: &result, Row: row, Engine: a.engine, MSA: pleat.StatePending}
}

// digest reads the input files of a question and computes the facts, with notes on what had to be left out. The title
// is the name of the job that predicted the structure, if there is one. It fails if that takes longer than limit.
func digest(ctx context.Context, w pleat.Work, limit time.Duration) (*facts.Facts, []string, *pleat.Failure) {
	parent := ctx
	ctx, end := context.WithTimeout(ctx, limit)
	defer end()
	interrupted := func() *pleat.Failure {
		if parent.Err() != nil {
			return engine.Interrupted(parent)
		}
		return pleat.Failed(pleat.FailTimeout, fmt.Sprintf("the facts of the structure took longer than %.0f minutes "+
			"to compute; ask about a smaller structure", limit.Minutes()))
	}
	q := w.QnA
	s, err := readStructure(ctx, w.Dir, q.File, structure.ReadWhole) // the sequence tells what is missing
	if ctx.Err() != nil {
		return nil, nil, interrupted()
	}
	if err != nil {
		return nil, nil, StructureFailure(err)
	}
	if q.Name != "" {
		s.Title = q.Name
	}
	extra := facts.Extra{
		Source:    filepath.Base(q.File),
		Predicted: q.Predicted,
		Model:     q.Model,
		Scores:    q.Scores,
	}
	var notes []string
	if q.PAE != "" {
		errs, err := ReadPAE(ctx, filepath.Join(w.Dir, q.PAE))
		if err == nil {
			extra.PAE, err = PolymerPAE(s, errs)
		}
		if err != nil && ctx.Err() == nil {
			notes = append(notes, "The predicted aligned errors were left out: "+engine.PublicMessage(err)+".")
		}
	}
	f, err := facts.Digest(ctx, s, extra)
	if err != nil {
		return nil, nil, interrupted()
	}
	return f, notes, nil
}

// ReadStructure reads a structure file inside a folder, mmCIF or PDB by its content, of at most maxStructureBytes. name
// must be a path inside dir. StructureFailure tells which errors are the file's fault. It stops reading when ctx ends.
func ReadStructure(ctx context.Context, dir, name string) (*structure.Structure, error) {
	return readStructure(ctx, dir, name, structure.Read)
}

// readStructure is ReadStructure with structure.Read or structure.ReadWhole.
func readStructure(
	ctx context.Context, dir, name string, read func(io.Reader, structure.Limits) (*structure.Structure, error),
) (*structure.Structure, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("the file %q is not in the folder of the work", pleat.Clip(name))
	}
	in, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	s, err := read(in, structure.Limits{Bytes: maxStructureBytes})
	return s, errors.Join(err, in.Close())
}

// StructureFailure returns the failure of an input structure that ReadStructure could not read.
func StructureFailure(err error) *pleat.Failure {
	var bad *structure.ParseError
	if errors.As(err, &bad) {
		kind := pleat.FailInvalidInput
		if bad.Limit {
			kind = pleat.FailTooLarge
		}
		return pleat.Failed(kind, "the structure cannot be read: "+bad.Error())
	}
	var refusal *pleat.Error
	if errors.As(err, &refusal) {
		return pleat.Failed(pleat.FailInvalidInput, refusal.Message)
	}
	return pleat.Failed(pleat.FailStorage, "the structure cannot be read: "+engine.PublicMessage(err))
}

// answer is an answered question.
type answer struct {
	work   pleat.Work
	engine string
	facts  *facts.Facts
	reply  Reply
	folder
}

// write writes the answer, the facts that it is based on and the metadata of the run, and returns the row.
func (a *answer) write() ([]byte, error) {
	metadata, err := a.metadata()
	if err != nil {
		return nil, err
	}
	err = a.json(pleat.ArtifactAnswer, answerFile, map[string]any{
		"question": a.work.QnA.Question,
		"answer":   a.reply.Text,
		"run":      metadata,
		"reply":    a.reply.Detail,
	})
	if err != nil {
		return nil, err
	}
	if err := a.json(pleat.ArtifactFacts, factsFile, a.facts); err != nil {
		return nil, err
	}
	err = a.file(pleat.ArtifactJobYAML, metadataFile, "application/yaml", func(out io.Writer) error {
		enc := yaml.NewEncoder(out)
		return errors.Join(enc.Encode(metadata), enc.Close())
	})
	if err != nil {
		return nil, err
	}
	if err := a.citations(a.engine, a.work.Model.Citations); err != nil {
		return nil, err
	}
	// The path starts with the folder of the attempt: what lies above it must not be published.
	path := filepath.Join(filepath.Base(a.work.Dir), metadataFile)
	return flow.AnswerRow(a.work.QnA, a.reply.Text, a.engine, path)
}

// metadata returns the content of job.yaml: versions, and the structure with its size and SHA-256.
func (a *answer) metadata() (map[string]any, error) {
	q := a.work.QnA
	sum, size, err := HashFile(filepath.Join(a.work.Dir, q.File))
	if err != nil {
		return nil, err
	}
	confidence := ""
	if q.Scores != nil {
		confidence = q.Scores.Confidence
	}
	return map[string]any{
		"service":      "pleat " + pleat.Version,
		"engine":       a.engine,
		"model":        a.work.Model.Name,
		"task":         string(a.work.Task),
		"attempt":      a.work.Attempt,
		"targetSource": q.Source,
		"targetRef":    flow.PublicReference(q.Reference), // the file is public with its workflow
		"structure": map[string]any{
			"file":       filepath.Base(q.File),
			"bytes":      size,
			"sha256":     sum,
			"predicted":  q.Predicted,
			"model":      q.Model,
			"confidence": confidence,
		},
	}, nil
}
