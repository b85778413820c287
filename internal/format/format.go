// Package format reads the job files of other programs, and writes some: FASTA of Boltz, Chai and ColabFold, JSON of
// the AlphaFold Server, of AlphaFold 3, Protenix and OpenFold3, YAML of Boltz, CSV of ColabFold and samplesheets of
// nf-core/proteinfold.
//
// It owns the meaning of these files. Content that a job or a file cannot express becomes a note with its path.
// Content whose loss would change the molecules, and addresses, are errors, and so are names of files that the caller
// does not give. It must not use disk, network or models; the caller checks whether a model can fold the job.
package format

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/words"
	"pleat/internal/yamltree"
)

// Name is the name of a format on the wire.
type Name string

// The supported formats.
const (
	FASTA       Name = "fasta"
	Server      Name = "alphafold-server"
	AlphaFold3  Name = "alphafold3"
	Boltz       Name = "boltz"
	Protenix    Name = "protenix"
	OpenFold3   Name = "openfold3"
	ColabFold   Name = "colabfold"   // CSV or TSV; its FASTA is FASTA
	Proteinfold Name = "proteinfold" // samplesheets of nf-core/proteinfold
)

// Limits of imported files, unless Options has others. A file beyond them is an error.
const (
	MaxBytes = 1 << 20           // bytes of a file
	MaxDepth = yamltree.MaxDepth // nested arrays and objects
	MaxJobs  = 100               // jobs in one file
	maxItems = 1 << 20           // chains and ligands of all jobs of one file, with their copies
	maxLines = 2 << 20           // lines of a FASTA file
	maxSeeds = 1000              // in one list
	maxNotes = 500
)

// dialect is a format: its name, the media type and extension of its files, and their reader and writer.
type dialect struct {
	name Name
	ext  string // extension of a file name, with its dot
	// media is the Content-Type of an exported file.
	media string
	// read appends the file's jobs to in, or returns a pleat.Error.
	read func(text string, in *reading) error
	// write returns the bytes of a file with one job; nil: the format is only read.
	write func(j *pleat.Job, out *writing) ([]byte, error)
}

// maxFileName bounds the name of an exported file without its extension, in characters.
const maxFileName = 80

// dialects are the supported formats, in the order in which Names lists them.
var dialects = []dialect{
	{FASTA, ".fasta", "text/plain; charset=utf-8", readFASTA, writeFASTA},
	{Server, ".json", "application/json", readServer, writeServer},
	{AlphaFold3, ".json", "application/json", readAlphaFold3, writeAlphaFold3},
	{Boltz, ".yaml", "application/yaml", readBoltz, writeBoltz},
	{name: Protenix, read: readProtenix},
	{name: OpenFold3, read: readOpenFold3},
	{name: ColabFold, read: readColabFold},
	{name: Proteinfold, read: readProteinfold},
}

// Names returns the names of all formats, which Import reads.
func Names() []string { return namesOf(dialects) }

// ExportNames returns the names of the formats that Export writes.
func ExportNames() []string { return namesOf(written()) }

// written returns the formats that are written.
func written() []dialect {
	return slices.DeleteFunc(slices.Clone(dialects), func(d dialect) bool { return d.write == nil })
}

// namesOf returns the names of dialects.
func namesOf(list []dialect) []string {
	var out []string
	for _, d := range list {
		out = append(out, string(d.name))
	}
	return out
}

// dialectOf returns the dialect of a format among those of a list. Another name is an error that lists them.
func dialectOf(name Name, list []dialect) (dialect, error) {
	i := slices.IndexFunc(list, func(d dialect) bool { return d.name == name })
	if i < 0 {
		return dialect{}, pleat.InvalidField("format", " is %q; it may be %s", pleat.Clip(string(name)),
			strings.Join(namesOf(list), ", "))
	}
	return list[i], nil
}

// Options are what a reader is told besides the text. The zero value is valid.
type Options struct {
	Name  string // of a job that the file does not name; empty: "imported"
	Model string // no format names a model
	Files Files  // what the text names; the zero value: every name of a file is an error
	Rows  bool   // each FASTA record becomes a job, unless its header says what kind of chain it is
	Bytes int    // most bytes of the text; 0: MaxBytes
	Jobs  int    // most jobs; 0: MaxJobs
	// Stop is called for each job; its error ends the reading. It may be nil.
	Stop func() error
}

// Imported is the content of a file: the jobs, and notes on what was changed or dropped.
type Imported struct {
	// Format is the given or the detected one.
	Format Name
	Jobs   []pleat.Job // valid for a model that supports every feature; at least one
	IDs    []string    // of the jobs, as the file names them: different from one another; empty: it has no name
	Notes  []string    // what was dropped, changed or assumed: one sentence each
}

// Import reads a file. An empty format is detected from the text. The error is a pleat.Error that names the path in the
// file.
func Import(text string, as Name, opt Options) (Imported, error) {
	opt.Bytes, opt.Jobs = cmp.Or(opt.Bytes, MaxBytes), cmp.Or(opt.Jobs, MaxJobs)
	if len(text) > opt.Bytes {
		return Imported{}, pleat.Errorf(pleat.CodeTooLarge, "the file has %d bytes; at most %d are allowed", len(text),
			opt.Bytes)
	}
	if what := notText(text); what != "" {
		return Imported{}, pleat.Invalidf("the file %s", what)
	}
	text = plainText(text)
	if strings.TrimSpace(text) == "" {
		return Imported{}, pleat.Invalidf("the file is empty")
	}
	if err := checkForeign(text); err != nil {
		return Imported{}, err
	}
	if as == "" {
		var err error
		if as, err = guess(text); err != nil {
			return Imported{}, err
		}
	}
	d, err := dialectOf(as, dialects)
	if err != nil {
		return Imported{}, err
	}
	in := &reading{opt: opt, unique: words.Unique{}}
	if err := d.read(text, in); err != nil {
		return Imported{}, err
	}
	return Imported{Format: as, Jobs: in.jobs, IDs: in.ids, Notes: in.all()}, nil
}

// File is a job written in a format, with notes on what the format cannot express.
type File struct {
	Name        string // a valid file name on every system
	ContentType string
	// Text is the content of the file.
	Text  []byte
	Notes []string // what the format cannot express: one sentence each
}

// Export writes a valid job as a file. Each fact that the format cannot express becomes a note. It returns an error if
// the format cannot express one of the molecules.
func Export(j *pleat.Job, as Name) (File, error) {
	d, err := dialectOf(as, written())
	if err != nil {
		return File{}, err
	}
	out := &writing{}
	text, err := d.write(j, out)
	if err != nil {
		return File{}, err
	}
	for i := range j.Sequences {
		q := &j.Sequences[i]
		if q.Source != "" {
			out.addNote("sequences[%d].sourceSequenceId is not in the file: the format has no place for it", i)
		}
		if q.MSA != (pleat.FileRef{}) {
			out.addNote("%s.msa is not in the file: the alignment is a file of a library", q.Path(i))
		}
	}
	for i := range j.Constraints.Templates {
		out.addNote("%s is not in the file: the template is a file of the service", pleat.TemplatePath(i))
	}
	for i := range j.Constraints.Components {
		out.addNote("%s is not in the file: its code %s there means the entry of the dictionary, if it has one",
			pleat.ComponentPath(i), j.Constraints.Components[i].Code)
	}
	if len(j.Constraints.Webhooks) > 0 && string(j.Constraints.Webhooks) != "null" {
		out.addNote("constraints.webhooks is not in the file: the format has no place for it")
	}
	if j.Params.Model != "" {
		out.addNote("params.modelName %q is not in the file: the format names no model", pleat.Clip(j.Params.Model))
	}
	return File{
		Name:        cmp.Or(words.FileName(j.Name, maxFileName), "job") + d.ext,
		ContentType: d.media,
		Text:        text,
		Notes:       out.all(),
	}, nil
}

// notes collects sentences up to a limit, and counts the rest.
type notes struct {
	// list holds at most maxNotes sentences.
	list []string
	// more counts the sentences beyond maxNotes.
	more int
}

// addNote adds a formatted sentence, which the user reads with the result.
func (n *notes) addNote(format string, args ...any) {
	if len(n.list) == maxNotes {
		n.more++
		return
	}
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

// all returns the sentences, and a last one with the number of those beyond the limit.
func (n *notes) all() []string {
	if n.more > 0 {
		return append(n.list, fmt.Sprintf("There are %d more notes like these", n.more))
	}
	return append([]string{}, n.list...)
}

// reading is the state of an import: the notes so far, what the caller says and the jobs.
type reading struct {
	notes
	opt Options
	// jobs are the jobs read so far, and ids what the file calls them. A repeated name has a number.
	jobs   []pleat.Job
	ids    []string
	unique words.Unique
	// items counts the chains and ligands of all jobs, with their copies.
	items int
}

// writing is the state of an export: the notes on what the format cannot express.
type writing struct{ notes }

// params adds a note for every parameter of a job except those in held, which the file has. options maps a parameter to
// the program's option for it, which the note then names.
func (w *writing) params(j *pleat.Job, options map[string]string, held ...string) {
	for _, name := range slices.Sorted(maps.Keys(j.Params.Values)) {
		v := j.Params.Values[name]
		if slices.Contains(held, name) || v == nil || v == false || v == "" {
			continue
		}
		if option := options[name]; option != "" {
			w.addNote("params.%s %v is not in the file: give the program %s", name, v, fmt.Sprintf(option, v))
			continue
		}
		w.addNote("params.%s %v is not in the file: the format has no place for it", name, v)
	}
}

// labels adds a note for each label of a job, for formats that have no place for them.
func (w *writing) labels(j *pleat.Job) {
	for i := range j.Sequences {
		if q := &j.Sequences[i]; q.Label != "" {
			w.addNote("%s.label %q is not in the file: the format has no place for it", q.Path(i), pleat.Clip(q.Label))
		}
	}
}

// constraints adds a note for every constraint except those of the kinds in held, which the file has.
func (w *writing) constraints(c *pleat.Constraints, held ...string) {
	for _, kind := range []struct {
		name string
		n    int
	}{{"pocket", len(c.Pocket)}, {"bond", len(c.Bond)}, {"contact", len(c.Contact)}} {
		if slices.Contains(held, kind.name) {
			continue
		}
		for i := range kind.n {
			w.addNote("constraints.%s[%d] is not in the file: the format has no place for it", kind.name, i)
		}
	}
}

// properties adds notes for those fields of sequence i that the file does not hold; what lists the fields to check.
func (w *writing) properties(q *pleat.Sequence, i int, what ...string) {
	has := map[string]bool{
		"cyclic": q.Cyclic, "property_type": q.PropertyType != "", "modifications": len(q.Modifications) > 0,
	}
	for _, field := range what {
		if has[field] {
			w.addNote("%s.%s is not in the file: the format has no place for it", q.Path(i), field)
		}
	}
}
