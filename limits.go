package pleat

import "slices"

// Limits are bounds of a model beside its tokens. A zero field is no bound.
type Limits struct {
	Polymers    int      `json:"polymers,omitempty"`    // chains of residues in one structure
	Ligands     int      `json:"ligands,omitempty"`     // copies of ligands in one structure
	Residues    int      `json:"residues,omitempty"`    // of one chain
	Affinities  int      `json:"affinities,omitempty"`  // ligands whose affinity is predicted, copies counted
	Constraints []string `json:"constraints,omitempty"` // of pocket, bond and contact, those it takes; empty: all of them
}

// check refuses a job that exceeds a bound. The job has passed the other checks.
func (l *Limits) check(j *Job, m *Model) error {
	polymers, ligands, affinities := 0, 0, 0
	for i := range j.Sequences {
		s := &j.Sequences[i]
		if s.PropertyType == "affinity" {
			affinities += s.Count
		}
		if !s.Polymer() {
			ligands += s.Count
			continue
		}
		polymers += s.Count
		if n := len(s.Text); l.Residues > 0 && n > l.Residues {
			return Invalidf("sequences[%d].%s.sequence has %d residues; the model %q folds at most %d in a chain", i, itemKeys[s.Kind], n, m.Name, l.Residues)
		}
	}
	for _, b := range []struct {
		got, most int
		what      string
	}{{polymers, l.Polymers, "chains of residues"}, {ligands, l.Ligands, "ligands"}, {affinities, l.Affinities, "ligands that ask for an affinity"}} {
		if b.most > 0 && b.got > b.most {
			return Invalidf("sequences: the job has %d %s, copies counted; the model %q takes at most %d", b.got, b.what, m.Name, b.most)
		}
	}
	for _, c := range []struct {
		n    int
		kind string
	}{{len(j.Constraints.Pocket), "pocket"}, {len(j.Constraints.Bond), "bond"}, {len(j.Constraints.Contact), "contact"}} {
		if c.n > 0 && len(l.Constraints) > 0 && !slices.Contains(l.Constraints, c.kind) {
			return Invalidf("constraints.%s: the model %q takes no %s constraints; it takes %s", c.kind, m.Name, c.kind, list(l.Constraints, len(l.Constraints)))
		}
	}
	return nil
}
