package submit

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"pleat"
	"pleat/internal/blob"
	"pleat/internal/calvados"
	"pleat/internal/flow"
	"pleat/internal/pae"
	"pleat/internal/report"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/structure"
)

// checkSource checks that the source of a workflow exists and that owner may read it, and completes the ids of a fold
// and the sizes of the files in the plan. If the fold has not finished, only a draft is accepted. An error has
// CodeNotFound, CodeConflict, or CodeInvalid with the field in workflow_input, unless it is the store's.
func (r *Resolver) checkSource(ctx context.Context, owner pleat.ProjectID, p *flow.Plan) error {
	if p.Compare != nil {
		return r.checkCompared(ctx, owner, p)
	}
	if p.Design != nil && (p.Design.Task == nil || p.Source.Kind == flow.SourceLibrary) {
		return nil // see designSpec
	}
	switch src := &p.Source; src.Kind {
	case flow.SourceFold:
		fold, err := r.SourceFold(ctx, owner, src.Fold)
		if err != nil {
			return err
		}
		if !p.Draft {
			if err := fold.checkCompleted(); err != nil {
				return err
			}
		}
		src.Fold.Run, src.Fold.Sequence = fold.View.Run.ID, fold.Sequence.ID
		src.Name = fold.Name(p.MD != nil && p.MD.Preset == flow.PresetIDR)
		p.Size = fold.Size()
		if p.QnA != nil {
			p.QnA.Reference = src.Reference()
		}
	case flow.SourceLibrary, flow.SourceUpload:
		file, err := r.File(ctx, people.InProject(owner), src.Structure, structureFile)
		src.Name = file.Name
		if p.Size.Structure = file.Bytes; err != nil || src.PAE.Item == "" {
			return err
		}
		file, err = r.File(ctx, people.InProject(owner), src.PAE, paeFile)
		p.Size.PAE = file.Bytes
		return err
	case flow.SourcePDB:
		if !r.FetchPDB && p.Design != nil {
			return pleat.InvalidField("workflow_input.target", " has pdbId, but the operator does not allow this "+
				"service to fetch from the Protein Data Bank; upload the file to the library and use libraryItemId")
		}
		if !r.FetchPDB {
			return pleat.InvalidField("workflow_input.targetSource", " is pdb, but the operator does not allow "+
				"this service to fetch from the Protein Data Bank; "+
				"upload the file to the library and use targetSource library")
		}
	case flow.SourceUniProt:
		if r.Archive.UniProt == "" {
			return pleat.InvalidField("workflow_input.targetSource", " is uniprot, but the operator does not allow "+
				"this service to fetch predicted structures by UniProt accession; "+
				"upload the file to the library and use targetSource library")
		}
	}
	return nil
}

// checkPrediction reads the predicted aligned errors that a plan names in the library, and the structure that they
// belong to, as the run will. It waits until it is the caller's turn to compute.
func (r *Resolver) checkPrediction(ctx context.Context, by Caller, p *flow.Plan) error {
	if p.MD == nil && p.QnA == nil || p.Source.PAE.Item == "" {
		return nil
	}
	files, err := r.libraryFiles(ctx, by.In.Project, p.Source)
	if err != nil {
		return err
	}
	release, err := by.Turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	const paeField, pdbField = "workflow_input.files.pae", "workflow_input.files.pdb"
	var errs pae.Errors
	if err = r.readSource(ctx, files.PAE, paeField, func(in io.Reader) (err error) {
		errs, err = pae.Read(in)
		return err
	}); err != nil || p.MD != nil && p.MD.Preset != flow.PresetGo {
		return err
	}
	var s *structure.Structure
	if err = r.readSource(ctx, files.Structure, pdbField, func(in io.Reader) (err error) {
		s, err = structure.Read(in, fileLimits)
		return err
	}); err != nil {
		return err
	}
	if p.QnA != nil {
		if _, err = report.PolymerPAE(s, errs); err != nil {
			return pleat.InvalidField(paeField, ": %s", err)
		}
		return nil
	}
	protein, err := report.ProteinPAE(s, errs)
	if err != nil {
		return pleat.InvalidField(paeField, ": %s", err)
	}
	if _, err = calvados.FromStructure(s, protein); err != nil {
		return pleat.InvalidField(pdbField, ": %s", err)
	}
	return nil
}

// readSource reads a file that a field names.
func (r *Resolver) readSource(
	ctx context.Context, file flow.SourceFile, field string, read func(io.Reader) error,
) error {
	in, _, err := r.Blobs.Open(ctx, file.Key)
	if err != nil {
		return ReadError(err)
	}
	defer in.Close()
	err = read(blob.ContextReader(ctx, in))
	var bad *structure.ParseError
	if pleat.CodeOf(err) == pleat.CodeInvalid || errors.As(err, &bad) {
		return pleat.InvalidField(field, ": %s", err)
	}
	if err != nil {
		return ReadError(err)
	}
	return nil
}

// SourceFold is one run of a fold job and the protein in it that a workflow works on.
type SourceFold struct {
	View     *runs.View // the job as of the run, with the run's artifacts
	Sequence pleat.Sequence
}

// SourceFold finds the run and the sequence that ref names: the latest run if it names none, the first protein if it
// names no sequence. A job that owner may not read is [pleat.ErrJobNotFound]. The run may be in any state.
func (r *References) SourceFold(ctx context.Context, owner pleat.ProjectID, ref pleat.FoldRef) (SourceFold, error) {
	v, err := r.Runs.View(ctx, ref.Job)
	if err != nil {
		return SourceFold{}, err
	}
	if v.Job.Owner != owner && !v.Job.Public {
		return SourceFold{}, pleat.ErrJobNotFound
	}
	if ref.Run != "" && ref.Run != v.Run.ID {
		views, err := r.Runs.RunViews(ctx, []pleat.RunID{ref.Run})
		if err != nil {
			return SourceFold{}, err
		}
		older := views[ref.Run]
		if older == nil || older.Job.ID != ref.Job {
			return SourceFold{}, pleat.InvalidField("workflow_input.source_job_run_id",
				" is %s, which is not a run of the job %s; its latest is %s", ref.Run, ref.Job, v.Run.ID)
		}
		v = *older
	}
	q, err := foldSequence(ref, v.Job.Sequences)
	return SourceFold{View: &v, Sequence: q}, err
}

// Name returns what a workflow on the fold is about: the job if its structure holds all chains, else the sequence. A
// workflow that reads the sequence alone is about that in either case.
func (f SourceFold) Name(sequenceAlone bool) string {
	if job := &f.View.Job; sequenceAlone || !job.Complex {
		return job.SequenceName(f.Sequence)
	}
	return f.View.Job.Name
}

// foldSequence returns the protein that ref names, or the first.
func foldSequence(ref pleat.FoldRef, all []pleat.Sequence) (pleat.Sequence, error) {
	if ref.Sequence == "" {
		first, ok := flow.FirstProtein(all)
		if !ok {
			return first, pleat.InvalidField("workflow_input.source_job_id", ": the job %s has no protein sequence",
				ref.Job)
		}
		return first, nil
	}
	i := slices.IndexFunc(all, func(q pleat.Sequence) bool { return q.ID == ref.Sequence })
	switch {
	case i < 0:
		return pleat.Sequence{}, pleat.InvalidField("workflow_input.source_sequence_id",
			" is %s, which is not a sequence of the job %s", ref.Sequence, ref.Job)
	case all[i].Kind != pleat.Protein:
		return pleat.Sequence{}, pleat.InvalidField("workflow_input.source_sequence_id",
			" names a %s; it must be a protein of the job", all[i].Kind)
	}
	return all[i], nil
}

// checkCompleted returns an error with CodeConflict if the run has no result to work on, whether it waits, runs or has
// failed.
func (f SourceFold) checkCompleted() error {
	if state := f.View.Run.State; state != pleat.StateCompleted {
		return pleat.Errorf(pleat.CodeConflict, "the fold is %s; a workflow can use it once it is COMPLETED", state)
	}
	return nil
}

// Artifact returns the first file of a kind that belongs to the sequence, or else to the whole run; nil: there is none.
func (f SourceFold) Artifact(kind pleat.ArtifactKind) *pleat.Artifact {
	for _, owner := range []pleat.SequenceID{f.Sequence.ID, ""} {
		for i := range f.View.Artifacts {
			if a := &f.View.Artifacts[i]; a.Kind == kind && a.Sequence == owner {
				return a
			}
		}
	}
	return nil
}

// Structure returns the file with the structure of the sequence that workflows read; nil: there is none.
func (f SourceFold) Structure() *pleat.Artifact {
	return cmp.Or(f.Artifact(pleat.ArtifactCIF), f.Artifact(pleat.ArtifactPDB))
}

// Size returns the size of the files that workflows read, and of the proteins in them.
func (f SourceFold) Size() (out flow.SourceSize) {
	out.Chain = len(f.Sequence.Text)
	if out.Residues = out.Chain; f.View.Job.Complex {
		out.Residues = 0
		for i := range f.View.Job.Sequences {
			if q := &f.View.Job.Sequences[i]; q.Kind == pleat.Protein {
				out.Residues += len(q.Text) * q.Count
			}
		}
	}
	if a := f.Structure(); a != nil {
		out.Structure = a.Bytes
	}
	if a := f.Artifact(pleat.ArtifactPAE); a != nil {
		out.PAE = a.Bytes
	}
	return out
}

// Prediction returns the scores of the structure that holds the sequence; nil: there are none.
func (f SourceFold) Prediction() *pleat.Prediction {
	if f.View.Run.Result == nil {
		return nil
	}
	all := f.View.Run.Result.Predictions
	for _, owner := range []pleat.SequenceID{f.Sequence.ID, ""} {
		for i := range all {
			if all[i].Sequence == owner {
				return &all[i]
			}
		}
	}
	return nil
}

// fileRole is what a workflow reads from a library file.
type fileRole struct {
	Name    string   // for messages
	Endings []string // of file names, in lower case
	Field   string   // of the request that names the file; empty: workflow_input
}

var (
	// The roles: the structure that a workflow looks at, and its predicted aligned errors.
	structureFile = fileRole{Name: "structure", Endings: pleat.StructureEndings}
	paeFile       = fileRole{Name: "PAE", Endings: []string{".json", ".npz"}}
)

// ownFile is File for a field of a request that names the item: one that is not owner's is a fault of libraryItemId.
func (r *References) ownFile(
	ctx context.Context, owner pleat.ProjectID, ref pleat.FileRef, role fileRole,
) (runs.LibraryFile, error) {
	file, err := r.File(ctx, people.InProject(owner), ref, role)
	if errors.Is(err, runs.ErrNoItem) {
		err = pleat.InvalidField(role.Field+".libraryItemId", " is %s, which is no item of your library", ref.Item)
	}
	return file, err
}

// isNamed reports whether a file has a name, or was uploaded under it.
func isNamed(f runs.LibraryFile, name string) bool {
	return f.Name == name || f.Name == pleat.StoredName(name)
}

// File returns the library file in reach that ref names, or the first of the item that fits the role. An error has
// CodeNotFound for an item out of reach, or CodeInvalid for one without such a file.
func (r *References) File(
	ctx context.Context, by people.Reach, ref pleat.FileRef, role fileRole,
) (runs.LibraryFile, error) {
	item, err := r.Runs.Item(ctx, by, ref.Item)
	if err != nil {
		return runs.LibraryFile{}, err
	}
	fits := func(f runs.LibraryFile) bool {
		return (ref.Name == "" || isNamed(f, ref.Name)) &&
			slices.Contains(role.Endings, strings.ToLower(path.Ext(f.Name)))
	}
	if i := slices.IndexFunc(item.Files, fits); i >= 0 {
		return item.Files[i], nil
	}
	endings, field := strings.Join(role.Endings, ", "), cmp.Or(role.Field, "workflow_input")
	if ref.Name != "" {
		return runs.LibraryFile{}, pleat.InvalidField(field,
			": the library item %s has no %s file named %q; names end in %s", item.ID, role.Name, pleat.Clip(ref.Name),
			endings)
	}
	return runs.LibraryFile{}, pleat.InvalidField(field,
		": the library item %s has no %s file; POST /v1/library/%s/upload-files adds one, ending in %s", item.ID,
		role.Name, item.ID, endings)
}

// SourceFiles finds what a workflow reads, as its owner may: the structure that a fold predicted, with the model's
// predicted aligned errors, or files of the library. An error has CodeNotFound for a source that is gone or not the
// owner's, or CodeInvalid or CodeConflict for one that cannot be used; other errors may pass.
func (r *References) SourceFiles(ctx context.Context, w *pleat.Workflow) (flow.SourceFiles, error) {
	plan, err := flow.Parse(w.Alias, w.Input)
	if err != nil {
		return flow.SourceFiles{}, err
	}
	if plan.Compare != nil {
		return r.comparedFiles(ctx, w.Owner, plan.Compare)
	}
	if plan.Design != nil {
		return r.designFiles(ctx, w)
	}
	switch src := plan.Source; src.Kind {
	case flow.SourceFold:
		if w.Source.Job != "" {
			src.Fold = w.Source // as it was resolved when the workflow was created
		}
		return r.foldFiles(ctx, w.Owner, plan.MD, src)
	case flow.SourceLibrary, flow.SourceUpload:
		return r.libraryFiles(ctx, w.Owner, src)
	}
	return flow.SourceFiles{}, nil
}

// foldFiles finds the structure that a fold predicted for a sequence, or for the complex that contains it.
func (r *References) foldFiles(
	ctx context.Context, owner pleat.ProjectID, md *pleat.MDInput, src flow.StructureSource,
) (out flow.SourceFiles, err error) {
	fold, err := r.SourceFold(ctx, owner, src.Fold)
	if err == nil {
		err = fold.checkCompleted()
	}
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		err = pleat.Errorf(pleat.CodeNotFound, "the fold job %s is gone, or is not the caller's", src.Fold.Job)
	}
	if err != nil {
		return out, err
	}
	src.Fold.Run, src.Fold.Sequence = fold.View.Run.ID, fold.Sequence.ID
	if md != nil && md.Preset == flow.PresetIDR {
		out.Sequence = fold.Sequence.Text
		return out, nil
	}
	structure := fold.Structure()
	if structure == nil {
		return out, pleat.Invalidf("the fold has no structure of this sequence; the model it ran with predicts none")
	}
	out.Structure = flow.SourceFile{Name: structure.Name, Key: structure.Key}
	if pae := fold.Artifact(pleat.ArtifactPAE); pae != nil {
		out.PAE = flow.SourceFile{Name: pae.Name, Key: pae.Key}
	}
	out.Reference, out.Predicted = src.Reference(), true
	out.Model, out.Name = fold.View.Run.Model, fold.View.Job.Name
	out.Scores = fold.Prediction()
	return out, nil
}

// libraryFiles finds the structure and, if the input names one, the PAE file in the owner's library.
func (r *References) libraryFiles(
	ctx context.Context, owner pleat.ProjectID, src flow.StructureSource,
) (out flow.SourceFiles, err error) {
	if out.Structure, err = r.libraryFile(ctx, owner, src.Structure, structureFile); err == nil && src.PAE.Item != "" {
		out.PAE, err = r.libraryFile(ctx, owner, src.PAE, paeFile)
	}
	return out, err
}

// libraryFile is File with a name for the disk: the caller chose the one in the library.
func (r *References) libraryFile(
	ctx context.Context, owner pleat.ProjectID, ref pleat.FileRef, role fileRole,
) (flow.SourceFile, error) {
	file, err := r.File(ctx, people.InProject(owner), ref, role)
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		err = pleat.Errorf(pleat.CodeNotFound, "the library item %s is gone, or is not the caller's", ref.Item)
	}
	if err != nil {
		return flow.SourceFile{}, err
	}
	return flow.SourceFile{Name: strings.ToLower(role.Name) + strings.ToLower(path.Ext(file.Name)), Key: file.Key}, nil
}
