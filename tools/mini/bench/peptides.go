package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"pleat/internal/mini"
	"pleat/internal/structure"
)

// peptidesText has the peptides of the table in docs/mini.md, in the format that parsePeptides reads.
//
//go:embed testdata/peptides.txt
var peptidesText string

// peptideSeeds are the seeds 1 to this of the table of peptides.
const peptideSeeds = 3

// peptide is a short chain whose fold is known from experiments.
type peptide struct {
	name, seq, entry, fold, known string
	ca                            []structure.Vec // nil if the repository has no coordinates
}

// parsePeptides reads one peptide a line, with fields between semicolons. Lines that begin with # are skipped. A
// peptide with the sequence of a target has its coordinates.
func parsePeptides(text string, targets []target) ([]peptide, error) {
	var out []peptide
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(line, "; ", 5)
		if len(f) != 5 {
			return nil, fmt.Errorf("peptides, line %d: %d fields instead of 5", n+1, len(f))
		}
		p := peptide{name: f[0], seq: f[1], entry: f[2], fold: f[3], known: f[4]}
		for _, t := range targets {
			if t.seq == p.seq {
				p.ca = t.ca
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// folded is the model of one peptide at one seed.
type folded struct {
	states string  // of DSSP, one letter a residue
	rmsd   float64 // Å over CA; meaningless without coordinates
}

// foldAt folds the peptide with the default options.
func (p *peptide) foldAt(ctx context.Context, opt mini.Options) (folded, error) {
	r, err := mini.Fold(ctx, p.seq, opt, nil)
	if err != nil {
		return folded{}, fmt.Errorf("fold %s: %w", p.name, err)
	}
	s := structure.Structure{Chains: []structure.Chain{r.Chain}}
	states, err := s.SecondaryStructure(ctx)
	if err != nil {
		return folded{}, err
	}
	out := folded{states: string(states[0])}
	if p.ca != nil {
		out.rmsd = score(target{seq: p.seq, ca: p.ca}, r).rmsd
	}
	return out, nil
}

// runPeptides prints the table of peptides.
func runPeptides(ctx context.Context, workers int) error {
	targets, err := parse(targetsText)
	if err != nil {
		return err
	}
	peptides, err := parsePeptides(peptidesText, targets)
	if err != nil {
		return err
	}
	return writePeptides(ctx, os.Stdout, peptides, workers)
}

// writePeptides folds every peptide at each seed and writes the part of docs/mini.md that reports them.
func writePeptides(ctx context.Context, w io.Writer, peptides []peptide, workers int) error {
	var rows, lines strings.Builder
	for _, p := range peptides {
		var folds [peptideSeeds]folded
		fmt.Fprintf(&lines, "\n%s\n         %s\n", p.name, p.seq)
		for i := range folds {
			var err error
			if folds[i], err = p.foldAt(ctx, mini.Options{Seed: uint64(i + 1), Workers: workers}); err != nil {
				return err
			}
			fmt.Fprintf(&lines, "seed %d   %s\n", i+1, folds[i].states)
		}
		fmt.Fprintln(&rows, p.row(folds[:]))
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n```text%s```\n", peptideHead(), rows.String(), lines.String())
	return err
}

// peptideHead is the head of the table. It names the version, so that a table of another version is noticed.
func peptideHead() string {
	return fmt.Sprintf("Engine %s %s, default options, seeds 1 to %d:\n\n"+
		"| peptide | PDB | experiment | known of it | strand residues | helix residues | RMSD Å |\n"+
		"|---|---|---|---|---|---|---|", mini.Model, mini.Version, peptideSeeds)
}

// row is the row of a peptide: the residues in strands and in helices, and the RMSD, at each seed.
func (p *peptide) row(folds []folded) string {
	strands, helices, rmsds := make([]string, len(folds)), make([]string, len(folds)), make([]string, len(folds))
	for i, f := range folds {
		n := map[byte]int{}
		for k := range len(f.states) {
			n[structure.ThreeState(f.states[k])]++
		}
		strands[i], helices[i] = fmt.Sprint(n['E']), fmt.Sprint(n['H'])
		rmsds[i] = fmt.Sprintf("%.1f", f.rmsd)
	}
	rmsd := strings.Join(rmsds, ", ")
	if p.ca == nil {
		rmsd = "–"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", p.name, p.entry, p.fold, p.known,
		strings.Join(strands, ", "), strings.Join(helices, ", "), rmsd)
}
