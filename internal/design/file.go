package design

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/structure"
	"pleat/internal/yamltree"
)

// selectionFields are the fields beside path of an entity file and of a nested spec.
var selectionFields = []string{"include", "exclude", "include_proximity", "design", "not_design", "binding_types",
	"secondary_structure", "reset_res_index", "structure_groups", "design_insertions", "use_assembly", "fuse", "msa",
	"add_cyclization"}

// part is what a structure or a nested spec adds to a design.
type part struct {
	chains []chain
	size   size
	fused  *chain // to which it is fused; nil: to none
}

// file reads an entity file.
func (r *specReader) file(n yamltree.Node) (map[string]any, error) {
	f, err := n.Needs([]string{"path"}, selectionFields...)
	if err != nil {
		return nil, err
	}
	if f["path"].IsList() {
		return r.draw(n, f)
	}
	name, err := r.resolve(f["path"])
	if err != nil {
		return nil, err
	}
	if isSpec(name) {
		if err := alone(f, n); err != nil {
			return nil, err
		}
		p, err := r.nested(f["path"], name)
		if err != nil {
			return nil, err
		}
		r.join(p)
		return map[string]any{"path": r.paths[name]}, nil
	}
	if v, ok := f["add_cyclization"]; ok {
		return nil, v.Fault(" is not taken: the engine refuses add_cyclization outside nested specs; leave it out")
	}
	p, out, err := r.structure(f, name)
	if err != nil {
		return nil, err
	}
	r.join(p)
	return out, nil
}

// draw reads a list of nested specs, of which the engine draws one for each design.
func (r *specReader) draw(n yamltree.Node, f map[string]yamltree.Node) (map[string]any, error) {
	items, err := f["path"].List(maxUsed)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, f["path"].Wrong("the name of a file, or a list of at least one nested spec")
	}
	if err := alone(f, n); err != nil {
		return nil, err
	}
	var all part
	paths := []any{}
	for i, item := range items {
		name, err := r.resolve(item)
		if err != nil {
			return nil, err
		}
		if !isSpec(name) {
			return nil, item.Wrong("the name of a nested spec, which ends in .yaml or .yml; a list has nothing else")
		}
		p, err := r.nested(item, name)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all = p
		}
		all.size = size{min(all.size.min, p.size.min), max(all.size.max, p.size.max),
			max(all.size.tokens, p.size.tokens), all.size.open || p.size.open}
		paths = append(paths, r.paths[name])
	}
	r.join(all)
	return map[string]any{"path": paths}, nil
}

// alone refuses fields beside the path of a nested spec: the engine reads those of the nested spec instead.
func alone(f map[string]yamltree.Node, n yamltree.Node) error {
	for _, name := range selectionFields {
		if v, ok := f[name]; ok {
			return v.Fault(" stands beside a nested spec, whose own fields the engine reads instead; move it there")
		}
	}
	return nil
}

// join adds what a file has to the design.
func (r *specReader) join(p part) {
	r.size.add(p.size)
	for _, c := range p.chains {
		if p.fused == nil {
			r.add(c)
			continue
		}
		p.fused.min, p.fused.max = p.fused.min+c.min, p.fused.max+c.max
		p.fused.Designed = p.fused.Designed || c.Designed
	}
}

// drive matches the beginning of a path on a drive.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// resolve returns the file that a path stands for: the one that is called as its last component. Nothing else of the
// path counts, and paths that look like more than a name in a folder are refused.
func (r *specReader) resolve(n yamltree.Node) (string, error) {
	text, err := n.Text()
	if err != nil {
		return "", err
	}
	last := path.Base(text)
	namesFolder := strings.HasSuffix(text, "/") || last == "." || last == ".."
	bad := text == "" || namesFolder || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") ||
		drive.MatchString(text) || strings.Contains(text, `\`) || strings.Contains(text, "://") ||
		strings.IndexFunc(text, isControl) >= 0
	if _, ok := r.files[last]; bad || !ok {
		names := slices.Sorted(maps.Keys(r.files))
		if len(names) == 0 {
			return "", n.Fault(" is %q; the node has no files, which inputPayload.files names", pleat.Clip(text))
		}
		return "", n.Wrong("the name of one of the node's files: " + clippedNames(names))
	}
	if !isSpec(last) && !pleat.IsStructureFile(last) {
		return "", n.Wrong("the name of a structure, which ends in " + alternatives(pleat.StructureEndings) +
			", or of a nested spec, which ends in .yaml or .yml")
	}
	return last, nil
}

// use gives a file a path of ours, if it has none yet. A place in the list of files is kept for it.
func (r *specReader) use(n yamltree.Node, name, kind, ending string) error {
	if r.paths[name] != "" {
		return nil
	}
	if len(r.used) == maxUsed {
		return n.Fault(" is one file too many: a spec names at most %d", maxUsed)
	}
	count := 1
	for _, u := range r.used {
		if u.Kind == kind {
			count++
		}
	}
	r.paths[name] = fmt.Sprintf("%s-%d%s", kind, count, ending)
	r.used = append(r.used, EngineFile{Kind: kind, Path: r.paths[name], Name: name})
	return nil
}

// nested reads a nested spec, once.
func (r *specReader) nested(n yamltree.Node, name string) (part, error) {
	if err := r.use(n, name, NestedSpec, ".yaml"); err != nil {
		return part{}, err
	}
	if p, ok := r.parts[name]; ok && p.fused == nil {
		return p, nil
	}
	root, err := yamltree.Read(name, r.files[name], "path")
	if err != nil {
		return part{}, err
	}
	f, err := root.Needs([]string{"path"}, selectionFields...)
	if err != nil {
		return part{}, err
	}
	if f["path"].IsList() {
		return part{}, f["path"].Wrong("the name of a structure: a nested spec names no further spec")
	}
	inner, err := r.resolve(f["path"])
	if err != nil {
		return part{}, err
	}
	if isSpec(inner) {
		return part{}, f["path"].Wrong("the name of a structure: a nested spec names no further spec")
	}
	p, out, err := r.structure(f, inner)
	if err != nil {
		return part{}, err
	}
	r.parts[name] = p
	i := slices.IndexFunc(r.used, func(u EngineFile) bool { return u.Name == name })
	r.used[i].Text = canonical(out)
	return p, nil
}

// structure reads what a spec selects of a structure.
func (r *specReader) structure(f map[string]yamltree.Node, name string) (part, map[string]any, error) {
	extents, err := r.read3D(f["path"], name)
	if err != nil {
		return part{}, nil, err
	}
	s := &selection{file: name, extents: slices.Clone(extents), out: map[string]any{"path": r.paths[name]}}
	fused, err := r.fuse(f["fuse"])
	if err != nil {
		return part{}, nil, err
	}
	if fused != nil {
		s.out["fuse"] = fused.original
	}
	if err := msa(f["msa"], s.out); err != nil {
		return part{}, nil, err
	}
	if err := s.read(f); err != nil {
		return part{}, nil, err
	}
	p := s.part()
	p.fused = fused
	return p, s.out, nil
}

// read3D returns the chains of a structure file, which is read once.
func (r *specReader) read3D(n yamltree.Node, name string) ([]structure.Extent, error) {
	ending := ".cif"
	pdb := slices.Contains([]string{".pdb", ".ent"}, strings.ToLower(path.Ext(name)))
	if pdb {
		ending = ".pdb"
	}
	if err := r.use(n, name, Structure, ending); err != nil {
		return nil, err
	}
	if known, ok := r.extents[name]; ok {
		return known, nil
	}
	all, err := structure.ReadExtents(bytes.NewReader(r.files[name]), pdb, structure.Limits{})
	if err != nil {
		return nil, n.Fault(" names %s, which cannot be read: %s", pleat.Clip(name), err)
	}
	all = slices.DeleteFunc(all, func(e structure.Extent) bool { return e.Kind == structure.Water })
	r.extents[name] = all
	return all, nil
}

// part returns what is selected as a part of the design.
func (s *selection) part() part {
	var p part
	for i, e := range s.extents {
		included, designed := s.count(i)
		extra := s.insertions[i]
		if included == 0 && extra == (size{}) {
			continue
		}
		c := chain{
			Chain:    Chain{Kind: kindOf(e.Kind), Designed: designed > 0 || extra.max > 0},
			original: e.ID,
			max:      e.Length + extra.max,
			min:      e.Length,
		}
		p.chains = append(p.chains, c)
		one := size{min: max(0, included-(e.Length-e.Resolved)), max: included, tokens: included}
		if !e.Kind.Polymer() {
			one.tokens = max(e.Atoms, 1)
		}
		if s.proximity {
			one.min = 0
			one.tokens = 0
		}
		p.size.add(one)
		p.size.add(extra)
	}
	p.size.open = s.assembly
	return p
}

// kindOf returns the kind of a chain as specs call it.
func kindOf(k structure.Kind) string {
	if k == structure.Ion {
		k = structure.Ligand
	}
	return cmp.Or(string(k), string(structure.Ligand))
}
