package design

import (
	"bytes"
	"cmp"
	"path"
	"slices"

	"pleat"
	"pleat/internal/structure"
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

// EngineFiles returns the files for the engine of a protocol; files has the content that ReadSpec has read. They are
// those of [Spec.Engine], but for pleat.SequenceOnly the structure is mmCIF of what is read here, so that the engine
// needs no rules of reading: the chains that the spec includes, whose author ids are their labels, and polymers whose
// author numbers are the positions. The error is a pleat.Error.
func (s *Spec) EngineFiles(protocol string, files map[string][]byte) ([]EngineFile, error) {
	if protocol != pleat.SequenceOnly {
		return s.Engine(), nil
	}
	if err := s.CheckBackbone(); err != nil {
		return nil, err
	}
	own := s.used[0]
	whole, err := structure.ReadWhole(bytes.NewReader(files[own.Name]), structure.Limits{})
	if err != nil {
		return nil, pleat.Invalidf("%s cannot be read: %s", pleat.Clip(own.Name), err)
	}
	file := s.main["entities"].([]any)[0].(map[string]any)["file"].(map[string]any)
	whole = &structure.Structure{Chains: includedChains(whole.Chains, file["include"], path.Ext(own.Path) == ".pdb")}
	var text bytes.Buffer
	if err := structure.WriteCIF(&text, whole, structure.Meta{Experimental: true}); err != nil {
		return nil, pleat.Invalidf("%s cannot be passed to the engine: %s", pleat.Clip(own.Name), err)
	}
	const written = "structure-1.cif"
	entity := map[string]any{"file": map[string]any{"path": written, "design": file["design"]}}
	return []EngineFile{
		{Kind: MainSpec, Path: mainPath, Name: s.name, Text: canonical(map[string]any{"entities": []any{entity}})},
		{Kind: Structure, Path: written, Name: own.Name, Text: text.Bytes()},
	}, nil
}

// includedChains returns the chains that a list includes, by which a spec calls them; all of them if it is none. The
// letter of a PDB file includes the ligands and waters that have it too.
func includedChains(all []structure.Chain, list any, pdb bool) []structure.Chain {
	var ids []any
	for _, c := range selected(list) {
		ids = append(ids, c["id"])
	}
	var out []structure.Chain
	for _, c := range all {
		label := cmp.Or(c.Label, c.ID)
		name := label
		if pdb {
			name = c.ID
		}
		if _, some := list.([]any); some && !slices.Contains(ids, any(name)) {
			continue
		}
		if c.Kind.Polymer() {
			for i := range c.Residues {
				c.Residues[i].Auth, c.Residues[i].Ins = c.Residues[i].Seq, ""
			}
		}
		out = append(out, structure.Chain{ID: label, Kind: c.Kind, Residues: c.Residues})
	}
	return out
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
