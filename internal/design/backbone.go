package design

import (
	"slices"

	"pleat"
)

// CheckBackbone refuses a spec that is more than a structure some of whose residues are designed, which is all that the
// protocol pleat.SequenceOnly takes.
func (s *Spec) CheckBackbone() error {
	const takes = "the protocol " + pleat.SequenceOnly + " takes one file, with path, include and design"
	entities, _ := s.main["entities"].([]any)
	if len(entities) != 1 || len(s.main) > 1 {
		return pleat.Invalidf("%s has more than one entity, or fields beside entities; %s", pleat.Clip(s.name), takes)
	}
	entity, _ := entities[0].(map[string]any)
	file, _ := entity["file"].(map[string]any)
	if file == nil || len(s.used) != 1 || s.used[0].Kind != Structure {
		return pleat.Invalidf("entities[0] in %s names no structure; %s", pleat.Clip(s.name), takes)
	}
	for name := range file {
		if !slices.Contains([]string{"path", "include", "design"}, name) {
			return pleat.Invalidf("entities[0].file.%s in %s is not taken; %s", name, pleat.Clip(s.name), takes)
		}
	}
	if slices.ContainsFunc(selected(file["include"]), func(c map[string]any) bool { return c["res_index"] != nil }) {
		return pleat.Invalidf("entities[0].file.include in %s names residues; with the protocol %s it names chains "+
			"alone", pleat.Clip(s.name), pleat.SequenceOnly)
	}
	if slices.ContainsFunc(selected(file["design"]), func(c map[string]any) bool { return c["id"] == "all" }) {
		return pleat.Invalidf("entities[0].file.design in %s has the id all; with the protocol %s it names chains",
			pleat.Clip(s.name), pleat.SequenceOnly)
	}
	for _, c := range s.chains {
		if c.Designed && c.Kind != string(pleat.Protein) {
			return pleat.Invalidf("entities[0].file.design in %s names the chain %s, which is %s; only proteins are "+
				"redesigned", pleat.Clip(s.name), c.original, c.Kind)
		}
	}
	return nil
}

// selected returns the chains of a list that selection.chains has read; none for an absent list.
func selected(list any) []map[string]any {
	var out []map[string]any
	items, _ := list.([]any)
	for _, item := range items {
		one, _ := item.(map[string]any)
		chain, _ := one["chain"].(map[string]any)
		out = append(out, chain)
	}
	return out
}
