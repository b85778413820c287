package submit

import (
	"context"
	"errors"
	"io"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/flow"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
	"pleat/internal/template"
)

// ReferencedTemplates finds the files of the templates that a job names, in their order. A file that an earlier check
// has found may be gone. An error has CodeInvalid and names the field, unless it is the store's.
func (r *References) ReferencedTemplates(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedFile, error) {
	var out []runs.ReferencedFile
	for i := range f.Constraints.Templates {
		file, err := r.templateFile(ctx, f.Owner, &f.Constraints.Templates[i], pleat.TemplatePath(i))
		if err != nil {
			return nil, err
		}
		out = append(out, file)
	}
	return out, nil
}

// templateFile finds the file of a template, as owner may read it: of owner's library, or of owner's jobs and public
// ones. A field names the template.
func (r *References) templateFile(
	ctx context.Context, owner pleat.ProjectID, t *pleat.Template, field string,
) (runs.ReferencedFile, error) {
	switch {
	case t.Item != "":
		role := structureFile
		role.Field = field
		file, err := r.ownFile(ctx, owner, pleat.FileRef{Item: t.Item, Name: t.File}, role)
		return runs.ReferencedFile{Name: file.Name, Key: file.Key, Bytes: file.Bytes}, err
	case t.Job != "":
		source := flow.StructureSource{Kind: flow.SourceFold, Fold: pleat.FoldRef{Job: t.Job}, Sample: t.File}
		var file flow.ComparedFile
		err := r.comparedFold(ctx, people.InProject(owner), source, &file)
		at := field + ".jobId"
		switch pleat.CodeOf(err) {
		case pleat.CodeNotFound:
			err = pleat.InvalidField(at, " is %s, which is none of your jobs, nor a public one", t.Job)
		case pleat.CodeConflict:
			err = pleat.InvalidField(at, " is %s, whose latest run has no result", t.Job)
		case pleat.CodeInvalid:
			err = pleat.InvalidField(field, ": %s", err)
		}
		return runs.ReferencedFile{Name: file.Stored, Key: file.Key, Bytes: file.Bytes}, err
	}
	return runs.ReferencedFile{Name: t.PDB}, nil
}

// MaxTemplatesRead bounds the files of the templates that a request has checked, in bytes.
const MaxTemplatesRead = 256 << 20

// templateCheck checks the templates of a request. It keeps the file that it has read last, so that several chains of
// it need one reading.
type templateCheck struct {
	resolver *Resolver
	key      string
	last     *structure.Structure
	bytes    int64 // of all files that were read
}

// templateCheck returns a check of the templates of one request.
func (r *Resolver) templateCheck() *templateCheck { return &templateCheck{resolver: r} }

// Check checks template t of a valid job, which a field names. A file of the library or of a job is read: it must have
// the chain, and that must be like the job's. An entry of the Protein Data Bank is fetched when the job runs. An error
// has CodeInvalid and names the field, unless it is one of the store or of the artifact store.
func (c *templateCheck) Check(ctx context.Context, job *pleat.Job, t *pleat.Template, field string) error {
	if t.PDB != "" {
		if !c.resolver.FetchPDB {
			return pleat.InvalidField(field+".pdbId", " is %s, but the operator does not allow this service to fetch "+
				"from the Protein Data Bank; upload the file to the library and use libraryItemId", t.PDB)
		}
		return nil
	}
	file, err := c.resolver.templateFile(ctx, job.Owner, t, field)
	if err != nil {
		return err
	}
	if c.key != file.Key {
		if err := c.read(ctx, file, field); err != nil {
			return err
		}
	}
	sequence, _ := t.Targets(job.Sequences)
	_, err = template.New(ctx, c.last, t.TemplateChain, job.Sequences[sequence].Text)
	return aboutFile(err, field, file.Name)
}

// read reads the file of a template.
func (c *templateCheck) read(ctx context.Context, file runs.ReferencedFile, field string) error {
	if file.Bytes > template.MaxBytes {
		return pleat.InvalidField(field, ": the file %s has more than %d MiB; a template may have that much",
			pleat.Clip(file.Name), template.MaxBytes>>20)
	}
	if c.bytes += file.Bytes; c.bytes > MaxTemplatesRead {
		return pleat.InvalidField(field, ": the files of the templates up to this one have more than %d MiB together; "+
			"use fewer or smaller files", MaxTemplatesRead>>20)
	}
	read, err := c.resolver.readTemplate(ctx, file, field)
	c.key, c.last = file.Key, read
	return err
}

// readTemplate reads the file of a template.
func (r *Resolver) readTemplate(
	ctx context.Context, file runs.ReferencedFile, field string,
) (*structure.Structure, error) {
	in, err := r.openReferenced(ctx, file, field)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	read, err := template.Read(blob.ContextReader(ctx, in))
	return read, aboutFile(err, field, file.Name)
}

// openReferenced opens the file of a template or a component, which a field names.
func (r *Resolver) openReferenced(ctx context.Context, file runs.ReferencedFile, field string) (io.ReadCloser, error) {
	in, _, err := r.Blobs.Open(ctx, file.Key)
	if errors.Is(err, blob.ErrNotFound) { // deleted a moment ago
		return nil, pleat.InvalidField(field, ": the file %s is gone", pleat.Clip(file.Name))
	}
	return in, aboutFile(err, field, file.Name)
}

// aboutFile completes the sentence of a refused template or component with its field and its file.
func aboutFile(err error, field, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blob.ErrDamaged):
		return ReadError(err)
	case pleat.CodeOf(err) == pleat.CodeInvalid:
		return pleat.InvalidField(field, ": the file %s %s", pleat.Clip(name), err)
	}
	return &pleat.Error{
		Code:    pleat.CodeUnavailable,
		Message: field + ": the file " + pleat.Clip(name) + " could not be read now; try again",
		Err:     err,
	}
}
