package format

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pleat"
)

// protenixJob is a job of Protenix: https://github.com/bytedance/Protenix/blob/main/docs/infer_json_format.md. Entities
// are named by their number from 1, and their copies too.
type protenixJob struct {
	Name string `json:"name"`
	// Assembly is that of an entry of the Protein Data Bank; Protenix does not read it either.
	Assembly any `json:"assembly_id"`
	// ModelSeeds are whole numbers or strings. The job takes the first.
	ModelSeeds []any `json:"modelSeeds"`
	// Sequences are the entities; a job holds at most 256.
	Sequences []protenixItem `json:"sequences" maxItems:"256"`
	Bonds     []protenixBond `json:"covalent_bonds" maxItems:"1000"`
	Near      *protenixNear  `json:"constraint"`
}

// protenixItem is an entity; exactly one field is set.
type protenixItem struct {
	Protein *protenixChain  `json:"proteinChain"`
	RNA     *protenixChain  `json:"rnaSequence"`
	DNA     *protenixChain  `json:"dnaSequence"`
	Ligand  *protenixLigand `json:"ligand"`
	Ion     *protenixIon    `json:"ion"`
}

// protenixChain is a polymer in Count copies, whose chains ID may name.
type protenixChain struct {
	ID       []string `json:"id" maxItems:"512"`
	Sequence string   `json:"sequence"`
	Count    *int     `json:"count"`
	// Modifications replace single residues; their codes have the prefix CCD_.
	Modifications []replaced   `json:"modifications"`
	Unpaired      string       `json:"unpairedMsaPath"`
	Paired        string       `json:"pairedMsaPath"`
	Templates     string       `json:"templatesPath"`
	MSA           *protenixMSA `json:"msa"` // deprecated
	// Glycans were a field of earlier versions.
	Glycans []any `json:"glycans"`
}

// protenixMSA names a folder with the alignments non_pairing.a3m and pairing.a3m.
type protenixMSA struct {
	Dir     string `json:"precomputed_msa_dir"`
	Pairing string `json:"pairing_db"`
}

// protenixLigand is a ligand: CCD_ and one code or several, FILE_ and a path, or a SMILES string.
type protenixLigand struct {
	ID     []string `json:"id" maxItems:"512"`
	Ligand string   `json:"ligand"`
	Count  *int     `json:"count"`
}

// protenixIon is an ion by CCD code without a prefix.
type protenixIon struct {
	ID    []string `json:"id" maxItems:"512"`
	Ion   string   `json:"ion"`
	Count *int     `json:"count"`
}

// readProtenix reads a list of jobs, or a single job with a note.
func readProtenix(text string, in *reading) error {
	return eachJob(text, in, "Protenix", readProtenixJob)
}

// protenixDraft is a draft whose entities have numbers.
type protenixDraft struct {
	*draft
	ids [][]string // of each entity, those of its copies
}

// readProtenixJob reads one job of the list into d.
func readProtenixJob(j *protenixJob, base *draft) error {
	d := &protenixDraft{draft: base}
	if err := d.seeds(d.at+"modelSeeds", j.ModelSeeds); err != nil {
		return err
	}
	for i := range j.Sequences {
		if err := d.addItem(fmt.Sprintf("%ssequences[%d]", d.at, i), &j.Sequences[i]); err != nil {
			return err
		}
	}
	if err := d.nameChains(); err != nil {
		return err
	}
	for i := range j.Bonds {
		if err := d.addBond(fmt.Sprintf("%scovalent_bonds[%d]", d.at, i), &j.Bonds[i]); err != nil {
			return err
		}
	}
	if j.Near != nil {
		if err := d.addNear(d.at+"constraint", j.Near); err != nil {
			return err
		}
	}
	return d.finish(j.Name)
}

// copies returns the ids of the copies of the next entity: those of the file, else ones that stand for its number.
func (d *protenixDraft) copies(at string, count *int, names []string) ([]string, error) {
	ids, err := copies(at, count)
	switch {
	case err != nil:
		return nil, err
	case len(names) > 0 && len(names) != len(ids):
		return nil, pleat.Invalidf("%s.id has %d names and count is %d; both must be equal", at, len(names), len(ids))
	}
	for i := range ids {
		switch {
		case len(names) == 0:
			ids[i] = fmt.Sprintf("%s%d.%d", madeID, len(d.ids)+1, i+1)
		case names[i] == "" || strings.HasPrefix(names[i], madeID):
			return nil, pleat.Invalidf("%s.id[%d] must be the name of a chain, such as \"A\"", at, i)
		default:
			ids[i] = names[i]
		}
	}
	d.ids = append(d.ids, ids)
	return ids, nil
}

// addItem adds one entity. at is its path in the file.
func (d *protenixDraft) addItem(at string, item *protenixItem) error {
	chain := func(kind pleat.EntityKind, c *protenixChain) func(string) error {
		return func(at string) error { return d.addChain(at, kind, c) }
	}
	return addOne(at, []alternative{
		{"proteinChain", item.Protein != nil, chain(pleat.Protein, item.Protein)},
		{"rnaSequence", item.RNA != nil, chain(pleat.RNA, item.RNA)},
		{"dnaSequence", item.DNA != nil, chain(pleat.DNA, item.DNA)},
		{"ligand", item.Ligand != nil, func(at string) error { return d.addLigand(at, item.Ligand) }},
		{"ion", item.Ion != nil, func(at string) error { return d.addIon(at, item.Ion) }},
	})
}

// addIon adds an ion.
func (d *protenixDraft) addIon(at string, l *protenixIon) error {
	q, err := ccdLigand(at+".ion", strings.TrimPrefix(l.Ion, codePrefix))
	if err != nil {
		return err
	}
	ids, err := d.copies(at, l.Count, l.ID)
	if err != nil {
		return err
	}
	return d.add(entity{at, q, ids})
}

// addChain adds a polymer.
func (d *protenixDraft) addChain(at string, kind pleat.EntityKind, c *protenixChain) error {
	switch {
	case len(c.Glycans) > 0:
		return pleat.Invalidf("%s.glycans is not taken, as in Protenix itself: give the sugars as ligands, and the "+
			"bonds between them in covalent_bonds", at)
	case c.Templates != "":
		return pleat.Invalidf("%s.templatesPath names the file %q; jobs take structures as templates, not lists of "+
			"hits: leave it out", at,
			pleat.Clip(c.Templates))
	}
	text, err := d.polymer(at+".sequence", kind, c.Sequence)
	if err != nil {
		return err
	}
	q := pleat.Sequence{Kind: kind, Text: text}
	if err := d.addAlignments(at, &q, c); err != nil {
		return err
	}
	if err := modifyAll(&q, at, c.Modifications); err != nil {
		return err
	}
	ids, err := d.copies(at, c.Count, c.ID)
	if err != nil {
		return err
	}
	return d.add(entity{at, q, ids})
}

// addAlignments takes the alignment of a chain from the file that it names, or from the folder of the older form.
func (d *protenixDraft) addAlignments(at string, q *pleat.Sequence, c *protenixChain) error {
	if err := d.align(q, at+".unpairedMsaPath", c.Unpaired); err != nil {
		return err
	}
	if err := d.alignPaired(at+".pairedMsaPath", c.Paired, c.Unpaired != ""); err != nil {
		return err
	}
	if c.MSA == nil || c.MSA.Dir == "" {
		return nil
	}
	if c.Unpaired != "" {
		return pleat.Invalidf("%s has both unpairedMsaPath and msa.precomputed_msa_dir; give one of them", at)
	}
	if d.opt.Files.Alignment != nil {
		d.addNote("%s.msa: the alignment is non_pairing.a3m of %q; pairing.a3m is not used, since a job takes "+
			"unpaired alignments alone", at, pleat.Clip(c.MSA.Dir))
	}
	return d.align(q, at+".msa.precomputed_msa_dir", strings.TrimRight(c.MSA.Dir, "/")+"/non_pairing.a3m")
}

// addLigand adds a ligand of one component or several, or a SMILES string.
func (d *protenixDraft) addLigand(at string, l *protenixLigand) error {
	if name, ok := strings.CutPrefix(l.Ligand, "FILE_"); ok {
		return refusePath(at+".ligand", name)
	}
	ids, err := d.copies(at, l.Count, l.ID)
	if err != nil {
		return err
	}
	code, isCode := strings.CutPrefix(l.Ligand, codePrefix)
	if codes := strings.Split(code, "_"); isCode && len(codes) > 1 {
		return d.addParts(at+".ligand", codes, ids, "")
	}
	var q pleat.Sequence
	if isCode {
		q, err = ccdLigand(at+".ligand", code)
	} else {
		q, err = smilesLigand(at+".ligand", l.Ligand)
	}
	if err != nil {
		return err
	}
	return d.add(entity{at, q, ids})
}

// protenixBond is a covalent bond. The names that begin with left and right are those of earlier versions. Numbers may
// be strings. Without copies it is one for each pair of copies with the same number.
type protenixBond struct {
	protenixEnds
	LeftEntity    any `json:"left_entity"`
	LeftCopy      any `json:"left_copy"`
	LeftPosition  any `json:"left_position"`
	LeftAtom      any `json:"left_atom"`
	RightEntity   any `json:"right_entity"`
	RightCopy     any `json:"right_copy"`
	RightPosition any `json:"right_position"`
	RightAtom     any `json:"right_atom"`
}

// protenixEnds are the two ends of a bond or a contact.
type protenixEnds struct {
	Entity1   any `json:"entity1"`
	Copy1     any `json:"copy1"`
	Position1 any `json:"position1"`
	Atom1     any `json:"atom1"`
	Entity2   any `json:"entity2"`
	Copy2     any `json:"copy2"`
	Position2 any `json:"position2"`
	Atom2     any `json:"atom2"`
}

// protenixEnd is one end of a bond or a contact as the file has it; names are those of its fields.
type protenixEnd struct {
	names                        [4]string
	entity, copy, position, atom any
}

// sides returns the two ends of a bond.
func (b *protenixBond) sides() [2]protenixEnd {
	if b.LeftEntity != nil || b.RightEntity != nil {
		return [2]protenixEnd{
			{[4]string{"left_entity", "left_copy", "left_position", "left_atom"},
				b.LeftEntity, b.LeftCopy, b.LeftPosition, b.LeftAtom},
			{[4]string{"right_entity", "right_copy", "right_position", "right_atom"},
				b.RightEntity, b.RightCopy, b.RightPosition, b.RightAtom},
		}
	}
	return b.protenixEnds.ends()
}

// ends returns the two ends.
func (e *protenixEnds) ends() [2]protenixEnd {
	return [2]protenixEnd{
		{[4]string{"entity1", "copy1", "position1", "atom1"}, e.Entity1, e.Copy1, e.Position1, e.Atom1},
		{[4]string{"entity2", "copy2", "position2", "atom2"}, e.Entity2, e.Copy2, e.Position2, e.Atom2},
	}
}

// wholeOf reads a whole number from 1, which may be a string.
func wholeOf(at string, v any, most int, what string) (int, error) {
	text := ""
	switch n := v.(type) {
	case json.Number:
		text = n.String()
	case string:
		text = n
	}
	i, err := strconv.Atoi(text)
	if err != nil || i < 1 || i > most {
		got := ""
		if text != "" {
			got = fmt.Sprintf(" is %q; it", pleat.Clip(text))
		}
		return 0, pleat.Invalidf("%s%s must be the number of %s, 1 to %d", at, got, what, most)
	}
	return i, nil
}

// residues returns the residue of an end in the copy it names, or in each copy where it names none.
func (d *protenixDraft) residues(at string, e protenixEnd) ([]pleat.ResidueRef, error) {
	entity, err := wholeOf(at+"."+e.names[0], e.entity, len(d.ids), "an entity of sequences")
	if err != nil {
		return nil, err
	}
	ids := d.ids[entity-1]
	if e.copy != nil {
		n, err := wholeOf(at+"."+e.names[1], e.copy, len(ids), "a copy of the entity")
		if err != nil {
			return nil, err
		}
		ids = ids[n-1 : n]
	}
	position, err := wholeOf(at+"."+e.names[2], e.position, pleat.MaxResidues, "a residue")
	if err != nil {
		return nil, err
	}
	var out []pleat.ResidueRef
	for _, id := range ids {
		r, err := d.numbered(at+"."+e.names[2], id, position)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// numbered is residue for an id that may be one of the reader's own, which no message shows.
func (d *protenixDraft) numbered(at, id string, position int) (pleat.ResidueRef, error) {
	r, err := d.residue(at, id, position)
	if err != nil && strings.HasPrefix(id, madeID) {
		return r, pleat.Invalidf("%s is %d, a residue that entity %s does not have", at, position,
			strings.TrimPrefix(id, madeID))
	}
	return r, err
}

// addBond adds a covalent bond, or one for each pair of copies.
func (d *protenixDraft) addBond(at string, b *protenixBond) error {
	ends := b.sides()
	if (ends[0].copy == nil) != (ends[1].copy == nil) {
		return pleat.Invalidf("%s must have both of %s and %s, or neither", at, ends[0].names[1], ends[1].names[1])
	}
	var residues [2][]pleat.ResidueRef
	var atoms [2]string
	for i, e := range ends {
		var err error
		if residues[i], err = d.residues(at, e); err != nil {
			return err
		}
		atom, isText := e.atom.(string)
		if !isText || atom == "" || strings.Trim(atom, "0123456789") == "" {
			return pleat.Invalidf("%s.%s must be the name of an atom, such as \"SG\"; numbers of atoms are not taken",
				at, e.names[3])
		}
		if q := d.sequenceOf(residues[i][0].Chain); !q.Polymer() && !q.CCD {
			return pleat.Invalidf("%s.%s is an atom of a SMILES, whose atoms have no names in a job: give the ligand "+
				"by its CCD code", at, e.names[3])
		}
		atoms[i] = atom
	}
	if len(residues[0]) != len(residues[1]) {
		return pleat.Invalidf("%s is between entities of %d and %d copies; say which copies it bonds", at,
			len(residues[0]), len(residues[1]))
	}
	for i, r := range residues[0] {
		o := residues[1][i]
		d.job.Constraints.Bond = append(d.job.Constraints.Bond, pleat.Bond{
			Atom1: pleat.AtomRef{Chain: r.Chain, Residue: r.Residue, Atom: atoms[0]},
			Atom2: pleat.AtomRef{Chain: o.Chain, Residue: o.Residue, Atom: atoms[1]},
		})
	}
	return nil
}

// protenixNear are the constraints that are not bonds.
type protenixNear struct {
	Contact []protenixContact `json:"contact" maxItems:"1000"`
	Pocket  *protenixPocket   `json:"pocket"`
}

// protenixContact bounds the distance in Å of two residues or atoms.
type protenixContact struct {
	protenixEnds
	Most  *float64 `json:"max_distance"`
	Least float64  `json:"min_distance"`
}

// protenixPocket asks for a chain near residues.
type protenixPocket struct {
	Binder   *protenixPlace  `json:"binder_chain"`
	Contacts []protenixPlace `json:"contact_residues" maxItems:"1000"`
	Most     *float64        `json:"max_distance"`
}

// protenixPlace is a copy of an entity, and a residue of it where one is asked for.
type protenixPlace struct {
	Entity   any `json:"entity"`
	Copy     any `json:"copy"`
	Position any `json:"position"`
}

// addNear adds the contacts and the pocket.
func (d *protenixDraft) addNear(at string, n *protenixNear) error {
	for i := range n.Contact {
		if err := d.addContact(fmt.Sprintf("%s.contact[%d]", at, i), &n.Contact[i]); err != nil {
			return err
		}
	}
	if n.Pocket == nil {
		return nil
	}
	return d.addPocket(at+".pocket", n.Pocket)
}

// one returns the residue of an end that must name its copy.
func (d *protenixDraft) one(at string, e protenixEnd) (pleat.ResidueRef, error) {
	if e.copy == nil {
		return pleat.ResidueRef{}, pleat.Invalidf("%s.%s is required; it must be the number of a copy, from 1", at,
			e.names[1])
	}
	all, err := d.residues(at, e)
	if err != nil {
		return pleat.ResidueRef{}, err
	}
	return all[0], nil
}

// addContact adds a contact of two residues. Atoms and a least distance are dropped with notes.
func (d *protenixDraft) addContact(at string, c *protenixContact) error {
	var ends [2]pleat.ResidueRef
	for i, e := range c.ends() {
		var err error
		if ends[i], err = d.one(at, e); err != nil {
			return err
		}
		if e.atom != nil {
			d.addNote("%s.%s %q was dropped: contacts of a job are between residues", at, e.names[3],
				pleat.Clip(fmt.Sprint(e.atom)))
		}
	}
	if c.Most == nil || !(*c.Most > 0 && *c.Most <= 1000) {
		return pleat.Invalidf("%s.max_distance must be a length in Å above 0 and up to 1000", at)
	}
	if c.Least != 0 {
		d.addNote("%s.min_distance %g was dropped: contacts of a job have no least distance", at, c.Least)
	}
	d.job.Constraints.Contact = append(d.job.Constraints.Contact, pleat.Contact{
		ChainA:   ends[0].Chain,
		ResidueA: ends[0].Residue,
		ChainB:   ends[1].Chain,
		ResidueB: ends[1].Residue,
		Distance: *c.Most,
	})
	return nil
}

// addPocket adds the pocket. Its distance is dropped with a note, because pockets of a job have none.
func (d *protenixDraft) addPocket(at string, p *protenixPocket) error {
	if p.Binder == nil || len(p.Contacts) == 0 {
		return pleat.Invalidf("%s must have binder_chain, and contact_residues with at least one residue", at)
	}
	if p.Binder.Position != nil {
		return pleat.Invalidf("%s.binder_chain.position is not taken: the binder is a whole chain", at)
	}
	names := [4]string{"entity", "copy", "position"}
	entity, err := wholeOf(at+".binder_chain.entity", p.Binder.Entity, len(d.ids), "an entity of sequences")
	if err != nil {
		return err
	}
	n, err := wholeOf(at+".binder_chain.copy", p.Binder.Copy, len(d.ids[entity-1]), "a copy of the entity")
	if err != nil {
		return err
	}
	id := d.ids[entity-1][n-1]
	if len(d.parts[id]) > 0 {
		return pleat.Invalidf("%s.binder_chain is a ligand of several components; a pocket of a job has a binder of "+
			"one", at)
	}
	out := pleat.Pocket{Binder: pleat.ChainRef{Chain: d.chains[id]}}
	for i, c := range p.Contacts {
		r, err := d.one(fmt.Sprintf("%s.contact_residues[%d]", at, i),
			protenixEnd{names, c.Entity, c.Copy, c.Position, nil})
		if err != nil {
			return err
		}
		out.Contacts = append(out.Contacts, r)
	}
	if p.Most != nil {
		d.addNote("%s.max_distance %g was dropped: a pocket of a job has no distance, so the model's own counts", at,
			*p.Most)
	}
	d.job.Constraints.Pocket = append(d.job.Constraints.Pocket, out)
	return nil
}
