package report

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"pleat"
	"pleat/api"
	"pleat/internal/facts"
	"pleat/internal/pae"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// ContactOptions selects contacts.
type ContactOptions struct {
	Chains [2]string // between these two chains; empty: between all
	Limit  int       // the most that are returned
	PAE    io.Reader // a matrix as writePAE writes it; nil: there is none
}

// Contacts returns the contacts between the chains of a structure, see facts.ContactDistance, without the ids of job
// and run. The PAE of a contact is null if the matrix does not have the size of the structure. An error is that of ctx
// or of the reader, unless it has CodeInvalid: the structure has no such chain.
func Contacts(ctx context.Context, s *structure.Structure, o ContactOptions) (api.Contacts, error) {
	out := api.Contacts{Data: []api.ResidueContact{}}
	for _, id := range o.Chains {
		if id != "" && s.Chain(id) == nil {
			return out, pleat.Invalidf("the structure has no chain %s", pleat.Clip(id))
		}
	}
	all, reason, err := facts.ChainContacts(ctx, s)
	if err != nil {
		return out, err
	}
	if reason != "" {
		out.Reason = &reason
	}
	if o.Chains != ([2]string{}) {
		all = slices.DeleteFunc(all, func(c facts.Contact) bool {
			a, b := s.Chains[c.A.Chain].ID, s.Chains[c.B.Chain].ID
			return [2]string{a, b} != o.Chains && [2]string{b, a} != o.Chains
		})
	}
	out.Total = len(all)
	if len(all) > o.Limit {
		all, out.Truncated = all[:o.Limit], true
	}
	for _, c := range all {
		out.Data = append(out.Data, api.ResidueContact{
			A:        position(s, c.A),
			B:        position(s, c.B),
			Distance: facts.Round(c.Distance, 2),
		})
	}
	if o.PAE == nil || len(all) == 0 {
		return out, nil
	}
	return out, contactErrors(s, all, o.PAE, out.Data)
}

// position returns a residue as PDB files name it.
func position(s *structure.Structure, at facts.ResidueAt) api.Position {
	r := &s.Chains[at.Chain].Residues[at.Residue]
	return api.Position{Chain: s.Chains[at.Chain].ID, Residue: r.Auth, Name: r.Comp}
}

// WriteContacts writes contacts as CSV with a header. A PAE that is not given is an empty cell. Texts are words.Cell.
func WriteContacts(w io.Writer, contacts []api.ResidueContact) error {
	table := csv.NewWriter(w)
	rows := [][]string{{"chainA", "residueA", "nameA", "chainB", "residueB", "nameB", "distance", "paeAB", "paeBA"}}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'f', -1, 64)
	}
	for i := range contacts {
		c := &contacts[i]
		rows = append(rows, []string{
			words.Cell(c.A.Chain), strconv.Itoa(c.A.Residue), words.Cell(c.A.Name),
			words.Cell(c.B.Chain), strconv.Itoa(c.B.Residue), words.Cell(c.B.Name),
			number(&c.Distance), number(c.PAEAB), number(c.PAEBA),
		})
	}
	return table.WriteAll(rows)
}

// contactErrors sets the predicted aligned errors of contacts, whose rows are parallel to them. It reads the matrix row
// by row, because one of a large complex is many times as large as what is needed of it.
func contactErrors(s *structure.Structure, all []facts.Contact, in io.Reader, rows []api.ResidueContact) error {
	type use struct {
		total   *float64 // of the errors of a row
		columns span     // columns
	}
	uses := map[int][]use{}
	var place func(facts.ResidueAt) span
	totals := make([][2]float64, len(all))
	err := eachPAERow(in, func(i int, row []float32) error {
		if place == nil {
			if place = tokenSpans(s, len(row)); place == nil {
				return pae.ErrNone
			}
			for k, c := range all {
				a, b := place(c.A), place(c.B)
				for i := range a.n {
					uses[a.first+i] = append(uses[a.first+i], use{&totals[k][0], b})
				}
				for i := range b.n {
					uses[b.first+i] = append(uses[b.first+i], use{&totals[k][1], a})
				}
			}
		}
		for _, u := range uses[i] {
			for _, v := range row[u.columns.first : u.columns.first+u.columns.n] {
				*u.total += float64(v)
			}
		}
		return nil
	})
	if errors.Is(err, pae.ErrNone) { // it belongs to another structure, and says nothing of this one
		return nil
	}
	if err != nil {
		return err
	}
	for k, c := range all {
		if n := place(c.A).n * place(c.B).n; n > 0 {
			ab, ba := totals[k][0]/float64(n), totals[k][1]/float64(n)
			rows[k].PAEAB, rows[k].PAEBA = new(facts.Round(ab, 2)), new(facts.Round(ba, 2))
		}
	}
	return nil
}

// span is the rows of a matrix that belong to a residue or ligand; n is 0 if none do.
type span struct{ first, n int }

// tokenSpans returns which rows of a PAE matrix belong to each residue of a structure: a residue of a polymer has one,
// and a ligand or ion one for each heavy atom, or one, or none. It is nil if n rows are none of these.
func tokenSpans(s *structure.Structure, n int) func(facts.ResidueAt) span {
	for _, rowsOf := range []func(*structure.Residue) int{
		HeavyAtoms,
		func(*structure.Residue) int { return 1 },
		func(*structure.Residue) int { return 0 },
	} {
		spans, next := make([][]span, len(s.Chains)), 0
		for i := range s.Chains {
			c := &s.Chains[i]
			for j := range c.Residues {
				count := 1
				switch {
				case c.Kind == structure.Water:
					count = 0
				case !c.Kind.Polymer():
					count = rowsOf(&c.Residues[j])
				}
				spans[i] = append(spans[i], span{next, count})
				next += count
			}
		}
		if next == n {
			return func(at facts.ResidueAt) span { return spans[at.Chain][at.Residue] }
		}
	}
	return nil
}

// eachPAERow reads a matrix that writePAE has written and calls fn for each row, which is valid until fn returns. It
// stops at the first error of fn. It returns pae.ErrNone if there is no matrix.
func eachPAERow(in io.Reader, fn func(i int, row []float32) error) error {
	d := json.NewDecoder(in)
	for _, want := range []json.Token{json.Delim('['), json.Delim('{'), "predicted_aligned_error", json.Delim('[')} {
		switch got, err := d.Token(); {
		case err != nil:
			return fmt.Errorf("read the PAE: %w", err)
		case got != want:
			return pae.ErrNone
		}
	}
	var row []float32
	i, n := 0, 0
	for ; d.More(); i++ {
		if err := d.Decode(&row); err != nil {
			return fmt.Errorf("read the PAE: %w", err)
		}
		if i == 0 {
			n = len(row)
		}
		if len(row) != n || i >= n || n > pae.MaxRows {
			return pae.ErrNone
		}
		if err := fn(i, row); err != nil {
			return err
		}
	}
	if i == 0 || i < n {
		return pae.ErrNone
	}
	return nil
}
