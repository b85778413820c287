package server

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// referencedAlignment is an alignment of the library for a protein.
type referencedAlignment struct {
	file     pleat.FileRef
	sequence string
}

// referencedAlignments are the different alignments that rows name, in their order, each with the field of the first
// row that does.
type referencedAlignments struct {
	list   []referencedAlignment
	fields map[referencedAlignment]string
	// made are the alignments of POST /v1/alignments that rows name, each with the first row that does.
	made map[pleat.WorkflowID]batch.Row
}

const (
	// maxBatchTemplates is how many different templates the rows of a batch may name.
	maxBatchTemplates = 100
	// maxBatchComponents is how many different sets of components with files they may name.
	maxBatchComponents = 100
	// maxBatchMade is how many different alignments of POST /v1/alignments they may name.
	maxBatchMade = 100
)

// referencedTemplate is a template with the first row that names it.
type referencedTemplate struct {
	pleat.Template // without its chain: rows may name chains differently
	row            batch.Row
	index          int
}

// addTemplates records the templates that a row names. Those of the same file and chain are checked once, for the first
// row; a row that they do not fit fails when it runs.
func (p *preparedBatch) addTemplates(row *batch.Row) error {
	for i, t := range row.Job.Constraints.Templates {
		key := pleat.Template{Item: t.Item, Job: t.Job, PDB: t.PDB, File: t.File, TemplateChain: t.TemplateChain}
		same := func(g referencedTemplate) bool { return g.Template == key }
		switch {
		case slices.ContainsFunc(p.templates, same):
		case len(p.templates) == maxBatchTemplates:
			return row.Relocate(pleat.InvalidField(pleat.TemplatePath(i), " is one too many: the rows of a batch may "+
				"name %d different templates", maxBatchTemplates))
		default:
			p.templates = append(p.templates, referencedTemplate{key, *row, i})
		}
	}
	return nil
}

// checkRowReferences checks the alignments, components and templates that the rows name.
func (s *Server) checkRowReferences(ctx context.Context, c *call, p *preparedBatch) error {
	if err := s.checkRowAlignments(ctx, c, p); err != nil {
		return err
	}
	if err := s.checkRowComponents(ctx, c, p); err != nil {
		return err
	}
	return s.checkRowTemplates(ctx, c, p)
}

// addComponents records the rows that name files of components. Rows with the same components are checked once, for the
// first; a row that they do not fit fails when it runs.
func (p *preparedBatch) addComponents(row *batch.Row) error {
	files := func(c pleat.Component) bool { return c.Item != "" }
	if !slices.ContainsFunc(row.Job.Constraints.Components, files) {
		return nil
	}
	same := func(of batch.Row) bool {
		return slices.Equal(of.Job.Constraints.Components, row.Job.Constraints.Components)
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

// checkRowComponents checks the components that the rows name, as checkReferenced does for a job.
func (s *Server) checkRowComponents(ctx context.Context, c *call, p *preparedBatch) error {
	var faults pleat.Errors
	check := s.resolver.ComponentCheck()
	for i := range p.components {
		job := p.components[i].Job
		job.Owner = c.in.Project
		err := checkComponents(ctx, c, check, &job)
		if pleat.CodeOf(err) == pleat.CodeInvalid {
			err = p.components[i].Relocate(err)
		}
		if err := faults.Add(err); err != nil {
			return err
		}
	}
	return faults.Err()
}

// checkRowTemplates checks the templates that the rows name, as checkReferenced does for a job.
func (s *Server) checkRowTemplates(ctx context.Context, c *call, p *preparedBatch) error {
	if len(p.templates) == 0 {
		return nil
	}
	if err := c.checkReads("use a template"); err != nil {
		return err
	}
	file := func(g referencedTemplate) string { return string(g.Item) + string(g.Job) + g.File }
	slices.SortStableFunc(p.templates, func(a, b referencedTemplate) int { return cmp.Compare(file(a), file(b)) })
	check := s.resolver.TemplateCheck()
	var faults pleat.Errors
	for i := range p.templates {
		g := &p.templates[i]
		job := g.row.Job
		job.Owner = c.in.Project
		err := s.checkTemplate(ctx, c, check, &job, g.index, pleat.TemplatePath(g.index))
		if pleat.CodeOf(err) == pleat.CodeInvalid {
			err = g.row.Relocate(err)
		}
		if err := faults.Add(err); err != nil {
			return err
		}
	}
	return faults.Err()
}

// addAlignments records the alignments that a row names. Equal ones of other rows are checked once.
func (p *preparedBatch) addAlignments(row *batch.Row) error {
	if id := p.madeAlignment(row); id != "" {
		if _, known := p.given.made[id]; !known {
			p.given.made[id] = *row
		}
		if len(p.given.made) > maxBatchMade {
			return row.Relocate(pleat.InvalidField("params.alignmentId", " is one too many: the rows of a batch may "+
				"name %d different alignments", maxBatchMade))
		}
	}
	for i := range row.Job.Sequences {
		q := &row.Job.Sequences[i]
		key := referencedAlignment{q.MSA, q.Text}
		if p.given.fields[key] != "" || q.MSA == (pleat.FileRef{}) {
			continue
		}
		at := row.Relocate(pleat.InvalidField(q.Path(i)+".msa", ""))
		p.given.fields[key] = pleat.ErrorsOf(at)[0].Field
		p.given.list = append(p.given.list, key)
	}
	return nil
}

// madeAlignment returns the alignment of POST /v1/alignments that a row uses; empty: none.
func (p *preparedBatch) madeAlignment(row *batch.Row) pleat.WorkflowID {
	if p.model.AlignmentUse(row.Job.Params, row.Job.Sequences) == pleat.NoAlignments {
		return ""
	}
	return row.Job.Params.Alignment()
}

// checkRowAlignments checks the alignments that the rows name, as checkReferenced does for a job.
func (s *Server) checkRowAlignments(ctx context.Context, c *call, p *preparedBatch) error {
	if len(p.given.list) == 0 && len(p.given.made) == 0 {
		return nil
	}
	if err := c.checkReads("use an alignment"); err != nil {
		return err
	}
	var faults pleat.Errors
	if err := faults.Add(s.checkRowMade(ctx, c, p)); err != nil {
		return err
	}
	for _, key := range p.given.list {
		q := pleat.Sequence{Kind: pleat.Protein, Text: key.sequence, MSA: key.file}
		err := s.resolver.CheckAlignment(ctx, c.in.Project, &q, p.given.fields[key])
		if err := faults.Add(err); err != nil {
			return err
		}
		if len(faults) == pleat.MaxErrors {
			break
		}
	}
	return faults.Err()
}

// checkRowMade checks the alignments of POST /v1/alignments that the rows name: the caller must be able to read each,
// and each must have a protein of every row that names it. The rows are made a second time, since all of them together
// may be large.
func (s *Server) checkRowMade(ctx context.Context, c *call, p *preparedBatch) error {
	if len(p.given.made) == 0 {
		return nil
	}
	var faults pleat.Errors
	made := map[pleat.WorkflowID][]runs.ReferencedAlignment{}
	for _, id := range slices.Sorted(maps.Keys(p.given.made)) {
		files, err := s.resolver.MadeAlignments(ctx, c.in.Project, id)
		if row := p.given.made[id]; err != nil {
			err = row.Relocate(err)
		}
		if err := faults.Add(err); err != nil {
			return err
		}
		made[id] = files
	}
	if len(faults) > 0 {
		return faults
	}
	for row := range p.spec.Rows() {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := p.validate(&row)
		if id := p.madeAlignment(&row); err == nil && id != "" {
			err = submit.CheckUsed(id, made[id], pleat.Proteins(row.Job.Sequences))
		}
		_ = faults.Add(row.Relocate(err)) // it is one of the request
		if len(faults) >= pleat.MaxErrors {
			break
		}
	}
	return faults.Err()
}
