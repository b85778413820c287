package flow

import (
	"errors"
	"regexp"
	"strings"

	"pleat"
)

// readTargetSMILES reads the SMILES of a target.
func readTargetSMILES(f *fields) string {
	s := strings.TrimSpace(f.string("smiles", pleat.MaxSMILES))
	if s == "" {
		return ""
	}
	if _, err := pleat.CheckSMILES(s); err != nil {
		f.fail(f.pathOf("smiles"), " %s", err)
	}
	return s
}

// compiledPlace matches the beginning of a message about a CompiledSpec: a place, the file, and the line.
var compiledPlace = regexp.MustCompile(`^([a-z_0-9.\[\]]*?)(?: in )?` + regexp.QuoteMeta(CompiledSpec) +
	`(?: \(line [0-9]+\))?`)

// compiledFields are the fields of a request by what CompileDesign writes of them; the first that begins the place of a
// fault names it.
var compiledFields = []struct{ place, field string }{
	{"entities[0].protein.sequence", "workflow_input.binder.sequence"},
	{"entities[0].file", "workflow_input.target"},
	{"entities[0]", "workflow_input.binder"},
	{"entities[1].protein.sequence", "workflow_input.target.sequence"},
	{"entities[1].ligand.smiles", "workflow_input.target.smiles"},
	{"entities[1].ligand.ccd", "workflow_input.target.ccd"},
	{"entities[1]", "workflow_input.target"},
	{"constraints", "workflow_input.binder.disulfides"},
}

// CompiledFault returns an error about a [CompiledSpec] as one about the request, whose caller has not written the
// spec. Other errors it returns as they are.
func CompiledFault(err error) error {
	var fault *pleat.Error
	if !errors.As(err, &fault) || fault.Code != pleat.CodeInvalid {
		return err
	}
	m := compiledPlace.FindStringSubmatch(fault.Message)
	if m == nil {
		return err
	}
	if strings.HasPrefix(fault.Message[len(m[0]):], " designs nothing") {
		return pleat.InvalidField("workflow_input.binder.sequence", " designs nothing; it must have a number, such as "+
			"80..120 or 3..5C6C3")
	}
	for _, f := range compiledFields {
		if strings.HasPrefix(m[1], f.place) {
			return pleat.InvalidField(f.field, "%s", fault.Message[len(m[0]):])
		}
	}
	return err
}
