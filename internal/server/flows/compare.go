package flows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/compare"
	"pleat/internal/flow"
	"pleat/internal/report"
	"pleat/internal/server/route"
	"pleat/internal/structure"
	"pleat/internal/submit"
	"pleat/internal/words"
)

const (
	// maxDirect is how many structures GET /v1/compare compares, maxDirectResidues how many residues they may have in
	// all. submit.MaxDirectBytes bounds each file. More is a task of a worker: POST /v1/compare.
	maxDirect         = 4
	maxDirectResidues = 4000
	// MaxEntries is how many entries of a database a caller may be sent at a time on a node, each of which is in
	// memory.
	MaxEntries = 2
	// entryWrite is how long the fetching of an entry of a database, and its sending, may take each.
	entryWrite = time.Minute
	// toTask ends the sentences that refuse what is too large here.
	toTask = "POST /v1/compare compares up to 20 structures in a task"
)

// getComparison is GET /v1/compare, for everyone: it compares structures that the caller may read, and answers with the
// comparison. 400: the query is not valid, or asks for more than is computed at once; 401: a library item, a PDB entry
// or a private job without a credential; 404: the caller may not read a structure; 409: a job has not completed; 429:
// the caller has too many comparisons under way.
func (h *Handlers) getComparison(ctx context.Context, c *route.Call) error {
	if c.Cred.Sent {
		who, err := c.Identify(ctx)
		if err != nil {
			return err
		}
		if c.ActAs(who); !who.Scopes.Has(pleat.ScopeRead) {
			return c.MissingScope()
		}
	}
	sources, reference, err := comparisonQuery(c)
	if err != nil {
		return err
	}
	files, err := h.comparedFiles(ctx, c, sources)
	if err != nil {
		return err
	}
	release, err := h.Computations.Begin(ctx, c, c.Who.User)
	if err != nil {
		return err
	}
	defer release()
	c.Late = "the comparison takes longer than is computed at once; " + toTask
	set, err := h.readCompared(ctx, sources, files)
	if err != nil {
		return err
	}
	out, err := set.Compare(ctx, reference, nil)
	if err != nil {
		return err
	}
	from := make([]pleat.ComparedStructure, len(files))
	for i := range files {
		from[i] = files[i].ComparedStructure
	}
	row, err := report.Comparison(out, from)
	if err != nil {
		return err
	}
	c.Raw(append(row, '\n'))
	return nil
}

// comparisonQuery reads of and reference.
func comparisonQuery(c *route.Call) ([]flow.StructureSource, int, error) {
	text := c.R.URL.Query().Get("of")
	if text == "" {
		return nil, 0, pleat.InvalidField("of", " is required; it must be 2 to %d structures joined by commas, each "+
			"job:ID, job:ID/SAMPLE, library:ID, library:ID/FILE or pdb:ID", maxDirect)
	}
	entries := splitCompared(text)
	if len(entries) > maxDirect {
		return nil, 0, pleat.InvalidField("of", " names %d structures; at most %d are compared at once, and %s",
			len(entries), maxDirect, toTask)
	}
	sources, err := flow.ParseCompared(entries, "of")
	if err != nil {
		return nil, 0, err
	}
	reference, err := c.IntQuery("reference", 1, len(entries), 0)
	return sources, reference, err
}

// splitCompared splits a list at the commas before a kind of structure, since file names may have commas.
func splitCompared(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		kind, _, found := strings.Cut(part, ":")
		isKind := found && (kind == "job" || kind == "library" || kind == "pdb")
		if len(out) == 0 || isKind || part == "" || pleat.IsUUID(part) {
			out = append(out, part)
		} else {
			out[len(out)-1] += "," + part
		}
	}
	return out
}

// comparedFiles finds the structures that a caller wants to compare and may read. Strangers may read public jobs alone.
func (h *Handlers) comparedFiles(
	ctx context.Context, c *route.Call, sources []flow.StructureSource,
) ([]flow.ComparedFile, error) {
	stranger := c.Who.User == ""
	var out []flow.ComparedFile
	for i, source := range sources {
		field := fmt.Sprintf("of[%d]", i)
		if stranger && source.Kind != flow.SourceFold {
			return nil, pleat.ErrUnauthorized
		}
		f, err := h.Submit.ComparedFile(ctx, c.Reach(), source, field)
		if stranger && source.Kind == flow.SourceFold && pleat.CodeOf(err) == pleat.CodeNotFound {
			// A private job is 401 without a credential, as everywhere.
			if _, known := c.ReadableJobByID(ctx, source.Fold.Job); pleat.CodeOf(known) == pleat.CodeUnauthorized {
				err = known
			}
		}
		if err != nil {
			return nil, err
		}
		if f.Bytes > submit.MaxDirectBytes {
			return nil, pleat.InvalidField(field, " (%s) has %d bytes; at once at most %d are read, and %s",
				pleat.Clip(f.Name), f.Bytes, submit.MaxDirectBytes, toTask)
		}
		out = append(out, f)
	}
	return out, nil
}

// readCompared reads the structures, and checks how many residues they have.
func (h *Handlers) readCompared(
	ctx context.Context, sources []flow.StructureSource, files []flow.ComparedFile,
) (*compare.Set, error) {
	out := &compare.Set{Most: maxDirectResidues, Instead: toTask}
	for i := range files {
		field := fmt.Sprintf("of[%d]", i)
		read, err := h.readOneCompared(ctx, sources[i], &files[i], field)
		if err != nil {
			return nil, err
		}
		in := compare.Input{Name: files[i].Name, Structure: read, Predicted: files[i].Predicted}
		if err := out.Add(ctx, in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readOneCompared reads a structure from the artifact store or from the Protein Data Bank.
func (h *Handlers) readOneCompared(
	ctx context.Context, source flow.StructureSource, f *flow.ComparedFile, field string,
) (*structure.Structure, error) {
	var from io.Reader
	if f.Key == "" {
		entry, failure, err := h.Submit.Archive.FetchPDB(ctx, source.ID, submit.MaxDirectBytes)
		switch {
		case failure == nil:
			from = bytes.NewReader(entry.Text)
		case failure.Retry:
			return nil, submit.FetchError(failure, err)
		case failure.Kind == pleat.FailTooLarge:
			return nil, pleat.InvalidField(field, ": %s; %s", failure.Message, toTask)
		default:
			return nil, pleat.InvalidField(field, ": %s", failure.Message)
		}
	} else {
		blobbed, _, err := h.Files.Blobs.Open(ctx, f.Key)
		if errors.Is(err, blob.ErrNotFound) {
			return nil, pleat.Errorf(pleat.CodeNotFound, "%s: the file %s is gone", field, pleat.Clip(f.Name)).At(field)
		}
		if err != nil {
			return nil, submit.ReadError(err)
		}
		defer blobbed.Close()
		from = blob.ContextReader(ctx, blobbed)
	}
	read, err := structure.Read(from, submit.DirectLimits)
	var limit *structure.ParseError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &limit) && limit.Limit:
		return nil, pleat.InvalidField(field, " (%s) is too large to be read at once: %s; %s", pleat.Clip(f.Name),
			words.Shorten(limit.Error(), 200), toTask)
	case err != nil:
		return nil, pleat.InvalidField(field, " (%s) is no structure that can be read: %s", pleat.Clip(f.Name),
			words.Shorten(err.Error(), 200))
	}
	return read, nil
}

// comparedEntry is GET /v1/compare/pdb/{entry}, for any user: an entry of the Protein Data Bank as it is compared, so
// that a page can show it without asking another host. Nothing of it is kept. 400: the id is none, or the operator
// allows no fetching; 404: there is no such entry; 413: it is larger than what is read at once; 429: the caller is
// being sent too many entries; 503: the database did not answer.
func (h *Handlers) comparedEntry(ctx context.Context, c *route.Call) error {
	id := strings.ToUpper(c.R.PathValue("entry"))
	if !pleat.IsPDBID(id) {
		return pleat.InvalidField("entry", " is %q; it must be a PDB id such as 1UBQ", pleat.Clip(id))
	}
	release, err := c.Acquire(&h.entries)
	if err != nil {
		return err
	}
	defer release()
	c.Deadline(entryWrite)
	entry, failure, err := h.Submit.Archive.FetchPDB(ctx, id, submit.MaxDirectBytes)
	switch {
	case failure == nil:
	case failure.Retry:
		return submit.FetchError(failure, err)
	case failure.Kind == pleat.FailTooLarge:
		return pleat.Errorf(pleat.CodeTooLarge, "%s", failure.Message)
	case failure.Kind == pleat.FailInvalidInput:
		return pleat.Errorf(pleat.CodeNotFound, "%s", failure.Message)
	default:
		return pleat.Invalidf("%s", failure.Message)
	}
	media := "chemical/x-pdb"
	if strings.HasSuffix(entry.Name, ".cif") {
		media = "chemical/x-mmcif"
	}
	c.Attach(media, entry.Name)
	c.W.Header().Set("Cache-Control", "private, max-age=300")
	c.Deadline(entryWrite)
	_, err = c.W.Write(entry.Text)
	return c.Quiet(err)
}

// createComparison is POST /v1/compare, for any user: it creates a workflow compare_v1, as createWorkflow does, whose
// result is the comparison. The errors are those of createWorkflow.
func (h *Handlers) createComparison(
	ctx context.Context, c *route.Call, in *api.CreateComparison,
) (api.Workflow, error) {
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return api.Workflow{}, err
	}
	name := in.Name
	if err := pleat.CheckOptionalName("name", name); err != nil {
		return api.Workflow{}, err
	}
	in.Name, in.ProjectID = "", "" // they are the workflow's, not a part of its input
	input, err := api.Encode(in)
	if err != nil {
		return api.Workflow{}, err
	}
	p, err := flow.ParseComparison(input)
	if err != nil {
		return api.Workflow{}, err
	}
	id, err := h.startWorkflow(ctx, c, submit.Once{}, submit.WorkflowRequest{
		Plan: &p, Name: name, Input: bytes.TrimSpace(input),
	})
	if err != nil {
		return api.Workflow{}, err
	}
	return h.readWorkflow(ctx, id)
}
