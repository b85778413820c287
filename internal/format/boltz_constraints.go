package format

import (
	"go.yaml.in/yaml/v3"

	"pleat"
)

// addBoltzConstraint adds a bond, a pocket or a contact.
func (d *draft) addBoltzConstraint(n node) error {
	key, c, err := n.ExactlyOneKey("bond", "pocket", "contact")
	if err != nil {
		return err
	}
	switch key {
	case "bond":
		return d.addBoltzBond(c)
	case "pocket":
		return d.addBoltzPocket(c)
	}
	return d.addBoltzContact(c)
}

// addBoltzBond adds a covalent bond between two atoms.
func (d *draft) addBoltzBond(n node) error {
	f, err := n.Needs([]string{"atom1", "atom2"})
	if err != nil {
		return err
	}
	var atoms [2]pleat.AtomRef
	for i, key := range []string{"atom1", "atom2"} {
		v := f[key]
		if v.Kind != yaml.SequenceNode || len(v.Content) != 3 {
			return v.Wrong("a list of chain, residue and atom, such as [A, 145, SG]")
		}
		parts, _ := v.List(3) // v was checked: a list of three
		id, err := scalar(parts[0], &d.notes)
		if err != nil {
			return err
		}
		index, err := parts[1].Whole()
		if err != nil {
			return err
		}
		atom, err := scalar(parts[2], &d.notes)
		if err != nil {
			return err
		}
		r, err := d.residue(v.At, id, index)
		if err != nil {
			return err
		}
		atoms[i] = pleat.AtomRef{Chain: r.Chain, Residue: r.Residue, Atom: atom}
	}
	d.job.Constraints.Bond = append(d.job.Constraints.Bond, pleat.Bond{Atom1: atoms[0], Atom2: atoms[1]})
	return nil
}

// addBoltzPocket adds a pocket. Its distance is dropped with a note, because pockets of a job have none.
func (d *draft) addBoltzPocket(n node) error {
	f, err := n.Needs([]string{"binder", "contacts"}, "max_distance", "force")
	if err != nil {
		return err
	}
	id, err := scalar(f["binder"], &d.notes)
	if err != nil {
		return err
	}
	var p pleat.Pocket
	if p.Binder.Chain, _, err = d.chain(f["binder"].At, id); err != nil {
		return err
	}
	err = eachOf(f["contacts"], func(v node) error {
		r, err := d.boltzToken(v)
		p.Contacts = append(p.Contacts, r)
		return err
	})
	if err != nil {
		return err
	}
	if len(p.Contacts) == 0 {
		return f["contacts"].Wrong("a list of at least one residue")
	}
	if v, ok := f["max_distance"]; ok {
		far, err := v.Number()
		if err != nil {
			return err
		}
		d.addNote("%s %g was dropped: a pocket of a job has no distance, so the model's own counts", v.At, far)
	}
	d.job.Constraints.Pocket = append(d.job.Constraints.Pocket, p)
	return d.dropForce(f["force"])
}

// addBoltzTemplate adds a template of each chain that an entry names; of none, the only protein's.
func (d *draft) addBoltzTemplate(n node) error {
	f, err := n.Fields("cif", "pdb", "chain_id", "template_id", "force", "threshold")
	if err != nil {
		return err
	}
	file, ok := f["cif"]
	if _, both := f["pdb"]; both == ok {
		return n.Wrong("a mapping with one of cif and pdb")
	} else if both {
		file = f["pdb"]
	}
	name, err := scalar(file, &d.notes)
	if err != nil {
		return err
	}
	chains, err := d.boltzNames(f["chain_id"])
	if err != nil {
		return err
	}
	templateChains, err := d.boltzNames(f["template_id"])
	if err != nil {
		return err
	}
	if len(templateChains) > 1 && len(templateChains) != len(chains) {
		return f["template_id"].Wrong("one chain, or as many as chain_id has")
	}
	var t pleat.Template
	if t.Force, t.MaxDistance, err = boltzForce(f); err != nil {
		return err
	}
	if len(chains) == 0 {
		chains = []string{""}
	}
	for i, id := range chains {
		t.Chain, t.TemplateChain = "", ""
		if id != "" {
			if t.Chain, _, err = d.chain(f["chain_id"].At, id); err != nil {
				return err
			}
		}
		if len(templateChains) > 0 {
			t.TemplateChain = templateChains[min(i, len(templateChains)-1)]
		}
		if err := d.template(file.At, name, t); err != nil {
			return err
		}
	}
	if len(chains) > 1 {
		d.addNote("%s is one template of %d chains; a job has one for each of them, which do not say how the chains "+
			"are placed to each other", file.At, len(chains))
	}
	return nil
}

// boltzForce reads whether a template holds its chain, and within how many Å.
func boltzForce(f map[string]node) (force bool, within float64, err error) {
	if v := f["force"]; !v.Null() {
		force, err = v.Truth()
	}
	if err != nil || !force {
		return false, 0, err
	}
	v, ok := f["threshold"]
	if !ok {
		return false, 0, f["force"].Wrong("beside threshold, a length in Å")
	}
	within, err = v.Number()
	return true, within, err
}

// boltzNames reads a name or a list of names. An absent key has none.
func (d *draft) boltzNames(n node) ([]string, error) {
	if n.Null() {
		return nil, nil
	}
	items, err := n.ListOrOne(pleat.MaxChains)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range items {
		name, err := scalar(item, &d.notes)
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

// addBoltzContact adds a contact with its distance in Å, if the file gives one.
func (d *draft) addBoltzContact(n node) error {
	f, err := n.Needs([]string{"token1", "token2"}, "max_distance", "force")
	if err != nil {
		return err
	}
	one, err := d.boltzToken(f["token1"])
	if err != nil {
		return err
	}
	two, err := d.boltzToken(f["token2"])
	if err != nil {
		return err
	}
	c := pleat.Contact{ChainA: one.Chain, ResidueA: one.Residue, ChainB: two.Chain, ResidueB: two.Residue}
	if v, ok := f["max_distance"]; ok {
		if c.Distance, err = v.Number(); err != nil {
			return err
		}
		if c.Distance <= 0 || c.Distance > 1000 {
			return v.Wrong("a length in Å above 0 and up to 1000")
		}
	}
	d.job.Constraints.Contact = append(d.job.Constraints.Contact, c)
	return d.dropForce(f["force"])
}

// dropForce drops the key force, with a note where it is true.
func (d *draft) dropForce(n node) error {
	if n.Null() {
		return nil
	}
	force, err := n.Truth()
	if force {
		d.addNote("%s true was dropped: how hard a constraint is held to is the model's own matter", n.At)
	}
	return err
}

// boltzToken reads a residue, or an atom of a ligand, which identifies the ligand here.
func (d *draft) boltzToken(n node) (pleat.ResidueRef, error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		return pleat.ResidueRef{}, n.Wrong("a list of chain and residue, such as [A, 145]")
	}
	parts, _ := n.List(2) // n was checked: a list of two
	id, err := scalar(parts[0], &d.notes)
	if err != nil {
		return pleat.ResidueRef{}, err
	}
	if !parts[1].IsWhole() {
		_, q, err := d.chain(n.At, id)
		if err != nil {
			return pleat.ResidueRef{}, err
		}
		if q.Polymer() || parts[1].Kind != yaml.ScalarNode {
			return pleat.ResidueRef{}, parts[1].Wrong("a residue's number, from 1")
		}
		d.addNote("%s names the atom %s of the ligand %s; constraints of a job name residues, so it became the whole "+
			"ligand", n.At, pleat.Clip(parts[1].Value), pleat.Clip(id))
		return d.residue(n.At, id, 1)
	}
	index, err := parts[1].Whole()
	if err != nil {
		return pleat.ResidueRef{}, err
	}
	return d.residue(n.At, id, index)
}
