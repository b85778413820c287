package pleat

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pleat/internal/chem"
	"pleat/internal/words"
)

// Limits of a job that hold for every model.
const (
	MaxName      = 255    // characters of a job's name
	MaxItems     = 256    // sequence items
	MaxChains    = 512    // chains, copies included
	MaxResidues  = 20_000 // letters of one polymer
	MaxSMILES    = 2_000  // letters of one ligand
	MaxChainName = 4      // letters of a chain name
)

// letters maps each kind of polymer to its alphabet. The last letter of each is the unknown residue.
var letters = map[EntityKind]string{
	Protein: "ACDEFGHIKLMNPQRSTVWYX",
	RNA:     "ACGUN",
	DNA:     "ACGTN",
}

// Letters returns the alphabet of a kind of polymer, and "" for other kinds. The last letter is the unknown residue,
// which only models with FeatureUnknown accept.
func Letters(k EntityKind) string { return letters[k] }

// KnownLetters returns Letters without the unknown residue.
func KnownLetters(k EntityKind) string {
	return strings.TrimRight(letters[k], "XN")
}

// notes are what characters mean in files of sequences that are pasted in the place of one.
var notes = map[rune]string{
	'>': "the header of a FASTA record; send its residues alone",
	';': "a comment of FASTA; send the residues alone",
	'-': "a gap of an alignment; send the residues alone",
	'.': "a gap of an alignment; send the residues alone",
	':': "the end of a chain; send each chain as a sequence",
	'/': "the end of a chain; send each chain as a sequence",
}

// NotALetter says, for a message, that r is none of the letters of a kind of polymer that a model accepts, or what it
// stands for where it has a meaning: IUPAC-IUB, Nomenclature and Symbolism for Amino Acids and Peptides, 3AA-1.
func NotALetter(k EntityKind, r rune) string {
	what := map[EntityKind]string{Protein: "an amino acid", RNA: "a nucleotide of RNA", DNA: "a nucleotide of DNA"}[k]
	meaning := ""
	switch u := unicode.ToUpper(r); {
	case r > unicode.MaxASCII: // some become letters of ASCII in upper case
	case strings.ContainsRune(letters[k], u):
		meaning = "an unknown residue"
	case u == '*':
		meaning = "the end of a sequence, where one is dropped; none may stand elsewhere"
	case notes[u] != "":
		meaning = notes[u]
	case k == Protein:
		meaning = map[rune]string{
			'B': "D or N", 'Z': "E or Q", 'J': "I or L",
			'U': "selenocysteine (C is nearest)", 'O': "pyrrolysine (K is nearest)",
		}[u]
	}
	if meaning != "" {
		return fmt.Sprintf("%q stands for %s", r, meaning)
	}
	return words.Character(r) + " is not " + what
}

// Validate checks the job against the model and completes it: it puts sequences and parameters into canonical form,
// sets absent counts to 1 and names the chains. It returns nil, or Errors with every fault that it finds. A check whose
// premises are at fault is left out: the total of tokens, for example, is checked if every sequence is valid. After an
// error the job is incomplete and must not be used.
func (j *Job) Validate(m Model) error {
	v := validation{job: j, model: &m}
	v.faults = j.checkEnvelope()
	if n := len(j.Sequences); n > 0 && n <= MaxItems {
		v.sequences()
	} else {
		v.constraintsTaken()
		v.templatesTaken()
		v.componentsTaken()
	}
	v.add(j.Params.check(m))
	j.Complex = m.Has(FeatureComplex) && j.chains() > 1
	return v.faults.Err()
}

// ValidateEnvelope checks what does not depend on the model: name, chat and number of sequences. It returns nil or
// Errors, and serves requests whose model does not exist.
func (j *Job) ValidateEnvelope() error { return j.checkEnvelope().Err() }

func (j *Job) checkEnvelope() Errors {
	var faults Errors
	_ = faults.Add(CheckName("name", j.Name)) // always a fault of the request
	if j.ChatID != "" && !IsUUID(j.ChatID) {
		faults = append(faults, InvalidField("chatId", " is %q; it must be a UUID", Clip(j.ChatID)))
	}
	switch n := len(j.Sequences); {
	case n == 0:
		faults = append(faults, InvalidField("sequences", " is empty; it must hold at least 1 item"))
	case n > MaxItems:
		faults = append(faults, InvalidField("sequences", " has %d items; at most %d are allowed", n, MaxItems))
	}
	return faults
}

// CheckName returns an error if s is empty, too long or not printable. The error names field as the value at fault.
func CheckName(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return InvalidField(field, " is required and must not be empty")
	}
	if !utf8.ValidString(s) {
		return InvalidField(field, " is not valid UTF-8")
	}
	if n := utf8.RuneCountInString(s); n > MaxName {
		return InvalidField(field, " has %d characters; at most %d are allowed", n, MaxName)
	}
	return CheckPrintable(field, s)
}

// CheckOptionalName is CheckName for a name that may be empty.
func CheckOptionalName(field, s string) error {
	if s == "" {
		return nil
	}
	return CheckName(field, s)
}

// MaxEndpointName bounds the name of an endpoint, in characters.
const MaxEndpointName = 60

// CheckEndpointName is CheckName for the name of an endpoint.
func CheckEndpointName(field, s string) error {
	if err := CheckName(field, s); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(s); n > MaxEndpointName {
		return InvalidField(field, " has %d characters; at most %d are allowed", n, MaxEndpointName)
	}
	return nil
}

// CheckPrintable returns an error if s holds a control character. The error names field as the value at fault.
func CheckPrintable(field, s string) error {
	for i, r := range []rune(s) {
		if unicode.IsControl(r) {
			return InvalidField(field, " has a control character at position %d", i+1)
		}
	}
	return nil
}

// validation is one call of Job.Validate.
type validation struct {
	job    *Job
	model  *Model
	faults Errors
	// faulty marks the sequences whose kind or text is at fault. Checks that depend on their length skip them.
	faulty []bool
}

// add records the faults of a check of this package: they are faults of the request only.
func (v *validation) add(err error) { _ = v.faults.Add(err) }

func (v *validation) fault(field, format string, args ...any) {
	if !v.faults.full() {
		v.faults = append(v.faults, InvalidField(field, format, args...))
	}
}

// textFault records a fault of a sequence's text. Its message starts with words that the interface fixes.
func (v *validation) textFault(i int, format string, args ...any) {
	v.faulty[i] = true
	if !v.faults.full() {
		e := InvalidField(v.job.Sequences[i].Path(i)+".sequence", format, args...)
		e.Message = "Invalid sequence format: " + e.Message
		v.faults = append(v.faults, e)
	}
}

// sequences checks the sequences and all that depends on them.
func (v *validation) sequences() {
	v.faulty = make([]bool, len(v.job.Sequences))
	counted := true
	for i := range v.job.Sequences {
		counted = v.sequence(i) && counted
	}
	var named bool
	if counted {
		err := v.job.NameChains()
		v.add(err)
		named = err == nil
	}
	v.lengths()
	if named && !slices.Contains(v.faulty, true) {
		v.size()
	}
	taken := v.constraintsTaken()
	if taken && named {
		v.constraints()
	}
	if v.templatesTaken() && named {
		v.templates()
	}
	if v.componentsTaken() && named {
		v.components()
	}
	v.sequenceLimits()
	if counted {
		v.totalLimits()
		v.variableDomains()
	}
	if taken {
		v.constraintLimits()
	}
}

// sequence checks one item and puts its text into canonical form. It reports whether the count is valid.
func (v *validation) sequence(i int) (counted bool) {
	s, m := &v.job.Sequences[i], v.model
	path := s.Path(i)
	if !m.Takes(s.Kind) {
		v.faulty[i] = true
		v.fault(path, ": the model %q folds %s only", m.Name, entityNames(m.Entities))
	}
	if s.Count == 0 {
		s.Count = 1
	}
	counted = s.Count >= 1 && s.Count <= MaxChains
	if !counted {
		v.fault(path+".count", " is %d; it must be 1 to %d", s.Count, MaxChains)
	} else if s.Count > 1 && !m.Has(FeatureComplex) {
		v.fault(path+".count", " is %d, but the model %q folds each chain alone and would fold one copy; leave count "+
			"out, or choose a model for complexes", s.Count, m.Name)
	}
	if s.Source != "" && !IsUUID(s.Source) {
		v.fault(itemPath(i)+".sourceSequenceId", " is %q; it must be a UUID", Clip(s.Source))
	}
	if utf8.RuneCountInString(s.Label) > MaxName {
		v.fault(path+".label", " has more than %d characters", MaxName)
	} else {
		_ = v.faults.Add(CheckPrintable(path+".label", s.Label)) // always a fault of the request
	}
	if v.faulty[i] {
		return counted
	}
	v.property(i, path+".property_type")
	v.msa(i, path+".msa")
	if s.Kind == Ligand {
		v.ligand(i)
	} else {
		v.polymer(i, path)
	}
	return counted
}

// property checks a request for a prediction about one entity. There is one kind: the affinity of a ligand.
func (v *validation) property(i int, field string) {
	s, m := &v.job.Sequences[i], v.model
	switch {
	case s.PropertyType == "":
	case s.PropertyType != "affinity":
		v.fault(field, " is %q; it may be \"affinity\"", Clip(s.PropertyType))
	case !m.Has(FeatureAffinity):
		v.fault(field, ": the model %q predicts no affinity", m.Name)
	case s.Kind != Ligand:
		v.fault(field, ": affinity is predicted for a ligand, not for a %s", s.Kind)
	}
}

// ligand checks the text of a ligand, a SMILES or a CCD code, and whether the model takes ligands in this form. It
// checks the grammar and the simple chemistry of a SMILES; the engine finds out whether it is a possible molecule.
func (v *validation) ligand(i int) {
	s, forms := &v.job.Sequences[i], v.model.Limits.LigandForms
	s.Text = strings.TrimSpace(s.Text)
	switch {
	case s.Text == "" && s.CCD:
		v.textFault(i, " is empty; it must be a CCD code")
	case s.Text == "":
		v.textFault(i, " is empty; it must be a SMILES, or a CCD code with is_ccd true")
	case s.CCD && len(forms) > 0 && !slices.Contains(forms, FormCCD):
		v.formFault(i, "takes ligands as SMILES only, not as CCD codes")
	case s.CCD:
		v.ligandCode(i)
	case len(forms) > 0 && !slices.Contains(forms, FormSMILES):
		v.formFault(i, "takes ligands as CCD codes only, not as SMILES")
	default:
		_, err := CheckSMILES(s.Text)
		switch {
		case err != nil && dictionaryCode(s.Text) != "":
			v.textFault(i, " %s, with is_ccd true", err)
		case err != nil:
			v.textFault(i, " %s", err)
		}
	}
}

// ligandCode checks the CCD code of a ligand. A text that is a SMILES and no known code was meant as a SMILES.
func (v *validation) ligandCode(i int) {
	s := &v.job.Sequences[i]
	text := s.Text
	s.Text = strings.ToUpper(text)
	_, inDictionary := chem.LookUp(s.Text)
	_, err := CheckSMILES(text)
	switch {
	case err == nil && !inDictionary && !v.job.Constraints.has(s.Text):
		v.textFault(i, " is %q, a SMILES and no known CCD code; give it with is_ccd false", Clip(text))
	case !IsCCD(s.Text):
		v.textFault(i, " is %q; a CCD code has 1 to 5 letters and digits", Clip(text))
	case noLigand[s.Text] != "":
		v.textFault(i, " is %s, %s; leave it out", s.Text, noLigand[s.Text])
	}
}

// noLigand says of codes why they are no ligands. The data pipeline of AlphaFold 3 removes waters from structures
// (Abramson et al. 2024, doi:10.1038/s41586-024-07487-w), and what is unknown has no structure.
var noLigand = map[string]string{
	"HOH": water, "DOD": water, "WAT": water,
	"UNL": "which stands for an unknown ligand", "UNX": "which stands for an unknown atom",
	"UNK": unknownLigand, "ASX": unknownLigand, "GLX": unknownLigand, "N": unknownLigand, "DN": unknownLigand,
}

const (
	water         = "water, which no model folds"
	unknownLigand = "which stands for a residue that is not known"
)

// formFault records that the model does not take sequence i in the form that it has.
func (v *validation) formFault(i int, what string) {
	v.faulty[i] = true
	v.fault(v.job.Sequences[i].Path(i)+".sequence", ": the model %q %s", v.model.Name, what)
}

// CheckSMILES checks the text of a ligand that is a SMILES, and returns the number of its atoms other than hydrogen.
// The error is a sentence without its subject.
func CheckSMILES(s string) (heavy int, err error) {
	if len(s) > MaxSMILES {
		return 0, fmt.Errorf("has %d letters; a SMILES may have %d", len(s), MaxSMILES)
	}
	if at := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }); at >= 0 {
		r, _ := utf8.DecodeRuneInString(s[at:])
		return 0, fmt.Errorf("has %s at position %d; a SMILES has printable ASCII only, and a name belongs elsewhere",
			words.Character(r), at+1)
	}
	if inchi.MatchString(s) {
		return 0, errors.New("is an InChI; it must be a SMILES")
	}
	if heavy, err = chem.CheckSMILES(s); err == nil {
		return heavy, nil
	}
	if code := dictionaryCode(s); code != "" {
		return 0, fmt.Errorf("is no SMILES: %w; if %s of the Chemical Component Dictionary is meant, give it as a CCD "+
			"code", err, code)
	}
	return 0, fmt.Errorf("is no SMILES: %w", err)
}

// inchi matches an InChI, or the key of one.
var inchi = regexp.MustCompile(`^(?i:InChI)|^[A-Z]{14}-[A-Z]{10}-[A-Z]$`)

// dictionaryCode returns the code of the Chemical Component Dictionary that a text is, also in the form CCD_ATP, in
// capitals; empty: it is none.
func dictionaryCode(text string) string {
	code := strings.TrimPrefix(strings.ToUpper(text), "CCD_")
	if _, known := chem.LookUp(code); !known {
		return ""
	}
	return code
}

// IsCCD reports whether s has the form of a code of the Chemical Component Dictionary: 1 to 5 capitals and digits.
func IsCCD(s string) bool {
	if len(s) < 1 || len(s) > 5 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) < 0
}

func (v *validation) polymer(i int, path string) {
	s, m := &v.job.Sequences[i], v.model
	v.letters(i)
	if s.Cyclic && !m.Has(FeatureCyclic) {
		v.fault(path+".cyclic", ": the model %q folds no cyclic chains", m.Name)
	}
	if len(s.Modifications) > 0 && !m.Has(FeatureModifications) {
		v.fault(path+".modifications", ": the model %q accepts no modified residues", m.Name)
		return
	}
	v.modifications(i, path)
}

// letters converts a polymer's text to upper case, removes white space and the sign of its end, and checks every letter
// against the alphabet. Positions in messages count letters, not white space.
func (v *validation) letters(i int) {
	s, m := &v.job.Sequences[i], v.model
	allowed := letters[s.Kind]
	if !m.Has(FeatureUnknown) {
		allowed = KnownLetters(s.Kind)
	}
	if text, ended := CutEnd(s.Text); ended {
		s.Text = text
		v.job.Notes = append(v.job.Notes, Note{s.Path(i) + ".sequence", EndDropped})
	}
	if s.Kind == Protein && HasThreeLetterCodes(s.Text) {
		v.textFault(i, " has codes of three letters; a residue is one letter")
		return
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
			v.textFault(i, " has more than %d residues", MaxResidues)
			return
		}
		u := unicode.ToUpper(r)
		if r > unicode.MaxASCII || strings.IndexByte(allowed, byte(u)) < 0 {
			v.textFault(i, ", residue %d: %s; the model %q accepts the letters %s", n, NotALetter(s.Kind, r), m.Name,
				allowed)
			return
		}
		b.WriteByte(byte(u))
	}
	if n == 0 {
		v.textFault(i, " is empty; it must hold %s letters", s.Kind)
		return
	}
	s.Text = b.String()
}

// threeLetters matches a text of codes of three letters, each with a capital or apart from the next.
var threeLetters = regexp.MustCompile(`^\s*(?:(?:[A-Z][a-z]{2}[\s-]*){2,}|[A-Za-z]{3}(?:[\s-]+[A-Za-z]{3})+\s*)$`)

// HasThreeLetterCodes reports whether a text names two or more residues of a protein by codes of three letters, as
// Ala-Gly or ALA GLY, whose letters are those of residues too. A single code is read as three residues.
func HasThreeLetterCodes(text string) bool {
	if !threeLetters.MatchString(text) {
		return false
	}
	standard := false
	codes := strings.ToUpper(strings.Join(strings.FieldsFunc(text, isSpaceOrHyphen), ""))
	for ; codes != ""; codes = codes[3:] {
		code := codes[:3]
		if !chem.IsResidueCode(string(Protein), cmp.Or(chem.Parent(code), code)) {
			return false
		}
		standard = standard || chem.IsResidueCode(string(Protein), code) // triplets of bases never are
	}
	return standard
}

func isSpaceOrHyphen(r rune) bool { return r == '-' || unicode.IsSpace(r) }

// NameChains gives every copy of every sequence a chain name: the first copy takes the one asked for, the others take
// the next free of A to Z, AA, AB and so on. Every Count must be 1 or more. It returns nil or Errors.
func (j *Job) NameChains() error {
	var faults Errors
	total, used := 0, map[string]int{}
	for i := range j.Sequences {
		s := &j.Sequences[i]
		path := s.Path(i)
		if total += s.Count; total > MaxChains {
			return append(faults, InvalidField(path, ": the job has more than %d chains, copies counted", MaxChains))
		}
		if s.ChainID == "" {
			continue
		}
		if !IsChainName(s.ChainID) {
			faults = append(faults, InvalidField(path+".chain_id",
				" is %q; a chain name has 1 to %d letters and digits",
				Clip(s.ChainID), MaxChainName))
			continue
		}
		if k, ok := used[s.ChainID]; ok {
			faults = append(faults, InvalidField(path+".chain_id", " %q is already used by %s", s.ChainID, itemPath(k)))
			continue
		}
		used[s.ChainID] = i
	}
	if len(faults) > 0 {
		return faults
	}
	next := 0
	for i := range j.Sequences {
		s := &j.Sequences[i]
		s.Chains = make([]string, 0, s.Count)
		if s.ChainID != "" {
			s.Chains = append(s.Chains, s.ChainID)
		}
		for len(s.Chains) < s.Count {
			name := words.LetterName(next)
			next++
			if _, ok := used[name]; !ok {
				used[name] = i
				s.Chains = append(s.Chains, name)
			}
		}
	}
	return nil
}

// IsChainName reports whether s has the form of a chain name: 1 to 4 letters and digits.
func IsChainName(s string) bool {
	if len(s) < 1 || len(s) > MaxChainName {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) < 0
}

// chains counts the chains of the job, copies included.
func (j *Job) chains() int {
	n := 0
	for _, s := range j.Sequences {
		n += s.Count
	}
	return n
}

// unit returns the word for the tokens of the job.
func (j *Job) unit() string {
	switch {
	case slices.ContainsFunc(j.Sequences, func(s Sequence) bool { return len(s.Modifications) > 0 }):
		return "residues and atoms of ligands and modified residues"
	case slices.ContainsFunc(j.Sequences, func(s Sequence) bool { return s.Kind == Ligand }):
		return "residues and ligand atoms"
	}
	return "residues"
}

// FoldsSeparately reports whether a model folds the sequences of the job each on its own, so that nothing tells how
// they are placed relative to each other.
func (j *Job) FoldsSeparately(m Model) bool { return len(j.Sequences) > 1 && !m.Has(FeatureComplex) }

// Largest returns the tokens of the largest structure that the model folds at once: the whole job, or its longest
// sequence if the model folds each chain alone.
func (j *Job) Largest(m Model) int {
	if m.Has(FeatureComplex) {
		return j.Tokens(m.Limits)
	}
	n := 0
	for i := range j.Sequences {
		n = max(n, j.TokensOf(&j.Sequences[i], m.Limits))
	}
	return n
}

// Seconds is how long the job is expected to compute with a model, in core-seconds; 0: unknown. A model without
// FeatureComplex folds each sequence once, however many copies it has.
func (j *Job) Seconds(m Model) float64 {
	if m.Has(FeatureComplex) {
		return m.Speed.Seconds(j.Tokens(m.Limits))
	}
	n := 0.0
	for i := range j.Sequences {
		n += m.Speed.Seconds(j.TokensOf(&j.Sequences[i], m.Limits))
	}
	return n
}

// lengths checks the length of each sequence.
func (v *validation) lengths() {
	m := v.model
	for i := range v.job.Sequences {
		s := &v.job.Sequences[i]
		if v.faulty[i] || !s.Polymer() && m.Has(FeatureComplex) {
			continue
		}
		if n := v.job.TokensOf(s, m.Limits); s.Polymer() && n < m.MinTokens {
			v.textFault(i, " has %d residues; the model %q folds %d or more", n, m.Name, m.MinTokens)
		} else if !m.Has(FeatureComplex) && m.MaxTokens > 0 && n > m.MaxTokens {
			v.textFault(i, " has %d residues; the model %q folds at most %d", n, m.Name, m.MaxTokens)
		}
	}
}

// size checks the tokens and the memory of the whole job.
func (v *validation) size() {
	j, m := v.job, v.model
	n := j.Largest(*m)
	if m.Has(FeatureComplex) && m.MaxTokens > 0 && n > m.MaxTokens {
		v.fault("sequences", ": the job has %d %s; the model %q folds at most %d%s", n, j.unit(), m.Name, m.MaxTokens,
			v.upperBound())
		return
	}
	v.leastSize()
	v.add(m.CheckMemory(n, j.unit()))
}

func entityNames(kinds []EntityKind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
