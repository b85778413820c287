package format

import (
	"fmt"
	"slices"

	"pleat"
	"pleat/internal/words"
)

// A job has one component in a ligand. A ligand of several, such as a glycan, becomes one ligand for each component
// with the bonds of the file between them: whether a model bonds them is checked when the job is created, as for any
// bond.

// maxParts bounds the components of one ligand.
const maxParts = 100

// addParts adds a ligand of several components, in one copy for each id. Its components can be named as the residues of
// the ligand afterwards.
func (d *draft) addParts(at string, codes, ids []string, label string) error {
	if len(codes) > maxParts {
		return pleat.Invalidf("%s holds %d codes; at most %d are allowed", at, len(codes), maxParts)
	}
	for _, id := range ids {
		if id == "" || d.parts[id] != nil {
			return pleat.Invalidf("%s: each copy of a ligand of several components must have an id of its own", at)
		}
		if err := d.addPartsOf(at, codes, id, label); err != nil {
			return err
		}
		d.split = append(d.split, splitLigand{at, id})
	}
	return nil
}

// addPartsOf adds the components of the copy with an id.
func (d *draft) addPartsOf(at string, codes []string, id, label string) error {
	for k, code := range codes {
		q, err := ccdLigand(fmt.Sprintf("%s[%d]", at, k), code)
		if err != nil {
			return err
		}
		q.Label = label
		part := fmt.Sprintf("%s%s.%d", madeID, id, k+1)
		if err := d.add(entity{fmt.Sprintf("%s[%d]", at, k), q, []string{part}}); err != nil {
			return err
		}
		d.parts[id] = append(d.parts[id], part)
	}
	return nil
}

// splitLigand is a ligand whose components became ligands of their own. at is its place in the file.
type splitLigand struct{ at, id string }

// checkParts refuses a ligand whose components are not all bonded to one another, since each would be a molecule of its
// own. A note says what the components are called.
func (d *draft) checkParts() error {
	for _, l := range d.split {
		var chains []string
		for _, part := range d.parts[l.id] {
			chains = append(chains, d.chains[part])
		}
		reached := chains[:1:1]
		for i := 0; i < len(reached); i++ {
			for _, b := range d.job.Constraints.Bond {
				for _, end := range [][2]string{{b.Atom1.Chain, b.Atom2.Chain}, {b.Atom2.Chain, b.Atom1.Chain}} {
					if end[0] == reached[i] && slices.Contains(chains, end[1]) && !slices.Contains(reached, end[1]) {
						reached = append(reached, end[1])
					}
				}
			}
		}
		for k, c := range chains {
			if !slices.Contains(reached, c) {
				return pleat.Invalidf("%s: no bond of the file joins component %d (%s) of the ligand to component 1; "+
					"give the bonds between its components, or each a ligand of its own",
					l.at, k+1, d.sequenceOf(c).Text)
			}
		}
		d.addNote("%s: the %d components of the ligand became ligands of their own with the bonds between them: "+
			"chains %s", l.at, len(chains), words.Join(chains, 10))
	}
	return nil
}
