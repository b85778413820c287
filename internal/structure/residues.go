package structure

import (
	"slices"
	"strings"
)

// Unknown is the letter of a residue without a one-letter code.
const Unknown = 'X'

// aminoNames are the component codes of amino acids by one-letter code.
var aminoNames = map[byte]string{
	'A': "ALA", 'R': "ARG", 'N': "ASN", 'D': "ASP", 'C': "CYS", 'Q': "GLN", 'E': "GLU", 'G': "GLY", 'H': "HIS",
	'I': "ILE", 'L': "LEU", 'K': "LYS", 'M': "MET", 'F': "PHE", 'P': "PRO", 'S': "SER", 'T': "THR", 'W': "TRP",
	'Y': "TYR", 'V': "VAL", 'B': "ASX", 'Z': "GLX", 'U': "SEC", 'O': "PYL", 'X': "UNK",
}

// compNames are the names of standard components.
var compNames = map[string]string{
	"ALA": "ALANINE", "ARG": "ARGININE", "ASN": "ASPARAGINE", "ASP": "ASPARTIC ACID", "CYS": "CYSTEINE",
	"GLN": "GLUTAMINE", "GLU": "GLUTAMIC ACID", "GLY": "GLYCINE", "HIS": "HISTIDINE", "ILE": "ISOLEUCINE",
	"LEU": "LEUCINE", "LYS": "LYSINE", "MET": "METHIONINE", "PHE": "PHENYLALANINE", "PRO": "PROLINE", "SER": "SERINE",
	"THR": "THREONINE", "TRP": "TRYPTOPHAN", "TYR": "TYROSINE", "VAL": "VALINE", "A": "ADENOSINE-5'-MONOPHOSPHATE",
	"C": "CYTIDINE-5'-MONOPHOSPHATE", "G": "GUANOSINE-5'-MONOPHOSPHATE", "U": "URIDINE-5'-MONOPHOSPHATE",
	"DA": "2'-DEOXYADENOSINE-5'-MONOPHOSPHATE", "DC": "2'-DEOXYCYTIDINE-5'-MONOPHOSPHATE",
	"DG": "2'-DEOXYGUANOSINE-5'-MONOPHOSPHATE", "DT": "THYMIDINE-5'-MONOPHOSPHATE",
}

// letters maps component codes of amino acids to one-letter codes: the standard ones, those of aminoNames, common
// modified ones as their parent, and those of synonyms.
var letters = map[string]byte{
	"MSE": 'M', "SEP": 'S', "TPO": 'T', "PTR": 'Y', "CSO": 'C', "CSD": 'C', "CSX": 'C', "CSS": 'C', "CME": 'C',
	"OCS": 'C', "SCY": 'C', "CAS": 'C', "YCM": 'C', "SMC": 'C', "KCX": 'K', "MLY": 'K', "MLZ": 'K', "M3L": 'K',
	"ALY": 'K', "LLP": 'K', "HYP": 'P', "PCA": 'Q', "CGU": 'E', "BHD": 'D', "PHD": 'D', "GLYM": 'G', "HIC": 'H',
	"TYS": 'Y', "NEP": 'H', "FME": 'M', "MHO": 'M', "SAC": 'S', "AIB": 'A', "MEN": 'N', "AGM": 'R', "CIR": 'R',
	"MVA": 'V', "MLE": 'L', "NLE": 'L', "TRQ": 'W', "DAL": 'A', "DAR": 'R', "DSG": 'N', "DAS": 'D', "DCY": 'C',
	"DGN": 'Q', "DGL": 'E', "DHI": 'H', "DIL": 'I', "DLE": 'L', "DLY": 'K', "MED": 'M', "DPN": 'F', "DPR": 'P',
	"DSN": 'S', "DTH": 'T', "DTR": 'W', "DTY": 'Y', "DVA": 'V',
}

// rnaLetters maps component codes of RNA nucleotides to letters, modified ones as their parent.
var rnaLetters = map[string]byte{
	"A": 'A', "C": 'C', "G": 'G', "U": 'U', "I": 'I', "N": 'N', "PSU": 'U', "5MU": 'U', "H2U": 'U', "4SU": 'U',
	"OMU": 'U', "5MC": 'C', "OMC": 'C', "OMG": 'G', "2MG": 'G', "7MG": 'G', "M2G": 'G', "YYG": 'G', "YG": 'G',
	"1MA": 'A', "6MZ": 'A', "A2M": 'A',
}

// dnaLetters maps component codes of DNA nucleotides to letters, modified ones as their parent.
var dnaLetters = map[string]byte{
	"DA": 'A', "DC": 'C', "DG": 'G', "DT": 'T', "DU": 'U', "DI": 'I', "DN": 'N', "5CM": 'C', "BRU": 'U', "6OG": 'G',
	"8OG": 'G',
}

// waters are the names of water in files of different programs. Several are codes of other molecules in the CCD, such
// as SOL of sorbose, see [Residue.isWater].
//
// Sources: the CCD (HOH, DOD), residuetypes.dat of GROMACS 2022, AmberTools' solvents.lib, charmm36 of OpenMM 8.6, and
// the selection «water» of MDAnalysis 2.11.
var waters = map[string]bool{
	"HOH": true, "DOD": true, "WAT": true, "H2O": true, "OH2": true, "HHO": true, "OHH": true, "SOL": true,
	"TIP": true, "TIP2": true, "TIP3": true, "TIP4": true, "TIP5": true, "T3P": true, "T4P": true, "T5P": true,
	"TP3": true, "TP3B": true, "TP3F": true, "TP4E": true, "TP45": true, "TP5E": true, "SPC": true, "SPCE": true,
}

// isWater reports whether a residue has a name of water and no carbon, which all other molecules of these names have.
func (r *Residue) isWater() bool {
	return waters[r.Comp] && !slices.ContainsFunc(r.Atoms, func(a Atom) bool { return a.Element == "C" })
}

// Letters returns the sequence of a polymer, see [Letter].
func Letters(c *Chain) string {
	out := make([]byte, len(c.Residues))
	for i := range c.Residues {
		out[i] = Letter(c.Kind, c.Residues[i].Comp)
	}
	return string(out)
}

// Letter returns the one-letter code of a component in a polymer of the given kind, or [Unknown] where it has none. A
// modified residue has the code of its parent.
func Letter(kind Kind, comp string) byte {
	table := letters
	switch kind {
	case RNA, DNA:
		if l, ok := bases[comp]; ok {
			return l
		}
		table = rnaLetters
		if l, ok := dnaLetters[comp]; ok {
			return l
		}
	case Protein:
	default:
		return Unknown
	}
	if l, ok := table[comp]; ok {
		return l
	}
	return Unknown
}

// Component returns the component code of a letter in a polymer of the given kind: ALA, U, DT. It returns false
// where the letter is not in the kind's alphabet, or the kind is not a polymer. Lower case is not accepted.
func Component(kind Kind, letter byte) (string, bool) {
	switch kind {
	case Protein:
		name, ok := aminoNames[letter]
		return name, ok
	case RNA:
		return string(letter), strings.IndexByte("ACGUIN", letter) >= 0
	case DNA:
		return "D" + string(letter), strings.IndexByte("ACGTUIN", letter) >= 0
	}
	return "", false
}

// Sequence returns the chain in one-letter codes, one per listed residue (see [Letter]). Residues that an experiment
// did not resolve are therefore missing. It is empty outside polymers.
func (c *Chain) Sequence() string {
	if !c.Kind.Polymer() {
		return ""
	}
	return Letters(c)
}

// polymerKind returns the kind of polymer that a component belongs to by its name alone, or an empty kind where
// that is not known.
func polymerKind(comp string) Kind {
	if _, ok := letters[comp]; ok {
		return Protein
	}
	if _, ok := rnaLetters[comp]; ok {
		return RNA
	}
	if _, ok := dnaLetters[comp]; ok {
		return DNA
	}
	return ""
}

// upperCase gives an atom the name of its residue, and its own, in upper case, where the residue's has small letters
// and is one of a standard component then, since no component has small letters.
func (a *pendingAtom) upperCase() {
	if comp := standardCode(a.comp); comp != a.comp {
		a.comp, a.Name = comp, strings.ToUpper(a.Name)
	}
}

// standardCode returns the code of a standard residue, cap, water or ion that may be written with small letters; any
// other name as it is.
func standardCode(comp string) string {
	code := strings.ToUpper(comp)
	ion := masses[code] > 0 || ions[code] != ""
	if code != comp && (polymerKind(code) != "" || caps[code] != "" || waters[code] || ion) {
		return code
	}
	return comp
}

// guessKind returns the kind of a residue from its name and atoms: a polymer's kind, Water, Ion or Ligand.
func (r *Residue) guessKind() Kind {
	if r.isWater() {
		return Water
	}
	has := func(name string) bool { _, ok := r.Atom(name); return ok }
	if k := polymerKind(r.Comp); k != "" && (r.Comp != "CYN" || has("CA")) { // the cyanide of the CCD
		return k
	}
	switch {
	case has("N") && has("CA") && has("C"), !r.Het && len(r.Atoms) == 1 && r.Atoms[0].Name == "CA" &&
		r.Atoms[0].Element != "CA":
		return Protein
	case has("C1'") && has("C3'") && has("O3'"), !r.Het && len(r.Atoms) == 1 && r.Atoms[0].Name == "P":
		if has("O2'") {
			return RNA
		}
		return DNA
	case len(r.Atoms) == 1 && r.Atoms[0].Element != "C":
		return Ion
	}
	return Ligand
}

// guessPolymer returns the kind that most residues of a polymer have.
func (c *Chain) guessPolymer() Kind {
	count := map[Kind]int{}
	for i := range c.Residues {
		count[c.Residues[i].guessKind()]++
	}
	best := Protein
	for _, k := range []Kind{RNA, DNA} {
		if count[k] > count[best] {
			best = k
		}
	}
	return best
}
