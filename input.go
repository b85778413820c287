package pleat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// InputHash returns the SHA-256, in hex, of everything that the files of a fold depend on: the versions of the service
// and of the engine, the model, its weights and kind of device, the effective parameters with the seed, the entities
// with the names that the files show, the constraints, and the digests of the input files. The name of the job is not
// part of it. fingerprint distinguishes states of the weights that share a version.
//
// The result cache looks up runs by this hash; a change of its form only makes earlier results unreachable.
func (w *Work) InputHash(fingerprint string) (string, error) {
	type entity struct {
		Kind                  EntityKind
		Text, Label, Property string
		Chains                []string
		Cyclic, CCD           bool
		Modifications         []Modification
	}
	f := w.Fold
	params := f.Params.Effective(w.Model)
	params["seed"] = f.Seed
	var entities []entity
	for _, s := range f.Sequences {
		byResidue := func(a, b Modification) int { return a.Residue - b.Residue }
		entities = append(entities, entity{
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
	type file struct{ Name, SHA256 string }
	var inputs []file
	for _, name := range slices.Sorted(maps.Keys(w.Files)) {
		inputs = append(inputs, file{name, w.Files[name]})
	}
	b, err := json.Marshal(struct {
		Service, Model, Engine, Version, Weights, Fingerprint, Device string
		Params                                                        map[string]any
		Entities                                                      []entity
		Complex                                                       bool
		Constraints                                                   Constraints
		Files                                                         []file
	}{
		Service:     Version,
		Model:       w.Model.Name,
		Engine:      w.Model.Engine,
		Version:     w.Model.Version,
		Weights:     w.Model.WeightSet,
		Fingerprint: fingerprint,
		Device:      w.Model.Device,
		Params:      params,
		Entities:    entities,
		Complex:     f.Complex,
		Constraints: Constraints{Pocket: f.Constraints.Pocket, Bond: f.Constraints.Bond,
			Contact: f.Constraints.Contact},
		Files: inputs,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
