package pleat

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the templates of a job.
const (
	MaxTemplates      = 20 // of a job, copies of a chain counted
	MaxChainTemplates = 4  // of a chain
)

// Template is a structure that a model gets as an example of a protein chain. Exactly one of Item, Job and PDB says
// where it comes from. The names in JSON are those of requests.
type Template struct {
	Item ItemID `json:"libraryItemId,omitempty"`
	Job  JobID  `json:"jobId,omitempty"` // its latest run
	PDB  string `json:"pdbId,omitempty"`
	// File is a file of the item or of the run; of a run also the number of a sample. Empty: the first structure.
	File          string  `json:"fileName,omitempty"`
	TemplateChain string  `json:"templateChain,omitempty"` // in the file; empty: its only protein chain
	Chain         string  `json:"chain,omitempty"`         // of the job; empty: every copy of its only protein
	Force         bool    `json:"force,omitempty"`         // hold the chain within MaxDistance of the template
	MaxDistance   float64 `json:"maxDistance,omitempty"`   // Å; 0 without Force
}

// StructureEndings are the endings of the names of structure files, in lower case.
var StructureEndings = []string{".pdb", ".ent", ".cif", ".mmcif"}

// IsStructureFile reports whether a file name has the ending of a structure in PDB or mmCIF format, or of a file that
// is stored as one, see [StoredName].
func IsStructureFile(name string) bool {
	return slices.Contains(StructureEndings, strings.ToLower(path.Ext(StoredName(name))))
}

// StoredName returns the name under which a library has an uploaded file. Files are stored without compression, and
// BinaryCIF as the mmCIF that it stands for, so that the name has no .gz, and the ending of what is stored.
func StoredName(name string) string {
	ending := path.Ext(name)
	if strings.EqualFold(ending, ".gz") {
		name = strings.TrimSuffix(name, ending)
		ending = path.Ext(name)
	}
	stored := ending
	switch lower := strings.ToLower(ending); {
	case lower == ".bcif", lower == ".pdbx":
		stored = ".cif"
	case isAssemblyFile(name):
		stored = ".pdb"
	}
	return strings.TrimSuffix(name, ending) + stored
}

// isAssemblyFile reports whether a file name ends as the Protein Data Bank calls biological assemblies in PDB format:
// .pdb and the number of the assembly.
func isAssemblyFile(name string) bool {
	number, ok := strings.CutPrefix(strings.ToLower(path.Ext(name)), ".pdb")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// TemplatePath is the path of template i in a creation request.
func TemplatePath(i int) string { return indexed("constraints.templates", i) }

// Private returns the template without where it comes from, unless that is public. Nobody but the owner of a job sees
// what is in their library, or which jobs they have.
func (t Template) Private() Template {
	t.Item, t.Job = "", ""
	if t.PDB == "" {
		t.File = ""
	}
	return t
}

// Targets returns the chains that a template is for, by the sequence that they are copies of. All chains must have
// their names. It returns -1 if the job has no such protein, or several and the template names none.
func (t *Template) Targets(sequences []Sequence) (sequence int, chains []string) {
	sequence = -1
	for i := range sequences {
		s := &sequences[i]
		switch {
		case s.Kind != Protein:
		case t.Chain == "" && sequence >= 0:
			return -1, nil
		case t.Chain == "":
			sequence, chains = i, s.Chains
		default:
			for _, name := range s.Chains {
				if name == t.Chain {
					return i, []string{name}
				}
			}
		}
	}
	return sequence, chains
}

// pdbID is the form of an id of the Protein Data Bank, in capitals: the short one, or the long one of those that have
// a short one (https://www.wwpdb.org/documentation/new-format-for-pdb-ids).
var pdbID = regexp.MustCompile(`^(?:[1-9][A-Z0-9]{3}|PDB_0000[A-Z0-9]{4})$`)

// IsPDBID reports whether s has the form of an id of the Protein Data Bank, in capitals.
func IsPDBID(s string) bool { return pdbID.MatchString(s) }

// templates checks the templates of the job, and puts their ids into canonical form. All chains must have their names.
func (v *validation) templates() {
	all := v.job.Constraints.Templates
	if len(all) > MaxTemplates {
		v.fault("constraints.templates", " has %d entries; at most %d are allowed", len(all), MaxTemplates)
		return
	}
	count, total := map[string]int{}, 0
	for i := range all {
		at := TemplatePath(i)
		v.templateSource(at, &all[i])
		v.templateForce(at, &all[i])
		for _, chain := range v.templateTargets(at, &all[i]) {
			total++
			if count[chain]++; count[chain] == MaxChainTemplates+1 {
				v.fault(at, " is one too many for the chain %s; a chain may have %d templates", chain,
					MaxChainTemplates)
			}
		}
	}
	if total > MaxTemplates {
		v.fault("constraints.templates", ": the job has %d templates, copies of chains counted; at most %d are allowed",
			total, MaxTemplates)
	}
}

// templatesTaken checks whether the model takes templates at all.
func (v *validation) templatesTaken() bool {
	if len(v.job.Constraints.Templates) == 0 || v.model.Has(FeatureTemplates) {
		return true
	}
	v.fault("constraints.templates", ": the model %q takes no templates; models with the feature templates do",
		v.model.Name)
	return false
}

// maxTemplateName bounds the names of a file and of a chain in it, in bytes.
const maxTemplateName, maxTemplateChain = 512, 64

// templateSource checks where a template comes from.
func (v *validation) templateSource(at string, t *Template) {
	sources := "libraryItemId, jobId and pdbId"
	count := 0
	for _, id := range []string{string(t.Item), string(t.Job), t.PDB} {
		if id != "" {
			count++
		}
	}
	switch {
	case count == 0:
		v.fault(at, " must have one of %s; it has none", sources)
		return
	case count > 1:
		v.fault(at, " has %d of %s; it must have one", count, sources)
		return
	case t.Item != "" && !IsUUID(string(t.Item)):
		v.fault(at+".libraryItemId", " is %q; it must be the UUID of a library item", Clip(string(t.Item)))
	case t.Job != "" && !IsUUID(string(t.Job)):
		v.fault(at+".jobId", " is %q; it must be the UUID of a job", Clip(string(t.Job)))
	case t.PDB != "" && !IsPDBID(strings.ToUpper(t.PDB)):
		v.fault(at+".pdbId", " is %q; it must be an id of the Protein Data Bank such as 1UBQ", Clip(t.PDB))
	case t.PDB != "" && t.File != "":
		v.fault(at+".fileName", ": an entry of the Protein Data Bank has one file; leave it out")
	}
	t.Item, t.Job = ItemID(strings.ToLower(string(t.Item))), JobID(strings.ToLower(string(t.Job)))
	t.PDB = strings.ToUpper(t.PDB)
	if t.File != "" && !isStoredName(t.File) {
		v.fault(at+".fileName", " is %q; it must be the plain name of a file", Clip(t.File))
	}
	if len(t.TemplateChain) > maxTemplateChain || !isPrintable(t.TemplateChain) {
		v.fault(at+".templateChain", " is %q; a chain name in a file has at most %d printable characters",
			Clip(t.TemplateChain), maxTemplateChain)
	}
}

// isStoredName reports whether s may be the name of a file of a library item or of a job.
func isStoredName(s string) bool {
	return utf8.ValidString(s) && len(s) <= maxTemplateName && path.Base(s) == s &&
		!strings.ContainsFunc(s, unicode.IsControl)
}

// isPrintable reports whether s has printable ASCII only.
func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// templateForce checks whether and how strongly a template holds its chain.
func (v *validation) templateForce(at string, t *Template) {
	switch {
	case !t.Force && t.MaxDistance == 0:
	case !t.Force:
		v.fault(at+".maxDistance", " has no effect without force: true; leave it out, or set both")
	case !v.model.Has(FeatureTemplateForce):
		v.fault(at+".force", ": the model %q takes templates as examples only; leave it out", v.model.Name)
	case !(t.MaxDistance > 0 && t.MaxDistance <= 1000):
		v.fault(at+".maxDistance", " is %g; with force it must be a length in Å above 0, at most 1000", t.MaxDistance)
	}
}

// templateTargets checks that a template is for protein chains of the job, and returns them.
func (v *validation) templateTargets(at string, t *Template) []string {
	var proteins []string
	for i := range v.job.Sequences {
		if s := &v.job.Sequences[i]; s.Kind == Protein {
			proteins = append(proteins, s.Chains...)
		}
	}
	sequence, chains := t.Targets(v.job.Sequences)
	switch {
	case sequence >= 0:
		return chains
	case len(proteins) == 0:
		v.fault(at, ": the job has no protein chain; templates are used for proteins only")
	case t.Chain == "":
		v.fault(at+".chain", " is required; it must be one of the protein chains %s", ListNames(proteins, 20))
	default:
		v.fault(at+".chain", " is %q; the job has the protein chains %s", Clip(t.Chain), ListNames(proteins, 20))
	}
	return nil
}
