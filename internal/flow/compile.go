package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/structure"
)

// CompiledSpec is the name of the spec that a design without one is compiled to.
const CompiledSpec = "design.yaml"

// TargetFile is the name, without ending, of the target in a [CompiledSpec].
const TargetFile = "target"

// CompileDesign returns the spec of a task, as YAML. Target is the structure that file, a name, stands for; nil if the
// task has a sequence or a ligand instead. An error has CodeInvalid and names the field of the task.
func CompileDesign(t *DesignTask, target *structure.Structure, file string) (string, error) {
	c := compiler{task: t, names: map[string]bool{}}
	if target != nil {
		if err := c.readChains(target); err != nil {
			return "", err
		}
	} else {
		c.chains = []targetChain{{name: "A", author: "A", length: len(t.Sequence)}}
		c.names["A"] = true
	}
	if len(t.Redesign) > 0 {
		c.line(0, "entities:")
		err := c.writeRedesign(file)
		return c.out.String(), err
	}
	var epitope, avoid map[string][]int
	var err error
	if epitope, err = c.positions(t.Epitope, maxEpitope); err != nil {
		return "", err
	}
	if avoid, err = c.positions(t.Avoid, maxEpitope); err != nil {
		return "", err
	}
	if err := disjoint(epitope, avoid, t.Avoid); err != nil {
		return "", err
	}
	binder := c.freeName()
	c.line(0, "entities:")
	c.line(1, "- protein:")
	c.line(3, "id: %s", quote(binder))
	c.line(3, "sequence: %s", quote(t.Binder.Sequence))
	if t.Binder.Cyclic {
		c.line(3, "cyclic: true")
	}
	c.writeTarget(file, epitope, avoid)
	if len(t.Binder.Disulfides) > 0 {
		places := cysteines(t.Binder.Sequence)
		c.line(0, "constraints:")
		for _, pair := range t.Binder.Disulfides {
			c.line(1, "- bond:")
			c.line(3, "atom1: [%s, %d, SG]", quote(binder), places[pair[0]-1])
			c.line(3, "atom2: [%s, %d, SG]", quote(binder), places[pair[1]-1])
		}
	}
	return c.out.String(), nil
}

// compiler writes a spec.
type compiler struct {
	task   *DesignTask
	chains []targetChain // of the target that the spec includes
	names  map[string]bool
	out    strings.Builder
}

// targetChain is a chain of a target.
type targetChain struct {
	name   string // label_asym_id
	author string
	length int   // 0: not known
	places []int // of the residues of a structure, in order
	// named has, by the numbers of the authors, the indexes of the first and the last residue that they call so.
	named map[structure.ResidueNumber][2]int
	kind  structure.Kind
}

// line writes a line.
func (c *compiler) line(indent int, format string, args ...any) {
	c.out.WriteString(strings.Repeat("  ", indent) + fmt.Sprintf(format, args...) + "\n")
}

// quote writes a text in double quotes, so that no reader of YAML converts it.
func quote(s string) string {
	b, _ := json.Marshal(s) // cannot fail for a string
	return string(b)
}

// readChains reads the chains of the target that are included.
func (c *compiler) readChains(s *structure.Structure) error {
	var have []string
	for i := range s.Chains {
		chain := &s.Chains[i]
		name := cmp.Or(chain.Label, chain.ID)
		c.names[name] = true
		if chain.Kind == structure.Water || !chain.Kind.Polymer() && len(c.task.Redesign) == 0 {
			continue
		}
		out := targetChain{
			name:   name,
			author: chain.ID,
			named:  map[structure.ResidueNumber][2]int{},
			kind:   chain.Kind,
		}
		out.addResidues(chain.Residues)
		have = append(have, c.nameOf(&out))
		if len(c.task.Chains) == 0 || slices.Contains(c.task.Chains, c.nameOf(&out)) {
			c.chains = append(c.chains, out)
		}
	}
	for i, name := range c.task.Chains {
		if !slices.Contains(have, name) {
			return pleat.InvalidField(fmt.Sprintf("workflow_input.targetChains[%d]", i),
				" is %q; the target has the chains %s", pleat.Clip(name), pleat.ListNames(have, 20))
		}
	}
	if len(c.chains) == 0 {
		return pleat.InvalidField("workflow_input.target", " has no protein, RNA or DNA")
	}
	return nil
}

// addResidues adds residues of a chain. One without atoms has a number that only continues those around it, so that one
// with atoms and the same number is meant.
func (t *targetChain) addResidues(residues []structure.Residue) {
	resolved := map[structure.ResidueNumber]bool{}
	for i := range residues {
		if r := &residues[i]; len(r.Atoms) > 0 {
			resolved[r.AuthorNumber()] = true
		}
	}
	for i := range residues {
		r, name := &residues[i], residues[i].AuthorNumber()
		t.length, t.places = max(t.length, r.Seq), append(t.places, r.Seq)
		if len(r.Atoms) == 0 && resolved[name] {
			continue
		}
		first := i
		if same, ok := t.named[name]; ok {
			first = same[0]
		}
		t.named[name] = [2]int{first, i}
	}
}

// nameOf returns the name by which the task knows a chain.
func (c *compiler) nameOf(chain *targetChain) string {
	if c.task.Author {
		return chain.author
	}
	return chain.name
}

// chainOf returns the chain whose residues are named. Authors give a ligand the name of the polymer that it belongs to,
// which is the one meant.
func (c *compiler) chainOf(one *ChainResidues) (*targetChain, error) {
	var have, labels []string
	var found *targetChain
	for i := range c.chains {
		chain := &c.chains[i]
		name := c.nameOf(chain)
		have = append(have, name)
		switch {
		case name != one.Chain:
		case found == nil || chain.kind.Polymer() && !found.kind.Polymer():
			found, labels = chain, []string{chain.name}
		case chain.kind.Polymer() == found.kind.Polymer():
			labels = append(labels, chain.name)
		}
	}
	switch {
	case found == nil:
		slices.Sort(have)
		return nil, pleat.InvalidField(one.Field+".chain_id", " is %q; the target has the chains %s",
			pleat.Clip(one.Chain), pleat.ListNames(slices.Compact(have), 20))
	case len(labels) > 1:
		return nil, pleat.InvalidField(one.Field+".chain_id", " is %q, which the authors call %d chains of the "+
			"target; name one by its label with \"numbering\": \"label\": %s", pleat.Clip(one.Chain), len(labels),
			pleat.ListNames(labels, 20))
	}
	return found, nil
}

// positions returns the positions of residues by chain, in order, at most most.
func (c *compiler) positions(list []ChainResidues, most int) (map[string][]int, error) {
	out, total := map[string][]int{}, 0
	for _, one := range list {
		chain, err := c.chainOf(&one)
		if err != nil {
			return nil, err
		}
		for k, r := range one.Residues {
			field := fmt.Sprintf("%s.res_idx[%d]", one.Field, k)
			places, err := c.places(chain, r, field, one.Chain)
			if err != nil {
				return nil, err
			}
			if total += len(places); total > most {
				return nil, pleat.InvalidField(field, " is one too many: at most %d residues are allowed", most)
			}
			out[chain.name] = append(out[chain.name], places...)
		}
	}
	for name := range out {
		slices.Sort(out[name])
		out[name] = slices.Compact(out[name])
	}
	return out, nil
}

// places returns the positions of a residue or a range. A range by the numbers of the authors goes by the order in the
// chain, in which insertion codes need not ascend.
func (c *compiler) places(chain *targetChain, r ResidueRange, field, name string) ([]int, error) {
	if chain.length == 0 {
		return nil, pleat.InvalidField(field, " names a residue of a ligand, which has none")
	}
	if !c.task.Author || chain.named == nil {
		return chain.byPosition(r, field, name)
	}
	var ends [2]int
	for k, end := range []structure.ResidueNumber{r.First, r.Last} {
		at, found := chain.named[end]
		switch {
		case !found:
			return nil, pleat.InvalidField(field, " is %s; chain %s of the target has no residue that its authors "+
				"give this number%s", end, name, chain.near(end))
		case at[0] != at[1]:
			return nil, pleat.InvalidField(field, " is %s; the authors give this number to several residues of chain "+
				"%s; name positions with \"numbering\": \"label\"", end, name)
		}
		ends[k] = at[0]
	}
	if ends[0] > ends[1] {
		return nil, pleat.InvalidField(field, " is %s..%s; %s stands behind %s in chain %s, and a range must ascend",
			r.First, r.Last, r.First, r.Last, name)
	}
	return chain.places[ends[0] : ends[1]+1], nil
}

// near says which insertion codes a number has, after a message that a residue is not there; empty: none.
func (t *targetChain) near(n structure.ResidueNumber) string {
	var others []string
	inOrder := func(a, b structure.ResidueNumber) int { return t.named[a][0] - t.named[b][0] }
	for _, r := range slices.SortedFunc(maps.Keys(t.named), inOrder) {
		if r.Value == n.Value {
			others = append(others, r.String())
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "; it has " + pleat.ListNames(others, 20)
}

// byPosition returns the positions of a range of positions: not all of one that is longer than any may be, for a file
// may count to millions.
func (t *targetChain) byPosition(r ResidueRange, field, name string) ([]int, error) {
	var places []int
	for _, end := range []structure.ResidueNumber{r.First, r.Last} {
		switch {
		case end.Ins != "":
			return nil, pleat.InvalidField(field, " is %s; positions count from 1 and have no insertion codes; with "+
				"\"numbering\": \"author\" a structure's residues go by the numbers of its authors", end)
		case end.Value < 1 || end.Value > t.length:
			return nil, pleat.InvalidField(field, " is %s; chain %s of the target has residues 1 to %d", end, name,
				t.length)
		}
	}
	if r.First.Value > r.Last.Value {
		return nil, pleat.InvalidField(field, " is %s..%s; a range must ascend", r.First, r.Last)
	}
	for n := r.First.Value; n <= min(r.Last.Value, r.First.Value+max(maxEpitope, maxRedesign)); n++ {
		places = append(places, n)
	}
	return places, nil
}

// disjoint refuses residues that are to be bound and not to be bound.
func disjoint(epitope, avoid map[string][]int, fields []ChainResidues) error {
	for name, list := range avoid {
		for _, n := range list {
			if slices.Contains(epitope[name], n) {
				return pleat.InvalidField(fields[0].Field, ": residue %d of chain %s is in epitope too", n, name)
			}
		}
	}
	return nil
}

// freeName returns the first letter that names no chain of the target.
func (c *compiler) freeName() string {
	for _, r := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		if !c.names[string(r)] {
			return string(r)
		}
	}
	for i := 1; ; i++ {
		if name := "B" + strconv.Itoa(i); !c.names[name] {
			return name
		}
	}
}

// writeTarget writes the entity of the target with the residues to bind and not to bind.
func (c *compiler) writeTarget(file string, epitope, avoid map[string][]int) {
	t := c.task
	switch {
	case t.CCD != "" || t.SMILES != "":
		c.line(1, "- ligand:")
		c.line(3, "id: %s", quote("A"))
		if t.CCD != "" {
			c.line(3, "ccd: %s", quote(t.CCD))
		} else {
			c.line(3, "smiles: %s", quote(t.SMILES))
		}
	case t.Sequence != "":
		c.line(1, "- protein:")
		c.line(3, "id: %s", quote("A"))
		c.line(3, "sequence: %s", quote(t.Sequence))
		if len(epitope)+len(avoid) > 0 {
			c.line(3, "binding_types:")
			c.writeBinding(4, epitope["A"], avoid["A"])
		}
	default:
		c.line(1, "- file:")
		c.line(3, "path: %s", quote(file))
		c.line(3, "include:")
		for i := range c.chains {
			c.writeChain(&c.chains[i])
		}
		if len(epitope)+len(avoid) == 0 {
			return
		}
		c.line(3, "binding_types:")
		for i := range c.chains {
			if chain := &c.chains[i]; len(epitope[chain.name])+len(avoid[chain.name]) > 0 {
				c.writeChain(chain)
				c.writeBinding(6, epitope[chain.name], avoid[chain.name])
			}
		}
	}
}

// writeChain begins an item of a list of chains.
func (c *compiler) writeChain(chain *targetChain) {
	c.line(4, "- chain:")
	c.line(6, "id: %s", quote(chain.name))
}

// writeBinding writes the residues of a chain that are to be bound and not to be bound.
func (c *compiler) writeBinding(indent int, epitope, avoid []int) {
	if len(epitope) > 0 {
		c.line(indent, "binding: %s", quote(ranges(epitope)))
	}
	if len(avoid) > 0 {
		c.line(indent, "not_binding: %s", quote(ranges(avoid)))
	}
}

// ranges writes sorted positions as a spec has them: 3..9,12.
func ranges(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		if k > i {
			out = append(out, fmt.Sprintf("%d..%d", list[i], list[k]))
		} else {
			out = append(out, strconv.Itoa(list[i]))
		}
		i = k + 1
	}
	return strings.Join(out, ",")
}

// cysteines returns the positions of the C's of a sequence with designed parts, which count as their shortest length.
func cysteines(sequence string) []int {
	var out []int
	at := 0
	for i := 0; i < len(sequence); {
		c := sequence[i]
		if c >= '0' && c <= '9' {
			k := i
			for k < len(sequence) && (sequence[k] >= '0' && sequence[k] <= '9' || sequence[k] == '.') {
				k++
			}
			low, _, _ := strings.Cut(sequence[i:k], "..")
			n, _ := strconv.Atoi(low)
			at += n
			i = k
			continue
		}
		if c != ',' {
			at++
		}
		if c == 'C' {
			out = append(out, at)
		}
		i++
	}
	return out
}
