package flow

import (
	"path"
	"slices"

	"pleat"
	"pleat/internal/structure"
)

// maxRedesign bounds the residues that redesign names one by one. A chain without res_idx is redesigned as a whole.
const maxRedesign = 5000

// readRedesign reads a structure, and which of its residues get other amino acids.
func readRedesign(f *fields, p *Plan) {
	t := &DesignTask{}
	p.Design.Task = t
	target := f.object("target")
	if target == nil {
		f.fail(f.pathOf("target"), " is required; it must be an object with one of sourceJobId, libraryItemId, pdbId")
		return
	}
	readTarget(target, p, t)
	for _, way := range []string{"sequence", "ccd", "smiles"} {
		if target.raw(way) != nil {
			target.fail(target.pathOf(way), " is not taken with the protocol %s, whose target is a structure",
				pleat.SequenceOnly)
		}
	}
	readTargetChains(f, t)
	t.Redesign = readResidues(f, "redesign", maxRedesign)
	if f.ok("redesign") && len(t.Redesign) == 0 {
		f.fail(f.pathOf("redesign"), " is required with the protocol %s; it must be a list of objects with chain_id, "+
			"and res_idx unless the whole chain is redesigned", pleat.SequenceOnly)
	}
	for _, other := range []string{"binder", "epitope", "avoid"} {
		if f.raw(other) != nil {
			f.fail(f.pathOf(other), " is not taken with the protocol %s, which designs no binder; redesign names what "+
				"it designs", pleat.SequenceOnly)
		}
	}
}

// writeRedesign writes the entity of a structure, some residues of which are redesigned.
func (c *compiler) writeRedesign(file string) error {
	wholeChains := map[string]bool{} // by chain
	var some []ChainResidues
	for i, one := range c.task.Redesign {
		chain, err := c.chainOf(&one)
		if err != nil {
			return err
		}
		if chain.kind != structure.Protein {
			return pleat.InvalidField(one.Field+".chain_id", " is %q, which is %s; only proteins are redesigned",
				pleat.Clip(one.Chain), chain.kind)
		}
		twice := func(other ChainResidues) bool {
			return other.Chain == one.Chain && (other.Residues == nil || one.Residues == nil)
		}
		if slices.ContainsFunc(c.task.Redesign[:i], twice) {
			return pleat.InvalidField(one.Field+".chain_id", " is %q, which is named before; name its residues in one "+
				"place", pleat.Clip(one.Chain))
		}
		if one.Residues == nil {
			wholeChains[chain.name] = true
			continue
		}
		some = append(some, one)
	}
	places, err := c.positions(some, maxRedesign)
	if err != nil {
		return err
	}
	c.line(1, "- file:")
	c.line(3, "path: %s", quote(file))
	if len(c.task.Chains) > 0 {
		c.line(3, "include:")
		letters := c.task.Author && path.Ext(file) == ".pdb"
		for i := range c.chains {
			if chain := &c.chains[i]; letters && chain.name != chain.author {
				continue // a ligand, which the letter of a PDB file includes
			}
			c.writeChain(&c.chains[i])
		}
	}
	c.line(3, "design:")
	for i := range c.chains {
		chain := &c.chains[i]
		if list := places[chain.name]; wholeChains[chain.name] || len(list) > 0 {
			c.writeChain(chain)
			if len(list) > 0 {
				c.line(6, "res_index: %s", quote(ranges(list)))
			}
		}
	}
	return nil
}
