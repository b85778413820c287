// Package batch turns the kinds of batch into rows, and their rows into tables.
//
// It is pure: no store, no network, no clock. It does not check molecules, which pleat.Job.Validate does for each row.
package batch

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pleat"
)

// Spec is a batch as it was asked for. Which fields are set depends on the kind; Check refuses others.
type Spec struct {
	Kind        pleat.BatchKind
	Name        string
	Params      pleat.Params // of the rows that have none of their own
	Constraints pleat.Constraints

	Jobs []Entry // list

	Binders, Targets    []Entry // matrix; without targets the binders are combined with one another
	UpperTriangle, Self bool    // without targets: each pair once; each binder with itself, too

	Sequences []pleat.Sequence // ligands, variants, seeds: the complex

	Ligands []Ligand // ligands

	Chain     string   // variants: the chain that is mutated; empty: the only polymer
	Mutations []string // variants
	Scan      *Scan    // variants

	Seeds     []string // seeds
	SeedCount int      // seeds: how many, from that of Params upwards or from 0
}

// Entry is a job of a list, or a binder or target of a matrix, which has sequences alone.
type Entry struct {
	CustomID    string
	Name        string
	Sequences   []pleat.Sequence
	Params      *pleat.Params      // nil: those of the batch
	Constraints *pleat.Constraints // nil: those of the batch
}

// Ligand is a ligand that is folded with the complex.
type Ligand struct {
	CustomID string
	Text     string // SMILES, or a CCD code
	CCD      bool
	Affinity bool // its affinity is predicted
}

// Scan is every mutation of each residue from From to To, which are counted from 1, to each of the letters Residues;
// empty: the 20 amino acids.
type Scan struct {
	From, To int
	Residues string
}

// Row is one job of a batch, not validated yet.
type Row struct {
	Number    int // from 1
	CustomID  string
	Job       pleat.Job // with Name, Sequences, Params and Constraints
	Path      string    // where it stands in the request, such as jobs[3]
	given     string    // the customId that stands there; empty: none
	items     []string  // for each sequence of the job, where its item stands
	jobFields []string  // the fields of the job that stand at Path
}

// At returns the path of element i of the list at a path.
func At(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Under returns a fault of what stands at a path as one of the request. An empty path is the request itself.
func Under(path string, fault *pleat.Error) *pleat.Error {
	if path == "" {
		return fault
	}
	return moved(fault, strings.NewReplacer(fault.Field, path+"."+fault.Field), path)
}

// moved returns a fault whose field and message name other paths. A message that names none begins with a path.
func moved(fault *pleat.Error, to *strings.Replacer, path string) *pleat.Error {
	out := *fault
	out.Field, out.Message = to.Replace(fault.Field), replaceUnquoted(fault.Message, to)
	if out.Message == fault.Message && !strings.Contains(out.Message, out.Field) {
		out.Message = path + ": " + out.Message
	}
	return &out
}

// replaceUnquoted replaces in a message, but not in what it quotes of the request.
func replaceUnquoted(message string, to *strings.Replacer) string {
	var out strings.Builder
	for message != "" {
		before, _, _ := strings.Cut(message, `"`)
		out.WriteString(to.Replace(before))
		message = message[len(before):]
		quoted, err := strconv.QuotedPrefix(message)
		if err != nil { // the rest has no whole quotation
			out.WriteString(to.Replace(message))
			break
		}
		out.WriteString(quoted)
		message = message[len(quoted):]
	}
	return out.String()
}

// Relocate returns the faults of the row's job as those of the request: in the item from which a sequence came, and in
// the row of a list. Other errors, and nil, are returned unchanged.
func (r *Row) Relocate(err error) error {
	if pleat.CodeOf(err) != pleat.CodeInvalid {
		return err
	}
	var out pleat.Errors
	for _, fault := range pleat.ErrorsOf(err) {
		out = append(out, r.relocate(fault))
	}
	return out.Err()
}

// Notes returns the notes on the row's job as sentences about the request, see [Row.Relocate].
func (r *Row) Notes() []string {
	var moved pleat.Notes
	for _, n := range r.Job.Notes {
		at := r.relocate(pleat.InvalidField(n.Field, ""))
		moved = append(moved, pleat.Note{Field: at.Field, Message: n.Message})
	}
	return moved.Texts()
}

func (r *Row) relocate(fault *pleat.Error) *pleat.Error {
	var paths []string
	for i, path := range r.items {
		if strings.HasPrefix(path, "ligands[") {
			paths = append(paths, At("sequences", i)+"."+pleat.Ligand.ItemKey(), path)
		}
		paths = append(paths, At("sequences", i), path)
	}
	root, _, _ := strings.Cut(fault.Field, ".")
	switch {
	case strings.HasPrefix(root, "sequences["):
	case root == "sequences", slices.Contains(r.jobFields, root):
		paths = append(paths, fault.Field, r.Path+"."+fault.Field)
	default:
		return fault
	}
	out := moved(fault, strings.NewReplacer(paths...), r.Path)
	if r.given != "" && strings.HasPrefix(out.Field, r.Path) {
		out.Message += fmt.Sprintf(" (customId %q)", pleat.Clip(r.given))
	}
	return out
}

// Count returns the number of rows without making them. A batch that Check has not accepted may have any.
func (s *Spec) Count() int {
	switch s.Kind {
	case pleat.BatchList:
		return len(s.Jobs)
	case pleat.BatchMatrix:
		return s.pairs()
	case pleat.BatchLigands:
		return len(s.Ligands)
	case pleat.BatchVariants:
		return s.variants()
	case pleat.BatchSeeds:
		return max(len(s.Seeds), s.SeedCount)
	}
	return 0
}

// Check finds the faults of the batch as such, but not those of the molecules. The error is pleat.Errors.
func (s *Spec) Check() error {
	var faults pleat.Errors
	fault := func(err error) { _ = faults.Add(err) } // all are faults of the request
	fault(pleat.CheckName("name", s.Name))
	s.checkKeys(fault)
	if len(faults) > 0 {
		return faults
	}
	switch s.Kind {
	case pleat.BatchList:
		checkEntries("jobs", s.Jobs, fault)
	case pleat.BatchMatrix:
		checkEntries("binders", s.Binders, fault)
		checkEntries("targets", s.Targets, fault)
		checkColons("binders", s.Binders, fault)
		checkColons("targets", s.Targets, fault)
		s.checkJoinedIDs(fault)
	case pleat.BatchLigands:
		ids := newIDs("ligands", fault)
		for i := range s.Ligands {
			ids.add(i, s.Ligands[i].CustomID)
		}
	case pleat.BatchVariants:
		s.checkVariants(fault)
	case pleat.BatchSeeds:
		s.checkSeeds(fault)
	}
	if len(faults) > 0 { // what Count goes over may be of any size then
		return faults
	}
	if n := s.Count(); n < 1 || n > pleat.MaxBatchRows {
		fault(pleat.Invalidf("the batch has %d rows; it must have 1 to %d", n, pleat.MaxBatchRows).At(s.rowsKey()))
	}
	return faults.Err()
}

// rowsKey is the field that decides how many rows there are.
func (s *Spec) rowsKey() string {
	switch s.Kind {
	case pleat.BatchMatrix:
		return "binders"
	case pleat.BatchLigands:
		return "ligands"
	case pleat.BatchVariants:
		if s.Scan != nil {
			return "scan"
		}
		return "mutations"
	case pleat.BatchSeeds:
		return "seeds"
	}
	return "jobs"
}

// key is a field of a batch that only some kinds have.
type key struct {
	name string
	set  bool
	kind pleat.BatchKind // empty: ligands, variants and seeds
}

// keys lists the fields that only some kinds have.
func (s *Spec) keys() []key {
	return []key{
		{"jobs", s.Jobs != nil, pleat.BatchList},
		{"binders", s.Binders != nil, pleat.BatchMatrix},
		{"targets", s.Targets != nil, pleat.BatchMatrix},
		{"upperTriangle", s.UpperTriangle, pleat.BatchMatrix},
		{"self", s.Self, pleat.BatchMatrix},
		{"sequences", s.Sequences != nil, ""},
		{"ligands", s.Ligands != nil, pleat.BatchLigands},
		{"chain", s.Chain != "", pleat.BatchVariants},
		{"mutations", s.Mutations != nil, pleat.BatchVariants},
		{"scan", s.Scan != nil, pleat.BatchVariants},
		{"seeds", s.Seeds != nil, pleat.BatchSeeds},
		{"seedCount", s.SeedCount != 0, pleat.BatchSeeds},
	}
}

// checkKeys refuses fields of other kinds and asks for those that the kind needs.
func (s *Spec) checkKeys(fault func(error)) {
	needs := map[pleat.BatchKind][]string{
		pleat.BatchList:     {"jobs"},
		pleat.BatchMatrix:   {"binders"},
		pleat.BatchLigands:  {"sequences", "ligands"},
		pleat.BatchVariants: {"sequences"},
		pleat.BatchSeeds:    {"sequences"},
	}
	if needs[s.Kind] == nil {
		fault(pleat.InvalidField("kind", " is %q; it may be list, matrix, ligands, variants or seeds",
			pleat.Clip(string(s.Kind))))
		return
	}
	named := map[string]bool{}
	for _, k := range s.keys() {
		named[k.name] = k.set
		complexKind := s.Kind != pleat.BatchList && s.Kind != pleat.BatchMatrix
		if k.set && k.kind != s.Kind && (k.kind != "" || !complexKind) {
			kinds := cmp.Or(string(k.kind), "ligands, variants or seeds")
			fault(pleat.InvalidField(k.name, " is a field of the kind %s; the kind of this batch is %s", kinds, s.Kind))
		}
	}
	for _, name := range needs[s.Kind] {
		if !named[name] {
			fault(pleat.InvalidField(name, " is required for the kind %s", s.Kind))
		}
	}
	switch {
	case s.Kind == pleat.BatchVariants && !named["mutations"] && !named["scan"]:
		fault(pleat.InvalidField("mutations", " or scan is required for the kind variants"))
	case s.Kind == pleat.BatchSeeds && named["seeds"] == named["seedCount"]:
		fault(pleat.InvalidField("seeds", " or seedCount is required for the kind seeds, and not both"))
	case s.Kind == pleat.BatchMatrix && named["targets"] && len(s.Targets) == 0:
		fault(pleat.InvalidField("targets", " is empty; it must have an item, or be left out to combine the binders "+
			"with one another"))
	case s.Kind == pleat.BatchMatrix && named["targets"] && (s.UpperTriangle || s.Self):
		fault(pleat.InvalidField("targets", " cannot be given with upperTriangle or self, which combine the binders "+
			"with one another"))
	}
}

// ids checks the custom ids of the elements of one list.
type ids struct {
	path  string
	seen  map[string]int
	fault func(error)
}

func newIDs(path string, fault func(error)) *ids { return &ids{path, map[string]int{}, fault} }

// add checks the custom id of element i.
func (x *ids) add(i int, id string) {
	field := At(x.path, i) + ".customId"
	if id != "" {
		if err := pleat.CheckName(field, id); err != nil {
			x.fault(err)
			return
		}
	}
	id = idOr(id, i)
	if first, twice := x.seen[id]; twice {
		x.fault(pleat.InvalidField(field, " is %q like that of %s; custom ids must differ", pleat.Clip(id),
			At(x.path, first)))
		return
	}
	x.seen[id] = i
}

// idOr returns a custom id; an absent one is the number of its element i, from 1.
func idOr(id string, i int) string {
	return cmp.Or(id, strconv.Itoa(i+1))
}

// checkEntries checks the entries of a list.
func checkEntries(path string, list []Entry, fault func(error)) {
	ids := newIDs(path, fault)
	for i := range list {
		ids.add(i, list[i].CustomID)
		if len(list[i].Sequences) == 0 {
			fault(pleat.InvalidField(At(path, i)+".sequences", " is required and must have an item"))
		}
	}
}

// checkColons refuses colons in the custom ids of a matrix, since those of its rows join two by a colon.
func checkColons(path string, list []Entry, fault func(error)) {
	for i := range list {
		if strings.Contains(list[i].CustomID, ":") {
			fault(pleat.InvalidField(At(path, i)+".customId", " is %q; it must not have a colon, which joins the ids "+
				"of a row", pleat.Clip(list[i].CustomID)))
		}
	}
}

// checkJoinedIDs refuses binders whose ids are too long together with the longest id that is joined to them.
func (s *Spec) checkJoinedIDs(fault func(error)) {
	targets, path := s.partners()
	length := func(list []Entry, i int) int { return utf8.RuneCountInString(idOr(list[i].CustomID, i)) }
	longest := []int(nil) // the first and the second
	for k := range targets {
		longest = append(longest, k)
		slices.SortStableFunc(longest, func(a, b int) int { return length(targets, b) - length(targets, a) })
		longest = longest[:min(len(longest), 2)]
	}
	for i := range s.Binders {
		for _, k := range longest {
			n := length(s.Binders, i) + 1 + length(targets, k)
			if n > pleat.MaxName && (s.Targets != nil || i != k || s.Self) {
				fault(pleat.InvalidField(At("binders", i)+".customId", " and that of %s have %d characters together "+
					"with their colon; at most %d are allowed", At(path, k), n, pleat.MaxName))
				return
			}
		}
	}
}

// checkSeeds checks the seeds.
func (s *Spec) checkSeeds(fault func(error)) {
	seen := map[uint64]int{}
	for i, text := range s.Seeds {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil || seed > pleat.MaxSeed {
			fault(pleat.InvalidField(At("seeds", i), " is %q; it must be a whole number from 0 to %d", pleat.Clip(text),
				uint64(pleat.MaxSeed)))
			continue
		}
		if first, twice := seen[seed]; twice {
			fault(pleat.InvalidField(At("seeds", i), " is %d like %s; seeds must differ", seed, At("seeds", first)))
		}
		seen[seed] = i
	}
	if s.SeedCount < 0 {
		fault(pleat.InvalidField("seedCount", " is %d; it must be 1 to %d", s.SeedCount, pleat.MaxBatchRows))
	}
	if first, err := s.firstSeed(); err != nil {
		fault(err)
	} else if first+uint64(max(s.SeedCount, 0)) > pleat.MaxSeed+1 {
		fault(pleat.InvalidField("seedCount", " is %d from the seed %d; the largest seed is %d", s.SeedCount, first,
			uint64(pleat.MaxSeed)))
	}
}

// firstSeed is the first of SeedCount seeds.
func (s *Spec) firstSeed() (uint64, error) {
	text, ok := s.Params.Seed()
	if !ok {
		return 0, nil
	}
	if s.Seeds != nil {
		return 0, pleat.InvalidField("params.seed", " cannot be given with seeds")
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seed > pleat.MaxSeed {
		return 0, pleat.InvalidField("params.seed", " is %q; it must be a whole number from 0 to %d", pleat.Clip(text),
			uint64(pleat.MaxSeed))
	}
	return seed, nil
}

// Rows yields the rows of a batch that Check has accepted, one after the other, so that a large batch need not be in
// memory.
func (s *Spec) Rows() iter.Seq[Row] {
	rows := map[pleat.BatchKind]func(yield func(Row) bool){
		pleat.BatchList:     s.listRows,
		pleat.BatchMatrix:   s.matrixRows,
		pleat.BatchLigands:  s.ligandRows,
		pleat.BatchVariants: s.variantRows,
		pleat.BatchSeeds:    s.seedRows,
	}[s.Kind]
	return func(yield func(Row) bool) {
		n := 0
		rows(func(r Row) bool {
			n++
			r.Number = n
			if r.Job.Name == "" {
				r.Job.Name = RowName(s.Name, r.CustomID)
			}
			return yield(r)
		})
	}
}

// RowName is what the job of a row without a name of its own is called: by the name of the batch and the custom id,
// with at most pleat.MaxName characters.
func RowName(batch, id string) string {
	out := fmt.Sprint(batch, " ", id)
	if utf8.RuneCountInString(out) > pleat.MaxName {
		return string([]rune(out)[:pleat.MaxName])
	}
	return out
}
