package analyst

import (
	"slices"
	"strings"
)

// Classes of residues, ligands and atoms in a question.

// classes of amino acids, by letter, as the answers state them.
var classes = []struct{ name, words, letters string }{
	{"hydrophobic", "hydrophobic, hydrophobics, non polar, nonpolar, apolar, greasy, aliphatic and aromatic", hydrophobic},
	{"positively charged", "positively charged, positive, basic, cationic, positive charge, positive charges", "KR"},
	{"negatively charged", "negatively charged, negative, acidic, anionic, negative charge, negative charges", "DE"},
	{"aromatic", "aromatic, aromatics", "FWY"},
	{"aliphatic", "aliphatic, aliphatics", "AVIL"},
	{"charged", "charged, ionizable, ionisable", "DEKR"},
	{"polar", "polar, uncharged polar, hydrophilic", "STNQHYC"},
}

// kindOfResidue reads classes of residues.
func (r *reader) kindOfResidue() bool {
	for n := min(2, len(r.words)-r.at); n > 0; n-- {
		key := joined(r.words[r.at:r.at+n], false)
		for _, c := range classes {
			if slices.Contains(strings.Split(c.words, ", "), key) {
				r.add(item{concept: "@class", name: c.name}, n)
				return true
			}
		}
	}
	return false
}

// ligandWords are names of common ligands and ions, and their component codes.
var ligandWords = map[string]string{
	"heme": "HEM", "haem": "HEM", "zinc": "ZN", "calcium": "CA", "magnesium": "MG", "iron": "FE", "manganese": "MN", "copper": "CU",
	"sodium": "NA", "potassium": "K", "chloride": "CL", "sulfate": "SO4", "sulphate": "SO4", "phosphate": "PO4", "glycerol": "GOL",
	"nickel": "NI", "cobalt": "CO", "atp": "ATP", "adp": "ADP", "amp": "AMP", "gtp": "GTP", "gdp": "GDP", "nad": "NAD", "nadp": "NAP",
	"fad": "FAD", "fmn": "FMN", "hem": "HEM", "benzene": "BNZ", "ethanol": "EOH", "acetate": "ACT", "glucose": "GLC", "biotin": "BTN",
	"retinol": "RTL", "cholesterol": "CLR", "imatinib": "STI", "water": "HOH",
}

// ligand reads a ligand by its code or common name, with its number where one follows.
func (r *reader) ligand() bool {
	w := r.peek(0)
	code := ""
	switch up := strings.ToUpper(w.raw); {
	case r.ligands[w.raw] && (len(w.raw) > 1 || r.peek(1).low == "ion"), r.ligands[up] && len(up) >= 3 && lexicon.entry[w.low] == "":
		code = up
		if r.ligands[w.raw] {
			code = w.raw
		}
		if r.atoms[w.raw] && (r.peek(1).low == "of" || strings.HasPrefix(r.peek(1).low, "atom")) {
			return false // CA of residue 3
		}
	case ligandWords[w.low] != "" && w.low != "water":
		code = ligandWords[w.low]
		if w.low == "iron" && !r.ligands["FE"] && r.ligands["FE2"] {
			code = "FE2"
		}
	default:
		return false
	}
	n := 1
	if r.chains[r.peek(n).raw] {
		if _, ok := figure(r.peek(n + 1)); ok {
			n++
		}
	}
	if _, ok := figure(r.peek(n)); ok {
		n++
	} else {
		n = 1
	}
	r.add(item{concept: "@ligand", name: code, known: r.ligands[code]}, n)
	return true
}

// atom reads an atom's name, which is upper case and longer than one letter unless the word atom follows.
func (r *reader) atom() bool {
	w := r.peek(0)
	switch pair := w.low + " " + r.peek(1).low; pair {
	case "alpha carbon", "alpha carbons", "c alpha", "c alphas":
		r.add(item{concept: "@atom", name: "CA"}, 2)
		return true
	case "beta carbon", "beta carbons", "c beta", "c betas":
		r.add(item{concept: "@atom", name: "CB"}, 2)
		return true
	}
	up := strings.ToUpper(w.raw)
	if w.low == "ca" || w.low == "cas" || w.low == "calpha" || w.low == "calphas" {
		up = "CA"
	}
	if !r.atoms[up] || w.raw == w.low && up != "CA" && up != "CB" {
		return false
	}
	if len(up) == 1 && r.peek(1).low != "atom" {
		return false
	}
	r.add(item{concept: "@atom", name: up}, 1)
	return true
}
