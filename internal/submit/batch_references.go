package submit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/store/runs"
)

const (
	// maxBatchTemplates is how many different templates the rows of a batch may name.
	maxBatchTemplates = 100
	// maxBatchComponents is how many different sets of components with files they may name.
	maxBatchComponents = 100
	// maxBatchSearched is how many different alignments of POST /v1/alignments they may name.
	maxBatchSearched = 100
)

// rowAlignment is an alignment of the library for a protein.
type rowAlignment struct {
	file     pleat.FileRef
	sequence string
}

// rowAlignments are the different alignments that rows name, in their order, each with the field of the first row that
// does.
type rowAlignments struct {
	list   []rowAlignment
	fields map[rowAlignment]string
	// searched are the alignments of POST /v1/alignments that rows name, each with the first row that does.
	searched map[pleat.WorkflowID]batch.Row
}

// rowTemplate is a template with the first row that names it.
type rowTemplate struct {
	pleat.Template // without its chain: rows may name chains differently
	row            batch.Row
	index          int
}

// addTemplates records the templates that a row names. Those of the same file and chain are checked once, for the first
// row; a row that they do not fit fails when it runs.
func (p *preparedBatch) addTemplates(row *batch.Row) error {
	for i, t := range row.Job.Constraints.Templates {
		key := pleat.Template{Item: t.Item, Job: t.Job, PDB: t.PDB, File: t.File, TemplateChain: t.TemplateChain}
		same := func(g rowTemplate) bool { return g.Template == key }
		switch {
		case slices.ContainsFunc(p.templates, same):
		case len(p.templates) == maxBatchTemplates:
			return row.Relocate(pleat.InvalidField(pleat.TemplatePath(i), " is one too many: the rows of a batch may "+
				"name %d different templates", maxBatchTemplates))
		default:
			p.templates = append(p.templates, rowTemplate{key, *row, i})
		}
	}
	return nil
}

// addComponents records the rows that name files of components. Rows with the same components are checked once, for the
// first; a row that they do not fit fails when it runs.
func (p *preparedBatch) addComponents(row *batch.Row) error {
	files := func(c pleat.Component) bool { return c.Item != "" }
	if !slices.ContainsFunc(row.Job.Constraints.Components, files) {
		return nil
	}
	same := func(earlier batch.Row) bool {
		return slices.Equal(earlier.Job.Constraints.Components, row.Job.Constraints.Components)
	}
	switch {
	case slices.ContainsFunc(p.components, same):
	case len(p.components) == maxBatchComponents:
		return row.Relocate(pleat.InvalidField("constraints.components", " are one set too many: the rows of a batch "+
			"may name %d different sets of components with files", maxBatchComponents))
	default:
		p.components = append(p.components, *row)
	}
	return nil
}

// addAlignments records the alignments that a row names. Equal ones of other rows are checked once.
func (p *preparedBatch) addAlignments(row *batch.Row) error {
	if id := p.searchedAlignment(row); id != "" {
		if _, known := p.alignments.searched[id]; !known {
			p.alignments.searched[id] = *row
		}
		if len(p.alignments.searched) > maxBatchSearched {
			return row.Relocate(pleat.InvalidField("params.alignmentId", " is one too many: the rows of a batch may "+
				"name %d different alignments", maxBatchSearched))
		}
	}
	for i := range row.Job.Sequences {
		q := &row.Job.Sequences[i]
		key := rowAlignment{q.MSA, q.Text}
		if p.alignments.fields[key] != "" || q.MSA == (pleat.FileRef{}) {
			continue
		}
		at := row.Relocate(pleat.InvalidField(q.Path(i)+".msa", ""))
		p.alignments.fields[key] = pleat.ErrorsOf(at)[0].Field
		p.alignments.list = append(p.alignments.list, key)
	}
	return nil
}

// searchedAlignment returns the alignment of POST /v1/alignments that a row uses; empty: none.
func (p *preparedBatch) searchedAlignment(row *batch.Row) pleat.WorkflowID {
	if p.model.AlignmentUse(row.Job.Params, row.Job.Sequences) == pleat.NoAlignments {
		return ""
	}
	return row.Job.Params.Alignment()
}

// checkRowReferences checks the alignments, components and templates that the rows name, as checkReferenced does for a
// job.
func (r *Resolver) checkRowReferences(ctx context.Context, by Caller, p *preparedBatch) error {
	if err := r.checkRowAlignments(ctx, by, p); err != nil {
		return err
	}
	if err := r.checkRowComponents(ctx, by, p); err != nil {
		return err
	}
	return r.checkRowTemplates(ctx, by, p)
}

// checkRowComponents checks the components that the rows name.
func (r *Resolver) checkRowComponents(ctx context.Context, by Caller, p *preparedBatch) error {
	var faults pleat.Errors
	check := r.componentCheck()
	for i := range p.components {
		job := p.components[i].Job
		job.Owner = by.In.Project
		err := checkComponents(ctx, by, check, &job)
		if pleat.CodeOf(err) == pleat.CodeInvalid {
			err = p.components[i].Relocate(err)
		}
		if err := faults.Add(err); err != nil {
			return err
		}
	}
	return faults.Err()
}

// checkRowTemplates checks the templates that the rows name.
func (r *Resolver) checkRowTemplates(ctx context.Context, by Caller, p *preparedBatch) error {
	if len(p.templates) == 0 {
		return nil
	}
	if err := by.CheckReads("use a template"); err != nil {
		return err
	}
	file := func(g rowTemplate) string { return string(g.Item) + string(g.Job) + g.File }
	slices.SortStableFunc(p.templates, func(a, b rowTemplate) int { return cmp.Compare(file(a), file(b)) })
	check := r.templateCheck()
	var faults pleat.Errors
	for i := range p.templates {
		g := &p.templates[i]
		job := g.row.Job
		job.Owner = by.In.Project
		err := checkTemplate(ctx, by, check, &job, g.index)
		if pleat.CodeOf(err) == pleat.CodeInvalid {
			err = g.row.Relocate(err)
		}
		if err := faults.Add(err); err != nil {
			return err
		}
	}
	return faults.Err()
}

// checkRowAlignments checks the alignments that the rows name.
func (r *Resolver) checkRowAlignments(ctx context.Context, by Caller, p *preparedBatch) error {
	if len(p.alignments.list) == 0 && len(p.alignments.searched) == 0 {
		return nil
	}
	if err := by.CheckReads("use an alignment"); err != nil {
		return err
	}
	var faults pleat.Errors
	if err := faults.Add(r.checkRowSearched(ctx, by, p)); err != nil {
		return err
	}
	for _, key := range p.alignments.list {
		q := pleat.Sequence{Kind: pleat.Protein, Text: key.sequence, MSA: key.file}
		err := r.checkAlignment(ctx, by.In.Project, &q, p.alignments.fields[key])
		if err := faults.Add(err); err != nil {
			return err
		}
		if len(faults) == pleat.MaxErrors {
			break
		}
	}
	return faults.Err()
}

// checkRowSearched checks the alignments of POST /v1/alignments that the rows name: the caller must be able to read
// each, and each must have a protein of every row that names it. The rows are generated a second time, since all of
// them together may be large.
func (r *Resolver) checkRowSearched(ctx context.Context, by Caller, p *preparedBatch) error {
	if len(p.alignments.searched) == 0 {
		return nil
	}
	var faults pleat.Errors
	files := map[pleat.WorkflowID][]runs.ReferencedAlignment{}
	for _, id := range slices.Sorted(maps.Keys(p.alignments.searched)) {
		alignments, err := r.searchedAlignments(ctx, by.In.Project, id)
		if row := p.alignments.searched[id]; err != nil {
			err = row.Relocate(err)
		}
		if err := faults.Add(err); err != nil {
			return err
		}
		files[id] = alignments
	}
	if len(faults) > 0 {
		return faults
	}
	for row := range p.spec.Rows() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := p.validate(&row, p.model)
		if id := p.searchedAlignment(&row); err == nil && id != "" {
			err = checkUsed(id, files[id], pleat.Proteins(row.Job.Sequences))
		}
		_ = faults.Add(row.Relocate(err)) // it is one of the request
		if len(faults) >= pleat.MaxErrors {
			break
		}
	}
	return faults.Err()
}
