package openapi

import (
	"strings"
	"testing"

	"pleat"
	"pleat/api"
)

// The domain and package api must not import each other. Their enumerations are the same.
func TestEnumsOfTheDomain(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"JobStatus":       texts(pleat.JobStates()...),
		"EntityType":      texts(pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand),
		"ModelKind":       texts(pleat.TaskFold, pleat.TaskQnA, pleat.TaskMD, pleat.TaskDesign, pleat.TaskCompare),
		"WeightUse":       texts(pleat.WeightUses()...),
		"ProjectRoleName": {pleat.Viewer.String(), pleat.Member.String(), pleat.Manager.String()},
	} {
		if got, want := strings.Join(api.Enum(name), ","), strings.Join(values, ","); got != want {
			t.Errorf("%s is %s in package api and %s in the domain", name, got, want)
		}
	}
}

func texts[T ~string](all ...T) (out []string) {
	for _, v := range all {
		out = append(out, string(v))
	}
	return out
}
