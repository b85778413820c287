package client

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/structure"
)

// withoutStructure returns the target of the command line that is no structure; nil: it is one, which the argument
// names.
func withoutStructure(cmd *cobra.Command) map[string]any {
	for flag, key := range map[string]string{"target-sequence": "sequence", "ccd": "ccd", "smiles": "smiles"} {
		if v := cli.FlagText(cmd, flag); v != "" {
			return map[string]any{key: v}
		}
	}
	return nil
}

// setTexts sets fields of an input to the texts of flags that are not empty: keys has the field of each flag.
func setTexts(input map[string]any, f *pflag.FlagSet, keys map[string]string) {
	for flag, key := range keys {
		if v, _ := f.GetString(flag); v != "" {
			input[key] = v
		}
	}
}

// designInput returns the workflow_input of the command line, without the target if that is an argument.
func designInput(cmd *cobra.Command) (map[string]any, error) {
	f := cmd.Flags()
	input := map[string]any{}
	if target := withoutStructure(cmd); target != nil {
		input["target"] = target
	}
	for flag, key := range map[string]string{"designs": "numDesigns", "keep": "budget"} {
		if f.Changed(flag) {
			input[key], _ = f.GetInt(flag)
		}
	}
	setTexts(input, f, map[string]string{"protocol": "protocolName", "seed": "seed", "model": "modelName"})
	if chains, _ := f.GetStringSlice("chains"); len(chains) > 0 {
		input["targetChains"] = chains
	}
	if cli.IsOn(cmd, "author") {
		input["numbering"] = "author"
	}
	if f.Changed("temperature") {
		input["temperature"], _ = f.GetFloat64("temperature")
	}
	for _, flag := range []string{"epitope", "avoid", "redesign"} {
		values, _ := f.GetStringArray(flag)
		var list []map[string]any
		for _, text := range values {
			one, err := chainResidues(text, flag, input["numbering"] == "author")
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		if len(list) > 0 {
			input[flag] = list
		}
	}
	hasBinderFlags := slices.ContainsFunc([]string{"kind", "length", "sequence", "cyclic"}, f.Changed)
	if input["redesign"] == nil || hasBinderFlags { // the service says that both are too much
		input["binder"] = binderInput(cmd)
	}
	if input["redesign"] != nil && input["protocolName"] == nil {
		input["protocolName"] = pleat.SequenceOnly
	}
	return input, nil
}

// binderInput returns the binder of the command line.
func binderInput(cmd *cobra.Command) map[string]any {
	binder := map[string]any{}
	setTexts(binder, cmd.Flags(), map[string]string{"kind": "kind", "length": "length", "sequence": "sequence"})
	if cli.IsOn(cmd, "cyclic") {
		binder["cyclic"] = true
	}
	return binder
}

// numberRange matches a number of a residue, or a first and a last one.
var numberRange = regexp.MustCompile(`^(-?[^-]+)(?:-(-?[^-]+))?$`)

// chainResidues parses residues of a chain, such as A:3-9,12, which a flag has. For --redesign a chain is enough. With
// the numbers of authors, the service finds out which residues a range such as 82A-84 has.
func chainResidues(text, flag string, author bool) (map[string]any, error) {
	wrong := cli.Usagef("--%s is %q; it must be a chain and positions of residues, such as A:3-9,12", flag, text)
	chain, list, ok := strings.Cut(text, ":")
	if chain != "" && !ok && flag == "redesign" {
		return map[string]any{"chain_id": chain}, nil
	}
	if !ok || chain == "" {
		return nil, wrong
	}
	var residues []any
	for part := range strings.SplitSeq(list, ",") {
		m := numberRange.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, wrong
		}
		from, okFrom := structure.ParseResidueNumber(m[1])
		to, okTo := structure.ParseResidueNumber(cmp.Or(m[2], m[1]))
		isCoded := from.Ins+to.Ins != ""
		switch {
		case !okFrom || !okTo || !isCoded && to.Value < from.Value:
			return nil, wrong
		case author && m[2] != "":
			residues = append(residues, m[1]+".."+m[2])
			continue
		case author && isCoded:
			residues = append(residues, m[1])
			continue
		case isCoded:
			return nil, cli.Usagef("--%s is %q; positions have no insertion codes; --author takes the numbers of the "+
				"authors", flag, text)
		case !author && from.Value < 1 || to.Value-from.Value > 10_000:
			return nil, wrong
		}
		for n := from.Value; n <= to.Value; n++ {
			residues = append(residues, n)
		}
	}
	return map[string]any{"chain_id": chain, "res_idx": residues}, nil
}

// designTarget returns the target of an argument: a job, or a file, which it uploads to the library, and the item of
// the file.
func designTarget(cmd *cobra.Command, c *api.Client, arg string) (target map[string]any, item string, err error) {
	if pleat.IsUUID(arg) {
		return map[string]any{"sourceJobId": arg}, "", nil
	}
	name := filepath.Base(arg)
	if !pleat.IsStructureFile(name) {
		return nil, "", cli.Usagef("%q is neither a job's identifier nor a structure file, whose name ends in %s", arg,
			strings.Join(pleat.StructureEndings, ", "))
	}
	in := api.CreateItem{Name: name, FileType: "protein", Origin: "pleat design"}
	item, err = createItem(cmd.Context(), c, in, func(item string) error {
		return upload(cmd.Context(), c, item, name, opener(arg))
	})
	if err != nil {
		return nil, "", explain(c, err)
	}
	return map[string]any{"libraryItemId": item}, item, nil
}
