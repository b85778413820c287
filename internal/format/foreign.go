package format

import (
	"regexp"
	"strings"

	"pleat"
	"pleat/internal/chem"
)

// foreignKinds are kinds of text that people take for sequences, by how they begin, with what to do instead.
var foreignKinds = []struct {
	begins *regexp.Regexp
	what   string
}{
	{regexp.MustCompile(`^#[0-9]+(,[0-9]+)*\t[0-9]+(,[0-9]+)*\n`), "is an alignment of ColabFold (A3M); give the " +
		"sequence as FASTA, and the alignment as its msa, which is --alignment of pleat fold"},
	{regexp.MustCompile(`^# STOCKHOLM|^(CLUSTAL|MUSCLE|PROBCONS)\b`), "is an alignment in the format of Stockholm or " +
		"Clustal; give the sequence as FASTA, and the alignment, converted to A3M, as its msa"},
	{regexp.MustCompile(cifStart + `(?s:.*)_atom_site\.`), structureText + "mmCIF" + structureHint},
	{regexp.MustCompile(cifStart), "is a CIF file; give sequences as FASTA, and a ligand as its SMILES or CCD code"},
	{regexp.MustCompile(`^(HEADER|TITLE|COMPND|REMARK|CRYST1|MODEL|PFRMAT|EXPDTA|SEQRES) .*\n|` +
		`(?m:^(ATOM  |HETATM) *[0-9]+ )`), structureText + "PDB format" + structureHint},
	{regexp.MustCompile(`^.*\n.*\n.*\n?.*V[23]000[ \t]*\n`), "is a molecule in the format SDF; give a ligand as its " +
		"SMILES or CCD code, or the file as one of constraints.components"},
	{regexp.MustCompile(`^@<TRIPOS>`), "is a molecule in the format MOL2; give a ligand as its SMILES or CCD code"},
	{regexp.MustCompile(`^restraint_id,`), "is a list of restraints of Chai-1; give the sequences as FASTA, and the " +
		"restraints as constraints of the job"},
	{regexp.MustCompile(`^##gff-version`), "is an annotation (GFF); give the sequences as FASTA"},
	{regexp.MustCompile(`^LOCUS\s|^ORIGIN\b`), "is an entry of GenBank; download it as FASTA"},
	{regexp.MustCompile(`^ID   \S`), "is an entry of UniProt or EMBL; download it as FASTA"},
	{regexp.MustCompile(`^InChI`), "is an InChI; give a ligand as its SMILES, with a header such as >L|smiles"},
	{regexp.MustCompile(`^<\?xml\b`), "is XML; give sequences as FASTA"},
	{regexp.MustCompile(`(?m)^>(P1|F1|DL|DC|RL|RC|N1|N3|XX);`), "is in the format PIR, in which a title follows each " +
		"header; give sequences as FASTA"},
}

const (
	cifStart      = `(?i)^(?:#.*\n\s*)*data_[^\s:]*\s` // a colon would make it a field of YAML
	structureText = "is a structure in "
	structureHint = ", and a job is made from sequences; give these as FASTA, and upload the structure to the " +
		"library to ask about it, to compare it, or as a template"
)

// checkForeign returns an error for a text of another kind than jobs, with what to do instead.
func checkForeign(text string) error {
	start := strings.TrimLeft(text, " \t\n")
	for _, kind := range foreignKinds {
		if kind.begins.MatchString(start) || kind.begins.MatchString(text) {
			return pleat.Invalidf("the file %s", kind.what)
		}
	}
	return nil
}

// isSMILESList reports whether each line of a text without headers begins with a SMILES, and one of them cannot be a
// protein.
func isSMILESList(text string) bool {
	const most = 1000 // lines that are looked at
	n, certain := 0, false
	for line := range strings.Lines(text) {
		word, _ := splitName(line)
		if word == "" {
			continue
		}
		if _, err := chem.CheckSMILES(word[:min(len(word), pleat.MaxSMILES)]); err != nil {
			return false
		}
		certain = certain || strings.Trim(strings.ToUpper(word), pleat.Letters(pleat.Protein)+chainEnds) != ""
		if n++; n == most {
			break
		}
	}
	return certain
}
