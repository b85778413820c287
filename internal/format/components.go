package format

import (
	"fmt"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/chem"
)

// ComponentPath is the name that stands for one of the components of a file with several, by the name of its data
// block.
func ComponentPath(file, code string) string { return file + "#" + code }

// addUserCCD makes the components that a file defines and uses those of the job. Their codes become ones that a job can
// have, also in the sequences of the file.
func (d *draft) addUserCCD(j *af3Job) error {
	inside, path := strings.TrimSpace(text(j.UserCCD)), text(j.UserCCDPath)
	at := "userCCDPath"
	if strings.HasPrefix(path, detachedCCD) {
		at = "userCCD"
	}
	switch {
	case inside != "" && path != "":
		return pleat.Invalidf("userCCD and userCCDPath are both there; the file must have one of them")
	case inside != "":
		return pleat.Invalidf("userCCD defines components inside the file, which pleat fold and pleat batch bring to " +
			"the library; over HTTP, upload each as a file of its own and name it by userCCDPath and files, or give " +
			"it in constraints.components")
	case path == "":
		return nil
	case d.opt.Files.Components == nil:
		return notGiven(at, path)
	}
	used := usedCodes(j)
	found, err := d.opt.Files.Components(path, slices.Concat(used, standardCodes()))
	if err != nil {
		return placed(at, err)
	}
	codes, err := d.takeComponents(at, found, used)
	if err != nil {
		return err
	}
	eachCode(j, func(code *string) {
		if own, ok := codes[*code]; ok {
			*code = own
		}
	})
	return nil
}

// takeComponents adds components to the job. It returns their codes there by those of the file; used are codes that the
// file has besides.
func (d *draft) takeComponents(at string, found []pleat.Component, used []string) (map[string]string, error) {
	codes := map[string]string{}
	taken := slices.Clone(used)
	for _, c := range found {
		if slices.Contains(standardCodes(), c.Code) {
			return nil, pleat.Invalidf("%s defines %s, a standard residue, which a job cannot change: leave it out, "+
				"or give yours another name", at, c.Code)
		}
		own := c
		if own.Code = freeCode(c.Code, taken); own.Code != c.Code {
			d.addNote("%s: the component %q is called %s in the job, since codes here have 1 to 5 capitals and digits",
				at, pleat.Clip(c.Code), own.Code)
		}
		codes[c.Code] = own.Code
		taken = append(taken, own.Code)
		d.job.Constraints.Components = append(d.job.Constraints.Components, own)
	}
	return codes, nil
}

// freeCode returns the code of a component, if a job can have it, or one of 01 to 99, which the wwPDB keeps free for
// such components. Those that are taken are not chosen.
func freeCode(code string, taken []string) string {
	if pleat.IsCCD(code) && strings.ToUpper(code) == code {
		return code
	}
	for n := 1; n < 99; n++ {
		if free := fmt.Sprintf("%02d", n); !slices.Contains(taken, free) {
			return free
		}
	}
	return "99"
}

// eachCode calls a function for each code of a ligand or a modified residue.
func eachCode(j *af3Job, call func(*string)) {
	for i := range j.Sequences {
		item := &j.Sequences[i]
		if item.Ligand != nil {
			for k := range item.Ligand.CCDCodes {
				call(&item.Ligand.CCDCodes[k])
			}
		}
		for _, c := range []*af3Chain{item.Protein, item.RNA, item.DNA} {
			for k := 0; c != nil && k < len(c.Modifications); k++ {
				call(&c.Modifications[k].PTMType)
				call(&c.Modifications[k].BaseType)
			}
		}
	}
}

// usedCodes returns the codes of ligands and modified residues, each once.
func usedCodes(j *af3Job) (out []string) {
	seen := map[string]bool{"": true}
	eachCode(j, func(code *string) {
		if !seen[*code] {
			seen[*code] = true
			out = append(out, *code)
		}
	})
	return out
}

// standardCodes returns the codes of the standard residues.
func standardCodes() (out []string) {
	for _, kind := range []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA} {
		for _, letter := range pleat.KnownLetters(kind) {
			out = append(out, chem.ResidueCode(string(kind), byte(letter)))
		}
	}
	return out
}
