package flows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/calvados"
	"pleat/internal/server/library"
	"pleat/internal/server/route"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// frameName is the form of a frame's file name. Such a name needs no escape in a path, a URL or a header, and it is
// short enough for a library file.
var frameName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,122}\.pdb$`)

// extractFrame is POST /v1/workflows/md/{id}/extract-frame, for the owner of a simulation. It writes the frame nearest
// to timeNs, or the atoms of it that selection names, as a PDB file in a new item of the caller's library, and answers
// with a link to that file. 400: a field is wrong or the time is not in the trajectory; 403: the key may not read; 404:
// the caller has no such simulation; 409: it is not COMPLETED or has no trajectory.
func (h *Handlers) extractFrame(ctx context.Context, c *route.Call, in *api.ExtractFrame) (api.ExtractedFrame, error) {
	v, err := h.ownWorkflow(ctx, c, c.R.PathValue("id"))
	if err == nil && v.Workflow.Kind != pleat.TaskMD {
		err = pleat.ErrWorkflowNotFound
	}
	if err == nil {
		err = h.Computations.Caller(ctx, c).CheckReads("extract a frame of a simulation")
	}
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	in.OutputFilename = cmp.Or(in.OutputFilename, "frame.pdb")
	req, err := frameRequest(in)
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	if v.Workflow.State != pleat.StateCompleted {
		return api.ExtractedFrame{}, pleat.Errorf(pleat.CodeConflict,
			"the workflow is %s; it has frames once it is COMPLETED", v.Workflow.State)
	}
	var pdb bytes.Buffer
	frame, err := h.readFrame(ctx, &v, &pdb, req)
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	link, err := h.addFrame(ctx, c, &v, in, frame, &pdb)
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	return api.ExtractedFrame{
		WorkflowID:      string(v.Workflow.ID),
		TaskID:          string(v.Run.ID),
		PDBURL:          link.url,
		Path:            in.OutputFilename,
		LibraryItemID:   link.item,
		FrameIndex:      frame.Index,
		RequestedTimeNs: req.TimeNs,
		ActualTimeNs:    frame.TimeNs,
		AtomCount:       frame.Atoms,
	}, nil
}

// frameRequest checks the body of a request: its times, its selection and its file name. The time is compared with the
// trajectory later, when that has been opened.
func frameRequest(in *api.ExtractFrame) (calvados.FrameRequest, error) {
	if in.TimeNs == nil {
		return calvados.FrameRequest{},
			pleat.InvalidField("timeNs", " is required; it must be a moment of the trajectory in ns")
	}
	if !frameName.MatchString(in.OutputFilename) {
		return calvados.FrameRequest{}, pleat.InvalidField("outputFilename",
			" is %q; it must be letters, digits, dot, underscore and hyphen, then .pdb", pleat.Clip(in.OutputFilename))
	}
	dtPs := 0.0
	if in.DtInPs != nil {
		dtPs = *in.DtInPs
	}
	return calvados.NewFrameRequest(*in.TimeNs, dtPs, in.Selection)
}

// readFrame writes a frame of a simulation to w as PDB. It reads the topology and, with seeks, only that frame of the
// trajectory, so it does not download a large trajectory from a bucket.
func (h *Handlers) readFrame(
	ctx context.Context, v *runs.WorkflowView, w io.Writer, req calvados.FrameRequest,
) (calvados.Frame, error) {
	topology, _, err := h.openWorkflowFile(ctx, v, calvados.TopologyFile)
	if err != nil {
		return calvados.Frame{}, err
	}
	defer topology.Close()
	trajectory, size, err := h.openWorkflowFile(ctx, v, calvados.TrajectoryFile)
	if err != nil {
		return calvados.Frame{}, err
	}
	defer trajectory.Close()
	frame, err := calvados.ExtractFrame(w, topology, blob.ReaderAt(trajectory), size, req)
	if err != nil && pleat.CodeOf(err) == pleat.CodeInternal {
		err = fmt.Errorf("extract a frame of workflow %s: %w", v.Workflow.ID, err)
	}
	return frame, err
}

// openWorkflowFile opens an artifact of a workflow by its name. It returns the size in bytes, too.
func (h *Handlers) openWorkflowFile(
	ctx context.Context, v *runs.WorkflowView, name string,
) (io.ReadSeekCloser, int64, error) {
	a := pleat.ArtifactNamed(v.Artifacts, name)
	if a == nil {
		return nil, 0, pleat.Errorf(pleat.CodeConflict, "the workflow has no %s, so no frame can be extracted",
			name)
	}
	f, info, err := h.Files.Blobs.OpenPart(ctx, a.Key)
	if err != nil {
		return nil, 0, route.Unreadable(a, err)
	}
	return f, info.Bytes, nil
}

// libraryLink is a library item and the signed link to its file.
type libraryLink struct{ item, url string }

// addFrame adds a frame to the library of the workflow's owner. The item's metadata records the workflow, the frame and
// the selection. If the file cannot be stored, the item is deleted again.
func (h *Handlers) addFrame(
	ctx context.Context, c *route.Call, v *runs.WorkflowView, in *api.ExtractFrame, frame calvados.Frame,
	pdb io.Reader,
) (libraryLink, error) {
	attributes, err := json.Marshal(map[string]any{
		"workflowId": v.Workflow.ID,
		"taskId":     v.Run.ID,
		"frameIndex": frame.Index,
		"timeNs":     frame.TimeNs,
		"selection":  in.Selection,
	})
	if err != nil {
		return libraryLink{}, err
	}
	item, err := h.Runs.CreateItem(ctx, c.In, runs.LibraryItem{
		Owner:    v.Workflow.Owner,
		Name:     in.OutputFilename,
		Type:     "file",
		FileType: "pdb",
		Origin:   "extract-frame",
		Workflow: v.Workflow.ID,
		Metadata: attributes,
	})
	if err != nil {
		return libraryLink{}, err
	}
	f, err := h.Library.Add(ctx, library.NewFile{
		By: c.In, Item: item.ID, Kind: submit.FramePDB(in.OutputFilename),
	}, pdb)
	if err != nil {
		_, _ = h.Runs.DeleteItem(context.WithoutCancel(ctx), c.In, item.ID) // the first error says more
		return libraryLink{}, err
	}
	return libraryLink{string(item.ID), library.FileURL(h.Files.Links, c.Now(), item.ID, &f)}, nil
}
