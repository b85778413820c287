package wire

import (
	"pleat"
	"pleat/api"
)

// ToJob converts a request to a job, without ids, owner and state. It validates nothing except what is lost in the
// conversion: the error is pleat.Errors with every count of 0, which the domain cannot distinguish from an absent
// count.
func ToJob(in *api.CreateJob) (pleat.Job, error) {
	var faults pleat.Errors
	j := pleat.Job{Name: in.Name, Public: in.IsPublic, ChatID: in.ChatID}
	for i := range in.Sequences {
		q, err := toSequence(i, &in.Sequences[i])
		_ = faults.Add(err) // always a fault of the request
		j.Sequences = append(j.Sequences, q)
	}
	if in.Params != nil {
		j.Params = ToParams(in.Params)
	}
	if in.Constraints != nil {
		j.Constraints = toConstraints(in.Constraints)
	}
	return j, faults.Err()
}

// CreateJob returns the request that would create a job again. It keeps the parameters model and seed and how
// alignments are made, and it drops visibility, chat and sources: it is for jobs that were read from a file, which have
// no webhooks.
func CreateJob(j *pleat.Job) api.CreateJob {
	out := api.CreateJob{Name: j.Name, Params: &api.Params{ModelName: j.Params.Model}}
	if seed, ok := j.Params.Seed(); ok {
		out.Params.Seed = &seed
	}
	if how, ok := j.Params.Values["msaAlgorithm"].(string); ok {
		out.Params.MSAAlgorithm = &how
	}
	for _, q := range j.Sequences {
		q.Source = ""
		out.Sequences = append(out.Sequences, SequenceItem(&q, ForOwner))
	}
	out.Constraints = Constraints(&j.Constraints, ForOwner)
	return out
}

// ToParams converts the model and the parameters of a request. Absent parameters are absent from the result too, so
// that the defaults of the model apply.
func ToParams(in *api.Params) pleat.Params {
	return pleat.Params{Model: in.ModelName, Values: in.Values()}
}

// toSequence converts item i of a request, which has exactly one kind: api.Decode refuses others.
func toSequence(i int, in *api.SequenceItem) (pleat.Sequence, error) {
	q := pleat.Sequence{Source: in.SourceSequenceID}
	var count *int
	if l := in.LigandSequence; l != nil {
		q.Kind, q.Text, q.CCD, q.ChainID = pleat.Ligand, l.Sequence, l.IsCCD, l.ChainID
		q.Label, q.PropertyType, count = l.Label, l.PropertyType, l.Count
	}
	for _, kind := range []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA} {
		chain := *chainField(in, kind)
		if chain == nil {
			continue
		}
		q.Kind, q.Text, q.ChainID, q.Label = kind, chain.Sequence, chain.ChainID, chain.Label
		q.PropertyType, q.Cyclic, count = chain.PropertyType, chain.Cyclic, chain.Count
		if f := chain.MSA; f != nil {
			q.MSA = pleat.FileRef{Item: pleat.ItemID(f.LibraryItemID), Name: f.FileName}
		}
		for _, m := range chain.Modifications {
			q.Modifications = append(q.Modifications, pleat.Modification{Residue: m.ResIdx, CCD: m.CCD})
		}
	}
	if count == nil {
		return q, nil
	}
	if q.Count = *count; q.Count == 0 {
		return q, pleat.InvalidField(q.Path(i)+".count", " is 0; it must be 1 to %d", pleat.MaxChains)
	}
	return q, nil
}

// SequenceItem returns a sequence as a request would give it, in canonical form: letters in upper case without white
// space, codes in upper case, no count of 1. Only the owner sees where the sequence and its alignment came from.
func SequenceItem(q *pleat.Sequence, to Audience) api.SequenceItem {
	item := api.SequenceItem{}
	if to == ForOwner {
		item.SourceSequenceID = q.Source
	}
	var count *int
	if q.Count > 1 {
		count = &q.Count
	}
	if q.Kind == pleat.Ligand {
		item.LigandSequence = &api.LigandSequence{
			Sequence:     q.Text,
			IsCCD:        q.CCD,
			ChainID:      q.ChainID,
			Label:        q.Label,
			Count:        count,
			PropertyType: q.PropertyType,
		}
		return item
	}
	chain := &api.Polymer{
		Sequence:     q.Text,
		ChainID:      q.ChainID,
		Label:        q.Label,
		Count:        count,
		PropertyType: q.PropertyType,
		Cyclic:       q.Cyclic,
	}
	if to == ForOwner && q.MSA != (pleat.FileRef{}) {
		chain.MSA = &api.FileRef{LibraryItemID: string(q.MSA.Item), FileName: q.MSA.Name}
	}
	for _, m := range q.Modifications {
		chain.Modifications = append(chain.Modifications, api.Modification{ResIdx: m.Residue, CCD: m.CCD})
	}
	*chainField(&item, q.Kind) = chain
	return item
}

// chainField returns the field of an item that holds the chain of a polymer; kind is not a ligand. Both directions use
// it, so that the kinds and the fields are matched in one place.
func chainField(item *api.SequenceItem, kind pleat.EntityKind) **api.Polymer {
	switch kind {
	case pleat.RNA:
		return &item.RNASequence
	case pleat.DNA:
		return &item.DNASequence
	default:
		return &item.ProteinChain
	}
}

// toConstraints converts the constraints of a request. The webhooks stay as they are, because package submit parses
// them together with the user's endpoint.
func toConstraints(in *api.Constraints) pleat.Constraints {
	var c pleat.Constraints
	for _, p := range in.Pocket {
		q := pleat.Pocket{Binder: pleat.ChainRef{Chain: p.Binder.ChainID}}
		for _, r := range p.Contacts {
			q.Contacts = append(q.Contacts, pleat.ResidueRef{Chain: r.ChainID, Residue: r.ResIdx})
		}
		c.Pocket = append(c.Pocket, q)
	}
	atom := func(a api.AtomRef) pleat.AtomRef {
		return pleat.AtomRef{Chain: a.ChainID, Residue: a.ResIdx, Atom: a.AtomName}
	}
	for _, b := range in.Bond {
		c.Bond = append(c.Bond, pleat.Bond{Atom1: atom(b.Atom1), Atom2: atom(b.Atom2)})
	}
	for _, t := range in.Contact {
		k := pleat.Contact{ChainA: t.ChainA, ResidueA: t.ResIdxA, ChainB: t.ChainB, ResidueB: t.ResIdxB}
		if t.Distance != nil {
			k.Distance = *t.Distance
		}
		c.Contact = append(c.Contact, k)
	}
	for _, t := range in.Templates {
		k := pleat.Template{
			Item:          pleat.ItemID(t.LibraryItemID),
			Job:           pleat.JobID(t.JobID),
			PDB:           t.PDBID,
			File:          t.FileName,
			TemplateChain: t.TemplateChain,
			Chain:         t.Chain,
			Force:         t.Force,
		}
		if t.MaxDistance != nil {
			k.MaxDistance = *t.MaxDistance
		}
		c.Templates = append(c.Templates, k)
	}
	for _, component := range in.Components {
		c.Components = append(c.Components, pleat.Component{
			Code:   component.Code,
			SMILES: component.SMILES,
			Item:   pleat.ItemID(component.LibraryItemID),
			File:   component.FileName,
		})
	}
	c.Webhooks = in.Webhooks
	return c
}

// Constraints returns the constraints of a job as they were given; nil if there were none. Only the owner sees where
// templates and components come from, and the webhooks, whose addresses and tokens were removed when the job was
// created. A distance of 0 is one that the request did not give.
func Constraints(c *pleat.Constraints, to Audience) *api.Constraints {
	var out api.Constraints
	if to != ForOwner {
		private := c.Private()
		c = &private
	}
	for _, p := range c.Pocket {
		q := api.Pocket{Binder: api.ChainRef{ChainID: p.Binder.Chain}, Contacts: []api.ResidueRef{}}
		for _, r := range p.Contacts {
			q.Contacts = append(q.Contacts, api.ResidueRef{ChainID: r.Chain, ResIdx: r.Residue})
		}
		out.Pocket = append(out.Pocket, q)
	}
	atom := func(a pleat.AtomRef) api.AtomRef {
		return api.AtomRef{ChainID: a.Chain, ResIdx: a.Residue, AtomName: a.Atom}
	}
	for _, b := range c.Bond {
		out.Bond = append(out.Bond, api.Bond{Atom1: atom(b.Atom1), Atom2: atom(b.Atom2)})
	}
	for _, t := range c.Contact {
		k := api.Contact{ChainA: t.ChainA, ResIdxA: t.ResidueA, ChainB: t.ChainB, ResIdxB: t.ResidueB}
		if t.Distance != 0 {
			d := t.Distance
			k.Distance = &d
		}
		out.Contact = append(out.Contact, k)
	}
	for _, t := range c.Templates {
		k := api.Template{
			LibraryItemID: string(t.Item),
			JobID:         string(t.Job),
			PDBID:         t.PDB,
			FileName:      t.File,
			TemplateChain: t.TemplateChain,
			Chain:         t.Chain,
			Force:         t.Force,
		}
		if t.MaxDistance != 0 {
			d := t.MaxDistance
			k.MaxDistance = &d
		}
		out.Templates = append(out.Templates, k)
	}
	for _, component := range c.Components {
		out.Components = append(out.Components, api.Component{
			Code:          component.Code,
			SMILES:        component.SMILES,
			LibraryItemID: string(component.Item),
			FileName:      component.File,
		})
	}
	if len(c.Webhooks) > 0 && string(c.Webhooks) != "null" {
		out.Webhooks = c.Webhooks
	}
	if c.Empty() && out.Webhooks == nil {
		return nil
	}
	return &out
}
