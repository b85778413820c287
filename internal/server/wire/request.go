package wire

import (
	"pleat"
	"pleat/api"
)

// ToJob converts a request to a job. The error is pleat.Errors with every count of 0, which the domain cannot tell
// from an absent count.
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

// ToParams converts the model and the parameters of a request.
func ToParams(in *api.Params) pleat.Params {
	return pleat.Params{Model: in.ModelName, Values: in.Values()}
}

// toSequence converts item i of a request.
func toSequence(i int, in *api.SequenceItem) (pleat.Sequence, error) {
	q := pleat.Sequence{Source: in.SourceSequenceID}
	var count *int
	polymer := func(kind pleat.EntityKind, p *api.Polymer) {
		q.Kind, q.Text, q.ChainID, q.Label = kind, p.Sequence, p.ChainID, p.Label
		q.PropertyType, q.Cyclic, count = p.PropertyType, p.Cyclic, p.Count
		for _, m := range p.Modifications {
			q.Modifications = append(q.Modifications, pleat.Modification{Residue: m.ResIdx, CCD: m.CCD})
		}
	}
	switch {
	case in.ProteinChain != nil:
		polymer(pleat.Protein, in.ProteinChain)
	case in.RNASequence != nil:
		polymer(pleat.RNA, in.RNASequence)
	case in.DNASequence != nil:
		polymer(pleat.DNA, in.DNASequence)
	default:
		l := in.LigandSequence
		q.Kind, q.Text, q.CCD, q.ChainID = pleat.Ligand, l.Sequence, l.IsCCD, l.ChainID
		q.Label, q.PropertyType, count = l.Label, l.PropertyType, l.Count
	}
	if count == nil {
		return q, nil
	}
	if q.Count = *count; q.Count == 0 {
		return q, pleat.InvalidField(q.Path(i)+".count", " is 0; it must be 1 to %d", pleat.MaxChains)
	}
	return q, nil
}

// toConstraints converts the constraints of a request; the webhooks stay as they are.
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
	c.Webhooks = in.Webhooks
	return c
}
