package structure

import (
	"slices"
	"strings"
)

// synonyms are the names that force fields and programs give to standard residues, by protonation state or by place in
// the chain, with the component code.
//
// Sources: aminoacids.rtp, aminoacids.r2b and residuetypes.dat of GROMACS 2022 (AMBER, CHARMM27, GROMOS, OPLS), the
// libraries of AmberTools' leap in acpype 2023.10, charmm36.xml, amoeba2018.xml and pdbNames.xml of OpenMM 8.6, and the
// tables of PDB2PQR 3.8.
var synonyms = forceFieldNames()

// protonation has the names of protonation states by component code. Names of residues that have other atoms are not
// here: AMBER's CYF is cyanophenylalanine, CHARMM's CYSP has a palmitoyl group, and LYP is a component of the CCD.
var protonation = map[string]string{
	"ARG": "ARGN AR0",
	"ASP": "ASH ASPH ASPP",
	"CYS": "CYX CYM CYN CYD CYSH CYS1 CYS2",
	"GLU": "GLH GLUH GLUP",
	"HIS": "HSD HSE HSP HID HIE HIP HIH HISA HISB HISD HISE HISH HISP HIS1 HIS2",
	"LYS": "LYN LSN LYSH LYSN",
	"TYR": "TYM",
}

// atEnds are the protonation states that AMBER has at the ends of chains too.
const atEnds = "ASH CYM CYX GLH HID HIE HIP LYN"

// forceFieldNames returns the component codes by name. AMBER writes N and C before the names of residues at the ends of
// a chain, and 5 and 3 behind those of nucleotides.
func forceFieldNames() map[string]string {
	out := map[string]string{"T": "DT"}
	amino := map[string]string{}
	for letter, code := range aminoNames {
		if strings.IndexByte("BZUOX", letter) < 0 {
			amino[code] = code
		}
	}
	for code, names := range protonation {
		for _, name := range strings.Fields(names) {
			out[name] = code
			if slices.Contains(strings.Fields(atEnds), name) {
				amino[name] = code
			}
		}
	}
	for name, code := range amino {
		out["N"+name], out["C"+name] = code, code
	}
	out["NHE"], out["NAC"], out["CT3"] = "NH2", "NME", "NME" // caps of AMBER, OPLS and CHARMM27
	for _, code := range strings.Fields("A C G U DA DC DG DT") {
		names := []string{code}
		if len(code) == 1 {
			names = append(names, "R"+code)
			out["R"+code] = code
		}
		for _, name := range names {
			out[name+"5"], out[name+"3"] = code, code
		}
	}
	return out
}

// caps are the components at the blocked ends of peptides, with the atom that links them to the chain: its first
// residue if that is C, its last one if it is N.
var caps = map[string]string{
	"ACE": "C", "FOR": "C", "NH2": "N", "NHE": "N", "NME": "N", "NAC": "N", "CT3": "N", "ETA": "N",
}

// Cap returns the atom, C or N, by which a component that blocks an end of a protein, and is no amino acid, is linked
// to the chain: C at its beginning, N at its end. It is empty for all other components.
func Cap(comp string) string { return caps[comp] }

// bases are the names that CHARMM gives to nucleotides of RNA and DNA. In the CCD they are those of free bases and of
// other molecules.
var bases = map[string]byte{"ADE": 'A', "CYT": 'C', "GUA": 'G', "URA": 'U', "THY": 'T'}

func init() {
	for letter, name := range aminoNames {
		letters[name] = letter
	}
	for name, code := range synonyms {
		for _, table := range []map[string]byte{letters, rnaLetters, dnaLetters} {
			if letter, ok := table[code]; ok {
				table[name] = letter
				break
			}
		}
	}
}

// CanonicalComponent returns the component code of a residue of a polymer of a kind: HIS for HIE, HSD and other names
// of its protonation states. A modified residue, such as MSE, keeps its own code.
func CanonicalComponent(kind Kind, comp string) string {
	if code, ok := synonyms[comp]; ok {
		return code
	}
	if base, ok := bases[comp]; ok && (kind == RNA || kind == DNA) {
		code, _ := Component(kind, base)
		return code
	}
	return comp
}
