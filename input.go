package pleat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// InputHash is the SHA-256, in hex, of all that a fold's files depend on: the version of this service, the model, its engine's
// version, its weights and kind of device, the parameters as they take effect with the seed, the entities with the names that
// stand in the files, the constraints, and the content of the input files, by name. The job's name is not among them.
// fingerprint tells apart states of the weights that share a version.
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
		mods := slices.SortedFunc(slices.Values(s.Modifications), func(a, b Modification) int { return a.Residue - b.Residue })
		entities = append(entities, entity{s.Kind, s.Text, s.Label, s.PropertyType, s.Chains, s.Cyclic, s.CCD, mods})
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
	}{Version, w.Model.Name, w.Model.Engine, w.Model.Version, w.Model.WeightSet, fingerprint, w.Model.Device, params, entities, f.Complex,
		Constraints{Pocket: f.Constraints.Pocket, Bond: f.Constraints.Bond, Contact: f.Constraints.Contact}, inputs})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
