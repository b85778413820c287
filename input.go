package pleat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// entity is what a fold depends on of a sequence.
type entity struct {
	Kind                  EntityKind
	Text, Label, Property string
	Chains                []string
	Cyclic, CCD           bool
	Modifications         []Modification
}

// foldIdentity is what the result of a fold depends on, as far as a server knows it: the model and the input. The name
// of the job is not part of it.
type foldIdentity struct {
	Model, Engine, Version, Weights string
	Params                          map[string]any
	Entities                        []entity
	Complex                         bool
	Constraints                     Constraints
}

// identity returns the identity of a fold by a model, with the seed that the run has.
func (f *FoldInput) identity(m *Model) foldIdentity {
	out := foldIdentity{
		Model:   m.Name,
		Engine:  m.Engine,
		Version: m.Version,
		Weights: m.WeightSet,
		Params:  f.Params.Effective(*m),
		Complex: f.Complex,
		// Where the templates and components come from is not part of it; what they hold is, as the digests of files.
		Constraints: f.Constraints.Private(),
	}
	out.Params["seed"] = f.Seed
	for i := range f.Sequences {
		s := &f.Sequences[i]
		byResidue := func(a, b Modification) int { return a.Residue - b.Residue }
		out.Entities = append(out.Entities, entity{
			Kind:          s.Kind,
			Text:          s.Text,
			Label:         s.Label,
			Property:      s.PropertyType,
			Chains:        s.Chains,
			Cyclic:        s.Cyclic,
			CCD:           s.CCD,
			Modifications: slices.SortedFunc(slices.Values(s.Modifications), byResidue),
		})
	}
	return out
}

// InputHash returns the SHA-256, in hex, of everything that the files of a fold depend on: the versions of the service
// and of the engine, the model, its weights and kind of device, the effective parameters with the seed, the entities
// with the names that the files show, the constraints, and the digests of the input files. The name of the job is not
// part of it. fingerprint distinguishes states of the weights that share a version.
//
// The result cache looks up runs by this hash; a change of its form only makes earlier results unreachable.
func (w *Work) InputHash(fingerprint string) (string, error) {
	type file struct{ Name, SHA256 string }
	var inputs []file
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		inputs = append(inputs, file{name, w.Files[name]})
	}
	return hashOf(struct {
		Service, Fingerprint, Device string
		Fold                         foldIdentity
		Files                        []file
	}{
		Service:     Version,
		Fingerprint: fingerprint,
		Device:      w.Model.Device,
		Fold:        w.Fold.identity(&w.Model),
		Files:       inputs,
	})
}

// RequestHash returns the SHA-256, in hex, of what a server knows before a fold starts: the model with the versions of
// its engine and weights, the effective parameters with the seed, the entities, the constraints and where alignments,
// templates and components come from. A run of the same hash is an earlier answer to the same request. InputHash, which
// a worker computes, decides whether its files are used again.
func (f *FoldInput) RequestHash(m *Model) (string, error) {
	var files []FileRef
	for i := range f.Sequences {
		if ref := f.Sequences[i].MSA; ref != (FileRef{}) {
			files = append(files, ref)
		}
	}
	return hashOf(struct {
		Fold        foldIdentity
		LibraryItem ItemID
		MSA         []FileRef   `json:",omitempty"`
		Templates   []Template  `json:",omitempty"`
		Components  []Component `json:",omitempty"`
	}{f.identity(m), f.LibraryItem, files, f.Constraints.Templates, f.Constraints.Components})
}

// hashOf returns the SHA-256 of v as JSON, in hex.
func hashOf(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
