package pleat

import (
	"encoding/json"
	"slices"
)

// Constraints restrict or guide a fold. Webhooks holds the webhook settings as given; ParseWebhooks reads them.
type Constraints struct {
	Pocket     []Pocket        `json:"pocket,omitempty"`
	Bond       []Bond          `json:"bond,omitempty"`
	Contact    []Contact       `json:"contact,omitempty"`
	Templates  []Template      `json:"templates,omitempty"`
	Components []Component     `json:"components,omitempty"`
	Webhooks   json.RawMessage `json:"webhooks,omitempty"`
}

// Pocket asks for a binder chain near the given residues.
type Pocket struct {
	Binder   ChainRef     `json:"binder"`
	Contacts []ResidueRef `json:"contacts"`
}

// Bond is a covalent bond between two atoms.
type Bond struct {
	Atom1 AtomRef `json:"atom1"`
	Atom2 AtomRef `json:"atom2"`
}

// Contact asks for two residues within Distance Å of each other; 0: the model chooses the distance.
type Contact struct {
	ChainA   string  `json:"chainA"`
	ResidueA int     `json:"res_idxA"`
	ChainB   string  `json:"chainB"`
	ResidueB int     `json:"res_idxB"`
	Distance float64 `json:"distance,omitempty"`
}

// ChainRef refers to a chain of the job by its name.
type ChainRef struct {
	Chain string `json:"chain_id"`
}

// ResidueRef refers to a residue of a chain, counted from 1.
type ResidueRef struct {
	Chain   string `json:"chain_id"`
	Residue int    `json:"res_idx"`
}

// AtomRef refers to an atom of a residue. Residues are counted from 1.
type AtomRef struct {
	Chain   string `json:"chain_id"`
	Residue int    `json:"res_idx"`
	Atom    string `json:"atom_name"`
}

// Empty reports whether there are no structural constraints, templates and components. Webhooks do not count.
func (c *Constraints) Empty() bool { return c.count()+len(c.Templates)+len(c.Components) == 0 }

// count returns how many structural constraints there are.
func (c *Constraints) count() int { return len(c.Pocket) + len(c.Bond) + len(c.Contact) }

// Structural returns the constraints without templates, components and webhooks.
func (c *Constraints) Structural() Constraints {
	return Constraints{Pocket: c.Pocket, Bond: c.Bond, Contact: c.Contact}
}

// Private returns the constraints as everybody may see them: without webhooks, and without where templates come from.
func (c *Constraints) Private() Constraints {
	out := c.Structural()
	for _, t := range c.Templates {
		out.Templates = append(out.Templates, t.Private())
	}
	for _, component := range c.Components {
		out.Components = append(out.Components, component.Private())
	}
	return out
}

// maxConstraints bounds the constraints of a job, and the residues of one pocket.
const maxConstraints = 1000

// constraintsTaken checks whether the model takes the job's constraints at all.
func (v *validation) constraintsTaken() bool {
	if v.job.Constraints.count() == 0 || v.model.Has(FeatureConstraints) {
		return true
	}
	v.fault("constraints", ": the model %q accepts no pocket, bond or contact constraints", v.model.Name)
	return false
}

// constraints checks that the constraints name chains and residues of the job. The chains must have their names.
func (v *validation) constraints() {
	c := &v.job.Constraints
	if n := c.count(); n > maxConstraints {
		v.fault("constraints", " has %d entries; at most %d are allowed", n, maxConstraints)
		return
	}
	r := v.references()
	for i := range c.Pocket {
		r.pocket(indexed("constraints.pocket", i), &c.Pocket[i])
	}
	for i := range c.Bond {
		at := indexed("constraints.bond", i)
		r.atom(at+".atom1.", &c.Bond[i].Atom1)
		r.atom(at+".atom2.", &c.Bond[i].Atom2)
		if c.Bond[i].Atom1 == c.Bond[i].Atom2 {
			r.fault(at, " names one atom twice; a bond joins two atoms")
		}
	}
	for i := range c.Contact {
		r.contact(indexed("constraints.contact", i), &c.Contact[i])
	}
}

// references checks what constraints refer to.
type references struct {
	*validation
	chains map[string]int // index of the sequence by chain name
	names  []string       // chain names in the order of the job
}

// references returns the chains that constraints may name. All chains must have their names.
func (v *validation) references() references {
	r := references{validation: v, chains: map[string]int{}}
	for i := range v.job.Sequences {
		for _, name := range v.job.Sequences[i].Chains {
			r.chains[name] = i
			r.names = append(r.names, name)
		}
	}
	return r
}

func (r *references) pocket(path string, p *Pocket) {
	kinds := r.model.Limits.PocketBinders
	if i := r.chain(p.Binder.Chain, path+".binder.chain_id"); i >= 0 && len(kinds) > 0 {
		if kind := r.job.Sequences[i].Kind; !slices.Contains(kinds, kind) {
			r.fault(path+".binder.chain_id", " is %s, a %s; the model %q accepts pockets of %s only",
				Clip(p.Binder.Chain), kind, r.model.Name, entityNames(kinds))
		}
	}
	switch n := len(p.Contacts); {
	case n == 0:
		r.fault(path+".contacts", " is empty; it must name at least one residue")
		return
	case n > maxConstraints:
		r.fault(path+".contacts", " has %d residues; at most %d are allowed", n, maxConstraints)
		return
	}
	for k, c := range p.Contacts {
		if r.faults.full() {
			return
		}
		at := indexed(path+".contacts", k)
		if i := r.residue(c.Chain, c.Residue, at+".chain_id", at+".res_idx"); i >= 0 {
			r.pocketResidue(i, c, at+".chain_id", at+".res_idx")
		}
	}
}

// pocketResidue checks a residue of sequence i that a pocket or a contact names.
func (r *references) pocketResidue(i int, at ResidueRef, chainField, indexField string) {
	s, l := &r.job.Sequences[i], &r.model.Limits
	if len(l.PocketResidues) > 0 && !slices.Contains(l.PocketResidues, s.Kind) {
		r.fault(chainField, " is %s, a %s; the model %q accepts residues of %s there", Clip(at.Chain), s.Kind,
			r.model.Name, entityNames(l.PocketResidues))
		return
	}
	changed := func(m Modification) bool { return m.Residue == at.Residue }
	if k := slices.IndexFunc(s.Modifications, changed); l.Unmodified && k >= 0 {
		r.fault(indexField, " is %d, which is modified (%s); the model %q accepts unmodified residues there",
			at.Residue, s.Modifications[k].CCD, r.model.Name)
	}
}

func (r *references) contact(path string, c *Contact) {
	a, b := ResidueRef{c.ChainA, c.ResidueA}, ResidueRef{c.ChainB, c.ResidueB}
	i := r.residue(a.Chain, a.Residue, path+".chainA", path+".res_idxA")
	k := r.residue(b.Chain, b.Residue, path+".chainB", path+".res_idxB")
	switch {
	case i < 0 || k < 0:
	case a == b:
		r.fault(path, " names one residue twice; a contact is one of two residues")
	case len(r.model.Limits.PocketResidues) == 0:
	case !r.job.Sequences[i].Polymer() && !r.job.Sequences[k].Polymer():
		r.fault(path, " is between two ligands; the model %q accepts contacts in which a chain of residues has part",
			r.model.Name)
	default:
		if r.job.Sequences[i].Polymer() {
			r.pocketResidue(i, a, path+".chainA", path+".res_idxA")
		}
		if r.job.Sequences[k].Polymer() {
			r.pocketResidue(k, b, path+".chainB", path+".res_idxB")
		}
	}
	r.distance(path+".distance", c.Distance)
}

// distance checks the distance of a contact. 0 is that of the model.
func (r *references) distance(field string, d float64) {
	l := &r.model.Limits
	if !(d >= 0 && d <= 1000) {
		r.fault(field, " is %g; it must be a length in Å from 0 to 1000", d)
	} else if d > 0 && (d < l.MinDistance || l.MaxDistance > 0 && d > l.MaxDistance) {
		r.fault(field, " is %g; the model %q accepts %g to %g Å", d, r.model.Name, l.MinDistance, l.MaxDistance)
	}
}

// chain returns the index of the sequence that the chain belongs to, and -1 with a fault if there is none.
func (r *references) chain(name, field string) int {
	i, ok := r.chains[name]
	if !ok {
		r.fault(field, " is %q; the job has the chains %s", Clip(name), ListNames(r.names, 20))
		return -1
	}
	return i
}

// residue checks that a chain has a residue. A ligand is one residue. It returns the index of the sequence, and -1 with
// a fault if there is no such residue.
func (r *references) residue(chain string, index int, chainField, indexField string) int {
	i := r.chain(chain, chainField)
	if i < 0 || r.faulty[i] {
		return -1
	}
	n := 1
	if s := &r.job.Sequences[i]; s.Polymer() {
		n = len(s.Text)
	}
	if index < 1 || index > n {
		r.fault(indexField, " is %d; chain %s has residues 1 to %d", index, Clip(chain), n)
		return -1
	}
	return i
}
