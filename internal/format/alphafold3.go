package format

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
)

// af3Job is a job of AlphaFold 3, versions 1 to 4:
// https://github.com/google-deepmind/alphafold3/blob/main/docs/input.md
type af3Job struct {
	// Name becomes the name of the job.
	Name string `json:"name"`
	// ModelSeeds are whole numbers or strings. The job takes the first.
	ModelSeeds []any `json:"modelSeeds"`
	// Sequences are the entities; a job holds at most 256.
	Sequences []af3Item `json:"sequences" maxItems:"256"`
	// Bonds are pairs of atoms, each a list of chain, residue from 1 and atom name.
	Bonds [][][]any `json:"bondedAtomPairs,omitempty" maxItems:"1000"`
	// UserCCD defines components of the file's own in mmCIF, each in a data block; UserCCDPath names a file of them.
	UserCCD     *string `json:"userCCD,omitempty"`
	UserCCDPath *string `json:"userCCDPath,omitempty"`
	// Dialect is alphafold3, which distinguishes the file from the AlphaFold Server's.
	Dialect string `json:"dialect"`
	// Version is 1 to af3Versions. Export writes 1, or 4 where a sequence has a label.
	Version *int `json:"version"`
}

// af3Item is an entity of an AlphaFold 3 input; exactly one field is set.
type af3Item struct {
	Protein *af3Chain  `json:"protein,omitempty"`
	RNA     *af3Chain  `json:"rna,omitempty"`
	DNA     *af3Chain  `json:"dna,omitempty"`
	Ligand  *af3Ligand `json:"ligand,omitempty"`
}

// af3Chain is a polymer in one copy for each id. Alignments and templates inside the file are not imported; Detach
// takes the templates out of it.
type af3Chain struct {
	// ID is a string, or a list with one string for each copy.
	ID any `json:"id"` // a string, or a list of strings
	// Sequence has one-letter codes; white space is ignored.
	Sequence string `json:"sequence"`
	// Modifications replace single residues.
	Modifications []replaced `json:"modifications,omitempty"`
	// Description becomes the label of the sequence; it exists from version 4.
	Description string `json:"description,omitempty"`
	// UnpairedMSA and PairedMSA hold A3M text, and their Path fields file names.
	UnpairedMSA     *string `json:"unpairedMsa,omitempty"`
	UnpairedMSAPath *string `json:"unpairedMsaPath,omitempty"`
	PairedMSA       *string `json:"pairedMsa,omitempty"`
	PairedMSAPath   *string `json:"pairedMsaPath,omitempty"`
	// Templates of a protein. Those inside the file are dropped with a note, see Detach.
	Templates []af3Template `json:"templates,omitempty"`
}

// af3Template is a structural template.
type af3Template struct {
	// CIF is the text of an mmCIF file; CIFPath names one.
	CIF     *string `json:"mmcif,omitempty"`
	CIFPath *string `json:"mmcifPath,omitempty"`
	// QueryIndices and TemplateIndices map residues, from 0.
	QueryIndices    []int `json:"queryIndices"`
	TemplateIndices []int `json:"templateIndices"`
}

// af3Ligand is a ligand given by CCD codes or by SMILES.
type af3Ligand struct {
	ID any `json:"id"`
	// CCDCodes are the components of the ligand. Several are bonded by bondedAtomPairs, which name them as residues.
	CCDCodes []string `json:"ccdCodes,omitempty"`
	// SMILES excludes CCDCodes.
	SMILES      *string `json:"smiles,omitempty"`
	Description string  `json:"description,omitempty"`
}

// af3Versions is the latest version of the format that is read.
const af3Versions = 4

// readAlphaFold3 reads one job.
func readAlphaFold3(text string, in *reading) error {
	var j af3Job
	if err := decodeOne(text, &j); err != nil {
		return err
	}
	d := in.draft("")
	switch {
	case j.Dialect != "alphafold3":
		return pleat.Invalidf("dialect is %q; it must be \"alphafold3\"", pleat.Clip(j.Dialect))
	case j.Version == nil || *j.Version < 1 || *j.Version > af3Versions:
		return pleat.Invalidf("version must be 1 to %d", af3Versions)
	}
	if err := d.addUserCCD(&j); err != nil {
		return err
	}
	if err := d.seeds("modelSeeds", j.ModelSeeds); err != nil {
		return err
	}
	for i := range j.Sequences {
		if err := d.addAF3Item(fmt.Sprintf("sequences[%d]", i), &j.Sequences[i]); err != nil {
			return err
		}
	}
	if err := d.nameChains(); err != nil {
		return err
	}
	if err := d.addTemplates(); err != nil {
		return err
	}
	for i, pair := range j.Bonds {
		if err := d.addAF3Bond(fmt.Sprintf("bondedAtomPairs[%d]", i), pair); err != nil {
			return err
		}
	}
	return d.finish(j.Name)
}

// addAF3Item adds one entity. at is its path in the file.
func (d *draft) addAF3Item(at string, item *af3Item) error {
	chain := func(kind pleat.EntityKind, c *af3Chain) alternative {
		return alternative{string(kind), c != nil, func(at string) error { return d.addAF3Chain(at, kind, c) }}
	}
	return addOne(at, []alternative{
		chain(pleat.Protein, item.Protein),
		chain(pleat.RNA, item.RNA),
		chain(pleat.DNA, item.DNA),
		{"ligand", item.Ligand != nil, func(at string) error { return d.addAF3Ligand(at, item.Ligand) }},
	})
}

// addAF3Chain adds a polymer with its modifications.
func (d *draft) addAF3Chain(at string, kind pleat.EntityKind, c *af3Chain) error {
	ids, err := af3IDs(at+".id", c.ID)
	if err != nil {
		return err
	}
	text, err := d.polymer(at+".sequence", kind, c.Sequence)
	if err != nil {
		return err
	}
	q := pleat.Sequence{Kind: kind, Text: text, Label: d.label(at+".description", c.Description)}
	if err := d.addAF3Alignments(at, &q, ids, c); err != nil {
		return err
	}
	if err := modifyAll(&q, at, c.Modifications); err != nil {
		return err
	}
	return d.add(entity{at, q, ids})
}

// addAF3Alignments takes the alignment and the templates of a chain from files, and records what else there is about
// them that a job does not take.
func (d *draft) addAF3Alignments(at string, q *pleat.Sequence, ids []string, c *af3Chain) error {
	unpaired, paired := text(c.UnpairedMSAPath), text(c.PairedMSAPath)
	if err := d.align(q, at+".unpairedMsaPath", unpaired); err != nil {
		return err
	}
	if err := d.alignPaired(at+".pairedMsaPath", paired, unpaired != ""); err != nil {
		return err
	}
	for _, m := range []struct{ field, msa string }{
		{"unpairedMsa", text(c.UnpairedMSA)}, {"pairedMsa", text(c.PairedMSA)},
	} {
		if m.msa != "" {
			d.addNote("%s.%s, an alignment of %d sequences inside the file, was dropped: a job takes alignments as "+
				"files of the library", at, m.field, strings.Count("\n"+m.msa, "\n>"))
		}
	}
	if q.Kind == pleat.Protein && c.UnpairedMSA != nil && text(c.UnpairedMSA)+text(c.PairedMSA)+paired == "" {
		d.unpaired = append(d.unpaired, at+".unpairedMsa")
	}
	if len(c.Templates) > 0 && q.Kind != pleat.Protein {
		return pleat.Invalidf("%s.templates is on %s; jobs have templates of proteins alone: leave it out", at,
			article(q.Kind))
	}
	inside := 0
	for i, t := range c.Templates {
		if (t.CIF == nil) == (t.CIFPath == nil) {
			return pleat.Invalidf("%s.templates[%d] must have exactly one of mmcif and mmcifPath", at, i)
		}
		if t.CIF != nil {
			inside++
			continue
		}
		field := "mmcifPath"
		if strings.HasPrefix(*t.CIFPath, detached) {
			field = "mmcif"
		}
		d.templates = append(d.templates, draftTemplate{
			at:     fmt.Sprintf("%s.templates[%d].%s", at, i, field),
			name:   *t.CIFPath,
			ids:    ids,
			mapped: len(t.QueryIndices) > 0,
		})
	}
	if inside > 0 {
		d.addNote("%s.templates, %d inside the file, was dropped: a job takes templates as files of the library, to "+
			"which pleat fold and pleat batch upload them", at, inside)
	}
	return nil
}

// text returns the text of an optional field.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// addAF3Ligand adds a ligand, of one component or several.
func (d *draft) addAF3Ligand(at string, l *af3Ligand) error {
	ids, err := af3IDs(at+".id", l.ID)
	if err != nil {
		return err
	}
	var q pleat.Sequence
	label := d.label(at+".description", l.Description)
	switch {
	case (l.SMILES != nil) == (len(l.CCDCodes) > 0):
		return pleat.Invalidf("%s must have exactly one of ccdCodes and smiles", at)
	case len(l.CCDCodes) > 1:
		return d.addParts(at+".ccdCodes", l.CCDCodes, ids, label)
	case l.SMILES != nil:
		q, err = smilesLigand(at+".smiles", *l.SMILES)
	default:
		q, err = ccdLigand(at+".ccdCodes[0]", l.CCDCodes[0])
	}
	if err != nil {
		return err
	}
	q.Label = label
	return d.add(entity{at, q, ids})
}

// af3IDs returns the ids of an entity, one for each copy: id is a string or a list of them.
func af3IDs(at string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var ids []string
	for i, v := range list {
		id, isText := v.(string)
		switch {
		case len(list) == 0 || !isText || id == "":
			if ok {
				at = fmt.Sprintf("%s[%d]", at, i)
			}
			return nil, pleat.Invalidf("%s must be the name of a chain, such as \"A\"", at)
		case len(list) > pleat.MaxChains:
			return nil, pleat.Invalidf("%s has %d names; at most %d are allowed", at, len(list), pleat.MaxChains)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, pleat.Invalidf("%s is empty; it must be the name of a chain, such as \"A\"", at)
	}
	return ids, nil
}

// addAF3Bond adds a covalent bond between two atoms, each given as chain, residue and atom name.
func (d *draft) addAF3Bond(at string, pair [][]any) error {
	if len(pair) != 2 {
		return pleat.Invalidf(
			"%s must be two atoms, each a list of chain, residue and atom, such as [\"A\", 145, \"SG\"]", at)
	}
	var atoms [2]pleat.AtomRef
	for i, a := range pair {
		at := fmt.Sprintf("%s[%d]", at, i)
		var chain, atom string
		index, ok := 0, len(a) == 3
		if ok {
			chain, _ = a[0].(string)
			atom, _ = a[2].(string)
			n, isNumber := a[1].(json.Number)
			k, err := strconv.Atoi(string(n))
			index, ok = k, isNumber && err == nil && atom != ""
		}
		if !ok {
			return pleat.Invalidf("%s must be a list of chain, residue and atom, such as [\"A\", 145, \"SG\"]", at)
		}
		r, err := d.residue(at, chain, index)
		if err != nil {
			return err
		}
		atoms[i] = pleat.AtomRef{Chain: r.Chain, Residue: r.Residue, Atom: atom}
	}
	d.job.Constraints.Bond = append(d.job.Constraints.Bond, pleat.Bond{Atom1: atoms[0], Atom2: atoms[1]})
	return nil
}

// writeAlphaFold3 writes the job in the oldest version of the format that can express it.
func writeAlphaFold3(j *pleat.Job, out *writing) ([]byte, error) {
	version := 1
	seed, ok := j.Params.Seed()
	if !ok {
		seed = "1"
		out.addNote("modelSeeds is [1]: AlphaFold 3 needs a seed and the job has none")
	}
	file := af3Job{Name: j.Name, ModelSeeds: []any{json.Number(seed)}, Sequences: []af3Item{}, Dialect: "alphafold3"}
	names := out.capitals(j)
	none, held := withoutAlignments(j)
	for i := range j.Sequences {
		q := &j.Sequences[i]
		if q.Label != "" {
			version = 4 // the first version with description
		}
		var ids []string
		for _, c := range q.Chains {
			ids = append(ids, names[c])
		}
		item := af3ItemOf(q, ids)
		if none && item.Protein != nil {
			item.Protein.UnpairedMSA, item.Protein.PairedMSA = new(string), new(string)
		}
		file.Sequences = append(file.Sequences, item)
		out.properties(q, i, "cyclic", "property_type")
	}
	for _, b := range j.Constraints.Bond {
		var pair [][]any
		for _, a := range []pleat.AtomRef{b.Atom1, b.Atom2} {
			pair = append(pair, []any{names[a.Chain], a.Residue, a.Atom})
		}
		file.Bonds = append(file.Bonds, pair)
	}
	file.Version = &version
	out.constraints(&j.Constraints, "bond")
	out.params(j, nil, append(held, "seed")...)
	return api.EncodeIndent(file)
}

// af3ItemOf returns the entity of a sequence with the given chain ids.
func af3ItemOf(q *pleat.Sequence, ids []string) af3Item {
	var id any = ids
	if len(ids) == 1 {
		id = ids[0]
	}
	if q.Kind == pleat.Ligand {
		l := &af3Ligand{ID: id, Description: q.Label}
		if q.CCD {
			l.CCDCodes = []string{q.Text}
		} else {
			l.SMILES = &q.Text
		}
		return af3Item{Ligand: l}
	}
	c := &af3Chain{ID: id, Sequence: q.Text, Modifications: replacedOf(q, ""), Description: q.Label}
	switch q.Kind {
	case pleat.RNA:
		return af3Item{RNA: c}
	case pleat.DNA:
		return af3Item{DNA: c}
	}
	return af3Item{Protein: c}
}

// capitals returns the file's chain name for each chain of the job: AlphaFold 3 accepts capital letters only.
func (w *writing) capitals(j *pleat.Job) map[string]string {
	fits := func(name string) bool { return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" }
	var other pleat.Job // has one chain for each name: valid names are kept, the others get the next free name
	var all []string
	for i := range j.Sequences {
		for _, c := range j.Sequences[i].Chains {
			q := pleat.Sequence{Kind: pleat.Protein, Count: 1}
			if fits(c) {
				q.ChainID = c
			}
			all = append(all, c)
			other.Sequences = append(other.Sequences, q)
		}
	}
	names := map[string]string{}
	_ = other.NameChains() // the number and the names of the chains are valid
	for i, c := range all {
		if names[c] = other.Sequences[i].Chains[0]; names[c] != c {
			w.addNote("The chain %s is called %s in the file: AlphaFold 3 takes capital letters alone", c, names[c])
		}
	}
	return names
}
