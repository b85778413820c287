package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pleat"
	"pleat/api"
)

// openFoldFile is a set of queries of OpenFold3:
// https://github.com/aqlaboratory/openfold-3/blob/main/docs/source/input_format.md, and for the fields that the page
// does not have openfold3/projects/of3_all_atom/config/inference_query_format.py of that project.
type openFoldFile struct {
	// Queries are jobs by name. They are read one by one, since an object has an order in a file and none in Go.
	Queries json.RawMessage `json:"queries"`
	// Seeds are those of all queries. A job takes the first.
	Seeds []any  `json:"seeds" maxItems:"1000"`
	CCD   string `json:"ccd_file_path"`
}

// openFoldQuery is one job.
type openFoldQuery struct {
	Name     string          `json:"query_name"` // in logged sets; equal to the key
	Chains   []openFoldChain `json:"chains" maxItems:"256"`
	MSAs     *bool           `json:"use_msas"` // absent: true
	MainMSAs *bool           `json:"use_main_msas"`
	Paired   *bool           `json:"use_paired_msas"`
	Bonds    []any           `json:"covalent_bonds"`
}

// openFoldChain is a molecule in one copy for each of its chains.
type openFoldChain struct {
	// Type is protein, rna, dna or ligand, in any case.
	Type string `json:"molecule_type"`
	// IDs is a string or a list of strings.
	IDs      any    `json:"chain_ids"`
	Sequence string `json:"sequence"`
	// Residues maps numbers of residues, from 1, to the codes that replace them.
	Residues map[string]any `json:"non_canonical_residues"`
	SMILES   string         `json:"smiles"`
	// Codes is a CCD code or a list of them.
	Codes     any    `json:"ccd_codes"`
	SDF       string `json:"sdf_file_path"`
	MSAs      *bool  `json:"use_msas"`
	MainMSAs  *bool  `json:"use_main_msas"`
	Paired    *bool  `json:"use_paired_msas"`
	Main      any    `json:"main_msa_file_paths"`   // a path or a list of paths
	Pairs     any    `json:"paired_msa_file_paths"` // the same
	Template  string `json:"template_alignment_file_path"`
	Templates any    `json:"template_entry_chain_ids"`
	// Structures is a path or a list of paths; Names are their chains, text or null each.
	Structures any `json:"template_cif_paths"`
	Names      any `json:"template_cif_chain_ids"`
}

// readOpenFold3 reads a job from each query.
func readOpenFold3(text string, in *reading) error {
	var f openFoldFile
	if err := api.DecodeAs("the file", []byte(text), &f); err != nil {
		return err
	}
	if f.CCD != "" {
		return refusePath("ccd_file_path", f.CCD)
	}
	queries := 0
	dec := json.NewDecoder(bytes.NewReader(f.Queries))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return pleat.Invalidf("queries is required; it must be an object with a query by each name")
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return pleat.Invalidf("queries is not JSON: %s", err)
		}
		name, _ := t.(string)
		at := fmt.Sprintf("queries[%q]", pleat.Clip(name))
		queries++
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return pleat.Invalidf("%s is not JSON: %s", at, err)
		}
		var q openFoldQuery
		if err := decodePart(at, "the query", raw, &q); err != nil {
			return err
		}
		if err := in.draft(at+".").addOpenFoldQuery(name, &q, f.Seeds); err != nil {
			return err
		}
	}
	if queries == 0 {
		return pleat.Invalidf("queries is empty; it must hold at least 1 query")
	}
	return nil
}

// addOpenFoldQuery reads one query into d.
func (d *draft) addOpenFoldQuery(name string, q *openFoldQuery, seeds []any) error {
	if q.Name != "" && q.Name != name {
		return pleat.Invalidf("%squery_name is %q; it must be absent or the name of the query", d.at,
			pleat.Clip(q.Name))
	}
	if len(q.Bonds) > 0 {
		return pleat.Invalidf("%scovalent_bonds is not taken: it gives atoms by number, and a job by name; use "+
			"AlphaFold 3 JSON or Boltz YAML", d.at)
	}
	if len(q.Chains) == 0 {
		return pleat.Invalidf("%schains is empty; it must hold at least 1 chain", d.at)
	}
	if err := d.seeds("seeds", seeds); err != nil {
		return err
	}
	for _, u := range []struct {
		field string
		use   *bool
	}{{"use_main_msas", q.MainMSAs}, {"use_paired_msas", q.Paired}} {
		d.noteUse(d.at+u.field, u.use)
	}
	for i := range q.Chains {
		c := &q.Chains[i]
		if q.MSAs != nil && !*q.MSAs {
			c.MSAs = q.MSAs
		}
		if err := d.addOpenFoldChain(fmt.Sprintf("%schains[%d]", d.at, i), c); err != nil {
			return err
		}
	}
	if err := d.nameChains(); err != nil {
		return err
	}
	if err := d.addTemplates(); err != nil {
		return err
	}
	return d.finish(name)
}

// noteUse notes that a job cannot do without one kind of alignments alone.
func (d *draft) noteUse(at string, use *bool) {
	if use != nil && !*use {
		d.addNote("%s false was dropped: a job uses all alignments or none", at)
	}
}

// addOpenFoldChain adds one molecule.
func (d *draft) addOpenFoldChain(at string, c *openFoldChain) error {
	ids, err := textsOf(at+".chain_ids", c.IDs, pleat.MaxChains)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return pleat.Invalidf("%s.chain_ids is required; it must be the name of a chain, or a list of them", at)
	}
	kind := pleat.EntityKind(strings.ToLower(c.Type))
	switch {
	case kind == pleat.Ligand:
		return d.addOpenFoldLigand(at, c, ids)
	case pleat.Letters(kind) == "":
		return pleat.Invalidf("%s.molecule_type is %q; it must be protein, rna, dna or ligand", at, pleat.Clip(c.Type))
	case c.SMILES != "" || c.Codes != nil || c.SDF != "":
		return pleat.Invalidf("%s has smiles, ccd_codes or sdf_file_path, which are fields of a ligand; its "+
			"molecule_type is %q", at, kind)
	case c.Template != "":
		return pleat.Invalidf("%s.template_alignment_file_path names the file %q; jobs take structures as templates: "+
			"use template_cif_paths", at, pleat.Clip(c.Template))
	case c.Templates != nil:
		return pleat.Invalidf("%s.template_entry_chain_ids names templates of a list of hits; jobs take structures: "+
			"use template_cif_paths", at)
	}
	codes, err := residueCodes(at+".non_canonical_residues", c.Residues)
	if err != nil {
		return err
	}
	text, err := d.polymer(at+".sequence", kind, d.placeholders(at+".sequence", kind, c.Sequence, codes))
	if err != nil {
		return err
	}
	q := pleat.Sequence{Kind: kind, Text: text}
	for _, i := range slices.Sorted(maps.Keys(codes)) {
		err := modify(&q, at, fmt.Sprintf("non_canonical_residues[%q]", strconv.Itoa(i)), "non_canonical_residues", i,
			codes[i])
		if err != nil {
			return err
		}
	}
	if err := d.addOpenFoldAlignments(at, &q, c); err != nil {
		return err
	}
	if err := d.addOpenFoldTemplates(at, kind, c, ids); err != nil {
		return err
	}
	return d.add(entity{at, q, ids})
}

// addOpenFoldTemplates records the structures that a chain names as its templates.
func (d *draft) addOpenFoldTemplates(at string, kind pleat.EntityKind, c *openFoldChain, ids []string) error {
	names, err := textsOf(at+".template_cif_paths", c.Structures, pleat.MaxTemplates)
	if err != nil {
		return err
	}
	if len(names) > 0 && kind != pleat.Protein {
		return pleat.Invalidf("%s.template_cif_paths is on %s; jobs have templates of proteins alone: leave it out", at,
			article(kind))
	}
	chains, isList := c.Names.([]any)
	if c.Names != nil && !isList {
		chains = []any{c.Names}
	}
	if len(chains) > 0 && len(chains) != len(names) {
		return pleat.Invalidf("%s.template_cif_chain_ids has %d items and template_cif_paths %d; give one for each "+
			"file, or none", at, len(chains), len(names))
	}
	for i, name := range names {
		t := draftTemplate{at: fmt.Sprintf("%s.template_cif_paths[%d]", at, i), name: name, ids: ids}
		if len(chains) > 0 && chains[i] != nil {
			chain, isText := chains[i].(string)
			if !isText {
				return pleat.Invalidf("%s.template_cif_chain_ids[%d] must be the name of a chain, or null", at, i)
			}
			t.chain = chain
		}
		d.templates = append(d.templates, t)
	}
	return nil
}

// residueCodes reads the codes of residues by their numbers.
func residueCodes(at string, all map[string]any) (map[int]string, error) {
	out := map[int]string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		i, err := wholeOf(at, key, pleat.MaxResidues, "a residue")
		if err != nil {
			return nil, err
		}
		code, isText := all[key].(string)
		if !isText {
			return nil, pleat.Invalidf("%s[%q] must be a CCD code, such as \"SEP\"", at, pleat.Clip(key))
		}
		if out[i] != "" {
			return nil, pleat.Invalidf("%s names residue %d twice", at, i)
		}
		out[i] = code
	}
	return out, nil
}

// placeholders replaces letters that the kind does not have, at residues that a code replaces, by the unknown residue:
// OpenFold3 writes the letter of the modified residue there, such as U in DNA.
func (d *draft) placeholders(at string, kind pleat.EntityKind, text string, codes map[int]string) string {
	all := pleat.Letters(kind)
	out := []rune(text)
	for i := range out {
		if codes[i+1] != "" && !strings.ContainsRune(all, unicode.ToUpper(out[i])) {
			d.addNote("%s: the letter %q of residue %d became %s, since %s replaces the residue", at, out[i], i+1,
				all[len(all)-1:], pleat.Clip(codes[i+1]))
			out[i] = rune(all[len(all)-1])
		}
	}
	return string(out)
}

// addOpenFoldLigand adds a ligand by SMILES or by CCD code.
func (d *draft) addOpenFoldLigand(at string, c *openFoldChain, ids []string) error {
	codes, err := textsOf(at+".ccd_codes", c.Codes, maxParts)
	switch {
	case err != nil:
		return err
	case c.SDF != "":
		return refusePath(at+".sdf_file_path", c.SDF)
	case c.Sequence+c.Template != "" || c.Residues != nil || c.Main != nil || c.Pairs != nil || c.Templates != nil ||
		c.Structures != nil:
		return pleat.Invalidf("%s has fields of a polymer, and its molecule_type is \"ligand\"", at)
	case (c.SMILES != "") == (len(codes) > 0):
		return pleat.Invalidf("%s must have exactly one of smiles and ccd_codes", at)
	case len(codes) > 1:
		return pleat.Invalidf("%s.ccd_codes holds %d codes, and the format has no bonds between them by name: give "+
			"each component a ligand of its own, or use AlphaFold 3 JSON", at, len(codes))
	}
	var q pleat.Sequence
	if c.SMILES != "" {
		q, err = smilesLigand(at+".smiles", c.SMILES)
	} else {
		q, err = ccdLigand(at+".ccd_codes", codes[0])
	}
	if err != nil {
		return err
	}
	return d.add(entity{at, q, ids})
}

// addOpenFoldAlignments takes the alignment of a chain from the file that it names.
func (d *draft) addOpenFoldAlignments(at string, q *pleat.Sequence, c *openFoldChain) error {
	d.noteUse(at+".use_main_msas", c.MainMSAs)
	d.noteUse(at+".use_paired_msas", c.Paired)
	without := c.MSAs != nil && !*c.MSAs
	if without && q.Kind == pleat.Protein {
		d.unpaired = append(d.unpaired, at+".use_msas false")
	}
	files, err := textsOf(at+".main_msa_file_paths", c.Main, maxParts)
	if err != nil {
		return err
	}
	pairs, err := textsOf(at+".paired_msa_file_paths", c.Pairs, maxParts)
	if err != nil {
		return err
	}
	switch {
	case without && len(files)+len(pairs) > 0:
		return pleat.Invalidf("%s.use_msas is false and the chain names alignments; leave one of them out", at)
	case len(files) > 1 && d.opt.Files.Alignment != nil:
		return pleat.Invalidf("%s.main_msa_file_paths names %d files; a chain of a job has one alignment: join them",
			at, len(files))
	case len(files) > 0:
		if err := d.align(q, at+".main_msa_file_paths", files[0]); err != nil {
			return err
		}
	}
	for _, name := range pairs {
		if err := d.alignPaired(at+".paired_msa_file_paths", name, len(files) > 0); err != nil {
			return err
		}
	}
	return nil
}

// textsOf reads a text, or a list of at most the given number of them. An absent value is an empty list.
func textsOf(at string, v any, most int) ([]string, error) {
	list, isList := v.([]any)
	switch {
	case v == nil:
		return nil, nil
	case !isList:
		list = []any{v}
	case len(list) > most:
		return nil, pleat.Invalidf("%s has %d items; at most %d are allowed", at, len(list), most)
	}
	var out []string
	for i, v := range list {
		s, isText := v.(string)
		if !isText || s == "" || strings.HasPrefix(s, madeID) {
			if isList {
				at = fmt.Sprintf("%s[%d]", at, i)
			}
			return nil, pleat.Invalidf("%s must be a text, or a list of texts", at)
		}
		out = append(out, s)
	}
	return out, nil
}
