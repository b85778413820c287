package design

import (
	"fmt"
	"regexp"
	"strings"

	"pleat"
	"pleat/internal/yamltree"
)

var ccdCode = regexp.MustCompile(`^[A-Za-z0-9]{1,5}$`)

// ligand reads a ligand.
func (r *specReader) ligand(n yamltree.Node) (map[string]any, error) {
	f, err := n.Needs([]string{"id"}, "ccd", "smiles", "symmetric_group", "binding_types")
	if err != nil {
		return nil, err
	}
	ids, id, err := r.ids(f["id"])
	if err != nil {
		return nil, err
	}
	ccd, isCCD := f["ccd"]
	smiles, isSMILES := f["smiles"]
	if isCCD == isSMILES {
		return nil, n.Fault(" must have exactly one of ccd and smiles")
	}
	out := map[string]any{"id": id}
	residues, tokens, text := 1, 0, ""
	if isCCD {
		var codes []string
		if codes, err = readCCD(ccd); err != nil {
			return nil, err
		}
		residues, tokens = len(codes), tokensOf(codes)
		if out["ccd"] = any(codes); len(codes) == 1 {
			out["ccd"] = codes[0]
		}
	} else {
		if text, tokens, err = readSMILES(smiles); err != nil {
			return nil, err
		}
		out["smiles"] = text
	}
	if err := common(f, out, residues); err != nil {
		return nil, err
	}
	for _, id := range ids {
		r.size.add(size{min: residues, max: residues, tokens: tokens})
		c := Chain{Kind: string(pleat.Ligand), SMILES: text}
		r.add(chain{Chain: c, original: id, min: residues, max: residues, exact: true})
	}
	return out, nil
}

// readSMILES reads a SMILES. It returns also the number of tokens, which is that of the atoms but hydrogen.
func readSMILES(n yamltree.Node) (text string, tokens int, err error) {
	text, err = n.Text()
	text = strings.TrimSpace(text)
	if err != nil || text == "" {
		return "", 0, n.Wrong(fmt.Sprintf("a SMILES of 1 to %d printable ASCII characters without spaces",
			pleat.MaxSMILES))
	}
	if tokens, err = pleat.CheckSMILES(text); err != nil {
		return "", 0, n.Fault(" %s", err)
	}
	return text, max(tokens, 1), nil
}

// tokensOf returns the tokens of components, as those of a fold have them.
func tokensOf(codes []string) (n int) {
	for _, code := range codes {
		ligand := pleat.Sequence{Kind: pleat.Ligand, Text: code, CCD: true}
		n += new(pleat.Job).TokensOf(&ligand, pleat.ModelLimits{})
	}
	return n
}

// readCCD reads a code of the CCD or a list of them.
func readCCD(n yamltree.Node) ([]string, error) {
	list, err := n.ListOrOne(maxItems)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, one := range list {
		code, err := one.Text()
		if err != nil || !ccdCode.MatchString(code) {
			return nil, one.Wrong("a code of the CCD, 1 to 5 letters and digits")
		}
		out = append(out, strings.ToUpper(code))
	}
	if len(out) == 0 {
		return nil, n.Wrong("a code of the CCD, or a list of at least one")
	}
	return out, nil
}
