package format

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"pleat"
)

// Patterns that detect Boltz YAML, plain sequences without a header, and tables of other columns than those known,
// whose reader says which they must be.
var (
	yamlJob   = regexp.MustCompile(`(?m)^["']?sequences["']?[ \t]*:`)
	bareText  = regexp.MustCompile(`^[A-Za-z0-9:/*()\s]+$`)
	oneColumn = regexp.MustCompile(`(?i)^"?(id|name|seq|sequences?|smiles)"?[ \t]*\n+[^>\n]`)
	tableHead = regexp.MustCompile(`^[A-Za-z_" ]+([,;\t][A-Za-z_" ]+)+\n.*[,;\t]`)
)

// guess detects a file's format from its first character, from the keys of JSON and YAML, or from the columns of a
// table. Text of letters, numbers of residues and what stands between chains is read as FASTA; anything else is an
// error.
func guess(text string) (Name, error) {
	start := strings.TrimSpace(text)
	switch {
	case start[0] == '>' || start[0] == ';':
		return FASTA, nil
	case start[0] == '[':
		return guessList(start), nil
	case start[0] == '{':
		return guessJSON(start)
	}
	if as := guessTable(start); as != "" {
		return as, nil
	}
	switch {
	case yamlJob.MatchString(text):
		return Boltz, nil
	case isSMILESList(start):
		return "", pleat.Invalidf("the file is a list of SMILES; each ligand of a job needs a header of its own, " +
			"such as >L|smiles")
	case bareText.MatchString(start) || pleat.HasThreeLetterCodes(start):
		return FASTA, nil
	case tableHead.MatchString(start):
		return ColabFold, nil
	}
	return "", pleat.Invalidf("the file is in no format that is known here; name it in format: %s",
		strings.Join(Names(), ", "))
}

// probe holds the keys by which the JSON formats differ.
type probe struct {
	Dialect   json.RawMessage
	Version   json.RawMessage
	Params    json.RawMessage
	Queries   json.RawMessage
	Bonds     json.RawMessage `json:"covalent_bonds"`
	Near      json.RawMessage `json:"constraint"`
	Sequences json.RawMessage
}

// items returns the entities by their keys. A value of another form has none, and neither has one that no reader takes.
func (p *probe) items() []map[string]json.RawMessage {
	var out []map[string]json.RawMessage
	if len(p.Sequences) <= MaxBytes {
		_ = json.Unmarshal(p.Sequences, &out)
	}
	return out
}

// has reports whether an item has one of the keys.
func (p *probe) has(keys ...string) bool {
	return slices.ContainsFunc(p.items(), func(item map[string]json.RawMessage) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, ok := item[key]; return ok })
	})
}

// protenixOnly are keys of an item that Protenix has and the AlphaFold Server has not.
var protenixOnly = []string{"id", "pairedMsaPath", "unpairedMsaPath", "templatesPath", "msa"}

// protenix reports whether a job of proteinChain, ligand and so on is one of Protenix and not of the AlphaFold Server,
// whose formats are one where neither has anything of its own.
func (p *probe) protenix() bool {
	if p.Dialect != nil || p.Version != nil {
		return false
	}
	return p.Bonds != nil || p.Near != nil || slices.ContainsFunc(p.items(), protenixItemOnly)
}

// protenixItemOnly reports whether an entity has anything that only Protenix has.
func protenixItemOnly(item map[string]json.RawMessage) bool {
	for _, raw := range item {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			continue
		}
		if slices.ContainsFunc(protenixOnly, func(key string) bool { _, ok := fields[key]; return ok }) {
			return true
		}
		var ligand string
		_ = json.Unmarshal(fields["ligand"], &ligand)
		code, isCode := strings.CutPrefix(ligand, codePrefix)
		if ligand != "" && (!isCode || strings.Contains(code, "_")) {
			return true
		}
	}
	return false
}

// guessList distinguishes the lists of jobs. It does not check the syntax; the readers do.
func guessList(text string) Name {
	found := Server
	_ = eachElement(text, func(i int, raw json.RawMessage) error {
		var p probe
		_ = json.Unmarshal(raw, &p)
		if p.protenix() {
			found = Protenix
		}
		if found == Protenix || i > pleat.MaxBatchRows { // no reader takes more jobs
			return io.EOF
		}
		return nil
	})
	return found
}

// guessJSON distinguishes the JSON formats of a single object. It does not check the syntax; the readers do.
func guessJSON(text string) (Name, error) {
	var p probe
	_ = json.Unmarshal([]byte(text), &p)
	switch {
	case p.Queries != nil:
		return OpenFold3, nil
	case p.Params != nil:
		return "", pleat.Invalidf("the file is a job of this service already; send it to POST /v1/jobs as it is")
	case string(p.Dialect) == `"alphafoldserver"`:
		return Server, nil
	case p.Dialect == nil && p.has("proteinChain", "rnaSequence", "dnaSequence"):
		if p.protenix() {
			return Protenix, nil
		}
		return Server, nil
	}
	return AlphaFold3, nil
}

// guessTable detects tables by the columns of their first line; empty: it is none.
func guessTable(text string) Name {
	const longest = 64 << 10 // bytes of a line of column names
	separator, text := separatorOf(text[:min(len(text), longest)])
	head, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	if !strings.ContainsRune(head, separator) {
		if oneColumn.MatchString(text) {
			return ColabFold // whose reader says which columns there must be
		}
		return ""
	}
	columns := map[string]bool{}
	for c := range strings.SplitSeq(head, string(separator)) {
		columns[strings.ToLower(strings.Trim(c, " \""))] = true
	}
	switch {
	case columns["fasta"] && (columns["id"] || columns["sequence"]):
		return Proteinfold
	case columns["sequence"] || columns["id"]:
		return ColabFold
	}
	return ""
}
