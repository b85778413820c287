package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/msa"
	"pleat/internal/store/runs"
)

// referencedAlignments are the alignments that a job names, by sequence.
type referencedAlignments struct {
	unpaired, paired map[string]*msa.Alignment
}

// readReferenced reads the alignments that the job names. Those of the library item belong to the sequence in their
// first row; one that belongs to none of the job's proteins, or is the second of one, fails the run, since its owner
// expects it to be used. The service is not asked about a job that names none.
func (a *alignmentStage) readReferenced(ctx context.Context) *pleat.Failure {
	fold := a.work.Fold
	proteins, aligned := pleat.Proteins(fold.Sequences), pleat.Aligned(fold.Sequences)
	if fold.LibraryItem == "" && !pleat.NamesAlignments(fold.Params, fold.Sequences) {
		return nil
	}
	files, err := a.p.service.ReferencedAlignments(ctx, fold)
	switch {
	case errors.Is(err, runs.ErrNoItem):
		a.sink.Log("the library item that the job was made from is gone; its alignments, if it had any, are not used")
	case err != nil:
		return a.p.referencedFailure(a.t, err, "alignments")
	}
	a.referenced = referencedAlignments{map[string]*msa.Alignment{}, map[string]*msa.Alignment{}}
	var library []runs.ReferencedAlignment
	from := map[string]string{} // of the complexes whose pairs are in paired, by sequence
	for _, f := range files {
		alignments := a.referenced.unpaired
		if f.Paired {
			alignments = a.referenced.paired
		}
		switch {
		case f.Sequence == "":
			library = append(library, f)
			continue
		case !slices.Contains(aligned, f.Sequence) || alignments[f.Sequence] != nil:
			continue
		}
		m, failure := a.readAlignment(ctx, f)
		if failure != nil {
			return failure
		}
		alignments[f.Sequence] = m
		if m.Pairs != nil && a.referenced.paired[f.Sequence] == nil {
			a.referenced.paired[f.Sequence], from[f.Sequence] = m.Pairs, f.Key
		}
	}
	if failure := a.readLibrary(ctx, library, proteins); failure != nil {
		return failure
	}
	if len(a.referenced.paired) < len(proteins) || len(proteins) == 1 || !fold.Complex ||
		len(from) > 0 && !fromOne(from, a.referenced.paired) {
		a.referenced.paired = nil // rows of some proteins alone, or of two files, are not paired with anything
		for _, m := range a.referenced.unpaired {
			m.Unpair()
		}
	}
	return nil
}

// fromOne reports whether all pairs are of one file.
func fromOne(from map[string]string, paired map[string]*msa.Alignment) bool {
	files := map[string]bool{}
	for sequence := range paired {
		files[from[sequence]] = true
	}
	return len(files) == 1
}

// readLibrary reads the alignments of the library item that the job was made from.
func (a *alignmentStage) readLibrary(
	ctx context.Context, files []runs.ReferencedAlignment, proteins []string,
) *pleat.Failure {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	var failure *pleat.Failure
	err := msa.Match(names, proteins, func(i int) (string, error) {
		var m *msa.Alignment
		if m, failure = a.readAlignment(ctx, files[i]); failure != nil {
			return "", errors.New(failure.Message)
		}
		if a.referenced.unpaired[m.Query()] == nil {
			a.referenced.unpaired[m.Query()] = m
		}
		return m.Query(), nil
	})
	var unfit *msa.UnfitError
	if !errors.As(err, &unfit) {
		return failure
	}
	if unfit.Same != "" {
		return invalidAlignment(unfit.File, "is the second of its sequence")
	}
	return invalidAlignment(unfit.File, "begins with none of the job's proteins")
}

// readAlignment reads one alignment, whose first row must be its sequence, if that is known.
func (a *alignmentStage) readAlignment(
	ctx context.Context, f runs.ReferencedAlignment,
) (*msa.Alignment, *pleat.Failure) {
	in, _, err := a.p.files.Open(ctx, f.Key)
	if err != nil {
		a.p.logOf(a.t).Warn("an alignment cannot be read", "key", f.Key, "error", err)
		return nil, unreadable(err, fmt.Sprintf("the alignment %s could not be read", pleat.Clip(f.Name)))
	}
	defer in.Close()
	m, err := msa.Read(in, f.Sequence)
	if err != nil {
		return nil, invalidAlignment(f.Name, "cannot be used: "+err.Error())
	}
	return m, nil
}

// invalidAlignment is the failure of a run that names an alignment which it cannot use.
func invalidAlignment(file, why string) *pleat.Failure {
	return pleat.Failed(pleat.FailInvalidInput, fmt.Sprintf("the alignment %s %s", pleat.Clip(file), why))
}

// openGiven opens the file of a template or a component, which a field names.
func (p *Pool) openGiven(ctx context.Context, file runs.ReferencedFile, field string) (io.ReadCloser, error) {
	in, _, err := p.files.Open(ctx, file.Key)
	if errors.Is(err, blob.ErrNotFound) {
		err = pleat.InvalidField(field, ": the file %s is gone", pleat.Clip(file.Name))
	}
	return in, err
}

// referencedFailure is the failure of a run whose job names alignments, templates or components that cannot be used:
// its owner's fault, or one that may pass.
func (p *Pool) referencedFailure(t *runningTask, err error, what string) *pleat.Failure {
	if pleat.CodeOf(err) == pleat.CodeInvalid {
		return pleat.Failed(pleat.FailInvalidInput, err.Error())
	}
	p.logOf(t).Warn("the "+what+" that a job names cannot be read", "error", err)
	return unreadable(err, "the "+what+" that the job names could not be read")
}
