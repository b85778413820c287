package format

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"pleat"
)

// Boltz YAML, version 1: https://github.com/jwohlwend/boltz/blob/main/docs/prediction.md.

// boltzNear and boltzFar bound the distances in Å that Boltz supports.
const boltzNear, boltzFar = 4, 20

// maxConstraints is the most items that a list of constraints or properties may have.
const maxConstraints = 1000

// readBoltz reads one job.
func readBoltz(text string, in *reading) error {
	root, err := parseYAML(text)
	if err != nil {
		return err
	}
	f, err := root.Fields("version", "sequences", "constraints", "templates", "properties")
	if err != nil {
		return err
	}
	if v, ok := f["version"]; ok && v.Value != "1" {
		return v.Wrong("1")
	}
	d := in.draft("")
	if _, ok := f["sequences"]; !ok {
		return pleat.Invalidf("sequences is required; it must hold at least 1 item")
	}
	items, err := f["sequences"].List(pleat.MaxItems)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := d.addBoltzItem(item); err != nil {
			return err
		}
	}
	if err := d.nameChains(); err != nil {
		return err
	}
	if err := eachOf(f["constraints"], d.addBoltzConstraint); err != nil {
		return err
	}
	if err := eachOf(f["templates"], d.addBoltzTemplate); err != nil {
		return err
	}
	if err := eachOf(f["properties"], d.addBoltzProperty); err != nil {
		return err
	}
	return d.finish("")
}

// eachOf calls do for every item of a list. An absent list has no items.
func eachOf(n node, do func(node) error) error {
	if n.Null() {
		return nil
	}
	items, err := n.List(maxConstraints)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := do(item); err != nil {
			return err
		}
	}
	return nil
}

// addBoltzItem adds one polymer or ligand, in as many copies as it has ids.
func (d *draft) addBoltzItem(item node) error {
	key, n, err := item.ExactlyOneKey("protein", "rna", "dna", "ligand")
	if err != nil {
		return err
	}
	if key == "ligand" {
		return d.addBoltzLigand(n)
	}
	f, err := n.Fields("id", "sequence", "msa", "modifications", "cyclic")
	if err != nil {
		return err
	}
	ids, err := d.boltzIDs(n, f["id"])
	if err != nil {
		return err
	}
	text := ""
	if s, ok := f["sequence"]; ok {
		if text, err = scalar(s, &d.notes); err != nil {
			return err
		}
	}
	q := pleat.Sequence{Kind: pleat.EntityKind(key)}
	if q.Text, err = d.polymer(n.At+".sequence", q.Kind, text); err != nil {
		return err
	}
	if err := d.addBoltzMSA(&q, f["msa"]); err != nil {
		return err
	}
	if c, ok := f["cyclic"]; ok {
		if q.Cyclic, err = c.Truth(); err != nil {
			return err
		}
	}
	err = eachOf(f["modifications"], func(m node) error { return d.boltzModification(&q, m) })
	if err != nil {
		return err
	}
	return d.add(entity{n.At, q, ids})
}

// addBoltzMSA takes the alignment of a chain from the file that msa names; the word empty asks for none.
func (d *draft) addBoltzMSA(q *pleat.Sequence, n node) error {
	if n.Null() {
		return nil
	}
	msa, err := scalar(n, &d.notes)
	switch {
	case err != nil:
		return err
	case msa != noAlignment:
		return d.align(q, n.At, msa)
	case q.Kind == pleat.Protein:
		d.unpaired = append(d.unpaired, n.At)
	}
	return nil
}

// boltzIDs returns the ids of an entity, one for each copy: id is a string or a list of them.
func (d *draft) boltzIDs(item, n node) ([]string, error) {
	if n.Null() {
		return nil, pleat.Invalidf("%s.id (line %d) is required; it must be the name of a chain, or a list of them",
			item.At, item.Line)
	}
	list, err := n.ListOrOne(pleat.MaxChains)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, one := range list {
		id, err := scalar(one, &d.notes)
		if err == nil && id == "" {
			err = one.Wrong("the name of a chain")
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, n.Wrong("the name of a chain, or a list of at least one")
	}
	return ids, nil
}

// boltzModification replaces one residue of q, counted from 1, by a chemical component.
func (d *draft) boltzModification(q *pleat.Sequence, n node) error {
	f, err := n.Fields("position", "ccd")
	if err != nil {
		return err
	}
	for _, need := range []string{"position", "ccd"} {
		if _, ok := f[need]; !ok {
			return pleat.Invalidf("%s (line %d) must have position and ccd", n.At, n.Line)
		}
	}
	index, err := f["position"].Whole()
	if err != nil {
		return err
	}
	code, err := scalar(f["ccd"], &d.notes)
	if err != nil {
		return err
	}
	return modify(q, n.At, "position", "ccd", index, code)
}

// addBoltzLigand adds a ligand given by SMILES or by CCD code.
func (d *draft) addBoltzLigand(n node) error {
	f, err := n.Fields("id", "smiles", "ccd")
	if err != nil {
		return err
	}
	ids, err := d.boltzIDs(n, f["id"])
	if err != nil {
		return err
	}
	what, ccd := f["ccd"]
	read := ccdLigand
	if smiles, ok := f["smiles"]; ok == ccd {
		return pleat.Invalidf("%s (line %d) must have exactly one of smiles and ccd", n.At, n.Line)
	} else if ok {
		what, read = smiles, smilesLigand
	}
	text, err := scalar(what, &d.notes)
	if err != nil {
		return err
	}
	q, err := read(what.At, text)
	if err != nil {
		return err
	}
	return d.add(entity{n.At, q, ids})
}

// addBoltzProperty marks the ligand whose affinity is predicted. It must exist in one copy.
func (d *draft) addBoltzProperty(n node) error {
	_, a, err := n.ExactlyOneKey("affinity")
	if err != nil {
		return err
	}
	f, err := a.Needs([]string{"binder"})
	if err != nil {
		return err
	}
	binder := f["binder"]
	id, err := scalar(binder, &d.notes)
	if err != nil {
		return err
	}
	_, q, err := d.chain(binder.At, id)
	switch {
	case err != nil:
		return err
	case q.Polymer():
		return pleat.Invalidf("%s names %s, a %s; affinity is predicted for a ligand", binder.At, pleat.Clip(id),
			q.Kind)
	case q.Count > 1:
		return pleat.Invalidf("%s names one of %d copies; affinity is predicted for a ligand in one copy", binder.At,
			q.Count)
	}
	q.PropertyType = "affinity"
	return nil
}

// boltzOptions maps parameters that the file cannot express to options of boltz predict. The verb %v stands for the
// value.
var boltzOptions = map[string]string{
	"seed": "--seed %v", "recyclingSteps": "--recycling_steps %v", "samplingSteps": "--sampling_steps %v",
	"diffusionSample": "--diffusion_samples %v",
	"stepScale":       "--step_scale %v", "samplingStepsAffinity": "--sampling_steps_affinity %v",
	"diffusionSamplesAffinity": "--diffusion_samples_affinity %v",
	"affinityMwCorrection":     "--affinity_mw_correction",
}

// writeBoltz writes the job as YAML. Notes name the options of boltz predict for parameters that the file cannot
// express.
func writeBoltz(j *pleat.Job, out *writing) ([]byte, error) {
	out.addNote("name %q is not in the file: the format has no place for it, so the file is named after it",
		pleat.Clip(j.Name))
	items, properties := yamlList(), yamlList()
	none, held := withoutAlignments(j)
	for i := range j.Sequences {
		q := &j.Sequences[i]
		items.Content = append(items.Content, boltzItemOf(q, none))
		if q.PropertyType != "affinity" {
			continue
		}
		properties.Content = append(properties.Content, yamlMap("affinity", yamlMap("binder", yamlText(q.Chains[0]))))
		if q.Count > 1 || len(properties.Content) > 1 {
			out.addNote("%s.property_type: Boltz predicts affinity for one ligand in one copy and may refuse the file",
				q.Path(i))
		}
	}
	out.labels(j)
	out.params(j, boltzOptions, held...)
	file := yamlMap("version", yamlInt(1), "sequences", items, "constraints", boltzConstraints(&j.Constraints, out),
		"properties", filled(properties))
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(file); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// filled returns a list, or nil if it is empty, so that yamlMap omits its key.
func filled(l *yaml.Node) *yaml.Node {
	if len(l.Content) == 0 {
		return nil
	}
	return l
}

// boltzItemOf returns the entry of one sequence with all its copies. A protein asks for no alignment if none is set.
func boltzItemOf(q *pleat.Sequence, none bool) *yaml.Node {
	id := yamlText(q.Chains[0])
	if len(q.Chains) > 1 {
		id = yamlRow()
		for _, c := range q.Chains {
			id.Content = append(id.Content, yamlText(c))
		}
	}
	if q.Kind == pleat.Ligand {
		key := "smiles"
		if q.CCD {
			key = "ccd"
		}
		return yamlMap("ligand", yamlMap("id", id, key, yamlText(q.Text)))
	}
	var cyclic, msa *yaml.Node
	if none && q.Kind == pleat.Protein {
		msa = yamlText(noAlignment)
	}
	if q.Cyclic {
		cyclic = yamlTrue()
	}
	mods := yamlList()
	for _, m := range q.Modifications {
		mods.Content = append(mods.Content, yamlMap("position", yamlInt(m.Residue), "ccd", yamlText(m.CCD)))
	}
	return yamlMap(string(q.Kind), yamlMap("id", id, "sequence", yamlText(q.Text), "msa", msa, "modifications",
		filled(mods), "cyclic", cyclic))
}

// boltzConstraints returns the constraints of a job, or nil where it has none.
func boltzConstraints(c *pleat.Constraints, out *writing) *yaml.Node {
	list := yamlList()
	put := func(key string, v *yaml.Node) { list.Content = append(list.Content, yamlMap(key, v)) }
	token := func(chain string, residue int) *yaml.Node { return yamlRow(yamlText(chain), yamlInt(residue)) }
	atom := func(a pleat.AtomRef) *yaml.Node {
		return yamlRow(yamlText(a.Chain), yamlInt(a.Residue), yamlText(a.Atom))
	}
	for _, b := range c.Bond {
		put("bond", yamlMap("atom1", atom(b.Atom1), "atom2", atom(b.Atom2)))
	}
	for _, p := range c.Pocket {
		row := yamlRow()
		for _, r := range p.Contacts {
			row.Content = append(row.Content, token(r.Chain, r.Residue))
		}
		put("pocket", yamlMap("binder", yamlText(p.Binder.Chain), "contacts", row))
	}
	for i, t := range c.Contact {
		var far *yaml.Node
		if t.Distance > 0 {
			far = yamlFloat(t.Distance)
			if t.Distance < boltzNear || t.Distance > boltzFar {
				out.addNote("constraints.contact[%d].distance %g is outside the %d to %d Å that Boltz supports; it "+
					"may refuse the file", i, t.Distance, boltzNear, boltzFar)
			}
		}
		put("contact", yamlMap("token1", token(t.ChainA, t.ResidueA), "token2", token(t.ChainB, t.ResidueB),
			"max_distance", far))
	}
	return filled(list)
}
