package pleat

import "slices"

// WeightUse says for what the licence allows the weights of a model to be used. [Model.Licence] has the words.
type WeightUse string

// The uses of weights. AskUse: it is not known, or the licence has terms of its own; the publisher's page has them.
const (
	CommercialUse    WeightUse = "commercial"
	NonCommercialUse WeightUse = "nonCommercial"
	AskUse           WeightUse = "ask"
)

// WeightUses returns all uses of weights.
func WeightUses() []WeightUse { return []WeightUse{CommercialUse, NonCommercialUse, AskUse} }

// Known returns the use itself, or AskUse if it is absent or none of [WeightUses].
func (u WeightUse) Known() WeightUse {
	if slices.Contains(WeightUses(), u) {
		return u
	}
	return AskUse
}

// Commercial reports whether the licence of the model's weights allows commercial use.
func (m *Model) Commercial() bool { return m.WeightUse == CommercialUse }

// RefuseCommercial returns the error for a request of a commercial project that asks for the model in a field, since
// the model's weights are not known to allow commercial use.
func (m *Model) RefuseCommercial(field string) error {
	why := "whether its weights may be used commercially is not known"
	if m.WeightUse == NonCommercialUse {
		why = "its weights are for non-commercial use only"
	}
	licence := m.Licence
	if licence == "" {
		licence = "not stated"
	}
	return InvalidField(field, ": the project is marked commercial, and the model %q cannot be used in it because %s "+
		"(licence: %s); choose a model whose weightUse is %s, or another project", Clip(m.Name), why, licence,
		CommercialUse)
}
