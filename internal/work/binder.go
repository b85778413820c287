package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/compare"
	"pleat/internal/structure"
	"pleat/internal/submit"
)

// measureBinder measures, for a fold of a design, how far the binder is from that of the design; see runs.DesignFold.
// It returns nil for any other fold, and for one that cannot be measured: that costs the number and not the run.
func (p *Pool) measureBinder(t *runningTask, out *pleat.Output) *float64 {
	if t.Design == "" || out.Result == nil || len(out.Result.Predictions) != 1 {
		return nil
	}
	rmsd, err := p.binderRMSD(t.ctx, t.Fold, out.Files)
	if err != nil {
		p.logOf(t).Warn("the fold of a design was not measured", "workflow", t.Design, "error", err)
		return nil
	}
	return &rmsd
}

// binderRMSD reads a design and the structure among the files of its fold, and compares them.
func (p *Pool) binderRMSD(ctx context.Context, f *pleat.FoldInput, files []pleat.File) (float64, error) {
	i := slices.IndexFunc(files, func(file pleat.File) bool { return file.Kind == pleat.ArtifactCIF })
	if i < 0 {
		return 0, errors.New("the fold has no structure")
	}
	d, err := p.service.DesignStructure(ctx, f)
	if err != nil {
		return 0, err
	}
	stored, _, err := p.files.Open(ctx, d.Key)
	if err != nil {
		return 0, err
	}
	design, err := readStructure(ctx, stored)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", d.Name, err)
	}
	local, err := os.Open(files[i].Path)
	if err != nil {
		return 0, err
	}
	fold, err := readStructure(ctx, local)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", files[i].Name, err)
	}
	designed := func(chain string) bool { return slices.Contains(d.Designed, chain) }
	rmsd, ok := compare.BinderRMSD(design, fold, designed)
	if !ok || math.IsNaN(rmsd) || math.IsInf(rmsd, 0) {
		return 0, errors.New("the fold lacks a designed chain, or atoms of it")
	}
	return math.Round(rmsd*1000) / 1000, nil
}

// readStructure reads and closes the file of a structure.
func readStructure(ctx context.Context, in io.ReadCloser) (*structure.Structure, error) {
	defer in.Close()
	return structure.ReadWhole(blob.ContextReader(ctx, in), submit.DirectLimits)
}
