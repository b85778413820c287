package submit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"pleat"
	"pleat/api"
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

// FileKind is a kind of file that a library may hold, with its media type and the check of its content.
type FileKind struct {
	ContentType string
	check       func(r io.Reader) error
}

// FramePDB is the kind of structures that the service writes itself; they need no check.
var FramePDB = FileKind{ContentType: "chemical/x-pdb"}

// fileLimits bound the structures that users upload.
var fileLimits = structure.Limits{Bytes: MaxFile, Atoms: 500_000, Residues: 200_000}

// fileKinds are the kinds by the ending of a file's name, in lower case.
var fileKinds = map[string]FileKind{
	".pdb":   {"chemical/x-pdb", checkPDB},
	".ent":   {"chemical/x-pdb", checkPDB},
	".cif":   {"chemical/x-mmcif", checkCIF},
	".mmcif": {"chemical/x-mmcif", checkCIF},
	".sdf":   {"chemical/x-mdl-sdfile", checkSDF},
	".json":  {"application/json", checkJSON},
	".npz":   {"application/zip", checkPAE},
	".fasta": {"text/x-fasta", checkFASTA},
	".fa":    {"text/x-fasta", checkFASTA},
	".faa":   {"text/x-fasta", checkFASTA},
	".a3m":   {"text/x-a3m", msa.Check},
	".yaml":  {"application/yaml", checkYAML},
	".yml":   {"application/yaml", checkYAML},
}

// fileEndings lists the keys of fileKinds for messages.
const fileEndings = ".pdb, .ent, .cif, .mmcif, .sdf, .json, .npz, .fasta, .fa, .faa, .a3m, .yaml and .yml"

// KindOfFile returns the kind of an uploaded file by its name. An error has CodeInvalid: the name is no plain file
// name, or its ending is not known.
func KindOfFile(name string) (FileKind, error) {
	forbidden := func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '/' || r == '\\' || r == utf8.RuneError
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
	kind, ok := fileKinds[strings.ToLower(path.Ext(name))]
	if !ok {
		return FileKind{}, pleat.InvalidField("files", ": %q is of no known type; names may end in %s",
			pleat.Clip(name), fileEndings)
	}
	return kind, nil
}

// Check reads a file to its end and returns what is wrong with it as one of this kind, as a sentence about "it". It may
// use many times the file's size of memory.
func (k FileKind) Check(r io.Reader) error {
	if k.check == nil {
		return nil
	}
	return k.check(r)
}

// checkPDB checks that a file is a structure in PDB format, within fileLimits.
func checkPDB(r io.Reader) error {
	_, err := structure.ReadPDB(r, fileLimits)
	return err
}

// checkCIF checks that a file is a structure in mmCIF format, within fileLimits, or a chemical component.
func checkCIF(r io.Reader) error {
	var start bytes.Buffer // a component is at most as long as this holds
	read := io.LimitReader(io.TeeReader(r, &start), component.MaxBytes)
	if _, _, err := component.Read("x.cif", read); err == nil {
		return nil
	}
	_, err := structure.ReadCIF(io.MultiReader(&start, r), fileLimits)
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
	var bad *json.SyntaxError
	if err := json.Unmarshal(data, new(anyJSON)); !errors.As(err, &bad) {
		if _, err = pae.ReadJSON(data); errors.Is(err, pae.ErrNone) {
			return nil // of something else
		}
		return err
	}
	at := int(bad.Offset)
	switch {
	case at > 0 && json.Valid(data[:at-1]):
		return fmt.Errorf("it has data after its JSON document, at byte %d", at)
	case at >= len(data):
		return fmt.Errorf("it is not JSON: it ends too early, after byte %d", len(data))
	}
	for _, word := range []string{"NaN", "Infinity"} {
		if strings.HasPrefix(string(data[max(0, at-1):min(len(data), at+8)]), word) {
			return fmt.Errorf("it has %s at byte %d, where JSON must have a number", word, at)
		}
	}
	return fmt.Errorf("it is not JSON, at byte %d", at)
}

// anyJSON is decoded from any JSON document, of which it keeps nothing.
type anyJSON struct{}

// UnmarshalJSON accepts what encoding/json has checked.
func (*anyJSON) UnmarshalJSON([]byte) error { return nil }

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
