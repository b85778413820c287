package format

import (
	"fmt"
	"strings"

	"pleat"
)

// Files finds what a text names. The functions get the name as the text has it, and their errors are those of Import;
// a nil function refuses every name. Nothing of a name is to be trusted: it may be absolute, an address, or lead out of
// any folder.
type Files struct {
	// Alignment returns the file of the library that holds an alignment (A3M) of one protein.
	Alignment func(name string) (pleat.FileRef, error)
	// Structure returns the file of the library that holds a structure in PDB or mmCIF format.
	Structure func(name string) (pleat.FileRef, error)
	// Components returns those of the wanted components that a file in mmCIF defines, each with the name of its data
	// block as its code, and its own file of the library.
	Components func(name string, wanted []string) ([]pleat.Component, error)
	// Text returns the content of a FASTA file of a samplesheet.
	Text func(name string) (string, error)
}

// refusePath returns the error for a field that names a file of a kind that jobs do not take.
func refusePath(at, name string) error {
	return pleat.Invalidf("%s names the file %q; a job names no files: leave it out", at, pleat.Clip(name))
}

// notGiven returns the error for a field that names a file which the caller could give, and does not.
func notGiven(at, name string) error {
	return pleat.Invalidf("%s names the file %q, which did not come with it: upload it to the library and name it in "+
		"files, or leave it out", at, pleat.Clip(name))
}

// align sets the alignment of a protein or RNA to the file that a field of the text names. An empty name is none.
func (d *draft) align(q *pleat.Sequence, at, name string) error {
	switch {
	case name == "":
		return nil
	case d.opt.Files.Alignment == nil:
		return notGiven(at, name)
	case q.Kind != pleat.Protein && q.Kind != pleat.RNA:
		return pleat.Invalidf("%s names the file %q, an alignment of %s; jobs have alignments of proteins and RNA: "+
			"leave it out", at, pleat.Clip(name), article(q.Kind))
	case !pleat.IsA3M(name):
		return pleat.Invalidf("%s names the file %q; an alignment must be A3M and its name end in .a3m", at,
			pleat.Clip(name))
	}
	f, err := d.opt.Files.Alignment(name)
	if err != nil {
		return placed(at, err)
	}
	q.MSA = f
	return nil
}

// draftTemplate is a template of the copies of a protein, which get their names later.
type draftTemplate struct {
	at, name string
	chain    string // its chain in the file; empty: the file has one
	ids      []string
	mapped   bool // the file says which residues correspond
}

// addTemplates adds the templates that the proteins name, once the chains have their names.
func (d *draft) addTemplates() error {
	for _, t := range d.templates {
		for _, id := range t.ids {
			chain, _, err := d.chain(t.at, id)
			if err != nil {
				return err
			}
			if err := d.template(t.at, t.name, pleat.Template{Chain: chain, TemplateChain: t.chain}); err != nil {
				return err
			}
		}
		if t.mapped {
			d.addNote("%s: queryIndices and templateIndices were dropped: the service aligns the template itself", t.at)
		}
	}
	return nil
}

// template adds a template from the file that a field of the text names. t says what it is for.
func (d *draft) template(at, name string, t pleat.Template) error {
	switch {
	case d.opt.Files.Structure == nil:
		return notGiven(at, name)
	case !pleat.IsStructureFile(name):
		return pleat.Invalidf("%s names the file %q; a template must be a structure, and its name end in %s", at,
			pleat.Clip(name), strings.Join(pleat.StructureEndings, ", "))
	}
	f, err := d.opt.Files.Structure(name)
	if err != nil {
		return placed(at, err)
	}
	t.Item, t.File = f.Item, f.Name
	d.job.Constraints.Templates = append(d.job.Constraints.Templates, t)
	return nil
}

// placed returns an error of Files with the place of the name. Those that are not about the name keep their code.
func placed(at string, err error) error {
	if pleat.CodeOf(err) == pleat.CodeInvalid {
		return pleat.Invalidf("%s: %s", at, err)
	}
	return fmt.Errorf("%s: %w", at, err)
}

// article returns a kind of polymer with its article.
func article(k pleat.EntityKind) string {
	if k == pleat.RNA {
		return "an RNA"
	}
	return "a " + string(k)
}

// alignPaired handles a field that names an alignment whose rows are paired across chains, which no job takes. It is
// dropped where the chain has an alignment of its own, and an error elsewhere.
func (d *draft) alignPaired(at, name string, hasAlignment bool) error {
	switch {
	case name == "":
		return nil
	case d.opt.Files.Alignment == nil:
		return notGiven(at, name)
	case !hasAlignment:
		return pleat.Invalidf("%s names the file %q, an alignment with paired rows, and the chain has no other; a job "+
			"takes unpaired alignments alone: leave it out", at, pleat.Clip(name))
	}
	d.addNote("%s %q was dropped: a job takes unpaired alignments alone, and the chain keeps its own", at,
		pleat.Clip(name))
	return nil
}

// withoutAlignments reports whether a job wants no alignments, and the parameters that a format with a place for this
// holds besides others.
func withoutAlignments(j *pleat.Job) (none bool, held []string) {
	if j.Params.Values["msaAlgorithm"] == pleat.MSANone {
		return true, []string{"msaAlgorithm"}
	}
	return false, nil
}

// settleAlignments sets msaAlgorithm to none if the file asks for no alignment of every protein. A job cannot say that
// for only some proteins, which notes report.
func (d *draft) settleAlignments() {
	proteins := 0
	for _, e := range d.entities {
		if e.seq.Kind == pleat.Protein {
			proteins++
		}
	}
	if n := len(d.unpaired); n > 0 && n == proteins {
		d.job.Params = d.job.Params.With("msaAlgorithm", pleat.MSANone)
		return
	}
	for _, at := range d.unpaired {
		d.addNote("%s asks for no alignment of this protein; a job has that for all its proteins alone "+
			"(params.msaAlgorithm %q), so it was dropped", at, pleat.MSANone)
	}
}
