package design

import (
	"fmt"
	"slices"
	"strings"

	"pleat/internal/yamltree"
)

// structures are the words for the secondary structure of an insertion.
var structures = []string{"UNSPECIFIED", "LOOP", "HELIX", "SHEET"}

// insert reads design_insertions.
func (s *selection) insert(fields map[string]yamltree.Node) error {
	list, err := items(fields["design_insertions"], "insertion")
	if err != nil || len(list) == 0 {
		return err
	}
	out := []any{}
	for _, item := range list {
		f, err := item.Needs([]string{"id", "res_index", "num_residues"}, "secondary_structure")
		if err != nil {
			return err
		}
		i, err := s.find(f["id"])
		if err != nil {
			return err
		}
		before, err := f["res_index"].Whole()
		if err != nil && isAuthorNumber(f["res_index"].Value) {
			return byPosition(f["res_index"], f["res_index"].Value)
		}
		if err != nil || before < 1 {
			return f["res_index"].Wrong("the number of a residue, from 1")
		}
		if before > s.extents[i].Length {
			return outside(f["res_index"], "chain "+f["id"].Value, before, s.extents[i].Length)
		}
		one := map[string]any{"id": f["id"].Value, "res_index": before}
		added, err := numResidues(f["num_residues"], one)
		if err != nil {
			return err
		}
		if v, ok := f["secondary_structure"]; ok {
			word := strings.ToUpper(v.Value)
			if !slices.Contains(structures, word) {
				return v.Wrong(alternatives(structures))
			}
			one["secondary_structure"] = word
		}
		sum := s.insertions[i]
		sum.add(added)
		s.insertions[i] = sum
		out = append(out, map[string]any{"insertion": one})
	}
	s.out["design_insertions"] = out
	return nil
}

// numResidues reads how many residues an insertion has. The engine draws from a range, and may draw one less than its
// lowest number.
func numResidues(n yamltree.Node, out map[string]any) (size, error) {
	text, err := n.Text()
	m := sequencePart.FindStringSubmatch(text)
	if err != nil || m == nil || m[0] != text || m[1] == "" && m[3] == "" {
		return size{}, n.Wrong("a number of residues or a range such as 2..9")
	}
	low, high, err := bounds(n, m[1], m[2], m[3])
	if err != nil {
		return size{}, err
	}
	if low < 1 {
		return size{}, n.Wrong("a number of residues from 1, or a range such as 2..9")
	}
	out["num_residues"] = fmt.Sprint(low)
	if m[3] == "" {
		out["num_residues"] = fmt.Sprintf("%d..%d", low, high)
	}
	return size{min: low - 1, max: high, tokens: high}, nil
}
