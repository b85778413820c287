package submit

import (
	"context"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/chem"
	"pleat/internal/component"
	"pleat/internal/store/runs"
)

// ReferencedComponents finds the files of the components that a job names by library item, in their order. A file that
// an earlier check has found may be gone. An error has CodeInvalid and names the field, unless it is the store's.
func (r *References) ReferencedComponents(ctx context.Context, f *pleat.FoldInput) ([]runs.ReferencedFile, error) {
	var out []runs.ReferencedFile
	for i := range f.Constraints.Components {
		c := &f.Constraints.Components[i]
		if c.Item == "" {
			continue
		}
		file, err := r.componentFile(ctx, f.Owner, c, pleat.ComponentPath(i))
		if err != nil {
			return nil, err
		}
		out = append(out, file)
	}
	return out, nil
}

// componentFile finds the file of a component in owner's library. A field names the component.
func (r *References) componentFile(
	ctx context.Context, owner pleat.ProjectID, c *pleat.Component, field string,
) (runs.ReferencedFile, error) {
	role := fileRole{Name: "component", Endings: pleat.ComponentEndings, Field: field}
	file, err := r.ownFile(ctx, owner, pleat.FileRef{Item: c.Item, Name: c.File}, role)
	return runs.ReferencedFile{Name: file.Name, Key: file.Key, Bytes: file.Bytes}, err
}

// maxComponentsRead bounds the different files of components that a request has checked.
const maxComponentsRead = 100

// componentCheck checks the components of a request. It reads each file once.
type componentCheck struct {
	resolver *Resolver
	atoms    map[pleat.FileRef][]chem.Atom
}

// componentCheck returns a check of the components of one request.
func (r *Resolver) componentCheck() *componentCheck {
	return &componentCheck{resolver: r, atoms: map[pleat.FileRef][]chem.Atom{}}
}

// Check reads the file of component i of a valid job and checks what the job does with its atoms. A component of a
// SMILES was checked with the job. An error has CodeInvalid and names the field, unless it is one of the store or of
// the artifact store.
func (k *componentCheck) Check(ctx context.Context, job *pleat.Job, i int) error {
	c, field := &job.Constraints.Components[i], pleat.ComponentPath(i)
	if c.Item == "" {
		return nil
	}
	ref := pleat.FileRef{Item: c.Item, Name: c.File}
	atoms, known := k.atoms[ref]
	if !known {
		if len(k.atoms) == maxComponentsRead {
			return pleat.InvalidField(field, ": a request may name %d different files of components",
				maxComponentsRead)
		}
		var err error
		if atoms, err = k.resolver.readComponent(ctx, job.Owner, c, field); err != nil {
			return err
		}
		k.atoms[ref] = atoms
	}
	return job.CheckComponent(i, atoms)
}

// readComponent reads the atoms of a component's file.
func (r *Resolver) readComponent(
	ctx context.Context, owner pleat.ProjectID, c *pleat.Component, field string,
) ([]chem.Atom, error) {
	file, err := r.componentFile(ctx, owner, c, field)
	if err != nil {
		return nil, err
	}
	in, err := r.openReferenced(ctx, file, field)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	_, atoms, err := component.Read(file.Name, blob.ContextReader(ctx, in))
	return atoms, aboutFile(err, field, file.Name)
}
