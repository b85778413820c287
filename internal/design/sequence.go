package design

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/yamltree"
)

// sequence is the sequence of a polymer: letters, and numbers of residues to design.
type sequence struct {
	text     string // canonical
	min, max int    // residues
	designed bool
}

// sequencePart matches a range, a number or letters at the start of a text.
var sequencePart = regexp.MustCompile(`^(?:([0-9]+)\.\.([0-9]+)|([0-9]+)|[A-Za-z]+)`)

// readSequence reads the sequence of a polymer. Commas between parts are kept where two numbers meet.
func readSequence(n yamltree.Node, kind pleat.EntityKind) (sequence, error) {
	var s sequence
	raw, err := n.Text()
	if err != nil {
		return s, err
	}
	if len(raw) > pleat.MaxResidues {
		return s, n.Fault(" has %d characters; at most %d are allowed", len(raw), pleat.MaxResidues)
	}
	last := false // the part before is a number
	for piece := range strings.SplitSeq(raw, ",") {
		for rest := strings.TrimSpace(piece); rest != ""; {
			m := sequencePart.FindStringSubmatch(rest)
			if m == nil {
				return s, n.Fault(" is %q; %q cannot stand there: letters stay and numbers design, such as 3..5C6C3",
					pleat.Clip(raw), firstRune(rest))
			}
			rest = rest[len(m[0]):]
			if m[1] == "" && m[3] == "" {
				err = s.letters(n, kind, m[0])
				last = false
			} else {
				err = s.numbers(n, kind, m, last)
				last = true
			}
			if err != nil {
				return s, err
			}
		}
	}
	if s.max == 0 {
		return s, n.Fault(" is %q; it must have at least one residue", pleat.Clip(raw))
	}
	return s, nil
}

// firstRune returns the first character of a text.
func firstRune(s string) string { return string([]rune(s)[:1]) }

// letters adds letters, in upper case.
func (s *sequence) letters(n yamltree.Node, kind pleat.EntityKind, text string) error {
	text = strings.ToUpper(text)
	for _, r := range text {
		if !strings.ContainsRune(pleat.Letters(kind), r) {
			return n.Fault(" has the letter %c; %s has the letters %s", r, kind, pleat.Letters(kind))
		}
	}
	s.text += text
	s.min, s.max = s.min+len(text), s.max+len(text)
	return nil
}

// numbers adds a number or a range of residues to design, which m has matched.
func (s *sequence) numbers(n yamltree.Node, kind pleat.EntityKind, m []string, last bool) error {
	if kind != pleat.Protein {
		return n.Fault(" has the number %s; only a protein can be designed, so give letters", pleat.Clip(m[0]))
	}
	low, high, err := bounds(n, m[1], m[2], m[3])
	if err != nil {
		return err
	}
	if last {
		s.text += ","
	}
	if s.text += strconv.Itoa(low); m[3] == "" {
		s.text += ".." + strconv.Itoa(high)
	}
	s.min, s.max, s.designed = s.min+low, s.max+high, true
	return nil
}

// bounds reads how many residues a number or a range designs.
func bounds(n yamltree.Node, from, to, single string) (low, high int, err error) {
	if single != "" {
		from, to = single, single
	}
	low, errLow := strconv.Atoi(from)
	high, errHigh := strconv.Atoi(to)
	switch {
	case errLow != nil || errHigh != nil || low > MaxRange || high > MaxRange:
		return 0, 0, n.Fault(" designs more than %d residues in one range; at most %d are allowed", MaxRange, MaxRange)
	case low > high:
		return 0, 0, n.Fault(" has the range %d..%d; it must ascend, such as 80..120", low, high)
	case high == 0:
		return 0, 0, n.Fault(" has the number 0; it must be 1 or more residues, or a range such as 0..3")
	}
	return low, high, nil
}

// polymer reads a protein, DNA or RNA.
func (r *specReader) polymer(n yamltree.Node, kind pleat.EntityKind) (map[string]any, error) {
	optional := []string{"cyclic", "symmetric_group", "binding_types", "secondary_structure", "fuse", "msa",
		"modifications", "add_cyclization"}
	if kind == pleat.Protein {
		optional = append(optional, "residue_constraints")
	}
	f, err := n.Needs([]string{"id", "sequence"}, optional...)
	if err != nil {
		return nil, err
	}
	if err := refused(f); err != nil {
		return nil, err
	}
	ids, id, err := r.ids(f["id"])
	if err != nil {
		return nil, err
	}
	s, err := readSequence(f["sequence"], kind)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"id": id, "sequence": s.text}
	if err := common(f, out, s.min); err != nil {
		return nil, err
	}
	if err := residueConstraints(f["residue_constraints"], out, s.min); err != nil {
		return nil, err
	}
	fused, err := r.fuse(f["fuse"])
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		c := chain{
			Chain:    Chain{Kind: string(kind), Designed: s.designed},
			original: id,
			min:      s.min,
			max:      s.max,
			exact:    true,
		}
		r.size.add(size{min: s.min, max: s.max, tokens: s.max})
		if fused == nil {
			r.add(c)
			continue
		}
		fused.min, fused.max, fused.Designed = fused.min+s.min, fused.max+s.max, fused.Designed || s.designed
	}
	if fused != nil {
		out["fuse"] = fused.original
	}
	return out, nil
}

// refused refuses fields that the engine does not take.
func refused(f map[string]yamltree.Node) error {
	for _, name := range []string{"modifications", "add_cyclization"} {
		if v, ok := f[name]; ok {
			return v.Fault(" is not taken: the engine refuses %s here; leave it out", name)
		}
	}
	return nil
}

// common reads the fields that polymers and ligands share. Length is the shortest number of residues.
func common(f map[string]yamltree.Node, out map[string]any, length int) error {
	if v, ok := f["cyclic"]; ok {
		cyclic, err := v.Truth()
		if err != nil {
			return err
		}
		out["cyclic"] = cyclic
	}
	if v, ok := f["symmetric_group"]; ok {
		group, err := v.Whole()
		if err != nil || group > maxGroup {
			return v.Wrong(fmt.Sprintf("a whole number up to %d", maxGroup))
		}
		out["symmetric_group"] = group
	}
	if err := msa(f["msa"], out); err != nil {
		return err
	}
	if err := along(f["binding_types"], out, "binding_types", "ubn", length, "binding", "not_binding"); err != nil {
		return err
	}
	return along(f["secondary_structure"], out, "secondary_structure", "ulhs", length, "loop", "helix", "sheet")
}

// msa reads the field msa: alignments are the engine's own, or left out.
func msa(n yamltree.Node, out map[string]any) error {
	if n.Null() {
		return nil
	}
	switch s, err := n.Text(); {
	case err != nil:
		return err
	case s == "":
	case s == "empty", s == "-1":
		out["msa"] = -1
	case s == "0":
		out["msa"] = 0
	default:
		return n.Wrong("empty, 0 or -1: specs name no alignment")
	}
	return nil
}

// along reads what holds along the residues of an entity: a letter for each, or residues by key.
func along(n yamltree.Node, out map[string]any, name, letters string, length int, keys ...string) error {
	if n.Null() {
		return nil
	}
	if !n.IsMap() {
		s, err := n.Text()
		low := strings.ToLower(s)
		switch {
		case err != nil || s == "" || strings.Trim(low, letters) != "":
			return n.Wrong(fmt.Sprintf("a mapping with %s, or a letter for each residue: %s",
				strings.Join(keys, ", "), strings.Join(strings.Split(letters, ""), ", ")))
		case len(s) > length:
			return n.Fault(" has %d letters; the shortest sequence has %d residues", len(s), length)
		}
		out[name] = low
		return nil
	}
	f, err := n.Fields(keys...)
	if err != nil {
		return err
	}
	constraints := map[string]any{}
	for _, key := range keys {
		v, ok := f[key]
		if !ok {
			continue
		}
		res, err := readResidues(v, "the sequence", length)
		if err != nil {
			return err
		}
		constraints[key] = res.text
		if res.all { // the engine takes the word for chains of files alone
			constraints[key] = "1.."
		}
	}
	if len(constraints) > 0 {
		out[name] = constraints
	}
	return nil
}

// residueConstraints reads which amino acids may stand at a position.
func residueConstraints(n yamltree.Node, out map[string]any, length int) error {
	if n.Null() {
		return nil
	}
	items, err := n.List(maxItems)
	if err != nil || len(items) == 0 {
		return err
	}
	list := []any{}
	for _, item := range items {
		f, err := item.Needs([]string{"position"}, "allowed", "disallowed")
		if err != nil {
			return err
		}
		if len(f) != 2 {
			return item.Fault(" must have exactly one of allowed and disallowed")
		}
		res, err := readResidues(f["position"], "the sequence", length)
		if err != nil {
			return err
		}
		one := map[string]any{"position": res.value()}
		for _, key := range []string{"allowed", "disallowed"} {
			if v, ok := f[key]; ok {
				if one[key], err = aminoAcids(v); err != nil {
					return err
				}
			}
		}
		list = append(list, one)
	}
	out["residue_constraints"] = list
	return nil
}

// aminoAcids reads letters of amino acids: a text, or a list of letters.
func aminoAcids(n yamltree.Node) (any, error) {
	known := pleat.KnownLetters(pleat.Protein)
	read := func(n yamltree.Node, most int) (string, error) {
		s, err := n.Text()
		s = strings.ToUpper(s)
		if err != nil || s == "" || len(s) > most || strings.Trim(s, known) != "" {
			return "", n.Wrong("letters of amino acids, " + known)
		}
		return s, nil
	}
	if !n.IsList() {
		return read(n, len(known))
	}
	items, err := n.List(len(known))
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, n.Wrong("letters of amino acids, " + known)
	}
	var out []string
	for _, item := range items {
		s, err := read(item, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
