package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/antibody"
	"pleat/internal/cli"
	"pleat/internal/format"
	"pleat/internal/structure"
)

// antibodyCmd returns the command that finds and numbers variable domains. It calls no server.
func antibodyCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "antibody FILE|SEQUENCE",
		Short: "Find and number the variable domains of antibodies and T-cell receptors",
		Long: `Finds the variable domains in a sequence, or in each protein of a FASTA, mmCIF or PDB file, and prints
for each its kind, its residues and its CDRs. Residues count from 1 in the sequence, in a structure in the whole one
where the file has it. The argument - reads standard input. No server is called.

The kinds are heavy (also nanobodies), kappa and lambda, and alpha, beta, gamma and delta of T-cell receptors. With
--numbering, a line for each residue follows: its number in the scheme imgt, chothia, kabat or aho, and its region.
chothia is the scheme of 1997, not Martin's. --regions says by which scheme the CDRs are told: imgt, chothia (also
that of IgFold) or kabat. T-cell receptors have imgt and aho alone.`,
		Example: `  pleat antibody fab.fasta
  pleat antibody 12e8.cif --regions chothia --numbering chothia
  pleat antibody - --json < sequence.txt`,
		Args: cli.ExactArgs("a file or a sequence"),
		RunE: runAntibody,
	}
	c.Flags().String("numbering", "", "scheme in which to number each residue: imgt, chothia, kabat or aho")
	c.Flags().String("regions", string(antibody.IMGT), "scheme of the CDRs: imgt, chothia or kabat")
	return cli.WithJSON(c)
}

// variableDomain is a domain as --json prints it. Residues count from 1, and End is the last one.
type variableDomain struct {
	Chain   string                     `json:"chain"`
	Kind    antibody.Kind              `json:"kind"`
	Start   int                        `json:"start"`
	End     int                        `json:"end"`
	Length  int                        `json:"length"` // of the sequence
	Score   float64                    `json:"score"`
	Lacks   []antibody.Region          `json:"lacks"`
	Scheme  antibody.Scheme            `json:"regionScheme"`
	Regions map[antibody.Region]string `json:"regions"`
	Numbers []residueNumber            `json:"numbering,omitempty"`
}

// residueNumber is a residue with its number in a scheme.
type residueNumber struct {
	Residue int             `json:"residue"`
	Letter  string          `json:"letter"`
	Number  string          `json:"number"`
	Region  antibody.Region `json:"region"`
}

func runAntibody(cmd *cobra.Command, args []string) error {
	regions, err := schemeFlag(cmd, "regions", antibody.IMGT, antibody.Chothia, antibody.Kabat)
	if err != nil {
		return err
	}
	numbering, err := schemeFlag(cmd, "numbering", antibody.Schemes...)
	if err != nil {
		return err
	}
	chains, err := proteinsOf(cmd, args[0])
	if err != nil {
		return err
	}
	var out []variableDomain
	for _, c := range chains {
		for _, d := range antibody.Find(c.Sequence) {
			out = append(out, describeDomain(&c, &d, regions, numbering))
			if numbering != "" && d.Number(0, numbering) == "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "note: %s has no numbers in %s: it is of a T-cell receptor\n",
					cli.PrintableLine(c.Name), numbering)
			}
		}
	}
	switch {
	case len(out) > 0:
	case len(chains) == 1:
		return errors.New(antibody.Reason(chains[0].Sequence))
	default:
		return fmt.Errorf("none of the %d proteins has a variable domain of an antibody or T-cell receptor",
			len(chains))
	}
	return cli.PrintResult(cmd, out, func() error { return printDomains(cmd, out) })
}

// schemeFlag returns the scheme that a flag names, which must be one of some; empty: the flag is not given.
func schemeFlag(cmd *cobra.Command, flag string, of ...antibody.Scheme) (antibody.Scheme, error) {
	s := antibody.Scheme(cli.FlagText(cmd, flag))
	if s == "" || slices.Contains(of, s) {
		return s, nil
	}
	names := make([]string, len(of))
	for i := range of {
		names[i] = string(of[i])
	}
	return "", cli.Usagef("--%s is %q; it must be one of %s", flag, pleat.Clip(string(s)), strings.Join(names, ", "))
}

// proteinsOf returns the proteins of a file, or the sequence that the argument is.
func proteinsOf(cmd *cobra.Command, arg string) ([]structure.Record, error) {
	if isLetters(arg) && !isFile(arg) {
		return []structure.Record{{Name: "-", Sequence: strings.ToUpper(arg)}}, nil
	}
	text, _, err := readInput(cmd, arg, arg, format.MaxBytes)
	if err != nil {
		return nil, err
	}
	if isLetters(strings.Join(strings.Fields(text), "")) {
		text = ">-\n" + text
	}
	if strings.HasPrefix(strings.TrimSpace(text), ">") {
		records, err := structure.ReadFASTA(strings.NewReader(text), structure.Limits{})
		for i := range records {
			name, _, _ := strings.Cut(records[i].Name, " ")
			records[i].Name = name
		}
		return records, err
	}
	s, err := structure.ReadWhole(strings.NewReader(text), structure.Limits{})
	if err != nil {
		return nil, err
	}
	var out []structure.Record
	for i := range s.Chains {
		if c := &s.Chains[i]; c.Kind == structure.Protein {
			out = append(out, structure.Record{Name: c.ID, Sequence: structure.Letters(c)})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the file has no protein")
	}
	return out, nil
}

// isLetters reports whether a text has nothing but letters.
func isLetters(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' })
}

func describeDomain(
	c *structure.Record, d *antibody.Domain, regions, numbering antibody.Scheme,
) variableDomain {
	if !d.Kind.Antibody() {
		regions = antibody.IMGT
	}
	out := variableDomain{
		Chain:   c.Name,
		Kind:    d.Kind,
		Start:   d.Start + 1,
		End:     d.End,
		Length:  len(c.Sequence),
		Score:   d.Score,
		Lacks:   append([]antibody.Region{}, d.Lacks()...),
		Scheme:  regions,
		Regions: map[antibody.Region]string{},
	}
	for _, r := range antibody.Regions {
		out.Regions[r] = d.Part(c.Sequence, r, regions)
	}
	if numbering == "" || d.Number(0, numbering) == "" {
		return out
	}
	for i := range d.End - d.Start {
		k := d.Start + i
		out.Numbers = append(out.Numbers,
			residueNumber{k + 1, c.Sequence[k : k+1], d.Number(i, numbering), d.Region(i, regions)})
	}
	return out
}

// printDomains prints a table of domains, and one of their residues if these have numbers.
func printDomains(cmd *cobra.Command, domains []variableDomain) error {
	head := []string{"CHAIN", "KIND", "RESIDUES", "CDR1", "CDR2", "CDR3", "LACKS"}
	rows := cli.Rows(head, domains, func(d *variableDomain) []string {
		row := []string{d.Chain, string(d.Kind), fmt.Sprintf("%d-%d of %d", d.Start, d.End, d.Length)}
		for _, r := range []antibody.Region{"CDR1", "CDR2", "CDR3"} {
			row = append(row, cmp.Or(d.Regions[r], "-"))
		}
		lacks := make([]string, len(d.Lacks))
		for i, r := range d.Lacks {
			lacks[i] = string(r)
		}
		return append(row, cmp.Or(strings.Join(lacks, ", "), "-"))
	})
	if err := cli.PrintTable(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	return printNumbers(cmd, domains)
}

// printNumbers prints a table of the residues that have numbers, if any have.
func printNumbers(cmd *cobra.Command, domains []variableDomain) error {
	numbered := [][]string{{"CHAIN", "RESIDUE", "LETTER", "NUMBER", "REGION"}}
	for i := range domains {
		d := &domains[i]
		for _, n := range d.Numbers {
			numbered = append(numbered, []string{d.Chain, strconv.Itoa(n.Residue), n.Letter, n.Number,
				d.Kind.CDR(n.Region)})
		}
	}
	if len(numbered) == 1 {
		return nil
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return cli.PrintTable(cmd.OutOrStdout(), numbered)
}
