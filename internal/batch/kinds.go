package batch

import (
	"maps"
	"slices"
	"strconv"

	"pleat"
)

// job returns a job of the batch with sequences of its own, which Validate may change.
func (s *Spec) job(sequences ...pleat.Sequence) pleat.Job {
	j := pleat.Job{Sequences: sequences, Params: s.Params, Constraints: s.Constraints}
	return j.Clone()
}

// itemsAt are the paths of the items of a list.
func itemsAt(path string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = At(path, i)
	}
	return out
}

// listRows yields the jobs of a list.
func (s *Spec) listRows(yield func(Row) bool) {
	for i := range s.Jobs {
		e := &s.Jobs[i]
		path := At("jobs", i)
		r := Row{
			CustomID: idOr(e.CustomID, i),
			Job:      s.job(e.Sequences...),
			Path:     path,
			given:    e.CustomID,
			items:    itemsAt(path+".sequences", len(e.Sequences)),
		}
		r.Job.Name = e.Name
		if e.Name != "" {
			r.jobFields = append(r.jobFields, "name")
		}
		if e.Params != nil {
			r.jobFields = append(r.jobFields, "params")
			r.Job.Params = pleat.Params{Model: e.Params.Model, Values: maps.Clone(e.Params.Values)}
		}
		if e.Constraints != nil {
			r.jobFields = append(r.jobFields, "constraints")
			r.Job.Constraints = *e.Constraints
			r.Job = r.Job.Clone() // Validate may change it
		}
		if !yield(r) {
			return
		}
	}
}

// pairs is the number of rows of a matrix.
func (s *Spec) pairs() int {
	n := len(s.Binders)
	if s.Targets != nil {
		return n * len(s.Targets)
	}
	pairs := n * (n - 1)
	if s.UpperTriangle {
		pairs /= 2
	}
	if s.Self {
		pairs += n
	}
	return pairs
}

// partners returns what the binders are combined with, and its field.
func (s *Spec) partners() (list []Entry, path string) {
	if s.Targets == nil {
		return s.Binders, "binders"
	}
	return s.Targets, "targets"
}

// matrixRows yields each binder with each target, or with the other binders.
func (s *Spec) matrixRows(yield func(Row) bool) {
	targets, path := s.partners()
	for i := range s.Binders {
		for k := range targets {
			if s.Targets == nil && (i == k && !s.Self || k < i && s.UpperTriangle) {
				continue
			}
			if !yield(s.pair(i, &targets[k], path, k)) {
				return
			}
		}
	}
}

// pair is the row of binder i and a target, which is entry k of the list at a path. A chain name that both have is
// dropped from the target's sequences, so that another is chosen there.
func (s *Spec) pair(i int, target *Entry, path string, k int) Row {
	binder := &s.Binders[i]
	r := Row{
		CustomID: idOr(binder.CustomID, i) + ":" + idOr(target.CustomID, k),
		Job:      s.job(slices.Concat(binder.Sequences, target.Sequences)...),
		Path:     At("binders", i),
		items: slices.Concat(itemsAt(At("binders", i)+".sequences", len(binder.Sequences)),
			itemsAt(At(path, k)+".sequences", len(target.Sequences))),
	}
	taken := map[string]bool{}
	for n := range r.Job.Sequences {
		q := &r.Job.Sequences[n]
		if n >= len(binder.Sequences) && taken[q.ChainID] {
			q.ChainID = ""
		} else if n < len(binder.Sequences) && q.ChainID != "" {
			taken[q.ChainID] = true
		}
	}
	return r
}

// ligandRows yields the complex with each ligand.
func (s *Spec) ligandRows(yield func(Row) bool) {
	for i := range s.Ligands {
		l := &s.Ligands[i]
		ligand := pleat.Sequence{Kind: pleat.Ligand, Text: l.Text, CCD: l.CCD}
		if l.Affinity {
			ligand.PropertyType = "affinity"
		}
		r := Row{
			CustomID: idOr(l.CustomID, i),
			Job:      s.job(slices.Concat(s.Sequences, []pleat.Sequence{ligand})...),
			Path:     At("ligands", i),
			given:    l.CustomID,
			items:    append(itemsAt("sequences", len(s.Sequences)), At("ligands", i)),
		}
		if !yield(r) {
			return
		}
	}
}

// seedRows yields the complex with each seed.
func (s *Spec) seedRows(yield func(Row) bool) {
	first, _ := s.firstSeed() // Check has accepted it
	for i := range s.Count() {
		seed, path := strconv.FormatUint(first+uint64(i), 10), "seedCount"
		if s.Seeds != nil {
			seed, path = s.Seeds[i], At("seeds", i)
		}
		r := Row{
			CustomID: "seed-" + seed,
			Job:      s.job(s.Sequences...),
			Path:     path,
			items:    itemsAt("sequences", len(s.Sequences)),
		}
		if r.Job.Params.Values == nil {
			r.Job.Params.Values = map[string]any{}
		}
		r.Job.Params.Values["seed"] = seed
		if !yield(r) {
			return
		}
	}
}
