package server

import (
	"context"

	"pleat"
	"pleat/internal/batch"
)

// givenAlignment is an alignment of the library for a protein.
type givenAlignment struct {
	file     pleat.FileRef
	sequence string
}

// givenAlignments are the different alignments that rows name, in their order, each with the field of the first row
// that does.
type givenAlignments struct {
	list   []givenAlignment
	fields map[givenAlignment]string
}

// addGiven records the alignments that a row names. Equal ones of other rows are checked once.
func (p *preparedBatch) addGiven(row *batch.Row) {
	for i := range row.Job.Sequences {
		q := &row.Job.Sequences[i]
		key := givenAlignment{q.MSA, q.Text}
		if p.given.fields[key] != "" || q.MSA == (pleat.FileRef{}) {
			continue
		}
		at := row.Relocate(pleat.InvalidField(q.Path(i)+".msa", ""))
		p.given.fields[key] = pleat.ErrorsOf(at)[0].Field
		p.given.list = append(p.given.list, key)
	}
}

// checkRowAlignments checks the alignments that the rows name, as checkGiven does for a job.
func (s *Server) checkRowAlignments(ctx context.Context, c *call, p *preparedBatch) error {
	if len(p.given.list) == 0 {
		return nil
	}
	if err := c.checkReads("use an alignment"); err != nil {
		return err
	}
	var faults pleat.Errors
	for _, key := range p.given.list {
		q := pleat.Sequence{Kind: pleat.Protein, Text: key.sequence, MSA: key.file}
		err := s.resolver.CheckAlignment(ctx, c.who.User, &q, p.given.fields[key])
		if err := faults.Add(err); err != nil {
			return err
		}
		if len(faults) == pleat.MaxErrors {
			break
		}
	}
	return faults.Err()
}
