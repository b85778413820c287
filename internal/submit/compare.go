package submit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/flow"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
)

// ComparedFile finds a structure of a comparison, of those in reach and of public jobs. Field names it in messages. An
// error has CodeNotFound, CodeConflict for a run without a result, or CodeInvalid, unless it is the store's.
func (r *References) ComparedFile(
	ctx context.Context, by people.Reach, s flow.StructureSource, field string,
) (flow.ComparedFile, error) {
	var out flow.ComparedFile
	out.Of, out.Kind = s.Compared()
	var err error
	switch s.Kind {
	case flow.SourceFold:
		err = r.comparedFold(ctx, by, s, &out)
	case flow.SourceLibrary:
		file, ferr := r.File(ctx, by, s.Structure, structureFile)
		out.Name, out.Stored, out.Key, out.Bytes = file.Name, file.Name, file.Key, file.Bytes
		out.Item, err = s.Structure.Item, ferr
	default:
		out.Name = s.ID
		if !r.FetchPDB {
			err = pleat.Invalidf("the operator does not allow this service to fetch from the Protein Data Bank; " +
				"upload the file to the library and use library:ID")
		}
	}
	if code := pleat.CodeOf(err); code == pleat.CodeNotFound || code == pleat.CodeInvalid ||
		code == pleat.CodeConflict {
		message := strings.TrimPrefix(err.Error(), "workflow_input: ")
		return out, pleat.Errorf(code, "%s is %q: %s", field, pleat.Clip(out.Of), message).At(field)
	}
	return out, err
}

// comparedFold finds the structure of a fold: its own, or that of a sample.
func (r *References) comparedFold(
	ctx context.Context, by people.Reach, s flow.StructureSource, out *flow.ComparedFile,
) error {
	v, err := r.Runs.View(ctx, s.Fold.Job)
	if err != nil {
		return err
	}
	if role, err := r.People.Role(ctx, by, v.Job.Owner); err != nil || role < pleat.Viewer && !v.Job.Public {
		return cmp.Or(err, error(pleat.ErrJobNotFound))
	}
	if err := (SourceFold{View: &v}).checkCompleted(); err != nil {
		return err
	}
	file, err := StructureOf(&v, s.Sample)
	if err != nil {
		return err
	}
	out.Name, out.Stored, out.Key, out.Bytes = v.Job.Name, file.Name, file.Key, file.Bytes
	if s.Sample != "" {
		out.Name = fmt.Sprintf("%s, %s", v.Job.Name, strings.TrimSuffix(file.Name, path.Ext(file.Name)))
	}
	out.Job, out.Run, out.Model, out.Predicted = v.Job.ID, v.Run.ID, v.Run.Model, true
	return nil
}

// StructureOf returns the structure of a run that a sample names: the first one if it is empty, that of the sample's
// number, or that of a file name. An error has CodeInvalid and says what structures there are.
func StructureOf(v *runs.View, sample string) (*pleat.Artifact, error) {
	number, err := strconv.Atoi(sample)
	numbered := err == nil && number > 0
	for i := range v.Artifacts {
		a := &v.Artifacts[i]
		switch {
		case !isStructure(a):
		case sample == "" && a.Kind != pleat.ArtifactCIF: // a PDB file is always beside one
		case sample == "", a.Name == sample, numbered && strings.HasSuffix("-"+a.Name, "-sample-"+sample+".cif"):
			return a, nil
		}
	}
	if sample == "" {
		return nil, pleat.Invalidf("the job has no structure; the model it ran with predicts none")
	}
	return nil, pleat.Invalidf("the job has no sample or structure of this name; its structures are %s",
		cmp.Or(structureNames(v.Artifacts), "none"))
}

// isStructure reports whether a file of a run is a structure.
func isStructure(a *pleat.Artifact) bool {
	ending := path.Ext(a.Name)
	return (ending == ".cif" || ending == ".pdb") && (a.Kind == pleat.ArtifactCIF || a.Kind == pleat.ArtifactPDB ||
		a.Kind == pleat.ArtifactOther)
}

// structureNames lists the names of at most ten structures of a run.
func structureNames(files []pleat.Artifact) string {
	var names []string
	for i := range files {
		if isStructure(&files[i]) && len(names) < 10 {
			names = append(names, files[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// checkCompared checks the structures of a comparison, and adds their sizes to the plan. The run of a draft need not
// have ended.
func (r *Resolver) checkCompared(ctx context.Context, owner pleat.ProjectID, p *flow.Plan) error {
	for i, s := range p.Compare.Of {
		f, err := r.ComparedFile(ctx, people.InProject(owner), s, fmt.Sprintf("%s[%d]", p.Compare.Field, i))
		if err != nil && !(p.Draft && pleat.CodeOf(err) == pleat.CodeConflict) {
			return err
		}
		p.Size.Structure += f.Bytes
	}
	return nil
}

// comparedFiles finds the files of a comparison.
func (r *References) comparedFiles(
	ctx context.Context, owner pleat.ProjectID, c *flow.Comparison,
) (out flow.SourceFiles, err error) {
	for i, s := range c.Of {
		f, err := r.ComparedFile(ctx, people.InProject(owner), s, fmt.Sprintf("of[%d]", i))
		if err != nil {
			return out, err
		}
		out.Compared = append(out.Compared, f)
	}
	return out, nil
}
