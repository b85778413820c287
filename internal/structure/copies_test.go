package structure

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// models returns a file of two models of a helix, the second one placed by a function.
func models(cif bool, place func(Vec) Vec) string {
	var b strings.Builder
	if cif {
		b.WriteString(atomSite)
	}
	for model := 1; model <= 2; model++ {
		if !cif {
			fmt.Fprintf(&b, "MODEL     %4d\n", model)
		}
		for i := range 2000 {
			p := Vec{20 * math.Cos(float64(i)/3), 20 * math.Sin(float64(i)/3), float64(i) / 5}
			if model == 2 {
				p = place(p)
			}
			if cif {
				fmt.Fprintf(&b, "CA ALA A %d %.3f %.3f %.3f %d\n", i+1, p[0], p[1], p[2], model)
				continue
			}
			fmt.Fprintf(&b, "ATOM  %5d  CA  ALA A%4d    %8.3f%8.3f%8.3f  1.00 10.00           C\n", i+1, i+1, p[0],
				p[1], p[2])
		}
		if !cif {
			b.WriteString("ENDMDL\n")
		}
	}
	return b.String()
}

// atomSite are the items of an atom with its model.
const atomSite = "data_x\nloop_\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n" +
	"_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n" +
	"_atom_site.pdbx_PDB_model_num\n"

// A second model that is the first one in another place is a copy of an assembly, and no other state of the molecule.
func TestCopiesInModels(t *testing.T) {
	turned := func(p Vec) Vec { return Vec{-p[1], p[0] + 30, p[2]} }
	for _, test := range []struct {
		name  string
		place func(Vec) Vec
		copy  bool
	}{
		{"a copy", turned, true},
		{"the same place", func(p Vec) Vec { return p }, false},
		{"another shape", func(p Vec) Vec { return Vec{p[0] + 0.1*math.Sin(p[2]), p[1] + 5, p[2]} }, false},
		{"one domain moves", func(p Vec) Vec {
			if p[2] < 200 {
				return p
			}
			return turned(p)
		}, false},
	} {
		for _, cif := range []bool{false, true} {
			s, err := Read(strings.NewReader(models(cif, test.place)), Limits{})
			switch {
			case test.copy != (err != nil):
				t.Errorf("%s (mmCIF %v): %v", test.name, cif, err)
			case err != nil && !strings.HasSuffix(err.Error(), "file: "+copyRefused):
				t.Errorf("%s (mmCIF %v): %v", test.name, cif, err)
			case err == nil && s.Atoms() != 2000:
				t.Errorf("%s (mmCIF %v): %d atoms", test.name, cif, s.Atoms())
			}
		}
	}
}

const copyRefused = "the second model is the first one in another place, as in a biological assembly, and only the " +
	"first is read; want all copies in one model, each with chains of its own, as mmCIF files of assemblies have them"
