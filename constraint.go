package pleat

import (
	"encoding/json"

	"pleat/internal/chem"
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
	}
	for i := range c.Contact {
		r.contact(indexed("constraints.contact", i)+".", &c.Contact[i])
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
	r.chain(p.Binder.Chain, path+".binder.chain_id")
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
		r.residue(c.Chain, c.Residue, at+".chain_id", at+".res_idx")
	}
}

func (r *references) atom(path string, a *AtomRef) {
	r.residue(a.Chain, a.Residue, path+"chain_id", path+"res_idx")
	if !chem.IsAtomName(a.Atom) {
		r.fault(path+"atom_name", " is %q; it must be an atom name of 1 to 4 letters and digits", Clip(a.Atom))
	}
}

func (r *references) contact(path string, c *Contact) {
	r.residue(c.ChainA, c.ResidueA, path+"chainA", path+"res_idxA")
	r.residue(c.ChainB, c.ResidueB, path+"chainB", path+"res_idxB")
	if !(c.Distance >= 0 && c.Distance <= 1000) {
		r.fault(path+"distance", " is %g; it must be a length in Å from 0 to 1000", c.Distance)
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

// residue checks that a chain has a residue. A ligand is one residue.
func (r *references) residue(chain string, index int, chainField, indexField string) {
	i := r.chain(chain, chainField)
	if i < 0 || r.faulty[i] {
		return
	}
	n := 1
	if s := &r.job.Sequences[i]; s.Polymer() {
		n = len(s.Text)
	}
	if index < 1 || index > n {
		r.fault(indexField, " is %d; chain %s has residues 1 to %d", index, Clip(chain), n)
	}
}
