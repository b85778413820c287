package format

import (
	"strings"
	"testing"
)

// Files of other kinds are named, with what to do instead; none is read as a protein.
func TestForeignFiles(t *testing.T) {
	const genbank = "ORIGIN      \n        1 mvhltpeeks avtalwgkvn\n//\n"
	for _, c := range []struct{ text, want string }{
		{"#20\t1\n>101\nDAYAQWLKDGGPSSGRPPPS\n", "is an alignment of ColabFold (A3M); give the sequence as FASTA"},
		{"#20,10\t1,1\n>101\t102\nMKT\n", "is an alignment of ColabFold (A3M)"},
		{"# STOCKHOLM 1.0\nA MKT\n//\n", "is an alignment in the format of Stockholm or Clustal"},
		{"CLUSTAL O(1.2.4) multiple sequence alignment\n\nA  MKT\n", "is an alignment in the format of Stockholm or Clustal"},
		{"data_1AKI\n#\nloop_\n_atom_site.group_PDB\n", "is a structure in mmCIF, and a job is made from sequences"},
		{"# CC0\n#\n\n#\nDATA_x\nloop_\n_atom_site.group_PDB\n", "is a structure in mmCIF, and a job is made from sequences"},
		{"PARENT N/A\nATOM      1  N   LYS A   1\n", "is a structure in PDB format, and a job is made"},
		{"InChI=1S/CH4/h1H4\n", "is an InChI; give a ligand as its SMILES"},
		{"data_ATP\n_chem_comp.id ATP\n", "is a CIF file; give sequences as FASTA"},
		{"HEADER    HYDROLASE\nATOM      1  N   LYS A   1\n", "is a structure in PDB format, and a job is made"},
		{"ATOM      1  N   LYS A   1       3.287  10.092  10.329  1.00  5.89\n", "is a structure in PDB format"},
		{"HETATM    1  N   MSE A   1\n", "is a structure in PDB format"},
		{"\n  RDKit\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0 0.0 0.0 C\n", "is a molecule in the format SDF"},
		{"ethanol\n  RDKit\n\n  0  0  0     0  0            999 V3000\n", "is a molecule in the format SDF"},
		{"LOCUS       NP_000509  147 aa\nDEFINITION  hemoglobin\n" + genbank, "is an entry of GenBank; download it as FASTA"},
		{"@<TRIPOS>MOLECULE\nbenzene\n", "is a molecule in the format MOL2; give a ligand as its SMILES or CCD code"},
		{"restraint_id,chainA,res_idxA,chainB,res_idxB,connection_type\nr1,A,C387,B,Y101,contact\n", "is a list of " +
			"restraints of Chai-1; give the sequences as FASTA, and the restraints as constraints of the job"},
		{"##gff-version 3\nchr1\t.\tgene\t1\t10\n", "is an annotation (GFF); give the sequences as FASTA"},
		{genbank, "is an entry of GenBank; download it as FASTA"},
		{"ID   HBB_HUMAN   Reviewed;  147 AA.\nSQ   SEQUENCE\n     MVHLTPEEKS\n//\n", "is an entry of UniProt or EMBL"},
		{"<?xml version=\"1.0\"?>\n<uniprot/>\n", "is XML"},
		{">P1;CRAB\nalpha\nMDITIHNPLI*\n", "is in the format PIR, in which a title follows each header"},
		{"CCO ethanol\nCCN ethylamine\n", "is a list of SMILES; each ligand of a job needs a header of its own"},
		{"c1ccccc1\n", "is a list of SMILES"},
		{"sequence\nMKT\n", "has the one column sequence; it must have id and sequence"},
		{"\"Seq\"\n\"MKT\"\n", `has the one column seq; it must have id and sequence`},
		{"id\nP00698\n", "has the one column id; it must have id and sequence"},
		{"name,seq\na,MKT\n", "has the columns name, seq; it must have id and sequence"},
	} {
		_, err := Import(c.text, "", Options{})
		if err == nil || !strings.Contains(err.Error(), "the file "+c.want) {
			t.Errorf("%.30q: %v; want %s", c.text, err, c.want)
		}
	}
	for _, text := range []string{"CCN\n", "MKT\nGGG\n", "PPP:PPP\n", "SEQ\n", ">SEQUENCE\nMKT\n", ">P1\nMKT\n", ">HEADER 1\nMKT\n"} {
		if _, err := Import(text, "", Options{}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
