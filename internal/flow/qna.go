package flow

import (
	"regexp"
	"slices"
	"strings"

	"pleat"
)

// uniprotID is the form of UniProt accessions, in upper case (https://www.uniprot.org/help/accession_numbers).
var uniprotID = regexp.MustCompile(`^(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})$`)

// readQnA reads a question and its source into p. The question of a draft may be blank.
func readQnA(f *fields, p *Plan) {
	q := &pleat.QnAInput{Question: f.string("question", maxQuestion)}
	p.QnA = q
	if err := CheckQuestion(q.Question, f.pathOf("question")); err != nil &&
		(!p.Draft || strings.TrimSpace(q.Question) != "") {
		f.refuse(err)
	}
	fold := readFold(f)
	files := f.object("files")
	named := map[SourceKind]bool{SourceFold: fold.Job != ""}
	item := pleat.FileRef{Item: pleat.ItemID(f.uuid("libraryItemId"))}
	pdb := strings.ToUpper(strings.TrimSpace(f.string("pdbId", 64)))
	uniprot := strings.ToUpper(strings.TrimSpace(f.string("uniprotId", 64)))
	var file, errors pleat.FileRef
	if files != nil {
		file, errors = readFile(files, "pdb"), readFile(files, "pae")
	}
	named[SourceLibrary], named[SourceUpload] = item.Item != "", file.Item != ""
	named[SourcePDB], named[SourceUniProt] = pdb != "", uniprot != ""
	// These are stored, and some engines read the sequence. The owner of the fold is that of the job, never this value.
	f.string("sourceUserId", 64)
	f.string("sequence", 100_000)
	p.Source = StructureSource{Kind: sourceKind(f, named), Fold: fold}
	switch p.Source.Kind {
	case SourceFold:
		require(f, fold.Job, "source_job_id")
	case SourceLibrary:
		if p.Source.Structure = item; item.Item == "" {
			p.Source.Structure = file
		}
		require(f, p.Source.Structure.Item, "libraryItemId")
	case SourceUpload:
		p.Source.Structure = file
		require(f, file.Item, "files.pdb.libraryItemId")
	case SourcePDB:
		p.Source.ID = pdb
		require(f, pdb, "pdbId")
		if pdb != "" && !pleat.IsPDBID(pdb) {
			f.fail(f.pathOf("pdbId"), " is %q; it must be a PDB id such as 1UBQ", pleat.Clip(pdb))
		}
	case SourceUniProt:
		p.Source.ID = uniprot
		require(f, uniprot, "uniprotId")
		if uniprot != "" && !uniprotID.MatchString(uniprot) {
			f.fail(f.pathOf("uniprotId"), " is %q; it must be a UniProt accession such as P0CG47", pleat.Clip(uniprot))
		}
	}
	if p.Source.Kind != SourceFold {
		p.Source.Fold = pleat.FoldRef{}
	}
	checkErrors(f, p, errors)
	q.Source, q.Reference = string(p.Source.Kind), p.Source.Reference()
}

// checkErrors sets the file with the predicted aligned errors, which belongs to a structure of the library.
func checkErrors(f *fields, p *Plan, errors pleat.FileRef) {
	p.Source.PAE = errors
	elsewhere := []SourceKind{SourceFold, SourcePDB, SourceUniProt}
	if errors.Item != "" && slices.Contains(elsewhere, p.Source.Kind) {
		f.fail(f.pathOf("files.pae"), " would be ignored: targetSource is %s; a PAE belongs to a structure of the "+
			"library", p.Source.Kind)
	}
}

// CheckQuestion returns an error for a question that is blank, has more than [maxQuestion] bytes, or holds control
// characters or bytes that are not UTF-8. field is its path in the request.
func CheckQuestion(question, field string) error {
	if strings.TrimSpace(question) == "" {
		return pleat.InvalidField(field, " is required and must not be empty; "+
			"create_mode \"draft\" takes a workflow without")
	}
	if len(question) > maxQuestion {
		return pleat.InvalidField(field, " has %d bytes; at most %d are allowed", len(question), maxQuestion)
	}
	for i, r := range question {
		if r == '\ufffd' || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return pleat.InvalidField(field, " holds %q at byte %d, which is not text", r, i+1)
		}
	}
	return nil
}

// qnaSources are the words for targetSource.
var qnaSources = []string{"fold_job", "library", "upload", "pdb", "uniprot"}

// sourceKind returns targetSource, or if it is absent, the only kind whose ids are given.
func sourceKind(f *fields, named map[SourceKind]bool) SourceKind {
	got := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(f.string("targetSource", 64)))
	if got != "" {
		if slices.Contains(qnaSources, got) {
			return SourceKind(got)
		}
		f.failWord("targetSource", got, qnaSources)
		return SourceNone
	}
	var kinds []string
	for _, k := range qnaSources {
		if named[SourceKind(k)] {
			kinds = append(kinds, k)
		}
	}
	switch {
	case len(kinds) == 1:
		return SourceKind(kinds[0])
	case !f.ok("source_job_id", "libraryItemId", "files", "pdbId", "uniprotId"): // one of them may name the source
	case len(kinds) == 0:
		f.fail(f.pathOf("targetSource"), " is required; it must be %s", strings.Join(qnaSources, ", "))
	default:
		f.fail(f.pathOf("targetSource"), " is required where the ids of %s are given", strings.Join(kinds, " and "))
	}
	return SourceNone
}
