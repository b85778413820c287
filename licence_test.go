package pleat

import "testing"

// A use that is absent, or that a later version has invented, has to be asked for and is not commercial.
func TestUnknownWeightUse(t *testing.T) {
	for use, want := range map[WeightUse]WeightUse{
		"": AskUse, "academic": AskUse, AskUse: AskUse, NonCommercialUse: NonCommercialUse,
		CommercialUse: CommercialUse,
	} {
		if got := use.Known(); got != want {
			t.Errorf("%q is %q; want %q", use, got, want)
		}
		if m := (Model{WeightUse: use}); m.Commercial() != (use == CommercialUse) {
			t.Errorf("%q is commercial", use)
		}
	}
}

// The refusal names the field, the model and its licence, and says what to do.
func TestRefuseCommercial(t *testing.T) {
	m := Model{Name: "fold", Licence: "CC BY-NC 4.0", WeightUse: NonCommercialUse}
	want := `params.modelName: the project is marked commercial, and the model "fold" cannot be used in it because its ` +
		`weights are for non-commercial use only (licence: CC BY-NC 4.0); choose a model whose weightUse is commercial, ` +
		`or another project`
	err := m.RefuseCommercial("params.modelName")
	if err.Error() != want || ErrorsOf(err)[0].Field != "params.modelName" {
		t.Errorf("%v; want %s", err, want)
	}
	m = Model{Name: "chat"}
	want = `workflow_name: the project is marked commercial, and the model "chat" cannot be used in it because whether ` +
		`its weights may be used commercially is not known (licence: not stated); choose a model whose weightUse is ` +
		`commercial, or another project`
	if err := m.RefuseCommercial("workflow_name"); err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}
