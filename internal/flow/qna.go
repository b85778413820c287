package flow

import (
	"regexp"
	"strings"

	"pleat"
)

var (
	pdbID     = regexp.MustCompile(`^(?:[1-9][A-Z0-9]{3}|PDB_0000[A-Z0-9]{4})$`)
	uniprotID = regexp.MustCompile(`^(?:[OPQ][0-9][A-Z0-9]{3}[0-9]|[A-NR-Z][0-9](?:[A-Z][A-Z0-9]{2}[0-9]){1,2})$`)
)

// readQnA reads a question and what it is about.
func readQnA(f *fields, p *Plan, draft bool) {
	q := &pleat.QnAInput{Question: f.text("question", MaxQuestion)}
	p.QnA = q
	if err := CheckQuestion(q.Question, f.where("question")); err != nil &&
		(!draft || strings.TrimSpace(q.Question) != "") {
		f.refuse(err)
	}
	fold := readFold(f)
	files := f.object("files")
	given := map[SourceKind]bool{SourceFold: fold.Job != ""}
	item := FileRef{Item: f.uuid("libraryItemId")}
	pdb := strings.ToUpper(strings.TrimSpace(f.text("pdbId", 64)))
	uniprot := strings.ToUpper(strings.TrimSpace(f.text("uniprotId", 64)))
	var file FileRef
	if files != nil {
		file = readFile(files, "pdb")
	}
	given[SourceLibrary], given[SourceUpload] = item.Item != "", file.Item != ""
	given[SourcePDB], given[SourceUniProt] = pdb != "", uniprot != ""
	// For the record, and for engines that read the sequence: whose fold it is follows from the job, never from here.
	f.text("sourceUserId", 64)
	f.text("sequence", 100_000)
	p.Source = Source{Kind: sourceKind(f, given), Fold: fold}
	switch p.Source.Kind {
	case SourceFold:
		need(f, fold.Job != "", "source_job_id")
	case SourceLibrary:
		if p.Source.Structure = item; item.Item == "" {
			p.Source.Structure = file
		}
		need(f, p.Source.Structure.Item != "", "libraryItemId")
	case SourceUpload:
		p.Source.Structure = file
		need(f, file.Item != "", "files.pdb.libraryItemId")
	case SourcePDB:
		p.Source.ID = pdb
		need(f, pdb != "", "pdbId")
		if pdb != "" && !pdbID.MatchString(pdb) {
			f.fail(f.where("pdbId"), " is %q; it must be a PDB id such as 1UBQ", pleat.Clip(pdb))
		}
	case SourceUniProt:
		p.Source.ID = uniprot
		need(f, uniprot != "", "uniprotId")
		if uniprot != "" && !uniprotID.MatchString(uniprot) {
			f.fail(f.where("uniprotId"), " is %q; it must be a UniProt accession such as P0CG47", pleat.Clip(uniprot))
		}
	}
	if p.Source.Kind != SourceFold {
		p.Source.Fold = pleat.FoldRef{}
	}
	q.Source, q.Reference = string(p.Source.Kind), p.Source.Reference()
}

// CheckQuestion refuses a question that is empty, too long or not text. Field names it in the message.
func CheckQuestion(question, field string) error {
	if strings.TrimSpace(question) == "" {
		return pleat.InvalidField(field, " is required and must not be empty; create_mode \"draft\" takes a workflow without")
	}
	if len(question) > MaxQuestion {
		return pleat.InvalidField(field, " has %d bytes; at most %d are taken", len(question), MaxQuestion)
	}
	for i, r := range question {
		if r == '\ufffd' || r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f {
			return pleat.InvalidField(field, " holds %q at byte %d, which is no text", r, i+1)
		}
	}
	return nil
}

var qnaSources = []string{"fold_job", "library", "upload", "pdb", "uniprot"}

// sourceKind is targetSource; where that is absent, the one kind whose ids are given.
func sourceKind(f *fields, given map[SourceKind]bool) SourceKind {
	said := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(f.text("targetSource", 64)))
	if said != "" {
		for _, k := range qnaSources {
			if k == said {
				return SourceKind(k)
			}
		}
		if n := pleat.Nearest(said, qnaSources); n != "" {
			f.fail(f.where("targetSource"), " is %q; did you mean %q?", pleat.Clip(said), n)
		} else {
			f.fail(f.where("targetSource"), " is %q; it must be %s", pleat.Clip(said), strings.Join(qnaSources, ", "))
		}
		return SourceNone
	}
	var kinds []string
	for _, k := range qnaSources {
		if given[SourceKind(k)] {
			kinds = append(kinds, k)
		}
	}
	switch len(kinds) {
	case 1:
		return SourceKind(kinds[0])
	case 0:
		f.fail(f.where("targetSource"), " is required; it must be %s", strings.Join(qnaSources, ", "))
	default:
		f.fail(f.where("targetSource"), " is required where the ids of %s are given", strings.Join(kinds, " and "))
	}
	return SourceNone
}

func need(f *fields, ok bool, name string) {
	if !ok {
		f.fail(f.where(name), " is required where the source is %s", f.sourceName())
	}
}

// sourceName is the source as the caller spelled it, for messages.
func (f *fields) sourceName() string {
	for _, n := range []string{"targetSource", "target_source", "sourceType", "source_type"} {
		if v := f.raws[n]; v != nil {
			return clip(v)
		}
	}
	return "given so"
}
