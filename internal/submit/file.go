package submit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"pleat"
	"pleat/api"
	"pleat/internal/bcif"
	"pleat/internal/component"
	"pleat/internal/msa"
	"pleat/internal/pae"
	"pleat/internal/structure"
	"pleat/internal/yamltree"
)

// Bounds of a library file.
const (
	MaxFile     = 64 << 20 // bytes
	maxFileName = 128      // characters
)

// FileKind is a kind of file that a library may hold: the name under which it is stored, its media type and the check
// of its content.
type FileKind struct {
	Name        string
	ContentType string
	check       func(r io.Reader) error
}

// FramePDB returns the kind of structures that the service writes itself; they need no check.
func FramePDB(name string) FileKind { return FileKind{Name: name, ContentType: "chemical/x-pdb"} }

// fileLimits bound the structures that users upload.
var fileLimits = structure.Limits{Bytes: MaxFile, Atoms: 500_000, Residues: 200_000}

// fileKinds are the kinds by the ending of a file's name, in lower case.
var fileKinds = map[string]FileKind{
	".pdb":   {ContentType: "chemical/x-pdb", check: checkPDB},
	".ent":   {ContentType: "chemical/x-pdb", check: checkPDB},
	".cif":   {ContentType: cifType, check: checkCIF},
	".mmcif": {ContentType: cifType, check: checkCIF},
	".sdf":   {ContentType: "chemical/x-mdl-sdfile", check: checkSDF},
	".mol":   {ContentType: "chemical/x-mdl-molfile", check: checkSDF},
	".json":  {ContentType: "application/json", check: checkJSON},
	".npz":   {ContentType: "application/zip", check: checkPAE},
	".fasta": {ContentType: "text/x-fasta", check: checkFASTA},
	".fa":    {ContentType: "text/x-fasta", check: checkFASTA},
	".faa":   {ContentType: "text/x-fasta", check: checkFASTA},
	".a3m":   {ContentType: "text/x-a3m", check: msa.Check},
	".yaml":  {ContentType: "application/yaml", check: checkYAML},
	".yml":   {ContentType: "application/yaml", check: checkYAML},
}

// cifType is the media type of mmCIF.
const cifType = "chemical/x-mmcif"

// fileEndings lists the keys of fileKinds for messages, with those of [pleat.StoredName].
const fileEndings = ".pdb, .ent, .pdb1, .cif, .mmcif, .pdbx, .bcif, .sdf, .mol, .json, .npz, .fasta, .fa, .faa, " +
	".a3m, .yaml and .yml, and each of these in .gz"

// KindOfFile returns the kind of an uploaded file by its name. An error has CodeInvalid: the name is no plain file
// name, or its ending is not known.
func KindOfFile(name string) (FileKind, error) {
	forbidden := func(r rune) bool {
		return r == '/' || r == '\\' || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Bidi_Control)
	}
	switch n := utf8.RuneCountInString(name); {
	case name == "":
		return FileKind{}, pleat.InvalidField("files", ": a file has no name; send it with a filename that ends in "+
			"one of %s", fileEndings)
	case !utf8.ValidString(name) || n > maxFileName:
		return FileKind{}, pleat.InvalidField("files", ": a file's name has %d characters; at most %d are allowed", n,
			maxFileName)
	case name[0] == '.' || strings.ContainsFunc(name, forbidden):
		return FileKind{}, pleat.InvalidField("files", ": the name %q is not a plain file name", pleat.Clip(name))
	}
	stored := pleat.StoredName(name)
	kind, ok := fileKinds[strings.ToLower(path.Ext(stored))]
	if reason := otherFormats[strings.ToLower(path.Ext(stored))]; reason != "" {
		return FileKind{}, pleat.InvalidField("files", ": %q %s", pleat.Clip(name), reason)
	}
	if !ok || path.Ext(stored) == stored {
		return FileKind{}, pleat.InvalidField("files", ": %q is of no known type; names may end in %s",
			pleat.Clip(name), fileEndings)
	}
	kind.Name = stored
	return kind, nil
}

// Convert returns the text as which a binary file of this kind is stored: the mmCIF of BinaryCIF. A nil text means that
// the file is stored as it is; rest reads all of it. An error is one of r, or a sentence about "it".
func (k FileKind) Convert(r io.Reader) (text []byte, rest io.Reader, err error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(1) // the next read meets the error again
	if k.ContentType != cifType || !bcif.Is(head) {
		return nil, in, nil
	}
	raw, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, nil, err
	}
	text, err = bcif.Text(raw, MaxFile)
	return text, nil, err
}

// Check reads a file to its end and returns what is wrong with it as one of this kind, as a sentence about "it". It may
// use many times the file's size of memory.
func (k FileKind) Check(r io.Reader) error {
	if k.check == nil {
		return nil
	}
	return k.check(r)
}

// checkPDB checks that a file is a structure in PDB format, within fileLimits, and that its readers, which go by its
// content, take it as that.
func checkPDB(r io.Reader) error {
	content, pdb, err := structure.Recognise(r)
	if err == nil && !pdb {
		err = errors.New("it is an mmCIF file; give it a name that ends in .cif")
	}
	if err == nil {
		_, err = structure.ReadPDB(content, fileLimits)
	}
	return err
}

// checkCIF checks that a file is a structure in mmCIF format, within fileLimits, or a chemical component.
func checkCIF(r io.Reader) error {
	var start bytes.Buffer // a component is at most as long as this holds
	read := io.LimitReader(io.TeeReader(r, &start), component.MaxBytes)
	_, _, unfit := component.Read("x.cif", read)
	if unfit == nil {
		return nil
	}
	crystal := bytes.Contains(bytes.ToLower(start.Bytes()), []byte("_atom_site_fract_x"))
	content, pdb, err := structure.Recognise(io.MultiReader(bytes.NewReader(start.Bytes()), r))
	if pdb {
		return errors.New("it is a PDB file; give it a name that ends in .pdb")
	}
	if err == nil {
		_, err = structure.ReadCIF(content, fileLimits)
	}
	if err != nil && bytes.Contains(start.Bytes(), []byte("_chem_comp_atom.")) {
		return fmt.Errorf("it is no structure, and as a component it %w", unfit)
	}
	if err != nil && crystal {
		return errors.New("it is the CIF of a crystal of small molecules, which is not mmCIF; give the molecule as SDF")
	}
	return err
}

// checkSDF checks that a file is a molecule in SDF format.
func checkSDF(r io.Reader) error {
	_, _, err := component.Read("x.sdf", r)
	return err
}

// checkFASTA checks that a file holds sequences in FASTA format, within fileLimits.
func checkFASTA(r io.Reader) error {
	_, err := structure.ReadFASTA(r, fileLimits)
	return err
}

// checkYAML checks that a file is one YAML document within the bounds of package yamltree.
func checkYAML(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, yamltree.MaxBytes+1))
	if err != nil {
		return err
	}
	return yamltree.Check("it", text)
}

// checkPAE checks that a file holds predicted aligned errors.
func checkPAE(r io.Reader) error {
	_, err := pae.Read(r)
	return err
}

// otherFormats say of files that are not read, by the ending of their names, what they are and what to do.
var otherFormats = map[string]string{
	".pqr": "is PQR, which has charges and radii where PDB has occupancies and B-factors; upload the structure as " +
		"PDB or mmCIF",
	".pdbqt": "is PDBQT of AutoDock; convert it to PDB, or a ligand to SDF, with Open Babel or Meeko",
	".gro":   "is a structure of GROMACS; convert it to PDB with gmx editconf",
	".mol2":  "is MOL2; convert it to SDF, for example with Open Babel",
	".xyz":   "is XYZ, which has neither residues nor bonds; upload a structure as PDB or mmCIF, a molecule as SDF",
	".mmtf":  "is MMTF, which is no longer made; upload the structure as mmCIF or BinaryCIF",
	".mae":   "is a file of Maestro; export a structure as PDB or mmCIF, a molecule as SDF",
	".pkl":   "is a pickle of Python, which is a program and is not read; write its content as JSON",
	".sto":   "is an alignment in the Stockholm format; convert it to A3M, for example with reformat.pl of HH-suite",
	".aln":   "is an alignment of Clustal; convert it to A3M, for example with reformat.pl of HH-suite",
	".zip":   "is an archive; upload the files in it",
	".tar":   "is an archive; upload the files in it",
	".tgz":   "is an archive; upload the files in it",
	".bz2":   "is compressed with bzip2; decompress it, or use gzip",
	".xz":    "is compressed with xz; decompress it, or use gzip",
	".zst":   "is compressed with Zstandard; decompress it, or use gzip",
}

// checkJSON checks that a file is one JSON object or array, nested at most api.MaxDepth levels deep. Predicted aligned
// errors in it must be complete.
func checkJSON(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] != '{' && first[0] != '[' &&
		json.Valid(first) {
		return errors.New("it holds neither an object nor an array")
	}
	if depthOf(data) > api.MaxDepth {
		return fmt.Errorf("it is nested more than %d levels deep", api.MaxDepth)
	}
	if err := api.CheckSyntax("it", data); err != nil {
		return err
	}
	if _, err = pae.ReadJSON(data); errors.Is(err, pae.ErrNone) {
		return nil // of something else
	}
	return err
}

// depthOf returns how deep the arrays and objects of a JSON document are nested. For anything else the number means
// nothing.
func depthOf(data []byte) int {
	depth, most, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}
