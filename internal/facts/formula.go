package facts

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"pleat/internal/structure"
)

// formulas are the atoms of residues within a chain by component code, without the hydrogen and the hydroxyl of its
// ends: those of the Chemical Component Dictionary, neutral and without one water. Caps replace the hydrogen (ACE, FOR)
// or the hydroxyl (NH2, NME, ETA) of an end. testdata/formulas.py holds the table against the dictionary.
var formulas = map[string]string{
	"1MA": "C11 H14 N5 O6 P", "2MG": "C11 H14 N5 O7 P", "4SU": "C9 H11 N2 O7 P S", "5CM": "C10 H14 N3 O6 P",
	"5MC": "C10 H14 N3 O7 P", "5MU": "C10 H13 N2 O8 P", "6MZ": "C11 H14 N5 O6 P", "6OG": "C11 H14 N5 O6 P",
	"7MG": "C11 H16 N5 O7 P", "8OG": "C10 H12 N5 O7 P", "A": "C10 H12 N5 O6 P", "A2M": "C11 H14 N5 O6 P",
	"ACE": "C2 H2 O", "AGM": "C7 H14 N4 O", "AIB": "C4 H7 N O", "ALA": "C3 H5 N O", "ALY": "C8 H14 N2 O2",
	"ARG": "C6 H12 N4 O", "ASN": "C4 H6 N2 O2", "ASP": "C4 H5 N O3", "BHD": "C4 H5 N O4", "BRU": "C9 H10 N2 O7 P BR",
	"C": "C9 H12 N3 O7 P", "CAS": "C5 H10 N O S AS", "CGU": "C6 H7 N O5", "CIR": "C6 H11 N3 O2",
	"CME": "C5 H9 N O2 S2", "CSD": "C3 H5 N O3 S", "CSO": "C3 H5 N O2 S", "CSS": "C3 H5 N O S2",
	"CSX": "C3 H5 N O2 S", "CYS": "C3 H5 N O S", "DA": "C10 H12 N5 O5 P", "DAL": "C3 H5 N O", "DAR": "C6 H12 N4 O",
	"DAS": "C4 H5 N O3", "DC": "C9 H12 N3 O6 P", "DCY": "C3 H5 N O S", "DG": "C10 H12 N5 O6 P", "DGL": "C5 H7 N O3",
	"DGN": "C5 H8 N2 O2", "DHI": "C6 H7 N3 O", "DI": "C10 H11 N4 O6 P", "DIL": "C6 H11 N O", "DLE": "C6 H11 N O",
	"DLY": "C6 H12 N2 O", "DPN": "C9 H9 N O", "DPR": "C5 H7 N O", "DSG": "C4 H6 N2 O2", "DSN": "C3 H5 N O2",
	"DT": "C10 H13 N2 O7 P", "DTH": "C4 H7 N O2", "DTR": "C11 H10 N2 O", "DTY": "C9 H9 N O2", "DU": "C9 H11 N2 O7 P",
	"DVA": "C5 H9 N O", "ETA": "C2 H5 N O0", "FME": "C6 H9 N O2 S", "FOR": "C O", "G": "C10 H12 N5 O7 P",
	"GLN": "C5 H8 N2 O2",
	"GLU": "C5 H7 N O3", "GLY": "C2 H3 N O", "H2U": "C9 H13 N2 O8 P", "HIC": "C7 H9 N3 O", "HIS": "C6 H7 N3 O",
	"HYP": "C5 H7 N O2", "I": "C10 H11 N4 O7 P", "ILE": "C6 H11 N O", "KCX": "C7 H12 N2 O3", "LEU": "C6 H11 N O",
	"LLP": "C14 H20 N3 O6 P", "LYS": "C6 H12 N2 O", "M2G": "C12 H16 N5 O7 P", "M3L": "C9 H18 N2 O",
	"MED": "C5 H9 N O S", "MEN": "C5 H8 N2 O2", "MET": "C5 H9 N O S", "MHO": "C5 H9 N O2 S", "MLE": "C7 H13 N O",
	"MLY": "C8 H16 N2 O", "MLZ": "C7 H14 N2 O", "MSE": "C5 H9 N O SE", "MVA": "C6 H11 N O", "NEP": "C6 H8 N3 O4 P",
	"NH2": "H N O-1", "NLE": "C6 H11 N O", "NME": "C H3 N O-1", "OCS": "C3 H5 N O4 S", "OMC": "C10 H14 N3 O7 P",
	"OMG": "C11 H14 N5 O7 P", "OMU": "C10 H13 N2 O8 P", "PCA": "C5 H5 N O2", "PHD": "C4 H6 N O6 P",
	"PHE": "C9 H9 N O", "PRO": "C5 H7 N O", "PSU": "C9 H11 N2 O8 P", "PTR": "C9 H10 N O5 P", "PYL": "C12 H19 N3 O2",
	"SAC": "C5 H7 N O3", "SCY": "C5 H7 N O2 S", "SEC": "C3 H5 N O SE", "SEP": "C3 H6 N O5 P", "SER": "C3 H5 N O2",
	"SMC": "C4 H7 N O S", "THR": "C4 H7 N O2", "TPO": "C4 H8 N O5 P", "TRP": "C11 H10 N2 O", "TRQ": "C11 H8 N2 O3",
	"TYR": "C9 H9 N O2", "TYS": "C9 H9 N O5 S", "U": "C9 H11 N2 O8 P", "VAL": "C5 H9 N O", "YCM": "C5 H8 N2 O2 S",
	"YG": "C21 H27 N6 O11 P", "YYG": "C21 H27 N6 O11 P",
}

// composition is the number of atoms by element in a residue within a chain.
type composition map[string]int

// compositions are the formulas, read.
var compositions = func() map[string]composition {
	out := make(map[string]composition, len(formulas))
	for code, formula := range formulas {
		out[code] = composition{}
		for _, part := range strings.Fields(formula) {
			symbol := strings.TrimRight(part, "-0123456789")
			n, err := strconv.Atoi(part[len(symbol):])
			if err != nil {
				n = 1 // a symbol alone
			}
			out[code][symbol] = n
		}
	}
	return out
}()

// composition returns the atoms of a residue within a chain, and false where its formula is not known: the component
// is not in the table, or the file has an element in it that the component does not have.
func (s *Site) composition() (composition, bool) {
	c, ok := compositions[s.Canonical()]
	if !ok || !s.Kind.Polymer() {
		return nil, false
	}
	for i := range s.Residue.Atoms {
		if a := &s.Residue.Atoms[i]; a.Heavy() && known(a.Element) {
			if _, has := c[a.Element]; !has {
				return nil, false
			}
		}
	}
	return c, true
}

// known reports whether an element is one, and not a bead of a model.
func known(element string) bool { return element != "" && element != "X" }

// heavy returns the number of heavy atoms.
func (c composition) heavy() int {
	n := 0
	for symbol, k := range c {
		if symbol != "H" {
			n += max(k, 0)
		}
	}
	return n
}

// mass returns the average mass in Da. It adds in a fixed order, so that the sum is always the same.
func (c composition) mass() (sum float64) {
	for _, symbol := range slices.Sorted(maps.Keys(c)) {
		sum += float64(c[symbol]) * structure.Mass(symbol)
	}
	return sum
}

// water is the mass in Da of the hydrogen and the hydroxyl that the ends of a chain have.
var water = composition{"H": 2, "O": 1}.mass()

// phosphate is the mass in Da by which a nucleotide without its 5' phosphate is lighter.
var phosphate = composition{"H": 1, "O": 3, "P": 1}.mass()

// Mass returns the average mass in Da of residues as they are in a chain, so without the water of its ends, and how
// many of them it leaves out because their formula is not known. Cysteines count as reduced, nucleotides with a
// phosphate where WithoutPhosphate does not tell that there is none.
func (x *Index) Mass(sites []int) (sum float64, unknown int) {
	for _, i := range sites {
		c, ok := x.Sites[i].composition()
		if !ok {
			unknown++
			continue
		}
		if sum += c.mass(); x.WithoutPhosphate(i) {
			sum -= phosphate
		}
	}
	return sum, unknown
}

// WithoutPhosphate reports whether a residue is the first nucleotide of a chain and has O5' but no atom of a phosphate.
// A nucleotide within a chain has its phosphate also where the file has no atoms of it, as does one of which a model
// has too few atoms to tell.
func (x *Index) WithoutPhosphate(i int) bool {
	s := &x.Sites[i]
	if s.Kind != structure.RNA && s.Kind != structure.DNA || !x.begins(i) {
		return false
	}
	oxygen := false
	for _, a := range x.Atoms[s.Lo:s.Hi] {
		if a.Element == "P" || slices.Contains(phosphates, a.Name) {
			return false
		}
		oxygen = oxygen || a.Name == "O5'" || a.Name == "O5*"
	}
	return oxygen
}
