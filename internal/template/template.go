// Package template makes templates of structures that users give: one protein chain, aligned to the chain of a job that
// it is an example of, and written so that every engine can read it.
//
// It owns which chain and which residues are used, and the form of the file. It is pure, and must not know where
// structures come from or who may read them. Its one file is template.go.
package template

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/compare"
	"pleat/internal/structure"
	"pleat/internal/words"
)

const (
	// MaxBytes bounds the file of a template.
	MaxBytes = 32 << 20
	// maxResidues bounds the chain that is used, and so the time and memory of the alignment.
	maxResidues = 5000
	// minSame is how many residues a template must have in common with its chain: with fewer, the wrong chain was
	// named.
	minSame = 3
	// Chain is the name of the chain in the files of templates.
	Chain = "A"
)

// limits bound the structures that are read.
var limits = structure.Limits{Bytes: MaxBytes, Atoms: 300_000, Residues: 100_000, Chains: 1000}

// Template is a chain of a structure, aligned to a chain of a job.
type Template struct {
	// Residues are those of the chain that have a counterpart in the job's, where Seq is the position of that, counted
	// from 1. They are standard amino acids without hydrogens, and each has a CA.
	Residues []structure.Residue
	// Same is how many of them are the same amino acid as their counterpart.
	Same int
	// length is that of the job's chain.
	length int
}

// Read reads a structure in mmCIF or PDB format. The error is a sentence without the name of the file, for the person
// who gave it, unless it is one of r.
func Read(r io.Reader) (*structure.Structure, error) {
	s, err := structure.Read(r, limits)
	var parse *structure.ParseError
	if errors.As(err, &parse) {
		return nil, pleat.Invalidf("cannot be read: %s", words.Shorten(parse.Error(), 200))
	}
	return s, err
}

// New makes a template of the chain that name names in s; empty: its only protein chain. sequence is that of the job's
// chain. An error has pleat.CodeInvalid and is a sentence without its subject, the file; or it is that of ctx.
func New(ctx context.Context, s *structure.Structure, name, sequence string) (*Template, error) {
	from, err := chainOf(s, name)
	if err != nil {
		return nil, err
	}
	var usable []structure.Residue
	var text strings.Builder
	for i := range from.Residues {
		if r, ok := standard(&from.Residues[i]); ok {
			usable = append(usable, r)
			text.WriteByte(structure.Letter(structure.Protein, r.Comp))
		}
	}
	switch {
	case len(usable) == 0:
		return nil, pleat.Invalidf("has no amino acid with a CA atom in its chain %s", pleat.Clip(from.ID))
	case len(usable) > maxResidues:
		return nil, pleat.Invalidf("has %d residues in its chain %s; a template may have %d", len(usable),
			pleat.Clip(from.ID), maxResidues)
	}
	pairs, err := compare.Align(ctx, sequence, text.String())
	if err != nil {
		return nil, err
	}
	t := &Template{length: len(sequence)}
	for _, p := range pairs {
		r := usable[p[1]]
		r.Seq = int(p[0]) + 1
		r.Auth = r.Seq
		if sequence[p[0]] == text.String()[p[1]] {
			t.Same++
		}
		t.Residues = append(t.Residues, r)
	}
	if t.Same < minSame {
		return nil, pleat.Invalidf("has %d residues in common with the chain of the job in its chain %s; it must be "+
			"%d at least", t.Same, pleat.Clip(from.ID), minSame)
	}
	return t, nil
}

// chainOf returns the protein chain that a name names, as the authors call it or else by its label; empty: the only
// one.
func chainOf(s *structure.Structure, name string) (*structure.Chain, error) {
	var proteins []*structure.Chain
	var names []string
	for i := range s.Chains {
		c := &s.Chains[i]
		if c.Kind == structure.Protein {
			proteins = append(proteins, c)
			if !slices.Contains(names, c.ID) {
				names = append(names, c.ID)
			}
		}
	}
	has := func(nameOf func(c *structure.Chain) string) int {
		return slices.IndexFunc(proteins, func(c *structure.Chain) bool { return nameOf(c) == name })
	}
	switch {
	case len(proteins) == 0:
		return nil, pleat.Invalidf("has no protein chain")
	case name == "" && len(proteins) == 1:
		return proteins[0], nil
	case name == "":
		return nil, pleat.Invalidf("has the protein chains %s; templateChain must name one", list(names))
	}
	i := has(func(c *structure.Chain) string { return c.ID })
	if i < 0 {
		i = has(func(c *structure.Chain) string { return c.Label })
	}
	if i < 0 {
		return nil, pleat.Invalidf("has no protein chain %q; it has %s", pleat.Clip(name), list(names))
	}
	return proteins[i], nil
}

// list writes the names of chains for a sentence.
func list(names []string) string {
	clipped := make([]string, len(names))
	for i, n := range names {
		clipped[i] = pleat.Clip(n)
	}
	return pleat.ListNames(clipped, 20)
}

// backbone are the atoms that every amino acid but glycine has; glycine has no CB.
const backbone = "N CA C O CB"

// sideChains are the names of the other heavy atoms of the standard amino acids, in the Chemical Component Dictionary.
var sideChains = map[string]string{
	"ALA": "", "GLY": "",
	"ARG": "CG CD NE CZ NH1 NH2", "ASN": "CG OD1 ND2", "ASP": "CG OD1 OD2", "CYS": "SG",
	"GLN": "CG CD OE1 NE2", "GLU": "CG CD OE1 OE2", "HIS": "CG ND1 CD2 CE1 NE2", "ILE": "CG1 CG2 CD1",
	"LEU": "CG CD1 CD2", "LYS": "CG CD CE NZ", "MET": "CG SD CE", "PHE": "CG CD1 CD2 CE1 CE2 CZ",
	"PRO": "CG CD", "SER": "OG", "THR": "OG1 CG2", "TRP": "CG CD1 CD2 NE1 CE2 CE3 CZ2 CZ3 CH2",
	"TYR": "CG CD1 CD2 CE1 CE2 CZ OH", "VAL": "CG1 CG2",
}

// standard returns a residue as a standard amino acid; false if it is none, or has no CA. A modified one becomes its
// parent, of which it has the backbone and CB; selenomethionine becomes methionine. Engines know these names alone for
// sure, and templates only show how a chain runs.
func standard(r *structure.Residue) (structure.Residue, bool) {
	name, ok := structure.Component(structure.Protein, structure.Letter(structure.Protein, r.Comp))
	rest, known := sideChains[name]
	if !ok || !known {
		return structure.Residue{}, false
	}
	atoms := backbone
	if name == "GLY" {
		atoms = "N CA C O"
	}
	if r.Comp == name || r.Comp == "MSE" {
		atoms += " " + rest
	}
	out := structure.Residue{Comp: name}
	for _, atom := range strings.Fields(atoms) {
		from := atom
		if r.Comp == "MSE" && atom == "SD" {
			from = "SE"
		}
		if a, ok := r.Atom(from); ok {
			out.Atoms = append(out.Atoms,
				structure.Atom{Name: atom, Element: atom[:1], Pos: a.Pos, B: a.B, Occupancy: 1})
		}
	}
	_, ok = out.Atom("CA")
	return out, ok
}

// WriteCIF writes the template as mmCIF with an entity and its sequence, in a chain named Chain. The sequence is as
// long as that of the job's chain, and each residue is at the position of its counterpart; other positions are unknown
// residues without atoms. So the alignment is part of the file, and an engine that aligns the sequences finds it again.
// The same template gives the same bytes.
func (t *Template) WriteCIF(w io.Writer) error {
	chain := structure.Chain{ID: Chain, Kind: structure.Protein, Entity: 1}
	next := 0
	for seq := 1; seq <= t.length; seq++ {
		if next < len(t.Residues) && t.Residues[next].Seq == seq {
			chain.Residues = append(chain.Residues, t.Residues[next])
			next++
			continue
		}
		chain.Residues = append(chain.Residues, structure.Residue{Comp: "UNK", Seq: seq, Auth: seq})
	}
	s := &structure.Structure{Chains: []structure.Chain{chain}}
	// Experimental leaves out what a file says of a prediction, which no engine reads.
	return structure.WriteCIF(w, s, structure.Meta{ID: "template", Experimental: true})
}
