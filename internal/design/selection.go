package design

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/structure"
	"pleat/internal/yamltree"
)

// selection is what a spec selects of a structure.
type selection struct {
	file      string // the user's name
	extents   []structure.Extent
	out       map[string]any
	assembly  bool // the engine builds the assembly, whose chains have a number behind their name
	proximity bool // what is included is cut to what is near something
	all       bool // every chain is included

	// By the place of the chain in extents.
	include, exclude, design, notDesign map[int]spans
	insertions                          map[int]size
}

// copyNumber matches the name of a copy of a chain in an assembly.
var copyNumber = regexp.MustCompile(`^(.+?)[0-9]+$`)

// find returns the place of the chain that a node names. A copy of an assembly gets a place of its own.
func (s *selection) find(n yamltree.Node) (int, error) {
	id, err := n.Text()
	if err != nil {
		return 0, err
	}
	indexOf := func(id string) int {
		return slices.IndexFunc(s.extents, func(e structure.Extent) bool { return e.ID == id })
	}
	i := indexOf(id)
	if m := copyNumber.FindStringSubmatch(id); i < 0 && s.assembly && m != nil {
		if base := indexOf(m[1]); base >= 0 {
			return s.copy(base, id), nil
		}
	}
	if i >= 0 {
		return i, nil
	}
	var names []string
	for _, e := range s.extents {
		names = append(names, e.ID)
	}
	return 0, n.Fault(" is %q; %s has the chains %s", pleat.Clip(id), pleat.Clip(s.file), clippedNames(names))
}

// copy adds a copy of a chain, which an assembly has under a name of its own. Where everything is included, the copy
// stands for the chain.
func (s *selection) copy(original int, id string) int {
	e := s.extents[original]
	e.ID = id
	i := len(s.extents)
	s.extents = append(s.extents, e)
	if s.all {
		s.include[i] = spans{{1, e.Length}}
		delete(s.include, original)
	}
	return i
}

// read reads all fields of a selection.
func (s *selection) read(f map[string]yamltree.Node) error {
	s.include, s.exclude, s.design = map[int]spans{}, map[int]spans{}, map[int]spans{}
	s.notDesign, s.insertions = map[int]spans{}, map[int]size{}
	if v, ok := f["use_assembly"]; ok {
		var err error
		if s.assembly, err = v.Truth(); err != nil {
			return err
		}
		s.out["use_assembly"] = s.assembly
	}
	if err := s.includes(f["include"]); err != nil {
		return err
	}
	for _, step := range []struct {
		name   string
		all    bool // the word all stands for all chains
		chosen map[int]spans
	}{{"exclude", false, s.exclude}, {"design", true, s.design}, {"not_design", false, s.notDesign}} {
		if err := s.chains(f[step.name], step.name, step.all, step.chosen); err != nil {
			return err
		}
	}
	for _, step := range []func(map[string]yamltree.Node) error{s.near, s.bindings, s.strands, s.resets, s.groups,
		s.insert} {
		if err := step(f); err != nil {
			return err
		}
	}
	return nil
}

// includes reads include: all, which is the default, or chains.
func (s *selection) includes(n yamltree.Node) error {
	if !n.Null() && n.IsList() {
		return s.chains(n, "include", false, s.include)
	}
	if !n.Null() && (n.IsMap() || n.Value != "all") {
		return n.Wrong("all, or a list of chains")
	}
	s.all = true
	for i, e := range s.extents {
		s.include[i] = spans{{1, e.Length}}
	}
	return nil
}

// items reads a list of mappings that each have one key, such as chain, and returns their values.
func items(n yamltree.Node, key string) ([]yamltree.Node, error) {
	if n.Null() {
		return nil, nil
	}
	list, err := n.List(maxItems)
	if err != nil {
		return nil, err
	}
	for i, item := range list {
		if _, list[i], err = item.ExactlyOneKey(key); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// which reads the fields id and res_index of an item into out. It adds what they select to chosen, which may be nil;
// the word all as a name, if allowed, selects every chain.
func (s *selection) which(f map[string]yamltree.Node, all bool, out map[string]any, chosen map[int]spans) error {
	add := func(i int, r spans) {
		if chosen != nil {
			chosen[i] = append(chosen[i], r...)
		}
	}
	id := f["id"]
	if all && !id.IsList() && !id.IsMap() && id.Value == "all" {
		if v, ok := f["res_index"]; ok {
			return v.Fault(" stands beside the id all; name the chain whose residues are meant")
		}
		out["id"] = "all"
		for i, e := range s.extents {
			add(i, spans{{1, e.Length}})
		}
		return nil
	}
	i, err := s.find(id)
	if err != nil {
		return err
	}
	out["id"] = id.Value
	r := residues{all: true, spans: spans{{1, s.extents[i].Length}}}
	if v, ok := f["res_index"]; ok {
		if r, err = readResidues(v, "chain "+id.Value, s.extents[i].Length); err != nil {
			return err
		}
	}
	if !r.all { // the engine takes no word for all residues, but the lack of a selection
		out["res_index"] = r.text
	}
	add(i, r.spans)
	return nil
}

// chains reads a list of chains with residues, as include, exclude and design have it.
func (s *selection) chains(n yamltree.Node, name string, all bool, chosen map[int]spans) error {
	list, err := items(n, "chain")
	if err != nil || n.Null() {
		return err
	}
	out := []any{}
	for _, item := range list {
		f, err := item.Needs([]string{"id"}, "res_index", "msa")
		if err != nil {
			return err
		}
		one := map[string]any{}
		if err := msa(f["msa"], one); err != nil {
			return err
		}
		if err := s.which(f, all, one, chosen); err != nil {
			return err
		}
		out = append(out, map[string]any{"chain": one})
	}
	s.out[name] = out
	return nil
}

// count returns how many residues of a chain are included, and how many of those designed.
func (s *selection) count(i int) (included, designed int) {
	in := s.include[i].without(s.exclude[i])
	fixed := in.without(s.design[i].without(s.notDesign[i]))
	return in.size(), in.size() - fixed.size()
}

// near reads include_proximity.
func (s *selection) near(fields map[string]yamltree.Node) error {
	list, err := items(fields["include_proximity"], "chain")
	if err != nil || len(list) == 0 {
		return err
	}
	out := []any{}
	for _, item := range list {
		f, err := item.Needs([]string{"id", "radius"}, "res_index")
		if err != nil {
			return err
		}
		one := map[string]any{}
		if err := s.which(f, false, one, nil); err != nil {
			return err
		}
		radius, err := f["radius"].Number()
		if err != nil || radius <= 0 || radius > maxProximity {
			return f["radius"].Wrong(fmt.Sprintf("a length in Å above 0 and up to %d", maxProximity))
		}
		one["radius"] = number(radius)
		out = append(out, map[string]any{"chain": one})
	}
	s.proximity = true
	s.out["include_proximity"] = out
	return nil
}

// bindings reads binding_types.
func (s *selection) bindings(fields map[string]yamltree.Node) error {
	return s.keyed(fields["binding_types"], "binding_types", "binding", "not_binding")
}

// strands reads secondary_structure.
func (s *selection) strands(fields map[string]yamltree.Node) error {
	return s.keyed(fields["secondary_structure"], "secondary_structure", "loop", "helix", "sheet")
}

// keyed reads a list of chains with residues by key. The engine reads one key of an item and ignores the others, so
// each gets an item of its own.
func (s *selection) keyed(n yamltree.Node, name string, keys ...string) error {
	list, err := items(n, "chain")
	if err != nil || n.Null() {
		return err
	}
	out := []any{}
	for _, item := range list {
		f, err := item.Needs([]string{"id"}, keys...)
		if err != nil {
			return err
		}
		i, err := s.find(f["id"])
		if err != nil {
			return err
		}
		if len(f) == 1 {
			return item.Fault(" must have one of %s", strings.Join(keys, ", "))
		}
		for _, key := range keys {
			v, ok := f[key]
			if !ok {
				continue
			}
			r, err := readResidues(v, "chain "+f["id"].Value, s.extents[i].Length)
			if err != nil {
				return err
			}
			out = append(out, map[string]any{"chain": map[string]any{"id": f["id"].Value, key: r.text}})
		}
	}
	s.out[name] = out
	return nil
}

// resets reads reset_res_index and, of a nested spec, add_cyclization: lists of chains.
func (s *selection) resets(fields map[string]yamltree.Node) error {
	for _, name := range []string{"reset_res_index", "add_cyclization"} {
		list, err := items(fields[name], "chain")
		if err != nil {
			return err
		}
		out := []any{}
		for _, item := range list {
			f, err := item.Needs([]string{"id"})
			if err != nil {
				return err
			}
			if _, err := s.find(f["id"]); err != nil {
				return err
			}
			out = append(out, map[string]any{"chain": map[string]any{"id": f["id"].Value}})
		}
		if len(out) > 0 {
			s.out[name] = out
		}
	}
	return nil
}

// groups reads structure_groups: all, or groups of residues that are seen together.
func (s *selection) groups(fields map[string]yamltree.Node) error {
	n := fields["structure_groups"]
	if n.Null() {
		return nil
	}
	if !n.IsList() {
		if n.IsMap() || n.Value != "all" && n.Value != "1" {
			return n.Wrong("all, or a list of groups")
		}
		s.out["structure_groups"] = "all"
		return nil
	}
	list, err := items(n, "group")
	if err != nil {
		return err
	}
	out := []any{}
	for _, item := range list {
		f, err := item.Needs([]string{"id", "visibility"}, "res_index")
		if err != nil {
			return err
		}
		one := map[string]any{}
		if err := s.which(f, true, one, nil); err != nil {
			return err
		}
		visibility, err := f["visibility"].Whole()
		if err != nil || visibility > maxGroup {
			return f["visibility"].Wrong(fmt.Sprintf("a whole number: 0 for unseen, or a group from 1 to %d", maxGroup))
		}
		one["visibility"] = visibility
		out = append(out, map[string]any{"group": one})
	}
	s.out["structure_groups"] = out
	return nil
}

// number writes a number without an exponent, which YAML 1.1 would read as text.
func number(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'f', -1, 64)) }
