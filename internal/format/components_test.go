package format

import (
	"slices"
	"strings"
	"testing"

	"pleat"
)

// defined returns the components of a file: LIG-1, the modified residue MYMOD, myMod and 01.
func defined(name string, wanted []string) (out []pleat.Component, err error) {
	if name != "own.cif" {
		return nil, pleat.Invalidf("%q is not there", name)
	}
	for _, code := range []string{"LIG-1", "MYMOD", "myMod", "01"} {
		if slices.Contains(wanted, code) {
			out = append(out, pleat.Component{
				Code: code,
				Item: "00000000-0000-0000-0000-000000000001",
				File: strings.ToLower(code) + ".cif",
			})
		}
	}
	return out, nil
}

func TestUserCCD(t *testing.T) {
	file := func(path, code string) string {
		return `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 4, "userCCDPath": "` + path + `",
			"sequences": [
			{"protein": {"id": "A", "sequence": "MKT", "modifications": [{"ptmType": "MYMOD", "ptmPosition": 2}]}},
			{"ligand": {"id": "B", "ccdCodes": ["` + code + `"]}},
			{"ligand": {"id": "C", "ccdCodes": ["ATP"]}}], "bondedAtomPairs": [[["A", 1, "CB"], ["B", 1, "C1"]]]}`
	}
	for _, c := range []struct{ path, code, want string }{
		{"own.cif", "LIG-1", "01=lig-1.cif MYMOD=mymod.cif: MYMOD 01 ATP"},
		{"own.cif", "01", "MYMOD=mymod.cif 01=01.cif: MYMOD 01 ATP"},
		{"own.cif", "myMod", "MYMOD=mymod.cif 01=mymod.cif: MYMOD 01 ATP"},
		{"own.cif", "HEM", "MYMOD=mymod.cif: MYMOD HEM ATP"},
		{"other.cif", "HEM", `userCCDPath: "other.cif" is not there`},
	} {
		got, err := Import(file(c.path, c.code), "", Options{Files: Files{Components: defined}})
		if err != nil {
			if err.Error() != c.want {
				t.Errorf("%s: %v", c.code, err)
			}
			continue
		}
		j := &got.Jobs[0]
		var words []string
		for _, own := range j.Constraints.Components {
			words = append(words, own.Code+"="+own.File)
		}
		s := strings.Join(words, " ") + ": " + j.Sequences[0].Modifications[0].CCD
		for _, q := range j.Sequences[1:] {
			s += " " + q.Text
		}
		if s != c.want {
			t.Errorf("%s: got %s, want %s", c.code, s, c.want)
		}
	}
}

// A component in the place of a standard residue would change the chains, which a job cannot say.
func TestUserCCDChangesNoStandardResidue(t *testing.T) {
	of := func(_ string, wanted []string) ([]pleat.Component, error) {
		i := slices.Index(wanted, "GLY")
		return []pleat.Component{{Code: wanted[i]}}, nil
	}
	_, err := Import(`{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 4, "userCCDPath": "x.cif",
		"sequences": [{"protein": {"id": "A", "sequence": "MKT"}}]}`, "", Options{Files: Files{Components: of}})
	const want = "userCCDPath defines GLY, a standard residue, which a job cannot change"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDetachComponents(t *testing.T) {
	for text, want := range map[string]string{
		`"userCCD": "data_A\n"`: "data_A\n",
		`"userCCD": " "`:        "",
		`"userCCD": null`:       "",
		`"userCCD": "data_A\n", "userCCDPath": "x.cif"`: "",
	} {
		file := `{"name": "x", "modelSeeds": [1], "dialect": "alphafold3", "version": 4, "sequences": [], ` + text + `}`
		rest, inside, err := Detach(file, "")
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if len(inside) > 0 || rest != file {
				t.Errorf("%s was detached: %s", text, rest)
			}
			continue
		}
		for name, got := range inside {
			if got != want || !strings.Contains(rest, `"userCCDPath":"`+name+`"`) || strings.Contains(rest, "data_A") {
				t.Errorf("%s: got %q in %s", text, got, rest)
			}
		}
		if len(inside) != 1 {
			t.Errorf("%s: %d are detached", text, len(inside))
		}
	}
}
