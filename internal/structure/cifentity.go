package structure

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// polySeq is the sequence of one polymer entity, merged from the residues that its chains list: a chain may miss
// residues that another has.
type polySeq struct {
	entity int
	chain  int // first chain of the entity
	// seq are positions in the sequence in ascending order, comp the component at each of them.
	seq    []int
	comp   []string
	chains []int
}

// molecules writes the entities, their sequences or components, and the chains: entity, entity_poly, entity_poly_seq,
// pdbx_entity_nonpoly and struct_asym.
func (c *cifWriter) molecules() {
	c.gather()
	c.loop("entity", "id", "type", "src_method", "pdbx_description", "pdbx_number_of_molecules", "details")
	count := map[int]int{}
	for _, e := range c.entity {
		count[e]++
	}
	for _, i := range c.first {
		e, chain := c.entity[i], &c.s.Chains[i]
		kind, n := "non-polymer", count[e]
		switch {
		case chain.Kind.Polymer():
			kind = "polymer"
		case chain.Kind == Water:
			kind = "water"
			n = len(chain.Residues)
		}
		c.row(strconv.Itoa(e), kind, "man", oneLine(chain.Name), strconv.Itoa(n), "")
	}
	c.end()
	if len(c.poly) > 0 {
		c.sequences()
	}
	c.ligands()
	c.loop("struct_asym", "id", "entity_id", "details")
	for i, l := range c.labels {
		c.row(l, strconv.Itoa(c.entity[i]), "")
	}
	c.end()
}

// ligands writes the component of each entity that is not a polymer.
func (c *cifWriter) ligands() {
	seen := map[int]bool{}
	for i := range c.s.Chains {
		chain, e := &c.s.Chains[i], c.entity[i]
		if chain.Kind.Polymer() || seen[e] || len(chain.Residues) == 0 {
			continue
		}
		if len(seen) == 0 {
			c.loop("pdbx_entity_nonpoly", "entity_id", "name", "comp_id", "ma_model_mode")
		}
		seen[e] = true
		c.row(strconv.Itoa(e), oneLine(chain.Name), chain.Residues[0].Comp, "explicit")
	}
	if len(seen) > 0 {
		c.end()
	}
}

// sequences writes the sequence of each polymer entity: as one-letter codes (entity_poly) and residue by residue
// (entity_poly_seq).
func (c *cifWriter) sequences() {
	c.loop("entity_poly", "entity_id", "type", "nstd_linkage", "nstd_monomer", "pdbx_seq_one_letter_code",
		"pdbx_seq_one_letter_code_can", "pdbx_strand_id")
	for _, p := range c.poly {
		chain := &c.s.Chains[p.chain]
		var strands []string
		for _, k := range p.chains {
			strands = append(strands, c.s.Chains[k].ID)
		}
		one, can, odd := p.letters(chain.Kind)
		kind := map[Kind]string{
			Protein: "polypeptide(L)", RNA: "polyribonucleotide", DNA: "polydeoxyribonucleotide",
		}[chain.Kind]
		c.row(strconv.Itoa(p.entity), kind, "no", odd, one, can, strings.Join(strands, ","))
	}
	c.end()
	c.loop("entity_poly_seq", "entity_id", "num", "mon_id", "hetero")
	for _, p := range c.poly {
		for k, seq := range p.seq {
			c.row(strconv.Itoa(p.entity), strconv.Itoa(seq), p.comp[k], "n")
		}
	}
	c.end()
}

// letters returns the sequence with non-standard residues in parentheses, the canonical sequence, and "yes" or "no"
// for whether there are any non-standard residues.
func (p *polySeq) letters(kind Kind) (one, can, odd string) {
	var a, b strings.Builder
	odd = "no"
	for _, comp := range p.comp {
		l := Letter(kind, comp)
		b.WriteByte(l)
		if std, ok := Component(kind, l); ok && std == comp && l != Unknown {
			a.WriteByte(l)
			continue
		}
		odd = "yes"
		a.WriteString("(" + comp + ")")
	}
	return a.String(), b.String(), odd
}

// gather merges the sequences of the chains of each polymer entity into poly. Where two chains differ at a position,
// the first counts.
func (c *cifWriter) gather() {
	at := map[int]int{}
	c.poly = c.poly[:0]
	comps := map[[2]int]string{}
	for i := range c.s.Chains {
		chain, e := &c.s.Chains[i], c.entity[i]
		if !chain.Kind.Polymer() {
			continue
		}
		k, ok := at[e]
		if !ok {
			k = len(c.poly)
			at[e] = k
			c.poly = append(c.poly, polySeq{entity: e, chain: i})
		}
		p := &c.poly[k]
		p.chains = append(p.chains, i)
		for j := range chain.Residues {
			r := &chain.Residues[j]
			if _, ok := comps[[2]int{e, r.Seq}]; !ok {
				comps[[2]int{e, r.Seq}] = r.Comp
				p.seq = append(p.seq, r.Seq)
			}
		}
	}
	for k := range c.poly {
		p := &c.poly[k]
		slices.Sort(p.seq)
		for _, seq := range p.seq {
			p.comp = append(p.comp, comps[[2]int{p.entity, seq}])
		}
	}
}

// components writes the chemical components that occur (chem_comp), sorted by code, and what is known of those that no
// dictionary has (ma_chem_comp_descriptor). A component of both a polymer and a ligand counts as the polymer's.
func (c *cifWriter) components() {
	kinds := map[string]Kind{}
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		for j := range chain.Residues {
			if comp := chain.Residues[j].Comp; !kinds[comp].Polymer() {
				kinds[comp] = chain.Kind
			}
		}
	}
	codes := slices.Sorted(maps.Keys(kinds))
	c.loop("chem_comp", "id", "type", "mon_nstd_flag", "name", "ma_provenance")
	for _, code := range codes {
		kind := map[Kind]string{Protein: "L-peptide linking", RNA: "RNA linking", DNA: "DNA linking"}[kinds[code]]
		standard, name, provenance := "n", "", "" // whether a code of an engine is one of the dictionary is not known
		switch {
		case !kinds[code].Polymer():
			kind, standard = "non-polymer", "\x00."
			if waters[code] {
				name = "WATER"
			}
		case code == "GLY":
			kind = "peptide linking"
		}
		if known, ok := compNames[code]; ok && kinds[code].Polymer() {
			name, standard, provenance = known, "y", "CCD Core"
		}
		if text := oneLine(c.m.Components[code]); text != "" {
			name, provenance = text, "CCD local"
		}
		c.row(code, kind, standard, name, provenance)
	}
	c.end()
	codes = slices.DeleteFunc(codes, func(code string) bool { return oneLine(c.m.SMILES[code]) == "" })
	if len(codes) == 0 {
		return
	}
	c.loop("ma_chem_comp_descriptor", "ordinal_id", "chem_comp_id", "chem_comp_name", "type", "value")
	for i, code := range codes {
		c.row(strconv.Itoa(i+1), code, oneLine(c.m.Components[code]), "Isomeric SMILES", oneLine(c.m.SMILES[code]))
	}
	c.end()
}

// ligandScheme maps the numbering of what is not a polymer to that of the authors (pdbx_nonpoly_scheme).
func (c *cifWriter) ligandScheme() {
	begun := false
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		if chain.Kind.Polymer() {
			continue
		}
		for j, auth := range c.auth[i] {
			if !begun {
				begun = true
				c.loop("pdbx_nonpoly_scheme", "asym_id", "entity_id", "mon_id", "ndb_seq_num", "pdb_seq_num",
					"auth_seq_num", "pdb_mon_id", "auth_mon_id", "pdb_strand_id", "pdb_ins_code")
			}
			r, number := &chain.Residues[j], strconv.Itoa(auth)
			c.row(c.labels[i], strconv.Itoa(c.entity[i]), r.Comp, strconv.Itoa(j+1), number, number, r.Comp, r.Comp,
				chain.ID, dotted(r.Ins))
		}
	}
	if begun {
		c.end()
	}
}

// scheme maps the numbering of sequences to that of the authors (pdbx_poly_seq_scheme), for polymers.
func (c *cifWriter) scheme() {
	if len(c.poly) == 0 {
		return
	}
	c.loop("pdbx_poly_seq_scheme", "asym_id", "entity_id", "seq_id", "mon_id", "ndb_seq_num", "pdb_seq_num",
		"auth_seq_num",
		"pdb_mon_id", "auth_mon_id", "pdb_strand_id", "pdb_ins_code", "hetero")
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		if !chain.Kind.Polymer() {
			continue
		}
		for j, auth := range c.auth[i] {
			r := &chain.Residues[j]
			seq, number := strconv.Itoa(r.Seq), strconv.Itoa(auth)
			c.row(c.labels[i], strconv.Itoa(c.entity[i]), seq, r.Comp, seq, number, number, r.Comp, r.Comp, chain.ID,
				dotted(r.Ins), "n")
		}
	}
	c.end()
}
