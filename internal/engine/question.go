package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"pleat"
	"pleat/internal/analyst"
	"pleat/internal/facts"
	"pleat/internal/flow"
	"pleat/internal/structure"
)

// Analyst is the built-in answering engine: no model, nothing to download. It answers from computed facts, or says that it
// cannot.
type Analyst struct{}

const analystVersion = "1"

var dsspPaper = pleat.Citation{Key: "kabsch1983", BibTeX: "@article{kabsch1983,\n  author  = {Kabsch, Wolfgang and Sander, Christian},\n  title   = {Dictionary of protein secondary structure: pattern recognition of hydrogen-bonded and geometrical features},\n  journal = {Biopolymers},\n  volume  = {22},\n  number  = {12},\n  pages   = {2577--2637},\n  year    = {1983},\n  doi     = {10.1002/bip.360221211}\n}"}

// Models has the one model, analyst.
func (Analyst) Models() []pleat.Model {
	return []pleat.Model{{
		Name: "analyst", Kind: pleat.TaskQnA, Title: "Analyst, the built-in answering engine",
		Engine: "analyst", Version: analystVersion, WeightSet: "none", Method: "computed facts and a grammar of questions",
		Licence: "Apache-2.0", Device: "cpu", Entities: []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand},
		Memory:    pleat.MemoryModel{Base: 100e6, Linear: 100e3},
		Notice:    analyst.Name + ". A question that it does not understand whole, or that coordinates cannot answer, gets no answer but the reason.",
		Citations: []pleat.Citation{dsspPaper},
	}}
}

// Run answers the question.
func (Analyst) Run(ctx context.Context, w pleat.Work, sink pleat.Sink) pleat.Output {
	return ask(ctx, w, sink, func(_ context.Context, f *facts.Facts) (reply, *pleat.Failure) {
		r := analyst.Answer(f, w.QnA.Question)
		return reply{text: r.Text, detail: r}, nil
	})
}

// reply is an engine's answer: its text, and what else it says of it.
type reply struct {
	text   string
	detail any
}

// ask reads the structure, computes its facts, has an engine answer from them and writes the result.
func ask(ctx context.Context, w pleat.Work, sink pleat.Sink, answer func(context.Context, *facts.Facts) (reply, *pleat.Failure)) pleat.Output {
	engine := w.Model.Name + " " + w.Model.Version
	began := time.Now()
	sink.Progress("digest", 0, 3)
	facts, notes, failure := digest(ctx, w)
	if failure != nil {
		return pleat.Output{Failure: failure}
	}
	if ctx.Err() != nil {
		return pleat.Output{Failure: Interrupted(ctx)}
	}
	digested := time.Now()
	sink.Log(fmt.Sprintf("%s: polymer chains %d, residues %d, ligands %d", filepath.Base(w.QnA.File), len(facts.Chains), facts.Residues, len(facts.Ligands)))
	sink.Progress("answer", 1, 3)
	r, failure := answer(ctx, facts)
	switch {
	case ctx.Err() != nil:
		return pleat.Output{Failure: Interrupted(ctx)}
	case failure != nil:
		return pleat.Output{Failure: failure}
	}
	sink.Progress("write", 2, 3)
	rep := report{work: w, engine: engine, result: pleat.Result{Notes: notes,
		Timings: map[string]float64{"digest": digested.Sub(began).Seconds(), "answer": time.Since(digested).Seconds()}}}
	row, err := rep.writeAnswer(facts, r)
	if err != nil {
		return pleat.Output{Failure: pleat.Failed(pleat.FailStorage, "the answer could not be written: "+clean(err))}
	}
	sink.Progress("write", 3, 3)
	return pleat.Output{Files: rep.files, Result: &rep.result, Row: row, Engine: engine, MSA: pleat.StatePending}
}

// digest reads the files of a question and computes the facts.
func digest(ctx context.Context, w pleat.Work) (*facts.Facts, []string, *pleat.Failure) {
	q := w.QnA
	s, err := readStructure(w.Dir, q.File)
	if err != nil {
		return nil, nil, unreadable("structure", err)
	}
	if q.Name != "" {
		s.Title = q.Name
	}
	extra := facts.Extra{Source: filepath.Base(q.File), Predicted: q.Predicted, Model: q.Model, PTM: q.PTM, IPTM: q.IPTM}
	if q.Affinity != nil {
		extra.Affinity = &facts.Affinity{Value: q.Affinity.Value, Probability: q.Affinity.Probability}
	}
	var notes []string
	if q.PAE != "" {
		if extra.PAE, err = readPAE(filepath.Join(w.Dir, q.PAE)); err != nil {
			notes = append(notes, "The predicted aligned errors were left out: "+clean(err)+".")
		}
	}
	f, err := facts.Digest(ctx, s, extra)
	if err != nil {
		return nil, nil, Interrupted(ctx)
	}
	return f, notes, nil
}

// readStructure reads a file inside the work's folder.
func readStructure(dir, name string) (*structure.Structure, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("the file %q is not in the folder of the work", pleat.Clip(name))
	}
	in, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	s, err := structure.Read(in, structure.Limits{Bytes: 128 << 20})
	return s, errors.Join(err, in.Close())
}

// unreadable is the failure of an input file that cannot be read.
func unreadable(what string, err error) *pleat.Failure {
	var bad *structure.ParseError
	if errors.As(err, &bad) {
		kind := pleat.FailInvalidInput
		if bad.Limit {
			kind = pleat.FailTooLarge
		}
		return pleat.Failed(kind, fmt.Sprintf("the %s cannot be read: %s", what, bad.Error()))
	}
	var refusal *pleat.Error
	if errors.As(err, &refusal) {
		return pleat.Failed(pleat.FailInvalidInput, refusal.Message)
	}
	return pleat.Failed(pleat.FailStorage, fmt.Sprintf("the %s cannot be read: %s", what, clean(err)))
}

// The files of an answer.
const (
	answerFile   = "answer.json"
	factsFile    = "facts.json"
	metadataFile = "job.yaml"
)

// writeAnswer writes the answer, the facts that it rests on and what describes the run, and gives the row.
func (r *report) writeAnswer(facts *facts.Facts, a reply) ([]byte, error) {
	q := r.work.QnA
	sum, size, err := HashFile(filepath.Join(r.work.Dir, q.File))
	if err != nil {
		return nil, err
	}
	about := map[string]any{
		"service": "pleat " + pleat.Version, "engine": r.engine, "model": r.work.Model.Name, "task": string(r.work.Task), "attempt": r.work.Attempt,
		"targetSource": q.Source, "targetRef": q.Reference,
		"structure": map[string]any{"file": filepath.Base(q.File), "bytes": size, "sha256": sum, "predicted": q.Predicted, "model": q.Model, "confidence": q.Confidence},
	}
	if err := r.json(pleat.ArtifactAnswer, answerFile, map[string]any{"question": q.Question, "answer": a.text, "run": about, "reply": a.detail}); err != nil {
		return nil, err
	}
	if err := r.json(pleat.ArtifactFacts, factsFile, facts); err != nil {
		return nil, err
	}
	err = r.file(nil, pleat.ArtifactJobYAML, metadataFile, "application/yaml", func(out io.Writer) error {
		enc := yaml.NewEncoder(out)
		return errors.Join(enc.Encode(about), enc.Close())
	})
	if err != nil {
		return nil, err
	}
	if err := r.file(nil, pleat.ArtifactCitations, "citations.bib", "application/x-bibtex", r.citations); err != nil {
		return nil, err
	}
	// The folder of the attempt is the last part of the path; what lies above it is the host's own business.
	return flow.AnswerRow(q, a.text, r.engine, filepath.Join(filepath.Base(r.work.Dir), metadataFile))
}

// HashFile is a file's SHA-256, in hex, and its size.
func HashFile(path string) (sum string, size int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = io.Copy(h, in)
	return hex.EncodeToString(h.Sum(nil)), size, errors.Join(err, in.Close())
}
