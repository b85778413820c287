package format

import (
	"fmt"
	"slices"
	"strings"

	"pleat"
	"pleat/api"
)

// serverJob is a job of the AlphaFold Server: https://github.com/google-deepmind/alphafold/tree/main/server.
type serverJob struct {
	Name string `json:"name"`
	// ModelSeeds are whole numbers or strings. The job takes the first.
	ModelSeeds []any `json:"modelSeeds"`
	// Sequences are the entities; a job holds at most 256.
	Sequences []serverItem `json:"sequences" maxItems:"256"`
	// Dialect is alphafoldserver where it is given.
	Dialect string `json:"dialect,omitempty"`
	// Version is 1 where it is given.
	Version *int `json:"version,omitempty"`
}

// serverItem is an entity of an AlphaFold Server job; exactly one field is set.
type serverItem struct {
	ProteinChain *serverChain  `json:"proteinChain,omitempty"`
	RNASequence  *serverChain  `json:"rnaSequence,omitempty"`
	DNASequence  *serverChain  `json:"dnaSequence,omitempty"`
	Ligand       *serverLigand `json:"ligand,omitempty"`
	Ion          *serverIon    `json:"ion,omitempty"`
}

// serverChain is a polymer in Count copies. Templates are not imported.
type serverChain struct {
	Sequence string `json:"sequence"`
	// Glycans are on residues of a protein, in each of its copies.
	Glycans []serverGlycan `json:"glycans,omitempty"`
	// Modifications replace single residues; their codes have the prefix CCD_.
	Modifications []replaced `json:"modifications,omitempty"`
	// Count is the number of copies; absent means 1.
	Count *int `json:"count"`
	// UseTemplate and MaxTemplateDate are dropped with a note.
	UseTemplate     *bool   `json:"useStructureTemplate,omitempty"`
	MaxTemplateDate *string `json:"maxTemplateDate,omitempty"`
}

// serverGlycan is a tree of sugars on a residue. The file does not name the atoms of its bonds.
type serverGlycan struct {
	// Residues holds CCD codes, those of further sugars in parentheses behind the one that they are on.
	Residues string `json:"residues"`
	// Position is the residue, from 1, that the glycan is bonded to.
	Position int `json:"position"`
}

// serverLigand is a ligand by CCD code with the prefix CCD_, in Count copies.
type serverLigand struct {
	// Ligand is a CCD code with the prefix CCD_.
	Ligand string `json:"ligand"`
	Count  *int   `json:"count"`
}

// serverIon is an ion by CCD code, in Count copies.
type serverIon struct {
	// Ion is a CCD code without a prefix, such as MG.
	Ion   string `json:"ion"`
	Count *int   `json:"count"`
}

// replaced is a modified residue in both dialects of AlphaFold. Proteins use the first two fields, nucleic acids the
// others.
type replaced struct {
	// PTMType and PTMPosition are the component and the residue, from 1, of a protein.
	PTMType     string `json:"ptmType,omitempty"`
	PTMPosition int    `json:"ptmPosition,omitempty"`
	// BaseType and BasePosition are those of a nucleic acid.
	BaseType     string `json:"modificationType,omitempty"`
	BasePosition int    `json:"basePosition,omitempty"`
}

// replacedOf returns the modifications of a sequence in the fields of its kind; prefix precedes each code.
func replacedOf(q *pleat.Sequence, prefix string) []replaced {
	var out []replaced
	for _, m := range q.Modifications {
		if q.Kind == pleat.Protein {
			out = append(out, replaced{PTMType: prefix + m.CCD, PTMPosition: m.Residue})
		} else {
			out = append(out, replaced{BaseType: prefix + m.CCD, BasePosition: m.Residue})
		}
	}
	return out
}

// modifyAll replaces the residues that the file lists. at is the path of the chain.
func modifyAll(q *pleat.Sequence, at string, list []replaced) error {
	for i, m := range list {
		at := fmt.Sprintf("%s.modifications[%d]", at, i)
		kind, position, code, index := "ptmType", "ptmPosition", m.PTMType, m.PTMPosition
		wrong := m.BaseType != "" || m.BasePosition != 0
		if q.Kind != pleat.Protein {
			kind, position, code, index = "modificationType", "basePosition", m.BaseType, m.BasePosition
			wrong = m.PTMType != "" || m.PTMPosition != 0
		}
		if wrong {
			return pleat.Invalidf("%s must have %s and %s alone, since its chain is a %s", at, kind, position, q.Kind)
		}
		if err := modify(q, at, position, kind, index, strings.TrimPrefix(code, codePrefix)); err != nil {
			return err
		}
	}
	return nil
}

// codePrefix precedes the CCD codes of ligands and modifications in files of the AlphaFold Server.
const codePrefix = "CCD_"

// readServer reads a list of jobs, or a single job with a note.
func readServer(text string, in *reading) error {
	return eachJob(text, in, "the AlphaFold Server", readServerJob)
}

// readServerJob reads one job of the list into d.
func readServerJob(j *serverJob, d *draft) error {
	if j.Dialect != "" && j.Dialect != "alphafoldserver" {
		return pleat.Invalidf("%sdialect is %q; it must be \"alphafoldserver\"", d.at, pleat.Clip(j.Dialect))
	}
	if j.Version != nil && *j.Version != 1 {
		return pleat.Invalidf("%sversion is %d; it must be 1", d.at, *j.Version)
	}
	if err := d.seeds(d.at+"modelSeeds", j.ModelSeeds); err != nil {
		return err
	}
	for i := range j.Sequences {
		if err := d.addServerItem(fmt.Sprintf("%ssequences[%d]", d.at, i), &j.Sequences[i]); err != nil {
			return err
		}
	}
	for i := range d.glycans { // behind the entities of the file, which keep the names of their chains
		if err := d.addSugars(&d.glycans[i], ""); err != nil {
			return err
		}
	}
	if err := d.nameChains(); err != nil {
		return err
	}
	if err := d.bondGlycans(); err != nil {
		return err
	}
	return d.finish(j.Name)
}

// addServerItem adds one entity. at is its path in the file.
func (d *draft) addServerItem(at string, item *serverItem) error {
	chain := func(kind pleat.EntityKind, c *serverChain) func(string) error {
		return func(at string) error { return d.addServerChain(at, kind, c) }
	}
	return addOne(at, []alternative{
		{"proteinChain", item.ProteinChain != nil, chain(pleat.Protein, item.ProteinChain)},
		{"rnaSequence", item.RNASequence != nil, chain(pleat.RNA, item.RNASequence)},
		{"dnaSequence", item.DNASequence != nil, chain(pleat.DNA, item.DNASequence)},
		{"ligand", item.Ligand != nil, func(at string) error {
			return d.addComponent(at, at+".ligand", item.Ligand.Ligand, item.Ligand.Count)
		}},
		{"ion", item.Ion != nil, func(at string) error {
			return d.addComponent(at, at+".ion", item.Ion.Ion, item.Ion.Count)
		}},
	})
}

// alternative is one of the kinds that an item may be of: its key, whether the item has it, and what adds it.
type alternative struct {
	key     string
	present bool
	add     func(at string) error
}

// addOne adds the item at a path. It returns an error for an item of several kinds or none.
func addOne(at string, kinds []alternative) (err error) {
	var all, taken []string
	for _, k := range kinds {
		if all = append(all, k.key); !k.present {
			continue
		}
		if taken = append(taken, k.key); len(taken) == 1 {
			err = k.add(at + "." + k.key)
		}
	}
	switch must := at + " must have exactly one of " + strings.Join(all, ", "); {
	case len(taken) == 0:
		return pleat.Invalidf("%s; it has none of them", must)
	case len(taken) > 1:
		return pleat.Invalidf("%s; it has %s", must, strings.Join(taken, " and "))
	}
	return err
}

// addServerChain adds a polymer.
func (d *draft) addServerChain(at string, kind pleat.EntityKind, c *serverChain) error {
	if c.UseTemplate != nil {
		d.addNote("%s.useStructureTemplate %t was dropped: a job names its templates itself", at, *c.UseTemplate)
	}
	if c.MaxTemplateDate != nil {
		d.addNote("%s.maxTemplateDate %q was dropped: a job names its templates itself", at,
			pleat.Clip(*c.MaxTemplateDate))
	}
	text, err := d.polymer(at+".sequence", kind, c.Sequence)
	if err != nil {
		return err
	}
	q := pleat.Sequence{Kind: kind, Text: text}
	if err := modifyAll(&q, at, c.Modifications); err != nil {
		return err
	}
	ids, err := copies(at, c.Count)
	if err != nil {
		return err
	}
	if len(c.Glycans) > 0 {
		if err := d.addServerGlycans(at, &q, c.Glycans, ids); err != nil {
			return err
		}
	}
	return d.add(entity{at, q, ids})
}

// addComponent adds a ligand or an ion by its CCD code.
func (d *draft) addComponent(at, field, code string, count *int) error {
	q, err := ccdLigand(field, strings.TrimPrefix(code, codePrefix))
	if err != nil {
		return err
	}
	ids, err := copies(at, count)
	if err != nil {
		return err
	}
	return d.add(entity{at, q, ids})
}

// The components that the AlphaFold Server accepts by its documentation.
var (
	// serverIons, serverLigands and serverModifications hold CCD codes.
	serverIons          = strings.Fields("MG ZN CL CA NA MN K FE CU CO")
	serverLigands       = strings.Fields("ADP ATP AMP GTP GDP FAD NAD NAP NDP HEM HEC PLM OLA MYR CIT CLA CHL BCL BCB")
	serverModifications = map[pleat.EntityKind][]string{
		pleat.Protein: strings.Fields(
			"SEP TPO PTR NEP HIP ALY MLY M3L MLZ 2MR AGM MCS HYP HY3 LYZ AHB P1L SNN SNC TRF KCR CIR YHA"),
		pleat.DNA: strings.Fields("5CM C34 5HC 6OG 6MA 1CC 8OG 5FC 3DR"),
		pleat.RNA: strings.Fields("PSU 5MC OMC 4OC 5MU OMU UR3 A2M MA6 6MZ 2MG OMG 7MG RSQ"),
	}
)

// writeServer writes a list of one job. SMILES ligands are an error.
func writeServer(j *pleat.Job, out *writing) ([]byte, error) {
	one := 1
	file := serverJob{
		Name:       j.Name,
		ModelSeeds: []any{},
		Sequences:  []serverItem{},
		Dialect:    "alphafoldserver",
		Version:    &one,
	}
	if seed, ok := j.Params.Seed(); ok {
		file.ModelSeeds = append(file.ModelSeeds, seed)
	}
	for i := range j.Sequences {
		item, err := serverItemOf(&j.Sequences[i], i, out)
		if err != nil {
			return nil, err
		}
		file.Sequences = append(file.Sequences, item)
	}
	out.labels(j)
	out.ownNames(j)
	out.constraints(&j.Constraints)
	out.params(j, nil, "seed")
	return api.EncodeIndent([]serverJob{file})
}

// serverItemOf returns the entity of a sequence. It adds notes for components that the AlphaFold Server's
// documentation does not list.
func serverItemOf(q *pleat.Sequence, i int, out *writing) (serverItem, error) {
	count := q.Count
	out.properties(q, i, "cyclic", "property_type")
	if q.Kind == pleat.Ligand {
		switch {
		case !q.CCD:
			return serverItem{}, pleat.Invalidf("%s is a SMILES; the AlphaFold Server takes ligands by their CCD "+
				"code alone, so choose another format", q.Path(i))
		case slices.Contains(serverIons, q.Text):
			return serverItem{Ion: &serverIon{q.Text, &count}}, nil
		case !slices.Contains(serverLigands, q.Text):
			out.addNote("%s.sequence %s is not among the ligands that the AlphaFold Server's documentation lists; it "+
				"may refuse the file", q.Path(i), q.Text)
		}
		return serverItem{Ligand: &serverLigand{codePrefix + q.Text, &count}}, nil
	}
	c := &serverChain{Sequence: q.Text, Modifications: replacedOf(q, codePrefix), Count: &count}
	for k, m := range q.Modifications {
		if !slices.Contains(serverModifications[q.Kind], m.CCD) {
			out.addNote("%s.modifications[%d].ccd %s is not among those that the AlphaFold Server's documentation "+
				"lists; it may refuse the file", q.Path(i), k, m.CCD)
		}
	}
	all := pleat.Letters(q.Kind)
	if unknown := all[len(all)-1:]; strings.Contains(q.Text, unknown) {
		out.addNote("%s.sequence has the unknown residue %s, which the AlphaFold Server's documentation does not "+
			"list; it may refuse the file", q.Path(i), unknown)
	}
	switch q.Kind {
	case pleat.RNA:
		return serverItem{RNASequence: c}, nil
	case pleat.DNA:
		return serverItem{DNASequence: c}, nil
	}
	return serverItem{ProteinChain: c}, nil
}

// ownNames adds notes for chain names that get lost because the format has none and names copies in order.
func (w *writing) ownNames(j *pleat.Job) {
	other := pleat.Job{Sequences: slices.Clone(j.Sequences)}
	for i := range other.Sequences {
		other.Sequences[i].ChainID = ""
	}
	if other.NameChains() != nil {
		return
	}
	for i := range j.Sequences {
		if q := &j.Sequences[i]; !slices.Equal(q.Chains, other.Sequences[i].Chains) {
			w.addNote("%s.chain_id is not in the file: the format names chains itself, so %s may become %s", q.Path(i),
				strings.Join(q.Chains, ", "), strings.Join(other.Sequences[i].Chains, ", "))
		}
	}
}
