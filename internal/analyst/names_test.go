package analyst

import (
	"strings"
	"testing"

	"pleat/internal/facts"
	"pleat/internal/structure"
)

// Residues of kabat (1IGY, chain B), negative (1O1Z) and antibody (1NCB, chains L and H) are as gemmi 0.7 numbers and
// names them.

func TestNegativeNumbers(t *testing.T) {
	const all = "HIS -3 to GLY 5 (chain A) (9 residues) has the sequence HHHHVIVLG"
	hold(t, []reading{
		{"negative", "What is the sequence of residues -3 to 5?", "sequence", all},
		{"negative", "What is the sequence of residues −3–5?", "sequence", all},
		{"negative", "What is the sequence of residues 5 to -3?", "sequence", all},
		{"negative", "What is the sequence of residues -3..5?", "sequence", all},
		{"negative", "What is the sequence of residues -3…5?", "sequence", all},
		{"negative", "What is the sequence of residues -3:5?", "sequence", all},
		{"negative", "What is the sequence of residues (-3) through (5)?", "sequence", all},
		{"negative", "What is the sequence of residues -3--1?", "sequence", "HIS -3 to HIS -1 (chain A) (3 residues)"},
		{"negative", "What is the sequence of residues 3-5?", "sequence", "VAL 3 to GLY 5 (chain A) (3 residues)"},
		{"negative", "What is residue -2?", "residue", "HIS -2 (chain A)"},
		{"negative", "What is A:-2?", "residue", "HIS -2 (chain A)"},
		{"negative", "What is HIS -2?", "residue", "HIS -2 (chain A)"},
		{"negative", "What is HIS-2?", "residue", "HIS -2 (chain A)"}, // residue 2 is an isoleucine
		{"negative", "What is VAL-3?", "residue", "VAL 3 (chain A)"},
		{"negative", "What is residue-2?", "", "“residue - 2” can mean residue 2 or residue -2"},
		{"negative", "What is residue - 2?", "", "“residue - 2” can mean residue 2 or residue -2"},
		{"negative", "What is residue 3 -1?", "", "“-1”"},
		{"negative", "What is residue -9?", "", "There is no residue -9 with coordinates: chain A runs from -3 to 8."},
		{"negative", "Are residues -3 to 2 exposed?", "residues", "It cannot be told of 1 of these 6 residues"},
		{"negative", "List residues -3, -1 and 2.", "residue", "one-letter codes: HHI."},
		{"negative", "Which residues lie between 5 and -2?", "residue", "one-letter codes: HHHVIVLG."},
		{"negative", "How far is residue -2 from residue 5?", "distance", "HIS -2 (chain A) and GLY 5 (chain A)"},
		{"negative", "How far is it from residue -2 to 5?", "distance", "HIS -2 (chain A) and GLY 5 (chain A)"},
		{"negative", "What does residue -2 touch?", "contacts", "Within 4.5 Å of HIS -2 (chain A)"},
		{"negative", "What is the secondary structure of residues -2 to 8?", "secondary structure", "(11 residues)"},
		{"negative", "Is the net charge between -2 and 3?", "", "“-2”"},
	})
}

func TestInsertionCodes(t *testing.T) {
	hold(t, []reading{
		{"kabat", "What is residue 82A of chain B?", "residue", "SER 82A (chain B)"},
		{"kabat", "What is residue 82a?", "residue", "SER 82A (chain B)"},
		{"kabat", "What is residue 82 A?", "residue", "SER 82A (chain B)"},
		{"kabat", "What is Ser 82 A?", "residue", "SER 82A (chain B)"},
		{"kabat", "What is SER82A?", "residue", "SER 82A (chain B)"},
		{"kabat", "What is B82A?", "residue", "SER 82A (chain B)"},
		{"kabat", "What is B:82A?", "residue", "SER 82A (chain B)"},
		{"kabat", "What is L82A?", "", "a mutation"}, // LEU 82 to ALA
		{"kabat", "Is 82A exposed?", "residue", "SER 82A (chain B)"},
		{"kabat", "Are 82A and 82B exposed?", "residue", "Yes: SER 82B (chain B)"},
		{"kabat", "What is residue 82?", "residue", "LEU 82 (chain B)"},
		{"kabat", "What is residue 82D?", "", "no residue 82D with coordinates: there is LEU 82, SER 82A, SER 82B, LEU 82C"},
		{"kabat", "What is residue 82A of chain H?", "", "There is no chain H. The structure has chain B."},
		{"kabat", "What is the sequence of residues 82A to 84?", "sequence", "(5 residues) has the sequence SSLTS"},
		{"kabat", "What is the sequence of 82A–82C?", "sequence", "(3 residues) has the sequence SSL"},
		{"kabat", "What is the sequence of residues 80 to 82?", "sequence", "(3 residues) has the sequence IHL"},
		{"kabat", "What is the sequence of residues 1 to 82A?", "sequence", "(6 residues) has the sequence ANIHLS"},
		{"kabat", "What is the sequence of residues 82C to 900?", "sequence", "(5 residues) has the sequence LTSDD"},
		{"kabat", "What is the sequence of residues 82A to 82E?", "", "There is no residue 82E"},
		{"kabat", "Which residues are within 5A of 82A?", "contacts", "Within 5.0 Å of SER 82A (chain B)"},
		{"kabat", "Which residues are within 5 A of residue 82A?", "contacts", "Within 5.0 Å of SER 82A (chain B)"},
		{"kabat", "Which residues are 5A from residue 82?", "contacts", "Within 5.0 Å of LEU 82 (chain B)"},
		{"kabat", "What is residue 82-A?", "", "There is no chain A. The structure has chain B."},
		{"kabat", "What is residue 82:A?", "", "There is no chain A."},
		{"kabat", "What is the sequence of B82A-B84?", "sequence", "(5 residues) has the sequence SSLTS"},
		{"kabat", "What is the sequence of Ser82A–Ser84?", "sequence", "(5 residues) has the sequence SSLTS"},
		{"kabat", "How far is 82A from 82C?", "distance", "SER 82A (chain B) and LEU 82C (chain B)"},
		{"kabat", "Is 83A exposed?", "", "“83A”"},
		{"antibody", "What is H100A?", "residue", "SER 100A (chain H)"},
		{"antibody", "What is the sequence of H100A-H101?", "sequence", "(4 residues) has the sequence SLSD"},
		{"antibody", "What is the sequence of Ser100A to Asp101?", "sequence", "(4 residues) has the sequence SLSD"},
		{"antibody", "What is the sequence of residues 99, …, 101 of chain H?", "sequence", "(6 residues) has the sequence FGSLSD"},
		{"antibody", "What is the sequence of H100-H101?", "sequence", "(5 residues) has the sequence GSLSD"},
		{"antibody", "What is the sequence of residues 100A-100B of chain H?", "sequence", "the sequence SL"},
		{"antibody", "What is L96?", "residue", "TRP 96 (chain L)"},
		{"antibody", "What is H97?", "residue", "(chain H)"},
	})
}

func TestChainNames(t *testing.T) {
	hold(t, []reading{
		{"antibody", "How many residues does the heavy chain have?", "length", "Chain H has 11 residues"},
		{"antibody", "What is the length of the light chains?", "length", "Chain L has 8 residues"},
		{"antibody", "What is the interface between the heavy and the light chain?", "interface", "Chains L and H touch"},
		{"antibody", "How many heavy atoms does chain H have?", "atoms", "Chain H has"},
		{"antibody", "How many residues does the alpha chain have?", "", "No chain of this structure is described as " +
			"alpha; please name the chain by its letter. The structure has chains L and H."},
		{"antibody", "What is the heavy chain?", "chains", "The structure has 2 chains. Chain H (11 residues)"},
		{"antibody", "How many residues do both chains have?", "length", "Chain L has 8 residues"},
		{"kabat", "How many residues do both chains have?", "", "The structure has 1 chain"},
		{"dimer", "How many residues does the heavy chain have?", "", "described as heavy"},
		{"dimer", "Is residue 5 of the heavy chain exposed?", "", "described as heavy"},
		{"dimer", "What is residue 48 of chain Z?", "", "There is no chain Z. The structure has chains A and B."},
		{"dimer", "How many residues does chain AAA have?", "", "There is no chain AAA."},
		{"dimer", "What is the interface between A and B?", "interface", "Chains A and B touch"},
		{"kabat", "What is the interface between A and B?", "", "There is no chain A."},
		{"dimer", "How many residues does the N-terminal helix have?", "", "“N terminal helix” has no certain first"},
		{"dimer", "Where is helix A?", "", "“A”"},
		{"dimer", "How many residues does the protein chain b have?", "length", "Chain B has 28 residues"},
		{"dimer", "How many residues does the chain called b have?", "length", "Chain B has 28 residues"},
		{"dimer", "How many residues do chains a and b have?", "length", "Chain B has 28 residues"},
		{"dimer", "What is residue 5 of a?", "", "“a”"},
		{"dimer", "What is the interface between a and b?", "", "“a”"},
		{"dimer", "Which residues have negative numbers?", "", "“negative numbers”"},
		{"dimer", "Which residues have insertion codes?", "", "“insertion codes”"},
		{"dimer", "What is the weight of the side chain of K6?", "", "“side chain”"},
	})
	names := func(id string) *facts.Facts {
		s := load(t, "dimer")
		for i := range s.Chains {
			if s.Chains[i].ID == "B" {
				s.Chains[i].ID, s.Chains[i].Label = id, "B"
			}
		}
		return mustDigest(t, s, facts.Extra{})
	}
	for _, c := range []reading{
		{"A-2", "How many residues does chain A-2 have?", "length", "Chain A-2 has 28 residues"},
		{"A-2", "How many residues does chain A have?", "length", "Chain A has 76 residues"},
		{"A-2", "What is residue 5 of chain A-2?", "residue", "ALA 5 (chain A-2)"},
		{"A-2", "What is A-2:5?", "residue", "ALA 5 (chain A-2)"},
		{"A-2", "Which residues of chain A touch A-2?", "interface", "Chains A and A-2 touch"},
		{"A-2", "What is residue 5 of chain B?", "", "which answers use; the file has this label (label_asym_id) for " +
			"chain A-2."},
		{"A1", "How many residues does chain A1 have?", "length", "Chain A1 has 28 residues"},
		{"A1", "What is A1?", "", "“A1” can mean residue 1 of chain A or chain A1"},
		{"AA", "How many residues does chain AA have?", "length", "Chain AA has 28 residues"},
		{"a", "How many residues does chain a have?", "length", "Chain a has 28 residues"},
		{"a", "How many residues does chain A have?", "length", "Chain A has 76 residues"},
		{"a", "Is there a helix in residues 20 to 40?", "secondary structure", "chain A"},
		{"a", "How many lysines are in a helix?", "residues", "5 of 104 residues"},
		{"a", "What is the charge of a?", "charge", "Chain a has"},
		{"2", "What is the interface between chains A and 2?", "interface", "Chains A and 2 touch"},
		{"is", "How long the chain is?", "", "“chain is” can mean the chain is or the word"},
		{"N", "What is the chain's N terminus?", "", "“chain N” can mean"},
		{"N", "How far is N of residue 5 of chain A from residue 9 of chain A?", "distance", "atom N of VAL 5 (chain A)"},
		{"I", "What is the interface between A and I?", "interface", "Chains A and I touch"},
	} {
		c.holds(t, names(c.structure))
	}
}

// An ion is named by its element, whatever code the file has for it: that of CHARMM, or several of one element.
func TestIonsByElement(t *testing.T) {
	s := load(t, "ligand")
	var ions []structure.Residue
	for i, ion := range []string{"CLA CL", "POT K", "FE FE", "FE2 FE", "CU1 CU", "IOD I"} {
		code, element, _ := strings.Cut(ion, " ")
		ions = append(ions, structure.Residue{Comp: code, Auth: 900 + i, Seq: i + 1, Het: true,
			Atoms: []structure.Atom{{Name: element, Element: element, Pos: structure.Vec{float64(100 + 10*i), 0, 0}}}})
	}
	s.Chains = append(s.Chains, structure.Chain{ID: "A", Kind: structure.Ion, Residues: ions})
	f := mustDigest(t, s, facts.Extra{})
	for _, c := range []reading{
		{"ions", "Is there chloride?", "ligands", "Of CLA: no ligands, 1 ion (CLA 900 (chain A))"},
		{"ions", "Is there any potassium?", "ligands", "1 ion (POT 901 (chain A))"},
		{"ions", "Is there copper?", "ligands", "1 ion (CU1 904 (chain A))"},
		{"ions", "Is there an iodide?", "ligands", "1 ion (IOD 905 (chain A))"},
		{"ions", "How many iron ions are there?", "ligands", "Of FE/FE2: no ligands, 2 ions (FE 902, FE2 903 (chain A))"},
		{"ions", "How far is iron 903 from chloride 900?", "distance", "FE2 903 (chain A)"},
		{"ions", "Is there zinc?", "ligands", "Of ZN: no ligands, 1 ion"},
		{"ions", "Is there cadmium?", "ligands", "There is no CD in this structure"},
	} {
		c.holds(t, f)
	}
}

// An element of a larger molecule is no ion, and is not denied.
func TestElementOfAMolecule(t *testing.T) {
	t.Parallel()
	s := load(t, "ligand")
	s.Chains = append(s.Chains, structure.Chain{ID: "H", Kind: structure.Ligand, Residues: []structure.Residue{{
		Comp: "HEM", Auth: 154, Seq: 1, Het: true, Atoms: []structure.Atom{
			{Name: "FE", Element: "FE", Pos: structure.Vec{100, 0, 0}},
			{Name: "NA", Element: "N", Pos: structure.Vec{102, 0, 0}},
		}}}})
	f := mustDigest(t, s, facts.Extra{})
	for _, c := range []reading{
		{"heme", "Is there iron?", "ligands", "There is no ion FE in this structure; FE atoms are in HEM 154 (chain H)."},
		{"heme", "What is within 5 Å of the iron?", "", "FE atoms are in HEM 154 (chain H)"},
		{"heme", "Is there sodium?", "ligands", "There is no NA in this structure."},
	} {
		c.holds(t, f)
	}
}

// The number and the chain of a ligand choose among those of its code.
func TestLigandNames(t *testing.T) {
	hold(t, []reading{
		{"ligand", "How far is ZN 202 from the benzene?", "distance", "ZN 202 (chain A)"},
		{"ligand", "How far is Zn202 from BNZ 201?", "distance", "ZN 202 (chain A)"},
		{"ligand", "How far is ZN 999 from the benzene?", "", "There is no ZN 999 in this structure"},
		{"ligand", "Which residues are within 5 Å of BNZ 7?", "", "There is no BNZ 7 in this structure"},
		{"ligand", "Which residues are within 5 Å of the zinc of chain A?", "contacts", "Within 5.0 Å of ZN 202 (chain A)"},
		{"ligand", "Which residues are within 5 Å of the zinc of chain B?", "", "There is no ZN of chain B"},
		{"ligand", "Is there a BNZ 201?", "ligands", "Of BNZ 201: 1 ligand"},
	})
	s := load(t, "ligand")
	for i := range s.Chains {
		if !s.Chains[i].Kind.Polymer() {
			s.Chains[i].ID = "L"
		}
	}
	reading{"L", "What is the sequence of chain L?", "", "What the file calls chain L is a ligand and no protein"}.holds(t,
		mustDigest(t, s, facts.Extra{}))
}

// Numbers are read as people write and say them. Where a number could be something else, the question is refused.
func TestWrittenNumbers(t *testing.T) {
	const bound, digits, counted = "can mean their numbers or their pLDDT", "in digits", "names no residue"
	hold(t, []reading{
		{"negative", "What is residue minus 2?", "residue", "HIS -2 (chain A)"},
		{"negative", "What is HIS minus 2?", "residue", "HIS -2 (chain A)"},
		{"negative", "What is the sequence of residues minus 3 to minus 1?", "sequence", "(3 residues) has the sequence HHH"},
		{"negative", "Is the charge minus 2?", "", "“-2”"},
		{"negative", "What is the sequence of the residues up to residue 2?", "sequence", "HIS -3 to ILE 2 (chain A)"},
		{"negative", "List the residues up to residue minus 1.", "residue", "one-letter codes: HHH."},
		{"kabat", "What is the sequence up to residue 82A?", "sequence", "(6 residues) has the sequence ANIHLS"},
		{"kabat", "What is the sequence up to residue 70?", "", "no residue from the beginning to 70 with coordinates"},
		{"1ubi", "Which residues up to residue 20 are charged?", "residues", "4 of 20 residues that are up to residue 20"},
		{"1ubi", "Is residue 5 up to residue 9 exposed?", "residues", "that are at 5 to 9"},
		{"1ubi", "Does the first helix go up to residue 34?", "", "“up”"},
		{"1ubi", "Which residues from the start to residue 5 are charged?", "", "“from the start”"},
		{"1ubi", "What is residue 2 from the end?", "", "“from the end”"},
		{"dimer", "What is residue no. 5 of chain A?", "residue", "VAL 5 (chain A)"},
		{"dimer", "What is residue Nr 5 of chain A?", "residue", "VAL 5 (chain A)"},
		{"dimer", "What is residue number 5 of chain A?", "residue", "VAL 5 (chain A)"},
		{"dimer", "What is residue #5 of chain A?", "residue", "VAL 5 (chain A)"},
		{"dimer", "Is Lys no. 6 of chain A exposed?", "residue", "Yes: LYS 6 (chain A)"},
		{"dimer", "What is no. 5?", "", "“5”"},
		{"dimer", "What is the length of chain number 2?", "", counted},
		{"1ubi", "Is helix number 2 exposed?", "", counted},
		{"ligand", "What is near ligand number 1?", "", counted},
		{"1ubi", "What is the second residue of the first helix?", "", "how to take “second” here"},
		{"dimer", "Is residue one a lysine?", "", digits},
		{"dimer", "Is Lys one exposed?", "", digits},
		{"dimer", "What are residues five to nine?", "", digits},
		{"dimer", "What is the amino acid one-letter sequence?", "sequence", "MQIFVKTLTGKTITLEV"},
		{"dimer", "Which residues are within five Å of chain B?", "residues", "within 5.0 Å of chain B"},
		{"predicted", "Which residues >70 are exposed?", "", bound},
		{"predicted", "List the lysines above 40.", "", bound},
		{"predicted", "Which residues above 70 pLDDT are exposed?", "residues", "at a pLDDT of 70 or more and exposed"},
		{"predicted", "Which residues are above 70?", "residues", "at a pLDDT of 70 or more"},
		{"predicted", "Which residues score below 70?", "residues", "below a pLDDT of 70"},
	})
}

// A range goes by the order in the chain: in the numbering of chymotrypsin 184A stands before 184.
func TestRangeGoesByOrder(t *testing.T) {
	s := load(t, "kabat")
	for i, number := range []structure.ResidueNumber{{Value: 184, Ins: "A"}, {Value: 184}, {Value: 185}, {Value: 180},
		{Value: 181}} {
		r := &s.Chains[0].Residues[i]
		r.Auth, r.Ins = number.Value, number.Ins
	}
	s.Chains[0].Residues = s.Chains[0].Residues[:5]
	f := mustDigest(t, s, facts.Extra{})
	for _, c := range []reading{
		{"", "What is the sequence of residues 184A to 185?", "sequence", "(3 residues) has the sequence ANI"},
		{"", "What is the sequence of residues 184 to 180?", "sequence", "(3 residues) has the sequence NIH"},
		{"", "What is the sequence of residues 170 to 184?", "", "The numbers of chain B do not ascend"},
	} {
		c.holds(t, f)
	}
}

// No sign and no word is passed over.
func TestSignsHaveTheirMeaning(t *testing.T) {
	hold(t, []reading{
		{"dimer", "Which residues are within 4,5 Å of chain B?", "residues", "within 4.5 Å of chain B"},
		{"dimer", "Which residues are within 5±1 Å of chain B?", "", "“±”"},
		{"dimer", "Which residues are within 1e1 Å of chain B?", "", "“1e1”"},
		{"dimer", "Which residues are within ~5 Å of chain B?", "residues", "within 5.0 Å"},
		{"dimer", "Which residues are ≠ lysine?", "residues", "are not LYS"},
		{"dimer", "What is the charge at pH = 5?", "charge", "at pH 5"},
		{"dimer", "What is the sequence of residues 5_9 of chain A?", "", "“_”"},
		{"dimer", "What is the sequence of residues ٥ to ٩?", "", "“٥”"},
		{"dimer", "What is the first ½ of chain A?", "", "“½”"},
		{"dimer", "What is residue 1,000?", "", "There is no residue 1000"},
		{"dimer", "Which residues are in 3-10 helices?", "residues", "are in a 3-10 helix"},
		{"dimer", "What is the sequence of residues Lys6 to Ala12?", "", "There are no residues from LYS 6 to ALA 12"},
		{"dimer", "Which residues are between 5A and 10A from chain B?", "", "“between”"},
		{"dimer", "Which residues are within 5A or 6A of chain B?", "", "one distance at a time"},
		{"dimer", "Which residues are within 5 Å to 8 Å of chain B?", "", "one distance at a time"},
		{"dimer", "What is the sequence of chain A from residue 5 to the end?", "", "does not name the last residue"},
		{"dimer", "What is the sequence from residue 5 on?", "", "does not name the last residue"},
		{"dimer", "Is residue 5 on chain A exposed?", "residue", "VAL 5 (chain A)"},
		{"dimer", "What is the distance from A:5 to B:7?", "distance", "VAL 5 (chain A) and TYR 7 (chain B)"},
		{"dimer", "What is A5?", "", "“A5” can mean ALA 5 or residue 5 of chain A"},
		{"dimer", "contacts with a cut-off of 5A of residue 5 of chain A", "contacts", "Within 5.0 Å of VAL 5 (chain A)"},
	})
}
