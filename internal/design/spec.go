package design

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/structure"
	"pleat/internal/yamltree"
)

// MaxRange is how many residues one range of a sequence designs at most.
const MaxRange = 2000

// Limits of a spec.
const (
	maxEntities    = 64
	maxUsed        = 64   // files that a spec names, nested specs included
	maxItems       = 1000 // of a list
	maxGroup       = 1000 // symmetric_group and visibility
	maxProximity   = 1000 // Å
	maxShownChains = 20   // in a message
)

// Spec is a spec of designs with the files that it names, which has passed every check.
type Spec struct {
	name   string
	main   map[string]any
	used   []EngineFile // without the main spec
	chains []chain
	tokens int
}

// chain is a chain of a design while the spec is read.
type chain struct {
	Chain
	original string // as the spec or the file names it; Name differs where another chain has that name
	min, max int    // residues
	exact    bool   // its positions are those of the sequence that the spec gives, counted by the shortest length
}

// size is a number of residues and tokens between bounds. The residues have no upper bound if open is set.
type size struct {
	min, max, tokens int
	open             bool
}

func (s *size) add(o size) {
	s.min, s.max, s.tokens, s.open = s.min+o.min, s.max+o.max, s.tokens+o.tokens, s.open || o.open
}

// specReader reads a main spec and what it names.
type specReader struct {
	*Spec
	files   map[string][]byte
	paths   map[string]string // of ours, by the user's names
	names   map[string]bool   // of chains
	extents map[string][]structure.Extent
	parts   map[string]part // nested specs, by the user's names
	size    size
}

// ReadSpec reads the main spec, whose name is for messages and for Stem. Files has the content of every file that the
// spec sees, by the names that specs use: structures (.cif, .mmcif, .pdb, .ent) and nested specs (.yaml, .yml). Other
// files may be among them, and need no content: only those that the spec names are read. The error is a pleat.Error
// whose message is one sentence.
func ReadSpec(name string, text []byte, files map[string][]byte) (*Spec, error) {
	root, err := yamltree.Read(name, text, "entities")
	if err != nil {
		return nil, err
	}
	r := &specReader{
		Spec:    &Spec{name: name},
		files:   files,
		paths:   map[string]string{},
		names:   map[string]bool{},
		extents: map[string][]structure.Extent{},
		parts:   map[string]part{},
	}
	if err := r.read(root); err != nil {
		return nil, err
	}
	r.tokens = r.size.tokens
	return r.Spec, nil
}

// read reads the main spec.
func (r *specReader) read(root yamltree.Node) error {
	f, err := root.Needs([]string{"entities"}, "constraints", "leaving_atoms")
	if err != nil {
		return err
	}
	items, err := f["entities"].List(maxEntities)
	if err != nil {
		return err
	}
	entities := []any{}
	for _, item := range items {
		e, err := r.entity(item)
		if err != nil {
			return err
		}
		if n := len(r.Spec.chains); n > pleat.MaxChains {
			return item.Fault(" brings the design to %d chains; at most %d are allowed", n, pleat.MaxChains)
		}
		entities = append(entities, e)
	}
	if !slices.ContainsFunc(r.Spec.chains, func(c chain) bool { return c.Designed }) {
		return pleat.Invalidf("%s designs nothing; give a protein a sequence with a number, such as 80..120, or a "+
			"file a design", pleat.Clip(r.name))
	}
	r.main = map[string]any{"entities": entities}
	if err := r.constraints(f["constraints"]); err != nil {
		return err
	}
	return r.leavingAtoms(f["leaving_atoms"])
}

// entity reads an entity, and returns it as the engine gets it.
func (r *specReader) entity(item yamltree.Node) (any, error) {
	key, n, err := item.ExactlyOneKey("protein", "dna", "rna", "ligand", "file")
	if err != nil {
		return nil, err
	}
	var out map[string]any
	switch key {
	case "file":
		out, err = r.file(n)
	case "ligand":
		out, err = r.ligand(n)
	default:
		out, err = r.polymer(n, pleat.EntityKind(key))
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{key: out}, nil
}

// ids reads the names of an entity's copies. As JSON they are a text if the spec has one, else a list.
func (r *specReader) ids(n yamltree.Node) (ids []string, out any, err error) {
	list, err := n.ListOrOne(pleat.MaxChains)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range list {
		id, err := one.Text()
		if err != nil || !pleat.IsChainName(id) {
			return nil, nil, one.Wrong(fmt.Sprintf("the name of a chain, 1 to %d letters and digits",
				pleat.MaxChainName))
		}
		taken := func(c chain) bool { return c.original == id && c.exact }
		if slices.Contains(ids, id) || slices.ContainsFunc(r.Spec.chains, taken) {
			return nil, nil, one.Fault(" is %q, which another chain of the spec is called; names must differ", id)
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, nil, n.Wrong("the name of a chain, or a list of at least one")
	}
	if n.IsList() && len(ids) > 1 {
		return ids, ids, nil
	}
	return ids, ids[0], nil
}

// add adds a chain to the design. A chain whose name is taken gets the first free letter or digit.
func (r *specReader) add(c chain) {
	c.Name = c.original
	const free = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for i := 0; r.names[c.Name]; i++ {
		if c.Name = free[i%len(free) : i%len(free)+1]; i >= len(free) {
			c.Name += fmt.Sprint(i / len(free))
		}
	}
	r.names[c.Name] = true
	r.Spec.chains = append(r.Spec.chains, c)
}

// fuse reads the name of an earlier chain to which an entity is fused; nil if there is none.
func (r *specReader) fuse(n yamltree.Node) (*chain, error) {
	if n.Null() {
		return nil, nil
	}
	id, err := n.Text()
	if err != nil {
		return nil, err
	}
	return r.chain(n, id, "the chains before it are ")
}

// chain returns the chain of a name.
func (r *specReader) chain(n yamltree.Node, id, others string) (*chain, error) {
	var names []string
	for i := len(r.Spec.chains) - 1; i >= 0; i-- {
		if c := &r.Spec.chains[i]; c.original == id {
			return c, nil
		}
	}
	for _, c := range r.Spec.chains {
		names = append(names, c.original)
	}
	if len(names) == 0 {
		return nil, n.Fault(" is %q; there is no chain before it", pleat.Clip(id))
	}
	return nil, n.Fault(" is %q; %s%s", pleat.Clip(id), others, clippedNames(names))
}

// clippedNames lists names for a message, at most maxShownChains of them.
func clippedNames(names []string) string {
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = pleat.Clip(name)
	}
	return pleat.ListNames(short, maxShownChains)
}

// Stem returns the beginning of the ids of the designs: the spec's name without its ending, in letters, digits and
// hyphens. The engine refuses a stem that ends in _native or in _ and digits; this one has no underscore.
func (s *Spec) Stem() string {
	base := strings.TrimSuffix(s.name, path.Ext(s.name))
	out := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, base)
	if out = out[:min(len(out), maxStem)]; strings.Trim(out, "-") == "" {
		return "design"
	}
	return out
}

// maxStem is the most letters of a stem: ids of designs and file names of results contain it, and runners take no more.
const maxStem = 64

// Files returns the names of the files that the spec uses, nested specs included, in the order in which it names them.
func (s *Spec) Files() []string {
	var out []string
	for _, f := range s.used {
		out = append(out, f.Name)
	}
	return out
}

// Tokens returns the size of the largest design in tokens, target and longest binder together: residues of polymers,
// and atoms of ligands. It is a lower bound where the spec does not say enough: a component of the CCD, whose atoms are
// not known here, counts as one, and an assembly as what is named of it.
func (s *Spec) Tokens() int { return s.tokens }

// Chains returns the chains of a design in the order in which the spec names them, those of a file in the order of the
// file, under different names. For a list of nested specs it has the chains of the first. A fused chain is part of
// another.
func (s *Spec) Chains() []Chain {
	var out []Chain
	for _, c := range s.chains {
		out = append(out, c.Chain)
	}
	return out
}

// mainPath is the path of the main spec for the engine.
const mainPath = "spec.yaml"

// Engine returns the files for the engine, the main spec first. Equal specs give equal paths and bytes, whatever the
// style, the comments and the order of keys of their YAML, and whatever their files are called.
func (s *Spec) Engine() []EngineFile {
	main := EngineFile{Kind: MainSpec, Path: mainPath, Name: s.name, Text: canonical(s.main)}
	return append([]EngineFile{main}, s.used...)
}

// canonical writes a spec as JSON, which is YAML too. Keys are in order, and no text has a character that YAML needs
// written otherwise.
func canonical(spec map[string]any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(spec); err != nil {
		panic(err) // the values are maps, lists, texts, numbers and booleans
	}
	return b.Bytes()
}
