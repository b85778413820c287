package submit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/archive"
	"pleat/internal/blob"
	"pleat/internal/design"
	"pleat/internal/flow"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
)

// maxDesignBytes bounds the files that one design may name, together.
const maxDesignBytes = MaxFile

// designSpec is the spec of a design that has passed every check, with the files that a run pins.
type designSpec struct {
	*design.Spec
	Files []runs.RunFile // the spec and what it uses; the file of a compiled spec is Fresh and has no key yet
	Text  string         // of the main spec
	// Target is the file of the target of a compiled spec. Its key is empty if it was fetched.
	Target  runs.LibraryFile
	fetched []byte // of the target, if it was fetched
}

// designSpec finds the files of a design, as owner may read them, and checks its spec against them. It sets the size of
// the design in the plan. fetched is the target if Plan.Source is of the Protein Data Bank. An error has CodeNotFound,
// CodeConflict or CodeInvalid and names the field, unless it is the store's.
func (r *Resolver) designSpec(
	ctx context.Context, owner pleat.ProjectID, p *flow.Plan, fetched *archive.Entry,
) (*designSpec, error) {
	var out *designSpec
	var texts map[string][]byte
	var err error
	if p.Design.Task == nil {
		out, texts, err = r.ownSpec(ctx, owner, p.Design)
	} else {
		out, texts, err = r.compiledSpec(ctx, owner, p, fetched)
	}
	if err != nil {
		return nil, err
	}
	main := out.Files[0].Name
	if out.Spec, err = design.ReadSpec(main, []byte(out.Text), texts); err != nil {
		if p.Design.Task != nil {
			err = flow.CompiledFault(err)
		}
		return nil, err
	}
	if p.Design.Params.Protocol == pleat.SequenceOnly {
		if err := out.Spec.CheckBackbone(); err != nil {
			return nil, err
		}
	}
	used := out.Spec.Files()
	out.Files = slices.DeleteFunc(out.Files, func(f runs.RunFile) bool {
		return !f.Main && !slices.Contains(used, f.Name)
	})
	p.Size.Residues = out.Spec.Tokens()
	return out, nil
}

// ownSpec finds the files that a design names.
func (r *Resolver) ownSpec(
	ctx context.Context, owner pleat.ProjectID, d *flow.DesignPlan,
) (*designSpec, map[string][]byte, error) {
	out, texts := &designSpec{}, map[string][]byte{}
	left := int64(maxDesignBytes)
	for i, ref := range append([]design.Reference{d.Spec}, d.Files...) {
		f, err := r.designFile(ctx, owner, ref)
		if err != nil {
			return nil, nil, err
		}
		if left -= f.Bytes; left < 0 {
			return nil, nil, pleat.InvalidField(ref.Field, ": the files of the design have more than %d MiB together",
				maxDesignBytes>>20)
		}
		text, err := r.readAll(ctx, f.Key, ref.Field, f.Name)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			out.Text = string(text)
		} else {
			texts[ref.Name] = text
		}
		out.Files = append(out.Files, runs.RunFile{
			Name:   ref.Name,
			Main:   i == 0,
			Key:    f.Key,
			SHA256: f.SHA256,
			Bytes:  f.Bytes,
		})
	}
	return out, texts, nil
}

// designFile finds the file of a reference: the one of its name, or the only one of the item.
func (r *Resolver) designFile(
	ctx context.Context, owner pleat.ProjectID, ref design.Reference,
) (runs.LibraryFile, error) {
	item, err := r.Runs.Item(ctx, people.InProject(owner), ref.Item)
	if errors.Is(err, runs.ErrNoItem) {
		field := ref.Field + ".libraryItemId"
		if strings.HasSuffix(ref.Field, ".inputYML") {
			field = ref.Field + "LibraryItemId"
		}
		return runs.LibraryFile{}, pleat.Errorf(pleat.CodeNotFound, "%s: %s", field, err).At(field)
	}
	if err != nil {
		return runs.LibraryFile{}, err
	}
	if i := slices.IndexFunc(item.Files, func(f runs.LibraryFile) bool { return isNamed(f, ref.Name) }); i >= 0 {
		return item.Files[i], nil
	}
	if len(item.Files) == 1 {
		return item.Files[0], nil
	}
	var names []string
	for _, f := range item.Files {
		names = append(names, fmt.Sprintf("%q", f.Name))
	}
	has := "no file"
	if len(names) > 0 {
		has = pleat.ListNames(names, 20)
	}
	return runs.LibraryFile{}, pleat.InvalidField(ref.Field, ": the library item has no file named %q; it has %s",
		pleat.Clip(ref.Name), has)
}

// readAll reads a blob of at most MaxFile.
func (r *Resolver) readAll(ctx context.Context, key, field, name string) ([]byte, error) {
	in, _, err := r.Blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, pleat.Errorf(pleat.CodeNotFound, "%s: the file %s is gone", field, pleat.Clip(name)).At(field)
	}
	if err != nil {
		return nil, ReadError(err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, ReadError(err)
	}
	if len(text) > MaxFile {
		err = pleat.InvalidField(field, ": the file %s has more than %d MiB", pleat.Clip(name), MaxFile>>20)
	}
	return text, err
}

// compiledSpec writes the spec of a design that has none.
func (r *Resolver) compiledSpec(
	ctx context.Context, owner pleat.ProjectID, p *flow.Plan, fetched *archive.Entry,
) (*designSpec, map[string][]byte, error) {
	out, texts := &designSpec{}, map[string][]byte{}
	var target *structure.Structure
	name := ""
	if p.Design.Task.Structure() {
		text, err := r.target(ctx, owner, p, fetched, &out.Target)
		if err != nil {
			return nil, nil, err
		}
		name = flow.TargetFile + strings.ToLower(path.Ext(out.Target.Name))
		if strings.HasSuffix(name, ".mmcif") {
			name = flow.TargetFile + ".cif"
		} else if strings.HasSuffix(name, ".ent") {
			name = flow.TargetFile + ".pdb"
		}
		if target, err = structure.ReadWhole(bytes.NewReader(text), fileLimits); err != nil {
			return nil, nil, pleat.InvalidField("workflow_input.target", " cannot be read: %s", err)
		}
		out.Target.Name = name
		if out.Target.Key == "" {
			out.fetched = text
		}
		texts[name] = text
	}
	var err error
	if out.Text, err = flow.CompileDesign(p.Design.Task, target, name); err != nil {
		return nil, nil, err
	}
	out.Files = []runs.RunFile{{
		Name:   flow.CompiledSpec,
		Main:   true,
		SHA256: hashOf([]byte(out.Text)),
		Bytes:  int64(len(out.Text)),
		Fresh:  true,
	}}
	if target != nil {
		out.Files = append(out.Files, runs.RunFile{
			Name:   name,
			Key:    out.Target.Key,
			SHA256: out.Target.SHA256,
			Bytes:  out.Target.Bytes,
			Fresh:  out.Target.Key == "",
		})
	}
	return out, texts, nil
}

// hashOf returns a SHA-256 in hexadecimal digits.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// target finds and reads the structure that a design is for.
func (r *Resolver) target(
	ctx context.Context, owner pleat.ProjectID, p *flow.Plan, fetched *archive.Entry, f *runs.LibraryFile,
) ([]byte, error) {
	const field = "workflow_input.target"
	switch src := &p.Source; src.Kind {
	case flow.SourceFold:
		fold, err := r.SourceFold(ctx, owner, src.Fold)
		if err == nil {
			err = fold.checkCompleted()
		}
		if err != nil {
			return nil, err
		}
		a := fold.Structure()
		if a == nil {
			return nil, pleat.InvalidField(field, ": the fold has no structure; the model it ran with predicts none")
		}
		*f = runs.LibraryFile{Name: a.Name, ContentType: a.ContentType, Bytes: a.Bytes, SHA256: a.SHA256, Key: a.Key}
	case flow.SourceLibrary:
		role := structureFile
		role.Field = field
		file, err := r.File(ctx, people.InProject(owner), src.Structure, role)
		if errors.Is(err, runs.ErrNoItem) {
			err = pleat.Errorf(pleat.CodeNotFound, "%s.libraryItemId: %s", field, err).At(field + ".libraryItemId")
		}
		if err != nil {
			return nil, err
		}
		*f = file
	default:
		*f = runs.LibraryFile{
			Name:        fetched.Name,
			ContentType: fileKinds[strings.ToLower(path.Ext(fetched.Name))].ContentType,
			Bytes:       int64(len(fetched.Text)),
			SHA256:      hashOf(fetched.Text),
		}
		return fetched.Text, nil
	}
	return r.readAll(ctx, f.Key, field, f.Name)
}

// designFiles finds the files that a run of a design has pinned.
func (r *References) designFiles(ctx context.Context, w *pleat.Workflow) (out flow.SourceFiles, err error) {
	files, err := r.Runs.RunFiles(ctx, w.Run)
	for _, f := range files {
		out.Design = append(out.Design, flow.DesignFile{Name: f.Name, Main: f.Main, Key: f.Key, SHA256: f.SHA256})
	}
	return out, err
}
