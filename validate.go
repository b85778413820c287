package pleat

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on a job, whatever the model.
const (
	MaxName      = 255    // characters of a job's name
	MaxItems     = 256    // sequence items
	MaxChains    = 512    // chains, copies counted
	MaxResidues  = 20_000 // letters in one polymer
	MaxSMILES    = 2_000  // letters in one ligand
	MaxChainName = 4      // letters in a chain's name
)

// Letters that each kind of polymer may hold. The last of each stands for an unknown residue, which only some models take.
var letters = map[EntityKind]string{
	Protein: "ACDEFGHIKLMNPQRSTVWYX",
	RNA:     "ACGUN",
	DNA:     "ACGTN",
}

// Letters are those that a polymer of a kind may hold; the last stands for an unknown residue.
func Letters(k EntityKind) string { return letters[k] }

// itemKeys are the wire names of the kinds, for messages.
var itemKeys = map[EntityKind]string{
	Protein: "proteinChain", RNA: "rnaSequence", DNA: "dnaSequence", Ligand: "ligandSequence",
}

// Validate checks the job against the model and completes it: sequences are cleaned, copies and chains named, parameters
// typed. The first thing wrong is returned as one sentence; the job is then unusable.
func (j *Job) Validate(m Model) error {
	if err := CheckName("name", j.Name); err != nil {
		return err
	}
	if j.ChatID != "" && !IsUUID(j.ChatID) {
		return Invalidf("chatId is %q; it must be a UUID", Clip(j.ChatID))
	}
	switch n := len(j.Sequences); {
	case n == 0:
		return Invalidf("sequences is empty; it must hold at least 1 item")
	case n > MaxItems:
		return Invalidf("sequences holds %d items; at most %d are taken", n, MaxItems)
	}
	for i := range j.Sequences {
		if err := j.Sequences[i].clean(i, m); err != nil {
			return err
		}
	}
	if err := j.NameChains(); err != nil {
		return err
	}
	if err := j.checkTokens(m); err != nil {
		return err
	}
	if !j.Constraints.Empty() && !m.Has(FeatureConstraints) {
		return Invalidf("constraints: the model %q takes no pocket, bond or contact constraints", m.Name)
	}
	if err := j.Constraints.check(j); err != nil {
		return err
	}
	if err := m.Limits.check(j, &m); err != nil {
		return err
	}
	j.Complex = m.Has(FeatureComplex) && j.chains() > 1
	return j.Params.check(m)
}

// CheckName refuses an empty, overlong or unprintable name.
func CheckName(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return Invalidf("%s is required and must not be empty", field)
	}
	if !utf8.ValidString(s) {
		return Invalidf("%s is not valid UTF-8", field)
	}
	if n := utf8.RuneCountInString(s); n > MaxName {
		return Invalidf("%s has %d characters; at most %d are taken", field, n, MaxName)
	}
	for i, r := range []rune(s) {
		if unicode.IsControl(r) {
			return Invalidf("%s has a control character at position %d", field, i+1)
		}
	}
	return nil
}

// clean checks one item and puts its text into canonical form.
func (s *Sequence) clean(i int, m Model) error {
	path := s.Place(i)
	if !m.Takes(s.Kind) {
		return Invalidf("%s: the model %q folds %s only", path, m.Name, entityNames(m.Entities))
	}
	if s.Count == 0 {
		s.Count = 1
	}
	if s.Count < 1 || s.Count > MaxChains {
		return Invalidf("%s.count is %d; it must be 1 to %d", path, s.Count, MaxChains)
	}
	if s.Source != "" && !IsUUID(s.Source) {
		return Invalidf("sequences[%d].sourceSequenceId is %q; it must be a UUID", i, Clip(s.Source))
	}
	if utf8.RuneCountInString(s.Label) > MaxName {
		return Invalidf("%s.label has more than %d characters", path, MaxName)
	}
	if err := s.checkProperty(path, m); err != nil {
		return err
	}
	if s.Kind == Ligand {
		return s.cleanLigand(path)
	}
	return s.cleanPolymer(path, m)
}

func (s *Sequence) checkProperty(path string, m Model) error {
	switch s.PropertyType {
	case "":
		return nil
	case "affinity":
		if !m.Has(FeatureAffinity) {
			return Invalidf("%s.property_type: the model %q predicts no affinity", path, m.Name)
		}
		if s.Kind != Ligand {
			return Invalidf("%s.property_type: affinity is predicted for a ligand, not for a %s", path, s.Kind)
		}
		return nil
	}
	return Invalidf("%s.property_type is %q; it may be \"affinity\"", path, Clip(s.PropertyType))
}

func (s *Sequence) cleanLigand(path string) error {
	s.Text = strings.TrimSpace(s.Text)
	if s.Text == "" {
		return Invalidf("Invalid sequence format: %s.sequence is empty; it must be %s", path, ligandForm(s.CCD))
	}
	if s.CCD {
		s.Text = strings.ToUpper(s.Text)
		if !IsCCD(s.Text) {
			return Invalidf("Invalid sequence format: %s.sequence is %q; a CCD code has 1 to 5 letters and digits", path, Clip(s.Text))
		}
		return nil
	}
	if len(s.Text) > MaxSMILES {
		return Invalidf("Invalid sequence format: %s.sequence has %d letters; a SMILES may have %d", path, len(s.Text), MaxSMILES)
	}
	if at := strings.IndexFunc(s.Text, func(r rune) bool { return r <= ' ' || r > '~' }); at >= 0 {
		r, _ := utf8.DecodeRuneInString(s.Text[at:])
		return Invalidf("Invalid sequence format: %s.sequence has %q at position %d; a SMILES has printable ASCII only", path, r, at+1)
	}
	return nil
}

func ligandForm(ccd bool) string {
	if ccd {
		return "a CCD code"
	}
	return "a SMILES, or a CCD code with is_ccd true"
}

// IsCCD reports whether s can be a code of the Chemical Component Dictionary: 1 to 5 capitals and digits.
func IsCCD(s string) bool {
	if len(s) < 1 || len(s) > 5 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) < 0
}

func (s *Sequence) cleanPolymer(path string, m Model) error {
	text, err := s.cleanLetters(path, m)
	if err != nil {
		return err
	}
	s.Text = text
	if s.Cyclic && !m.Has(FeatureCyclic) {
		return Invalidf("%s.cyclic: the model %q folds no cyclic chains", path, m.Name)
	}
	if len(s.Modifications) > 0 && !m.Has(FeatureModifications) {
		return Invalidf("%s.modifications: the model %q takes no modified residues", path, m.Name)
	}
	seen := map[int]bool{}
	for k := range s.Modifications {
		mod := &s.Modifications[k]
		mod.CCD = strings.ToUpper(strings.TrimSpace(mod.CCD))
		switch {
		case mod.Residue < 1 || mod.Residue > len(text):
			return Invalidf("%s.modifications[%d].res_idx is %d; the chain has residues 1 to %d", path, k, mod.Residue, len(text))
		case !IsCCD(mod.CCD):
			return Invalidf("%s.modifications[%d].ccd is %q; a CCD code has 1 to 5 letters and digits", path, k, Clip(mod.CCD))
		case seen[mod.Residue]:
			return Invalidf("%s.modifications[%d].res_idx %d is modified twice", path, k, mod.Residue)
		}
		seen[mod.Residue] = true
	}
	return nil
}

// cleanLetters upper-cases, strips white space and refuses letters outside the alphabet. Positions count letters, not white space.
func (s *Sequence) cleanLetters(path string, m Model) (string, error) {
	allowed := letters[s.Kind]
	if !m.Has(FeatureUnknown) {
		allowed = allowed[:len(allowed)-1]
	}
	var b strings.Builder
	b.Grow(min(len(s.Text), MaxResidues))
	n := 0
	for _, r := range s.Text {
		if unicode.IsSpace(r) {
			continue
		}
		n++
		if n > MaxResidues {
			return "", Invalidf("Invalid sequence format: %s.sequence has more than %d residues", path, MaxResidues)
		}
		u := unicode.ToUpper(r)
		if u > 'Z' || strings.IndexByte(allowed, byte(u)) < 0 {
			return "", Invalidf("Invalid sequence format: %s.sequence has %q at position %d; %s letters for the model %q are %s", path, r, n, s.Kind, m.Name, allowed)
		}
		b.WriteByte(byte(u))
	}
	if n == 0 {
		return "", Invalidf("Invalid sequence format: %s.sequence is empty; it must hold %s letters", path, s.Kind)
	}
	return b.String(), nil
}

// NameChains gives every copy a chain name: the one asked for, else the next free letter. Counts must be 1 or more.
func (j *Job) NameChains() error {
	total, used := 0, map[string]int{}
	for i := range j.Sequences {
		s := &j.Sequences[i]
		path := s.Place(i)
		if total += s.Count; total > MaxChains {
			return Invalidf("%s: the job has more than %d chains, copies counted", path, MaxChains)
		}
		if s.ChainID == "" {
			continue
		}
		if !IsChainName(s.ChainID) {
			return Invalidf("%s.chain_id is %q; a chain name has 1 to %d letters and digits", path, Clip(s.ChainID), MaxChainName)
		}
		if k, ok := used[s.ChainID]; ok {
			return Invalidf("%s.chain_id %q is taken by sequences[%d]", path, s.ChainID, k)
		}
		used[s.ChainID] = i
	}
	next := 0
	for i := range j.Sequences {
		s := &j.Sequences[i]
		s.Chains = make([]string, 0, s.Count)
		if s.ChainID != "" {
			s.Chains = append(s.Chains, s.ChainID)
		}
		for len(s.Chains) < s.Count {
			name := chainLetters(next)
			next++
			if _, ok := used[name]; !ok {
				used[name] = i
				s.Chains = append(s.Chains, name)
			}
		}
	}
	return nil
}

// IsChainName reports whether a chain may be called s: 1 to 4 letters and digits.
func IsChainName(s string) bool {
	if len(s) < 1 || len(s) > MaxChainName {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// chainLetters counts A … Z, AA, AB …
func chainLetters(n int) string {
	s := ""
	for n++; n > 0; n = (n - 1) / 26 {
		s = string(rune('A'+(n-1)%26)) + s
	}
	return s
}

func (j *Job) chains() int {
	n := 0
	for _, s := range j.Sequences {
		n += s.Count
	}
	return n
}

// Tokens is how many tokens a sequence costs a model, one copy of it: residues, or a ligand's letters as an upper bound of its atoms.
func (s *Sequence) Tokens() int {
	if s.Kind == Ligand && s.CCD {
		return 30
	}
	return len(s.Text)
}

// Tokens is how many tokens the job costs: the sum over chains.
func (j *Job) Tokens() int {
	n := 0
	for i := range j.Sequences {
		n += j.Sequences[i].Tokens() * j.Sequences[i].Count
	}
	return n
}

// Largest is the tokens of the largest structure that the model folds at once.
func (j *Job) Largest(m Model) int {
	if m.Has(FeatureComplex) {
		return j.Tokens()
	}
	n := 0
	for i := range j.Sequences {
		n = max(n, j.Sequences[i].Tokens())
	}
	return n
}

func (j *Job) checkTokens(m Model) error {
	for i := range j.Sequences {
		s := &j.Sequences[i]
		if n := s.Tokens(); s.Polymer() && n < m.MinTokens {
			return Invalidf("Invalid sequence format: %s.sequence has %d residues; the model %q folds %d or more", s.Place(i), n, m.Name, m.MinTokens)
		} else if !m.Has(FeatureComplex) && m.MaxTokens > 0 && n > m.MaxTokens {
			return Invalidf("Invalid sequence format: %s.sequence has %d residues; the model %q folds at most %d", s.Place(i), n, m.Name, m.MaxTokens)
		}
	}
	if n := j.Tokens(); m.Has(FeatureComplex) && m.MaxTokens > 0 && n > m.MaxTokens {
		return Invalidf("sequences: the job has %d tokens; the model %q folds at most %d", n, m.Name, m.MaxTokens)
	}
	return m.Needs(j.Largest(m))
}

func entityNames(kinds []EntityKind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
