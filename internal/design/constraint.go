package design

import (
	"pleat"
	"pleat/internal/chem"
	"pleat/internal/yamltree"
)

// constraints reads bonds and the total length. The engine reads the total length in the first item alone, so it is
// written there.
func (r *specReader) constraints(n yamltree.Node) error {
	if n.Null() {
		return nil
	}
	items, err := n.List(maxItems)
	if err != nil {
		return err
	}
	var first, rest []any
	for _, item := range items {
		key, c, err := item.ExactlyOneKey("bond", "total_len")
		if err != nil {
			return err
		}
		if key == "total_len" {
			if len(first) > 0 {
				return c.Fault(" stands there again; a spec has one total_len")
			}
			total, err := r.totalLen(c)
			if err != nil {
				return err
			}
			first = append(first, map[string]any{key: total})
			continue
		}
		bond, err := r.bond(c)
		if err != nil {
			return err
		}
		rest = append(rest, map[string]any{key: bond})
	}
	if all := append(first, rest...); len(all) > 0 { // the engine takes no empty list
		r.main["constraints"] = all
	}
	return nil
}

// totalLen reads the bounds of the number of residues. The engine draws lengths until they are met, so bounds that
// cannot be met are refused.
func (r *specReader) totalLen(n yamltree.Node) (any, error) {
	f, err := n.Needs([]string{"min", "max"})
	if err != nil {
		return nil, err
	}
	low, err := f["min"].Whole()
	if err != nil {
		return nil, err
	}
	high, err := f["max"].Whole()
	if err != nil {
		return nil, err
	}
	switch {
	case low > high:
		return nil, n.Fault(" is %d to %d; min must not be above max", low, high)
	case high < r.size.min || low > r.size.max && !r.size.open:
		return nil, n.Fault(" is %d to %d; the design has %d to %d residues, target and binder together", low, high,
			r.size.min, r.size.max)
	}
	return map[string]any{"min": low, "max": high}, nil
}

// bond reads a covalent bond.
func (r *specReader) bond(n yamltree.Node) (any, error) {
	f, err := n.Needs([]string{"atom1", "atom2"})
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, key := range []string{"atom1", "atom2"} {
		if out[key], err = r.atom(f[key]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// leavingAtoms reads the atoms that are taken away.
func (r *specReader) leavingAtoms(n yamltree.Node) error {
	list, err := items(n, "atom")
	if err != nil || len(list) == 0 {
		return err
	}
	out := []any{}
	for _, item := range list {
		atom, err := r.atom(item)
		if err != nil {
			return err
		}
		out = append(out, map[string]any{"atom": atom})
	}
	r.main["leaving_atoms"] = out
	return nil
}

// atom reads a chain, a position and an atom. Positions behind a range of residues count by its shortest length.
func (r *specReader) atom(n yamltree.Node) (any, error) {
	const shape = "a list of chain, residue and atom, such as [A, 145, SG]"
	if !n.IsList() || len(n.Content) != 3 {
		return nil, n.Wrong(shape)
	}
	parts, err := n.List(3)
	if err != nil {
		return nil, err
	}
	id, err := parts[0].Text()
	if err != nil {
		return nil, err
	}
	c, err := r.chain(parts[0], id, "the spec has the chains ")
	if err != nil {
		return nil, err
	}
	residue, err := parts[1].Whole()
	if err != nil && isAuthorNumber(parts[1].Value) {
		return nil, byPosition(parts[1], parts[1].Value)
	}
	if err != nil || residue < 1 {
		return nil, parts[1].Wrong("the number of a residue, from 1")
	}
	most := c.max
	if c.exact {
		most = c.min
	}
	if residue > most {
		if c.exact && c.min < c.max {
			return nil, parts[1].Fault(" is %d; chain %s has 1 to %d, its ranges counted by their shortest length",
				residue, pleat.Clip(id), most)
		}
		return nil, parts[1].Fault(" is %d; chain %s has 1 to %d", residue, pleat.Clip(id), most)
	}
	name, err := parts[2].Text()
	if err != nil || !chem.IsAtomName(name) {
		return nil, parts[2].Wrong("the name of an atom, such as SG")
	}
	return []any{id, residue, name}, nil
}
