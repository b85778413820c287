package structure

import (
	"cmp"
	"slices"
	"strconv"

	"pleat/internal/words"
)

// secondary writes the helices and strands that DSSP finds: struct_conf, and struct_sheet with struct_sheet_range.
// Viewers draw them as ribbons.
func (c *cifWriter) secondary() {
	helices, strands := c.s.secondaryRuns()
	if len(helices) > 0 {
		c.loop("struct_conf_type", "id", "criteria", "reference")
		c.row("HELX_P", "DSSP", "")
		c.end()
		c.loop("struct_conf",
			append([]string{"conf_type_id", "id", "pdbx_PDB_helix_id", "pdbx_PDB_helix_class", "pdbx_PDB_helix_length"},
				rangeItems...)...)
		class := map[byte]string{AlphaHelix: "1", PiHelix: "3", Helix310: "5"}
		for k, r := range helices {
			n := strconv.Itoa(k + 1)
			c.row(append([]string{"HELX_P", "HELX_P" + n, n, class[r.state], strconv.Itoa(r.to - r.from + 1)},
				c.rangeValues(r)...)...)
		}
		c.end()
	}
	if len(strands) == 0 {
		return
	}
	slices.SortStableFunc(strands, func(a, b run) int { return cmp.Compare(a.sheet, b.sheet) })
	count := map[int]int{}
	for _, r := range strands {
		count[r.sheet]++
	}
	c.loop("struct_sheet", "id", "number_strands")
	for k := range len(count) {
		c.row(words.LetterName(k), strconv.Itoa(count[k]))
	}
	c.end()
	c.loop("struct_sheet_range", append([]string{"sheet_id", "id"}, rangeItems...)...)
	clear(count)
	for _, r := range strands {
		count[r.sheet]++
		c.row(append([]string{words.LetterName(r.sheet), strconv.Itoa(count[r.sheet])}, c.rangeValues(r)...)...)
	}
	c.end()
}

// rangeItems are the items by which a helix or strand names its first and last residue; ends returns their values.
var rangeItems = []string{"beg_label_comp_id", "beg_label_asym_id", "beg_label_seq_id", "pdbx_beg_PDB_ins_code",
	"end_label_comp_id",
	"end_label_asym_id", "end_label_seq_id", "pdbx_end_PDB_ins_code", "beg_auth_comp_id", "beg_auth_asym_id",
	"beg_auth_seq_id",
	"end_auth_comp_id", "end_auth_asym_id", "end_auth_seq_id"}

// rangeValues returns the values of rangeItems for a helix or strand.
func (c *cifWriter) rangeValues(r run) []string {
	chain := &c.s.Chains[r.chain]
	a, b := &chain.Residues[r.from], &chain.Residues[r.to]
	auth, label := c.auth[r.chain], c.labels[r.chain]
	return []string{a.Comp, label, strconv.Itoa(a.Seq), a.Ins, b.Comp, label, strconv.Itoa(b.Seq), b.Ins,
		a.Comp, chain.ID, strconv.Itoa(auth[r.from]), b.Comp, chain.ID, strconv.Itoa(auth[r.to])}
}
