package format

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"pleat"
)

// everything is a model that supports every feature of a job.
var everything = pleat.Model{
	Name:     "any",
	Kind:     pleat.TaskFold,
	Params:   pleat.KnownParams(),
	Entities: []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand},
	Features: []pleat.Feature{pleat.FeatureAffinity, pleat.FeatureMSA, pleat.FeatureRNAMSA, pleat.FeatureConstraints,
		pleat.FeatureModifications, pleat.FeatureCyclic, pleat.FeatureComplex, pleat.FeatureUnknown,
		pleat.FeatureTemplates, pleat.FeatureTemplateForce, pleat.FeatureComponents},
}

// draft is a job under construction. All entities are added first; after nameChains, chains and residues can be looked
// up.
type draft struct {
	*reading
	at  string // prefix of every path in messages: empty, or "[1]." in a list of jobs
	job pleat.Job
	// entities are in file order.
	entities []entity
	// chains maps the id of every named copy in the file to the name of its chain in the job. nameChains fills it.
	chains map[string]string
	// parts maps the id of a ligand of several components to the ids of those.
	parts map[string][]string
	split []splitLigand
	// glycans are those of the file, whose bonds are added once the chains have their names.
	glycans []glycan
	// unpaired are the places in the file that ask for no alignment of one protein.
	unpaired []string
	// templates are those that the chains of the file name, which are added once the chains have their names.
	templates []draftTemplate
}

// entity is one molecule of a file, in one copy for each id. at is its position in the file, for messages.
type entity struct {
	at string // path in the file
	// seq is the molecule without chain names.
	seq pleat.Sequence
	// ids are those of the copies in the file; of an empty one, or one that the reader made, the service chooses the
	// name of the chain.
	ids []string
}

// madeID begins the ids that readers make for what a file names by numbers.
const madeID = "\x00"

// draft returns an empty job. at is the prefix of its paths in messages.
func (in *reading) draft(at string) *draft {
	return &draft{reading: in, at: at, chains: map[string]string{}, parts: map[string][]string{}}
}

// add appends an entity. Copies of a file without ids have empty ids. Too many items or copies for a job are an
// error.
func (d *draft) add(e entity) error {
	copies := len(e.ids)
	for i := range d.entities {
		copies += len(d.entities[i].ids)
	}
	switch {
	case len(d.entities) == pleat.MaxItems:
		return pleat.Invalidf("%s is one too many: a job has at most %d items", e.at, pleat.MaxItems)
	case copies > pleat.MaxChains:
		return pleat.Invalidf("%s: the job has more than %d chains, copies counted", e.at, pleat.MaxChains)
	}
	if d.items += len(e.ids); d.items > maxItems {
		return pleat.Invalidf("%s: the file holds more than %d chains and ligands, copies counted", e.at, maxItems)
	}
	d.entities = append(d.entities, e)
	return nil
}

// copies returns the given number of empty ids, which the service names later. A nil count means one.
func copies(at string, count *int) ([]string, error) {
	if count == nil {
		return []string{""}, nil
	}
	if *count < 1 || *count > pleat.MaxChains {
		return nil, pleat.Invalidf("%s.count is %d; it must be 1 to %d", at, *count, pleat.MaxChains)
	}
	return make([]string, *count), nil
}

// nameChains turns the entities into sequences of the job. The service names the copies of an item in order; where
// the file names them differently, each copy becomes an item of its own. Chains can be looked up afterwards. An id
// that occurs twice is an error.
func (d *draft) nameChains() error {
	taken := map[string]string{}
	for _, e := range d.entities {
		for _, id := range e.ids {
			if first, ok := taken[id]; ok && id != "" {
				return pleat.Invalidf("%s has the id %q, which %s has already", e.at, pleat.Clip(id), first)
			}
			if d.parts[id] != nil {
				return pleat.Invalidf("%s has the id %q, which a ligand of several components has already", e.at,
					pleat.Clip(id))
			}
			taken[id] = e.at
		}
	}
	alone := make([]bool, len(d.entities))
	for again := true; again; {
		again = false
		from := d.layOut(alone)
		if err := d.job.NameChains(); err != nil {
			return err
		}
		clear(d.chains)
		for i := range d.job.Sequences {
			q := &d.job.Sequences[i]
			for k, id := range from[i].ids {
				if want := usable(id); want != "" && q.Chains[k] != want {
					alone[from[i].entity], again = true, true
				}
				d.chains[id] = q.Chains[k]
			}
		}
	}
	for i, e := range d.entities {
		for _, id := range e.ids {
			if id != "" && usable(id) == "" && !strings.HasPrefix(id, madeID) {
				d.addNote("%s: the id %q became %q, since chain names here have 1 to %d letters and digits", e.at,
					pleat.Clip(id), d.chains[id], pleat.MaxChainName)
			}
		}
		if alone[i] {
			d.addNote("%s: its %d copies became items of their own, since the service would name them otherwise than "+
				"the file does", e.at, len(e.ids))
		}
	}
	return nil
}

// part is the subset of an entity's copies that one sequence of the job holds.
type part struct {
	// entity is an index into draft.entities.
	entity int
	ids    []string
}

// layOut creates the sequences of the job. Entities marked in alone get one sequence for each copy. It returns
// which copies each sequence holds.
func (d *draft) layOut(alone []bool) []part {
	var from []part
	d.job.Sequences = d.job.Sequences[:0]
	put := func(i int, ids []string) {
		q := d.entities[i].seq
		q.Modifications = slices.Clone(q.Modifications)
		q.ChainID, q.Count = usable(ids[0]), len(ids)
		d.job.Sequences = append(d.job.Sequences, q)
		from = append(from, part{i, ids})
	}
	for i, e := range d.entities {
		if !alone[i] {
			put(i, e.ids)
			continue
		}
		for k := range e.ids {
			put(i, e.ids[k:k+1])
		}
	}
	return from
}

// usable returns an id if it is a valid chain name, else an empty string, for which the service chooses a name.
func usable(id string) string {
	if pleat.IsChainName(id) {
		return id
	}
	return ""
}

// chain returns the chain name and the sequence for an id of the file. An unknown id is an error that names at.
func (d *draft) chain(at, id string) (string, *pleat.Sequence, error) {
	if n := len(d.parts[id]); n > 0 {
		return "", nil, pleat.Invalidf("%s names the chain %q, a ligand of %d components; name one of them", at,
			pleat.Clip(id), n)
	}
	name, ok := d.chains[id]
	if !ok || id == "" {
		return "", nil, pleat.Invalidf("%s names the chain %q, which the file does not have", at, pleat.Clip(id))
	}
	return name, d.sequenceOf(name), nil
}

// sequenceOf returns the sequence that a chain of the job belongs to.
func (d *draft) sequenceOf(chain string) *pleat.Sequence {
	i := slices.IndexFunc(d.job.Sequences, func(q pleat.Sequence) bool { return slices.Contains(q.Chains, chain) })
	return &d.job.Sequences[i]
}

// residue returns a residue of the chain with the given id, counted from 1. A ligand is one residue. An index
// outside the chain is an error.
func (d *draft) residue(at, id string, index int) (pleat.ResidueRef, error) {
	if parts := d.parts[id]; len(parts) > 0 {
		if index < 1 || index > len(parts) {
			return pleat.ResidueRef{}, pleat.Invalidf("%s names component %d; the ligand %s has components 1 to %d", at,
				index, pleat.Clip(id), len(parts))
		}
		id, index = parts[index-1], 1
	}
	name, q, err := d.chain(at, id)
	if err != nil {
		return pleat.ResidueRef{}, err
	}
	n := 1
	if q.Polymer() {
		n = len(q.Text)
	}
	if index < 1 || index > n {
		return pleat.ResidueRef{}, pleat.Invalidf("%s names residue %d; chain %s has residues 1 to %d", at, index,
			pleat.Clip(id), n)
	}
	return pleat.ResidueRef{Chain: name, Residue: index}, nil
}

// polymer returns the text of a polymer in upper case without white space and the sign of its end. A letter that the
// kind does not allow is an error with its position, and so is white space before what seems to be a name.
func (d *draft) polymer(at string, kind pleat.EntityKind, text string) (string, error) {
	if cut, ended := pleat.CutEnd(text); ended {
		text = cut
		d.addNote("%s: %s", at, pleat.EndDropped)
	}
	if err := checkCodes(at, kind, text); err != nil {
		return "", err
	}
	allowed := pleat.Letters(kind)
	for l := range strings.Lines(text) {
		columns := []rune(l)
		all := tokensOf(columns)
		if len(all) < 2 || all[0].to-all[0].from >= shortestLine {
			continue
		}
		if stray := strayToken(columns, all, longestBlock); stray != nil {
			return "", pleat.Invalidf("%s: %s", at, notABlock(columns, stray))
		}
	}
	var b strings.Builder
	n := 0
	for _, r := range text {
		if unicode.IsSpace(r) {
			continue
		}
		u := unicode.ToUpper(r)
		switch n++; {
		case n > pleat.MaxResidues:
			return "", pleat.Invalidf("%s has more than %d residues", at, pleat.MaxResidues)
		case r > unicode.MaxASCII || strings.IndexByte(allowed, byte(u)) < 0:
			return "", pleat.Invalidf("%s, residue %d: %s; the letters are %s", at, n, pleat.NotALetter(kind, r),
				allowed)
		}
		b.WriteByte(byte(u))
	}
	if n == 0 {
		return "", pleat.Invalidf("%s is empty; it must hold the letters of a %s", at, kind)
	}
	return b.String(), nil
}

// checkCodes returns an error for a protein in codes of three letters. An empty kind may be that of a protein.
func checkCodes(at string, kind pleat.EntityKind, text string) error {
	if (kind == "" || kind == pleat.Protein) && pleat.HasThreeLetterCodes(text) {
		return pleat.Invalidf("%s has codes of three letters; a residue is one letter", at)
	}
	return nil
}

// ccdLigand returns the ligand of a CCD code, see component.
func ccdLigand(at, code string) (pleat.Sequence, error) {
	code, err := component(at, code)
	return pleat.Sequence{Kind: pleat.Ligand, CCD: true, Text: code}, err
}

// smilesLigand returns the ligand of a SMILES string.
func smilesLigand(at, text string) (pleat.Sequence, error) {
	q := pleat.Sequence{Kind: pleat.Ligand, Text: strings.TrimSpace(text)}
	if q.Text == "" {
		return q, pleat.Invalidf("%s is empty; it must be a SMILES", at)
	}
	if _, err := pleat.CheckSMILES(q.Text); err != nil {
		return q, pleat.Invalidf("%s %s", at, err)
	}
	return q, nil
}

// component returns a code of the Chemical Component Dictionary (CCD) in upper case. It checks the form of the
// code, not that the component exists.
func component(at, text string) (string, error) {
	code := strings.ToUpper(strings.TrimSpace(text))
	if !pleat.IsCCD(code) {
		return "", pleat.Invalidf("%s is %q; a code of the Chemical Component Dictionary has 1 to 5 letters and digits",
			at, pleat.Clip(text))
	}
	return code, nil
}

// modify replaces a residue of a polymer by a chemical component. position and kind are the names of the fields in
// the file.
func modify(q *pleat.Sequence, at, position, kind string, index int, code string) error {
	code, err := component(at+"."+kind, code)
	switch {
	case err != nil:
		return err
	case index < 1 || index > len(q.Text):
		return pleat.Invalidf("%s.%s is %d; the chain has residues 1 to %d", at, position, index, len(q.Text))
	case slices.ContainsFunc(q.Modifications, func(m pleat.Modification) bool { return m.Residue == index }):
		return pleat.Invalidf("%s.%s is %d, which is modified twice", at, position, index)
	}
	q.Modifications = append(q.Modifications, pleat.Modification{Residue: index, CCD: code})
	return nil
}

// seeds sets the seed of the job to the first of a list; a note reports that the others are ignored.
func (d *draft) seeds(at string, list []any) error {
	if len(list) > maxSeeds {
		return pleat.Invalidf("%s has %d seeds; at most %d are allowed", at, len(list), maxSeeds)
	}
	for i, v := range list {
		text := fmt.Sprint(v)
		switch v.(type) {
		case string, json.Number:
		default:
			text = "not a number"
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n > pleat.MaxSeed {
			return pleat.Invalidf("%s[%d] is %q; it must be a whole number from 0 to %d", at, i, pleat.Clip(text),
				uint64(pleat.MaxSeed))
		}
		if i == 0 {
			d.job.Params = d.job.Params.With("seed", strconv.FormatUint(n, 10))
		}
	}
	if len(list) > 1 {
		d.addNote("%s has %d seeds and a job has one: the first was kept, %s; import again and change params.seed for "+
			"the others", at, len(list), d.job.Params.Values["seed"])
	}
	return nil
}

// line returns text on one line of at most the given number of characters, without control characters.
func line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > most {
		s = strings.TrimSpace(string(r[:most]))
	}
	return s
}

// label sets the name of a sequence in the file as its label.
func (d *draft) label(at, text string) string {
	s := line(text, pleat.MaxName)
	if s != strings.TrimSpace(text) {
		d.addNote("%s was shortened to one line of at most %d characters", at, pleat.MaxName)
	}
	return s
}

// finish validates the job and appends it to the jobs of the import. An empty name becomes the default.
func (d *draft) finish(name string) error {
	name = d.label(d.at+"name", name)
	d.job.Name = cmp.Or(name, line(d.opt.Name, pleat.MaxName), "imported")
	if len(d.job.Sequences) == 0 {
		return pleat.Invalidf("%ssequences is empty; it must hold at least 1 item", d.at)
	}
	if len(d.jobs) == d.opt.Jobs {
		return pleat.Invalidf("the file holds more than %d jobs", d.opt.Jobs)
	}
	if d.opt.Stop != nil {
		if err := d.opt.Stop(); err != nil {
			return err
		}
	}
	if err := d.checkParts(); err != nil {
		return err
	}
	d.settleAlignments()
	d.job.Params.Model = d.opt.Model
	if name != "" {
		given := name
		if name = d.unique.Name(name, pleat.MaxName); name != given {
			d.addNote("Another job of the file is named %q, so this one was named %q", pleat.Clip(given),
				pleat.Clip(name))
			d.job.Name = name
		}
	}
	if err := d.job.Validate(everything); err != nil {
		return pleat.Invalidf("no job can be made of %s: %s", cmp.Or(strings.TrimSuffix(d.at, "."), "the file"), err)
	}
	d.jobs, d.ids = append(d.jobs, d.job), append(d.ids, name)
	return nil
}
