package facts

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"pleat/internal/words"
)

// Summary returns the overview in sentences, and the residues that it names.
func (f *Facts) Summary() (string, []ResidueRef) {
	lines, cited := f.lines(6)
	return strings.Join(lines, "\n"), cited
}

// Text returns the digest as plain lines, the most important first, in at most maxBytes bytes. Lines that do not
// fit are omitted; a last line reports that where it fits.
func (f *Facts) Text(maxBytes int) string {
	lines, _ := f.lines(50)
	const more = "(more facts were left out)\n"
	var b strings.Builder
	for i, line := range lines {
		if b.Len()+len(line)+1 <= maxBytes-len(more) || i == len(lines)-1 && b.Len()+len(line)+1 <= maxBytes {
			b.WriteString(line + "\n")
			continue
		}
		room := maxBytes - len(more) - b.Len() - len("…\n")
		if room > 40 {
			for room > 0 && !utf8.RuneStart(line[room]) {
				room--
			}
			b.WriteString(line[:room] + "…\n")
		}
		if b.Len()+len(more) <= maxBytes {
			b.WriteString(more)
		}
		break
	}
	return b.String()
}

// lines returns the digest line by line, with lists cut at n entries, and the residues that it names.
func (f *Facts) lines(n int) (lines []string, cited []ResidueRef) {
	say := func(format string, a ...any) { lines = append(lines, fmt.Sprintf(format, a...)) }
	kind := "structure"
	if f.Predicted {
		kind = "predicted structure"
	}
	if name := cmp.Or(f.Title, f.Source); name != "" {
		kind += " “" + Clip(name, 120) + "”"
	}
	say("The %s has %s with %d residues, %s and %s.", kind, words.Quantity(len(f.Chains), "chain", "chains"),
		f.Residues, words.Quantity(len(f.Ligands), "ligand or ion", "ligands or ions"),
		words.Quantity(f.Waters, "water molecule", "water molecules"))
	for _, c := range Head(f.Chains, n) {
		text := fmt.Sprintf("Chain %s: %s, %s (%s to %s)", c.ID, c.Kind,
			words.Quantity(c.Length, "residue", "residues"), c.First.Short(), c.Last.Short())
		if c.Mass != nil {
			text += fmt.Sprintf(", %.2f kDa", *c.Mass/1000)
		}
		if c.Gyration != nil {
			text += ", radius of gyration " + Angstrom(*c.Gyration)
		}
		if c.Charge != nil {
			text += fmt.Sprintf(", net charge %+.1f e at pH 7", *c.Charge)
		}
		if s := c.Secondary; s != nil {
			text += fmt.Sprintf("; %s helix, %s strand (%s)", Percent(s.Helix), Percent(s.Strand), s.Character())
		}
		if k := c.Confidence; k != nil {
			text += fmt.Sprintf("; mean pLDDT %.1f (%s), %s of residues below 70", k.Mean, Band(k.Mean),
				Percent(k.Low+k.VeryLow))
		}
		if k := c.PredictedRMSD; k != nil {
			text += fmt.Sprintf("; mean predicted RMSD %.2f Å (low is good), highest %.2f Å", k.Mean, k.Max)
		}
		if n := len(c.Gaps); n == maxList {
			text += fmt.Sprintf("; %d gaps or more", n)
		} else if n > 0 {
			text += "; " + words.Quantity(n, "gap", "gaps")
		}
		say("%s.", text)
		cited = append(cited, c.First, c.Last)
	}
	f.contactLines(n, say, &cited)
	if n > 10 { // what a digest holds besides a summary
		f.detailLines(n, say)
	}
	for _, note := range f.Notes {
		say("%s", note)
	}
	return lines, cited
}

// contactLines adds the lines on interfaces and other contacts.
func (f *Facts) contactLines(n int, say func(string, ...any), cited *[]ResidueRef) {
	if f.PTM != nil {
		say("pTM %.2f.", *f.PTM)
	}
	if f.IPTM != nil {
		say("ipTM %.2f.", *f.IPTM)
	}
	if p := f.PAE; p != nil {
		say("Mean predicted aligned error %.1f Å; stretches placed as units: %d.", p.Mean, len(p.Domains))
	}
	for _, l := range Head(f.Ligands, n) {
		near := l.Neighbours
		if l.Count == nil {
			continue
		}
		if len(near) == 0 {
			say("%s: no residue within 4.5 Å.", l.Ref)
			continue
		}
		say("%s: %s within 4.5 Å, the closest %s at %s.", l.Ref, words.Quantity(*l.Count, "residue", "residues"),
			near[0].Residue, Angstrom(near[0].Distance))
		*cited = append(*cited, l.Ref, near[0].Residue)
	}
	if a := f.Affinity; a != nil {
		say("Predicted affinity: value %.3f (log10 of an IC50 in µM), probability of binding %.3f.", a.Value,
			a.Probability)
	}
	for _, in := range Head(f.Interfaces, n) {
		say("Chains %s and %s touch with %d and %s and bury %.0f Å²; %s, %s.", in.A, in.B, in.CountA,
			words.Quantity(in.CountB, "residue", "residues"), in.Buried,
			words.Quantity(in.HBondN, "hydrogen-bond candidate", "hydrogen-bond candidates"),
			words.Quantity(len(in.Bridges), "salt bridge", "salt bridges"))
	}
	if len(f.Disulfides) > 0 {
		say("%s by distance: %s.", words.Quantity(len(f.Disulfides), "disulfide", "disulfides"),
			PairList(f.Disulfides, n))
		*cited = append(*cited, PairRefs(Head(f.Disulfides, n))...)
	}
	if f.BridgeN != nil && *f.BridgeN > 0 {
		say("%s by distance.", words.Quantity(*f.BridgeN, "salt bridge", "salt bridges"))
	}
	if len(f.Pockets) > 0 {
		say("%s by geometry alone, the largest %.0f Å³.", words.Quantity(len(f.Pockets), "pocket", "pockets"),
			f.Pockets[0].Volume)
	}
}

// detailLines adds sequences, segments and lists, which a summary omits.
func (f *Facts) detailLines(n int, say func(string, ...any)) {
	for _, c := range Head(f.Chains, n) {
		say("Sequence of chain %s: %s", c.ID, Clip(c.Sequence, 3000))
		if c.Secondary != nil {
			var list []string
			for _, g := range c.Secondary.Segments {
				list = append(list, fmt.Sprintf("%s %d–%d", g.Kind(), g.From.Number, g.To.Number))
			}
			say("Secondary structure of chain %s: %s.", c.ID, OrNone(words.Join(list, n)))
		}
		if c.Confidence != nil {
			var list []string
			for _, s := range c.Confidence.Doubtful {
				list = append(list, fmt.Sprintf("%d–%d (mean %.0f)", s.From.Number, s.To.Number, s.Mean))
			}
			say("pLDDT below 70 in chain %s: %s.", c.ID, OrNone(words.Join(list, n)))
		}
		if c.PredictedRMSD != nil {
			var list []string
			for _, s := range c.PredictedRMSD.Uncertain {
				list = append(list, fmt.Sprintf("%d–%d (mean %.1f)", s.From.Number, s.To.Number, s.Mean))
			}
			say("Predicted RMSD above %g Å in chain %s: %s.", UncertainRMSD, c.ID, OrNone(words.Join(list, n)))
		}
		for _, g := range Head(c.Gaps, n) {
			say("%s.", g)
		}
		for _, j := range Head(c.Jumps, n) {
			say("The numbers jump from %s to %s, whose link is not broken.", j.After, j.Before)
		}
	}
	for _, l := range Head(f.Ligands, n) {
		var list []string
		for _, v := range l.Neighbours {
			list = append(list, fmt.Sprintf("%s %s", v.Residue, Angstrom(v.Distance)))
		}
		say("Around %s: %s.", l.Ref, OrNone(words.Join(list, 30)))
	}
	for _, in := range Head(f.Interfaces, n) {
		say("Interface %s–%s: chain %s %s; chain %s %s.", in.A, in.B, in.A, ShortRefs(in.ResiduesA, 60), in.B,
			ShortRefs(in.ResiduesB, 60))
	}
	if len(f.Bridges) > 0 {
		say("Salt bridges: %s.", PairList(f.Bridges, n))
	}
	for i, p := range Head(f.Pockets, 5) {
		say("Pocket %d: %.0f Å³, %s.", i+1, p.Volume, RefList(p.Residues, 40))
	}
	for _, p := range Head(f.Patches, 5) {
		say("Hydrophobic patch: %s.", RefList(p.Residues, 30))
	}
	if s := f.Shape; s.Area != nil {
		say("Accessible surface %.0f Å²; %d residues buried, %d exposed.", *s.Area, *s.Buried, *s.Exposed)
	}
}
