// Package pae reads predicted aligned errors (PAE), in the files that the programs write which predict structures.
//
// It owns the forms of these files. It is pure, and must not know which structure the errors belong to.
package pae

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
)

// MaxRows is the largest number of rows of a PAE that is read: residues or tokens.
const MaxRows = 10_000

// maxBytes is the largest file that is read, in bytes: MaxRows rows in the form of the AlphaFold database fit.
const maxBytes = 256 << 20

// Errors are the predicted aligned errors of one structure, in Å: finite numbers from 0.
type Errors struct {
	structure.Matrix
	// Tokens says what each row is about; nil: the file does not say.
	Tokens []Token
}

// Token is what a row of a PAE is about: a residue, or an atom of a ligand or of a modified residue. Several rows may
// have the same token.
type Token struct {
	Chain   string
	Residue int
}

// ErrNone is the error of a file that holds no PAE in a known form.
var ErrNone = pleat.Invalidf("the PAE file holds no PAE: no square of numbers that is called %s, and no residue1, "+
	"residue2 and distance", strings.Join(names, ", "))

// names are those of a PAE: of the AlphaFold database and AlphaFold 2; of the AlphaFold Server, AlphaFold 3, ColabFold,
// Boltz, OpenFold3 and the ESM Atlas; and of Protenix.
var names = []string{"predicted_aligned_error", "pae", "token_pair_pae"}

// Read reads the PAE of a file, of at most 256 MiB. It is JSON or, with the same names, an archive of NumPy (.npz). In
// JSON it is one object, alone or in a list, as AlphaFold 2 and 3, the AlphaFold database (versions 1 to 6) and Server,
// ColabFold, OpenFold3 and Protenix write it. A value that is missing or no number from 0 is an error, as is a matrix
// that is not square, and one that seems to hold fractions. An error has CodeInvalid, unless it is one of r.
func Read(r io.Reader) (Errors, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	switch {
	case err != nil:
		return Errors{}, err
	case len(raw) > maxBytes:
		return Errors{}, pleat.Invalidf("the PAE file has more than %d MiB", maxBytes>>20)
	case bytes.HasPrefix(raw, []byte("PK")):
		return readArchive(raw)
	case bytes.HasPrefix(raw, []byte("\x80")):
		return Errors{}, pleat.Invalidf("the PAE file is a pickle of Python, which is a program and is not read; " +
			"write its predicted_aligned_error as JSON, or with numpy.savez")
	}
	return ReadJSON(raw)
}

// ReadJSON reads the PAE of a JSON document. An error has CodeInvalid; it is ErrNone if the document has no PAE.
func ReadJSON(text []byte) (Errors, error) {
	if err := api.CheckSyntax("the PAE file", text); err != nil {
		return Errors{}, pleat.Invalidf("%s", err)
	}
	object, several := soleObject(text)
	if object == nil {
		return Errors{}, ErrNone
	}
	var d document
	if err := json.Unmarshal(object, &d); err != nil {
		return Errors{}, err
	}
	out, err := d.errors()
	if err == nil && several {
		err = pleat.Invalidf("the PAE file is a list of several predictions; it must have one")
	}
	if err == nil && d.Most <= 1 {
		err = checkUnit(out.Matrix)
	}
	return out, err
}

// maxFractionRows is the number of rows up to which all errors of a prediction may well be at most 1 Å.
const maxFractionRows = 4

// checkUnit returns an error for a matrix that seems to hold fractions of the largest error, which read as Å
// would say that the model is sure of everything.
func checkUnit(m structure.Matrix) error {
	if m.N <= maxFractionRows || slices.Max(m.V) > 1 {
		return nil
	}
	return pleat.Invalidf("the PAE has no value above 1 in its %d rows, so that it seems to hold fractions; it must "+
		"have errors in Å, or, in JSON, a max_predicted_aligned_error above 1 if these are in Å", m.N)
}

// soleObject returns the object that a valid JSON document is, alone or as the first one in a list; nil: it is none.
func soleObject(text []byte) (object []byte, several bool) {
	text = bytes.TrimSpace(text)
	if text[0] == '[' {
		text = bytes.TrimSpace(text[1 : len(text)-1])
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, false
	}
	if json.Valid(text) {
		return text, false
	}
	var first json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&first)
	return first, err == nil
}

// document is the PAE in a JSON document, in one of its forms.
type document struct {
	AlphaFold Matrix `json:"predicted_aligned_error"`
	PAE       Matrix `json:"pae"`
	Protenix  Matrix `json:"token_pair_pae"`

	Most largest `json:"max_predicted_aligned_error"` // in Å, that the model can state; 0: not known

	// The pairs of residues of version 1 of the AlphaFold database, and their errors.
	First    json.RawMessage `json:"residue1"`
	Second   json.RawMessage `json:"residue2"`
	Distance json.RawMessage `json:"distance"`

	// The tokens that the rows of AlphaFold 3 are about.
	Chains   json.RawMessage `json:"token_chain_ids"`
	Residues json.RawMessage `json:"token_res_ids"`
}

// largest is a number; 0: it is none.
type largest float64

// UnmarshalJSON reads a number, and leaves 0 for anything else: no more than the unit depends on it.
func (l *largest) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		v = 0
	}
	*l = largest(v)
	return nil
}

// errors returns the only PAE of the document.
func (d *document) errors() (Errors, error) {
	var out Errors
	var found []string
	for i, m := range []*Matrix{&d.AlphaFold, &d.PAE, &d.Protenix} {
		if m.N > 0 {
			out.Matrix, found = m.Matrix, append(found, names[i])
		}
	}
	if d.First != nil && d.Second != nil && d.Distance != nil {
		m, err := d.pairs()
		if err != nil {
			return out, err
		}
		out.Matrix, found = m, append(found, "distance")
	}
	switch len(found) {
	case 0:
		return out, ErrNone
	case 1:
	default:
		return out, pleat.Invalidf("the PAE file has both %s and %s; it must have one PAE", found[0], found[1])
	}
	if d.Chains == nil || d.Residues == nil {
		return out, nil
	}
	var err error
	out.Tokens, err = d.tokens(out.N)
	return out, err
}

// maxTokenBytes bounds the text of a list of the tokens, for each token.
const maxTokenBytes = 100

// tokens returns what each of n rows is about.
func (d *document) tokens(n int) ([]Token, error) {
	var chains []*string
	var residues []*int
	for name, list := range map[string]struct {
		text json.RawMessage
		into any
	}{"token_chain_ids": {d.Chains, &chains}, "token_res_ids": {d.Residues, &residues}} {
		if len(list.text) > maxTokenBytes*(n+1) || json.Unmarshal(list.text, list.into) != nil {
			return nil, pleat.Invalidf("the PAE file has %s that are no list of one name or number for each row", name)
		}
	}
	if len(chains) != n || len(residues) != n {
		return nil, pleat.Invalidf("the PAE file has %d rows, but %d token_chain_ids and %d token_res_ids", n,
			len(chains), len(residues))
	}
	out := make([]Token, n)
	for i := range out {
		if chains[i] == nil || residues[i] == nil {
			return nil, pleat.Invalidf("the PAE file has null for the token of row %d", i+1)
		}
		out[i] = Token{*chains[i], *residues[i]}
	}
	return out, nil
}

// pairs returns the PAE of version 1 of the AlphaFold database: an error for each pair of residues, which are counted
// from 1; the first is that of the row.
func (d *document) pairs() (structure.Matrix, error) {
	var lists [3][]float32
	for i, text := range []json.RawMessage{d.First, d.Second, d.Distance} {
		name, kind := []string{"residue1", "residue2", "distance"}[i], ofResidue
		if name == "distance" {
			kind = inAngstrom
		}
		s := scanner{text: text}
		if s.next() != '[' {
			return structure.Matrix{}, pleat.Invalidf("the PAE file has a %s that is no list", name)
		}
		list, err := s.row(nil, kind, func(column int) string { return fmt.Sprintf("number %d of %s", column, name) })
		if err != nil {
			return structure.Matrix{}, err
		}
		lists[i] = list
	}
	n := 0
	for n*n < len(lists[2]) {
		n++
	}
	if n == 0 || n*n != len(lists[2]) || len(lists[0]) != n*n || len(lists[1]) != n*n {
		return structure.Matrix{}, pleat.Invalidf("the PAE file has %d residue1, %d residue2 and %d distance; it must "+
			"have the square of the number of residues of each", len(lists[0]), len(lists[1]), len(lists[2]))
	}
	m := structure.Matrix{N: n, V: make([]float32, n*n)}
	seen := make([]bool, n*n)
	for k, v := range lists[2] {
		i, j := int(lists[0][k])-1, int(lists[1][k])-1
		if i < 0 || j < 0 || i >= n || j >= n || seen[i*n+j] {
			return m, pleat.Invalidf("the PAE file has the residues %v and %v as pair %d; each pair of the residues 1 "+
				"to %d must be there once", lists[0][k], lists[1][k], k+1, n)
		}
		m.V[i*n+j], seen[i*n+j] = v, true
	}
	return m, nil
}
