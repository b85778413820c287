package enginetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pleat"
	"pleat/internal/structure"
)

// CIF returns an mmCIF file as a runner would write it. Entities are pairs of a chain and its kind: protein, rna, dna
// or ligand. An atom is a line "chain residue atom element number x y z"; the number of a ligand's residue is ".".
func CIF(entities [][2]string, atoms ...string) string {
	var b strings.Builder
	b.WriteString("data_x\nloop_\n_entity.id\n_entity.type\n")
	number := map[string]int{}
	for i, e := range entities {
		number[e[0]] = i + 1
		fmt.Fprintf(&b, "%d %s\n", i+1, map[bool]string{true: "non-polymer", false: "polymer"}[e[1] == "ligand"])
	}
	b.WriteString("loop_\n_entity_poly.entity_id\n_entity_poly.type\n")
	for i, e := range entities {
		if e[1] != "ligand" {
			fmt.Fprintf(&b, "%d %s\n", i+1, map[string]string{
				"protein": "polypeptide(L)",
				"rna":     "polyribonucleotide",
				"dna":     "polydeoxyribonucleotide",
			}[e[1]])
		}
	}
	b.WriteString("loop_\n_struct_asym.id\n_struct_asym.entity_id\n")
	for i, e := range entities {
		fmt.Fprintf(&b, "%s %d\n", e[0], i+1)
	}
	b.WriteString("loop_\n")
	for _, item := range []string{
		"group_PDB", "id", "type_symbol", "label_atom_id", "label_comp_id", "label_asym_id", "auth_asym_id",
		"label_entity_id", "label_seq_id", "Cartn_x", "Cartn_y", "Cartn_z",
	} {
		b.WriteString("_atom_site." + item + "\n")
	}
	for i, line := range atoms {
		f := strings.Fields(line)
		group := "ATOM"
		if f[4] == "." {
			group = "HETATM"
		}
		fmt.Fprintf(&b, "%s %d %s %s %s %s %s %d %s %s %s %s\n",
			group, i+1, f[3], f[2], f[1], f[0], f[0], number[f[0]], f[4], f[5], f[6], f[7])
	}
	return b.String()
}

// Complex returns the sequences and the predicted structure (mmCIF) of a complex: a protein A, a ligand B of two atoms,
// and a protein C with a phosphorylated serine. The file has another order and swaps the names A and C. Its tokens are
// three of SEP, LYS, ALA, GLY, and two of the ligand.
func Complex() (sequences []pleat.Sequence, cif string) {
	sequences = []pleat.Sequence{
		{Kind: pleat.Protein, Text: "AG", Chains: []string{"A"}, Label: "first"},
		{Kind: pleat.Ligand, Text: "CO", Chains: []string{"B"}},
		{
			Kind:          pleat.Protein,
			Text:          "SK",
			Chains:        []string{"C"},
			Modifications: []pleat.Modification{{Residue: 1, CCD: "SEP"}},
		},
	}
	cif = CIF([][2]string{{"A", "protein"}, {"C", "protein"}, {"B", "ligand"}},
		"A SEP N N 1 0 0 0",
		"A SEP CA C 1 1 0 0",
		"A SEP CB C 1 2 0 0",
		"A LYS CA C 2 4 0 0",
		"C ALA CA C 1 0 5 0",
		"C GLY CA C 2 4 5 0",
		"B LIG C1 C . 0 9 0",
		"B LIG O1 O . 1 9 0",
	)
	return sequences, cif
}

// TrpCageSequence is the sequence of the Trp-cage, PDB entry 2JOF.
const TrpCageSequence = "DAYAQWLKDGGPSSGRPPPS"

// PredictedTrpCage returns the Trp-cage as a model would predict it with high confidence: the structure (mmCIF) with a
// pLDDT of 95 in its B-factors, and a PAE of 1.5 Å between all residues as JSON.
func PredictedTrpCage(t *testing.T) (cif, pae []byte) {
	t.Helper()
	s, err := structure.ReadPDB(bytes.NewReader(trpCage(t)), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	residues := s.Chains[0].Residues
	for i := range residues {
		for k := range residues[i].Atoms {
			residues[i].Atoms[k].B = 95
		}
	}
	var b bytes.Buffer
	if err := structure.WriteCIF(&b, s, structure.Meta{ID: "x"}); err != nil {
		t.Fatal(err)
	}
	row := "[" + strings.TrimSuffix(strings.Repeat("1.5,", len(residues)), ",") + "]"
	rows := strings.TrimSuffix(strings.Repeat(row+",", len(residues)), ",")
	return b.Bytes(), []byte(`[{"predicted_aligned_error":[` + rows + `]}]`)
}
