package chem

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for components.gz
	"io"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// components is what scripts/components writes of the Chemical Component Dictionary (CCD) of the wwPDB, which is in the
// public domain. runners/openfold3/testing/components.py describes the file, and a test there holds it against biotite.
//
//go:embed components.gz
var components []byte

// Entry is an entry of the Chemical Component Dictionary. The numbers are those of its atoms other than hydrogen.
type Entry struct {
	Heavy   int
	Leaving int    // that leave when a chain forms
	Atoms   []Atom // with names and without elements; nil: only the numbers are known
}

// NewEntry returns what a molecule with these atoms is as an entry.
func NewEntry(atoms []Atom) Entry {
	e := Entry{Atoms: []Atom{}}
	for i := range atoms {
		if !atoms[i].Heavy() {
			continue
		}
		e.Heavy++
		if atoms[i].Leaving {
			e.Leaving++
		}
		e.Atoms = append(e.Atoms, atoms[i])
	}
	return e
}

// codeWidth is the length of the longest code.
const codeWidth = 5

// dictionary is the CCD as far as it is embedded, without a string for each of its entries: it stays in memory.
type dictionary struct {
	date           string
	codes          string   // sorted, each with spaces up to codeWidth
	heavy, leaving []uint8  // in the order of the codes
	names          []string // lines: a code and the names of its atoms, in that order
	parents        map[string]string
}

var readDictionary = sync.OnceValue(func() *dictionary {
	in, err := gzip.NewReader(bytes.NewReader(components))
	if err != nil {
		panic(err)
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		panic(err)
	}
	parts := strings.Split(string(raw), "\n\n")
	codes, before := strings.Builder{}, ""
	for line := range strings.SplitSeq(parts[1], "\n") {
		before = before[:line[0]-'0'] + line[1:]
		codes.WriteString((before + "     ")[:codeWidth])
	}
	return &dictionary{
		date:    strings.Clone(parts[0]),
		codes:   codes.String(),
		heavy:   readNumbers(parts[2]),
		leaving: readNumbers(parts[3]),
		names:   strings.Split(strings.Clone(parts[4]), "\n"),
		parents: readParents(strings.Clone(strings.TrimSpace(parts[5]))),
	}
})

// readParents reads lines of a code and those of the residues that are modified forms of it.
func readParents(lines string) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(lines, "\n") {
		codes := strings.Fields(line)
		for _, code := range codes {
			out[code] = codes[0]
		}
	}
	return out
}

// readNumbers reads numbers up to 255 with spaces between them.
func readNumbers(line string) (out []uint8) {
	for word := range strings.FieldsSeq(line) {
		n, err := strconv.ParseUint(word, 10, 8)
		if err != nil {
			panic(err)
		}
		out = append(out, uint8(n))
	}
	return out
}

// DictionaryDate is the date of the newest change in the embedded dictionary, as 2006-01-02.
func DictionaryDate() string { return readDictionary().date }

// LookUp returns the entry of the Chemical Component Dictionary with a code in capitals; false if it is not there.
// Residues of chains and sugars have the names of their atoms.
func LookUp(code string) (Entry, bool) {
	d := readDictionary()
	i, found := sort.Find(len(d.heavy), func(i int) int {
		return strings.Compare(code, strings.TrimRight(d.codes[i*codeWidth:(i+1)*codeWidth], " "))
	})
	if !found {
		return Entry{}, false
	}
	return Entry{Heavy: int(d.heavy[i]), Leaving: int(d.leaving[i]), Atoms: d.atoms(code)}, true
}

// Parent returns the code of the standard residue of which the Chemical Component Dictionary calls a residue a modified
// form (mon_nstd_parent_comp_id); that of a standard residue is its own. Empty: it has none, or several.
func Parent(code string) string { return readDictionary().parents[code] }

// atoms returns the atoms of an entry that has names.
func (d *dictionary) atoms(code string) (out []Atom) {
	i, found := sort.Find(len(d.names), func(i int) int {
		of, _, _ := strings.Cut(d.names[i], " ")
		return strings.Compare(code, of)
	})
	if !found {
		return nil
	}
	for _, name := range strings.Fields(d.names[i])[1:] {
		name, leaving := strings.CutSuffix(name, "-")
		out = append(out, Atom{Name: name, Leaving: leaving})
	}
	return out
}

// residueCodes are the codes of the residues by their letters, without the unknown ones, whose atoms differ from
// program to program.
var residueCodes = map[string]map[byte]string{
	"protein": {
		'A': "ALA", 'C': "CYS", 'D': "ASP", 'E': "GLU", 'F': "PHE", 'G': "GLY", 'H': "HIS", 'I': "ILE", 'K': "LYS",
		'L': "LEU", 'M': "MET", 'N': "ASN", 'P': "PRO", 'Q': "GLN", 'R': "ARG", 'S': "SER", 'T': "THR", 'V': "VAL",
		'W': "TRP", 'Y': "TYR",
	},
	"rna": {'A': "A", 'C': "C", 'G': "G", 'U': "U"},
	"dna": {'A': "DA", 'C': "DC", 'G': "DG", 'T': "DT"},
}

// ResidueCode returns the code of the standard residue of a letter in a protein, rna or dna; empty: the letter stands
// for an unknown residue, or for none.
func ResidueCode(kind string, letter byte) string { return residueCodes[kind][letter] }

// IsResidueCode reports whether a code is that of a standard residue of a protein, rna or dna.
func IsResidueCode(kind, code string) bool { return ResidueLetter(kind, code) != 0 }

// ResidueLetter returns the letter of a standard residue of a protein, rna or dna; 0: the code is that of none.
func ResidueLetter(kind, code string) byte {
	for letter, standard := range residueCodes[kind] {
		if standard == code {
			return letter
		}
	}
	return 0
}
