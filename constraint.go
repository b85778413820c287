package pleat

import (
	"encoding/json"
	"slices"
)

// Constraints narrow a fold. Webhooks are kept as given; webhook.go reads them.
type Constraints struct {
	Pocket   []Pocket        `json:"pocket,omitempty"`
	Bond     []Bond          `json:"bond,omitempty"`
	Contact  []Contact       `json:"contact,omitempty"`
	Webhooks json.RawMessage `json:"webhooks,omitempty"`
}

// Pocket asks that a binder chain sits near the residues named.
type Pocket struct {
	Binder   ChainRef     `json:"binder"`
	Contacts []ResidueRef `json:"contacts"`
}

// Bond is a covalent bond between two atoms.
type Bond struct {
	Atom1 AtomRef `json:"atom1"`
	Atom2 AtomRef `json:"atom2"`
}

// Contact asks that two residues are within Distance Å of each other; 0 leaves the distance to the model.
type Contact struct {
	ChainA   string  `json:"chainA"`
	ResidueA int     `json:"res_idxA"`
	ChainB   string  `json:"chainB"`
	ResidueB int     `json:"res_idxB"`
	Distance float64 `json:"distance,omitempty"`
}

// ChainRef names a chain of the job.
type ChainRef struct {
	Chain string `json:"chain_id"`
}

// ResidueRef names a residue, counted from 1.
type ResidueRef struct {
	Chain   string `json:"chain_id"`
	Residue int    `json:"res_idx"`
}

// AtomRef names an atom of a residue.
type AtomRef struct {
	Chain   string `json:"chain_id"`
	Residue int    `json:"res_idx"`
	Atom    string `json:"atom_name"`
}

// Empty reports whether no structural constraint is set; webhooks do not count.
func (c *Constraints) Empty() bool { return len(c.Pocket)+len(c.Bond)+len(c.Contact) == 0 }

const maxConstraints = 1000

// check refuses constraints on chains or residues that the job does not have.
func (c *Constraints) check(j *Job) error {
	if n := len(c.Pocket) + len(c.Bond) + len(c.Contact); n > maxConstraints {
		return Invalidf("constraints holds %d entries; at most %d are taken", n, maxConstraints)
	}
	for i, p := range c.Pocket {
		if _, err := j.chain(p.Binder.Chain, "constraints.pocket[%d].binder.chain_id", i); err != nil {
			return err
		}
		if len(p.Contacts) == 0 {
			return Invalidf("constraints.pocket[%d].contacts is empty; it must name at least one residue", i)
		}
		if len(p.Contacts) > maxConstraints {
			return Invalidf("constraints.pocket[%d].contacts holds %d residues; at most %d are taken", i, len(p.Contacts), maxConstraints)
		}
		for k, r := range p.Contacts {
			if err := j.residue(r.Chain, r.Residue, "chain_id", "res_idx", "constraints.pocket[%d].contacts[%d].", i, k); err != nil {
				return err
			}
		}
	}
	for i, b := range c.Bond {
		for k, a := range []AtomRef{b.Atom1, b.Atom2} {
			if err := j.residue(a.Chain, a.Residue, "chain_id", "res_idx", "constraints.bond[%d].atom%d.", i, k+1); err != nil {
				return err
			}
			if !atomName(a.Atom) {
				return Invalidf("constraints.bond[%d].atom%d.atom_name is %q; it must be an atom name of 1 to 4 letters and digits", i, k+1, Clip(a.Atom))
			}
		}
	}
	for i, t := range c.Contact {
		if err := j.residue(t.ChainA, t.ResidueA, "chainA", "res_idxA", "constraints.contact[%d].", i); err != nil {
			return err
		}
		if err := j.residue(t.ChainB, t.ResidueB, "chainB", "res_idxB", "constraints.contact[%d].", i); err != nil {
			return err
		}
		if !(t.Distance >= 0 && t.Distance <= 1000) {
			return Invalidf("constraints.contact[%d].distance is %g; it must be a length in Å from 0 to 1000", i, t.Distance)
		}
	}
	return nil
}

// chain finds the sequence that a chain name belongs to.
func (j *Job) chain(name, path string, at ...any) (*Sequence, error) {
	for i := range j.Sequences {
		if slices.Contains(j.Sequences[i].Chains, name) {
			return &j.Sequences[i], nil
		}
	}
	var all []string
	for _, s := range j.Sequences {
		all = append(all, s.Chains...)
	}
	return nil, Invalidf(path+" is %q; the job has the chains %s", append(at, Clip(name), list(all, 20))...)
}

// residue checks that a chain has the residue. A ligand is one residue.
func (j *Job) residue(chain string, index int, chainField, indexField, path string, at ...any) error {
	s, err := j.chain(chain, path+chainField, at...)
	if err != nil {
		return err
	}
	n := 1
	if s.Polymer() {
		n = len(s.Text)
	}
	if index < 1 || index > n {
		return Invalidf(path+indexField+" is %d; chain %s has residues 1 to %d", append(at, index, Clip(chain), n)...)
	}
	return nil
}

func atomName(s string) bool {
	if len(s) < 1 || len(s) > 4 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '\'' && c != '*' {
			return false
		}
	}
	return true
}
