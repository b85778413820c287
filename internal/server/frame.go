package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"sync"

	"pleat"
	"pleat/api"
	"pleat/internal/calvados"
	"pleat/internal/store"
	"pleat/internal/structure"
)

var frameName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,122}\.pdb$`)

// extractFrame is POST /v1/workflows/md/{id}/extract-frame. The structure goes to the caller's library.
func (s *Server) extractFrame(ctx context.Context, c *call, in *api.ExtractFrame) (api.ExtractedFrame, error) {
	v, err := s.ownFlow(ctx, c, c.r.PathValue("id"))
	if err == nil && v.Workflow.Kind != pleat.TaskMD {
		err = store.ErrNoWorkflow
	}
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	if in.OutputFilename == "" {
		in.OutputFilename = "frame.pdb"
	}
	timeNs, dtPs, sel, err := frameAsked(in)
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	if v.Workflow.State != pleat.StateCompleted {
		return api.ExtractedFrame{},
			pleat.Errorf(pleat.CodeConflict, "the workflow is %s; it has frames once it is COMPLETED", v.Workflow.State)
	}
	var pdb bytes.Buffer
	frame, err := s.frameOf(ctx, &v, &pdb, timeNs, dtPs, sel)
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	item, file, err := s.keepFrame(ctx, c.who.User, &v, in, frame, &pdb)
	if err != nil {
		return api.ExtractedFrame{}, err
	}
	return api.ExtractedFrame{
		WorkflowID:      string(v.Workflow.ID),
		TaskID:          string(v.Run.ID),
		PDBURL:          s.fileLink(item, file),
		Path:            file.Name,
		LibraryItemID:   item,
		FrameIndex:      frame.Index,
		RequestedTimeNs: timeNs,
		ActualTimeNs:    frame.TimeNs,
		AtomCount:       frame.Atoms,
	}, nil
}

// frameAsked checks what is asked for.
func frameAsked(in *api.ExtractFrame) (timeNs, dtPs float64, sel *calvados.Selection, err error) {
	if in.TimeNs == nil {
		return 0, 0, nil, pleat.InvalidField("timeNs", " is required; it must be a moment of the trajectory in ns")
	}
	if timeNs = *in.TimeNs; timeNs < 0 || math.IsInf(timeNs, 0) || math.IsNaN(timeNs) {
		return 0, 0, nil, pleat.InvalidField("timeNs", " is %v; it must be 0 or more", timeNs)
	}
	if in.DtInPs != nil {
		if dtPs = *in.DtInPs; dtPs < 0 || dtPs > 1e9 || math.IsNaN(dtPs) {
			return 0, 0, nil,
				pleat.InvalidField("dtInPs", " is %v; it must be 0, for the trajectory's own, or the time between "+
					"frames in ps",
					dtPs)
		}
	}
	if !frameName.MatchString(in.OutputFilename) {
		return 0, 0, nil,
			pleat.InvalidField("outputFilename", " is %q; it must be letters, digits, dot, underscore and hyphen, "+
				"then .pdb",
				pleat.Clip(in.OutputFilename))
	}
	expr := in.Selection
	if expr == "" {
		expr = "all"
	}
	if sel, err = calvados.ParseSelection(expr); err != nil {
		return 0, 0, nil, err
	}
	return timeNs, dtPs, sel, nil
}

// frameOf writes the frame of a simulation as PDB.
func (s *Server) frameOf(ctx context.Context, v *store.WorkflowView, w io.Writer, timeNs, dtPs float64,
	sel *calvados.Selection) (calvados.Frame, error) {
	var frame calvados.Frame
	top, _, err := s.openArtifact(ctx, v, calvados.TopologyFile)
	if err != nil {
		return frame, err
	}
	defer top.Close()
	shape, err := structure.ReadPDB(top, structure.Limits{})
	if err != nil {
		return frame, fmt.Errorf("read the topology of workflow %s: %w", v.Workflow.ID, err)
	}
	in, size, err := s.openArtifact(ctx, v, calvados.TrajectoryFile)
	if err != nil {
		return frame, err
	}
	defer in.Close()
	t, err := calvados.OpenTrajectory(readerAt(in), size)
	if err != nil {
		return frame, fmt.Errorf("read the trajectory of workflow %s: %w", v.Workflow.ID, err)
	}
	return calvados.Extract(w, shape, t, timeNs, dtPs, sel)
}

// openArtifact opens a file of a workflow.
func (s *Server) openArtifact(ctx context.Context, v *store.WorkflowView, name string) (io.ReadSeekCloser, int64,
	error) {
	i := slices.IndexFunc(v.Artifacts, func(a pleat.Artifact) bool { return a.Name == name })
	if i < 0 {
		return nil, 0, pleat.Errorf(pleat.CodeConflict, "the workflow has no %s, so no frame can be taken from it",
			name)
	}
	f, info, err := s.blobs.Open(ctx, v.Artifacts[i].Key)
	if err != nil {
		return nil, 0, &pleat.Error{Code: pleat.CodeUnavailable, Message: "the file cannot be read now; try again",
			Err: err}
	}
	return f, info.Bytes, nil
}

// keepFrame puts a frame into the library.
func (s *Server) keepFrame(ctx context.Context, owner pleat.UserID, v *store.WorkflowView, in *api.ExtractFrame,
	frame calvados.Frame, pdb io.Reader) (string, *store.LibraryFile, error) {
	about, err := json.Marshal(map[string]any{
		"workflowId": v.Workflow.ID, "taskId": v.Run.ID, "frameIndex": frame.Index, "timeNs": frame.TimeNs,
		"selection": in.Selection,
	})
	if err != nil {
		return "", nil, err
	}
	item, err := s.store.CreateItem(ctx, store.LibraryItem{
		Owner:    owner,
		Name:     in.OutputFilename,
		Type:     "file",
		FileType: "pdb",
		Origin:   "extract-frame",
		Workflow: v.Workflow.ID,
		Metadata: about,
	})
	if err != nil {
		return "", nil, err
	}
	f, err := s.storeFile(ctx, owner, item.ID, in.OutputFilename, fileKind{content: "chemical/x-pdb"}, pdb)
	if err != nil {
		_ = s.store.DeleteItem(context.WithoutCancel(ctx), owner, item.ID) // why it failed says more
		return "", nil, err
	}
	return item.ID, &f, nil
}

// readerAt reads a blob at any position. Both kinds of store have it; what has not is read by seeking.
func readerAt(f io.ReadSeeker) io.ReaderAt {
	if r, ok := f.(io.ReaderAt); ok {
		return r
	}
	return &seekingReader{f: f}
}

type seekingReader struct {
	mu sync.Mutex
	f  io.ReadSeeker
}

func (r *seekingReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.f.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r.f, p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}
