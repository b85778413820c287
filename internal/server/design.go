package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/archive"
	"pleat/internal/design"
	"pleat/internal/flow"
	"pleat/internal/server/openapi"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
)

// defaultDesignName is the name of a design that was given none.
const defaultDesignName = "Design"

// addGraph is POST /v1/workflows/graph/add, for any user: it creates a draft of a design with an empty graph, and the
// folder of its files. 409: workflows of this kind have no graph.
func (s *Server) addGraph(ctx context.Context, c *call, in *api.AddGraph) (api.Workflow, error) {
	if in.WorkflowName == "" {
		return api.Workflow{}, pleat.InvalidField("workflow_name", " is required; it must be design_v1 or boltzgen_v1")
	}
	alias, kind, ok := pleat.WorkflowAlias(in.WorkflowName)
	if !ok {
		return api.Workflow{}, unknownWorkflow(in.WorkflowName)
	}
	if kind != pleat.TaskDesign {
		return api.Workflow{}, pleat.Errorf(pleat.CodeConflict,
			"workflow_name %q has no graph; POST /v1/workflows makes it", in.WorkflowName).At("workflow_name")
	}
	if in.Name != "" {
		if err := pleat.CheckName("name", in.Name); err != nil {
			return api.Workflow{}, err
		}
	}
	if in.CreateMode != "" && in.CreateMode != "api" && in.CreateMode != "draft" {
		return api.Workflow{}, pleat.InvalidField("create_mode", " is %q; it may be api or draft, or absent",
			pleat.Clip(in.CreateMode))
	}
	if err := s.enterNamed(ctx, c, in.ProjectID); err != nil {
		return api.Workflow{}, err
	}
	w, err := s.store.Runs.CreateWorkflow(ctx, runs.NewWorkflow{
		By:     c.in,
		Draft:  true,
		Design: &runs.NewDesign{},
		Workflow: pleat.Workflow{
			Owner:   c.in.Project,
			Creator: c.who.User,
			Kind:    kind,
			Alias:   alias,
			Type:    pleat.WorkflowType(alias),
			Name:    cmp.Or(in.Name, defaultDesignName),
			Input:   json.RawMessage("{}"),
		},
	})
	if err != nil {
		return api.Workflow{}, err
	}
	c.made.workflow = w.ID
	return s.readWorkflow(ctx, w.ID)
}

// graphMedia are the media types of a workflow.yml.
var graphMedia = []string{"text/yaml", "application/yaml", "application/x-yaml", "text/plain"}

// graphBody makes an endpoint of a function whose body is a workflow.yml. 413: it is too large; 415: it is labelled as
// something else.
func graphBody[Out any](fn func(s *Server, ctx context.Context, c *call, text string) (Out, error)) endpoint {
	return endpoint{
		request:  openapi.TextRequest(graphMedia[0]),
		response: openapi.JSON[Out](),
		serve: func(s *Server, ctx context.Context, c *call) error {
			kind := c.r.Header.Get("Content-Type")
			if media, _, err := mime.ParseMediaType(kind); err != nil || !slices.Contains(graphMedia, media) {
				return pleat.Errorf(pleat.CodeNotJSON, "the Content-Type is %q; it must be %s", pleat.Clip(kind),
					strings.Join(graphMedia, ", "))
			}
			if enc := c.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
				return pleat.Errorf(pleat.CodeNotJSON, "the Content-Encoding is %q; send the text uncompressed",
					pleat.Clip(enc))
			}
			text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, freeBody))
			var over *http.MaxBytesError
			switch {
			case errors.As(err, &over):
				c.drain(c.r.Body)
				return tooLarge(freeBody)
			case err != nil:
				return pleat.Invalidf("the request body is incomplete")
			}
			out, err := fn(s, ctx, c, string(text))
			if err != nil {
				return err
			}
			return c.json(out)
		},
	}
}

// ownDesign reads a design of the caller's.
func (s *Server) ownDesign(ctx context.Context, c *call) (runs.WorkflowView, runs.DesignView, error) {
	v, err := s.ownWorkflow(ctx, c, c.r.PathValue("id"))
	if err != nil {
		return v, runs.DesignView{}, err
	}
	d, err := s.store.Runs.Design(ctx, v.Workflow.ID)
	return v, d, err
}

// saveGraph is POST /v1/workflows/{id}/workflow.yml, for the owner of a draft of a design: it replaces the graph, or
// changes nothing. The spec that the graph runs is checked with its files. 400: the text or the spec is wrong; 403: the
// key may not read; 404: a file is not in the caller's library; 409: it is not a draft.
func (s *Server) saveGraph(ctx context.Context, c *call, text string) (api.Workflow, error) {
	v, _, err := s.ownDesign(ctx, c)
	if err != nil {
		return api.Workflow{}, err
	}
	if v.Workflow.State != pleat.StateDraft {
		return api.Workflow{}, pleat.ErrNotDraft(v.Workflow.State, "changed")
	}
	p, g, err := parseGraph(v.Workflow.Alias, text)
	if err != nil {
		return api.Workflow{}, err
	}
	if _, err := s.checkPlan(ctx, c, p); err != nil {
		return api.Workflow{}, err
	}
	input, err := flow.GraphInput(g.Plan())
	if err != nil {
		return api.Workflow{}, err
	}
	hooks, err := s.resolver.WorkflowWebhooks(ctx, c.in.Project, p)
	if err != nil {
		return api.Workflow{}, err
	}
	_, err = s.store.Runs.SaveGraph(ctx, c.reach(), v.Workflow.ID, runs.Graph{
		Text:   text,
		Input:  input,
		Public: p.Public,
		Subs:   hooks.Subscriptions,
	})
	if err != nil {
		return api.Workflow{}, err
	}
	return s.readWorkflow(ctx, v.Workflow.ID)
}

// parseGraph reads a graph and the plan of its run.
func parseGraph(alias, text string) (*flow.Plan, *design.Graph, error) {
	g, err := design.ReadGraph([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	p, err := flow.ParseGraph(alias, g.Plan())
	return &p, g, err
}

// checkPlan checks that the caller may read what a plan is about, and that it is there. Of a design it returns the
// spec, which is checked when it is the caller's turn to compute; nil for other kinds.
func (s *Server) checkPlan(ctx context.Context, c *call, p *flow.Plan) (*submit.DesignSpec, error) {
	if err := s.submitter(ctx, c).CheckReadsSources(p); err != nil {
		return nil, err
	}
	if err := s.resolver.CheckSource(ctx, c.in.Project, p); err != nil || p.Design == nil {
		return nil, err
	}
	release, err := s.beginComputation(ctx, c, c.who.User)
	if err != nil {
		return nil, err
	}
	defer release()
	var fetched *submit.Fetched
	if p.Source.Kind == flow.SourcePDB {
		entry, err := s.fetchTarget(ctx, p.Source.ID)
		if err != nil {
			return nil, err
		}
		fetched = &submit.Fetched{Name: entry.Name, Text: entry.Text}
	}
	return s.resolver.DesignSpec(ctx, c.in.Project, p, fetched)
}

// fetchTarget fetches an entry of the Protein Data Bank.
func (s *Server) fetchTarget(ctx context.Context, id string) (archive.Entry, error) {
	entry, failure, err := s.cfg.ArchiveURLs.FetchPDB(ctx, id, maxDirectBytes)
	switch {
	case failure == nil:
		return entry, nil
	case failure.Retry:
		return entry, unfetched(failure, err)
	}
	return entry, pleat.InvalidField("workflow_input.target.pdbId", ": %s", failure.Message)
}

// newDesign returns what a workflow of a plan has as a design: its graph, and, if the spec was compiled, the spec and
// the target as files of its workspace. It stores the blobs of these, and returns the files that a run pins.
func (s *Server) newDesign(
	ctx context.Context, p *flow.Plan, spec *submit.DesignSpec,
) (*runs.NewDesign, []runs.RunFile, error) {
	out, files := &runs.NewDesign{}, slices.Clone(spec.Files)
	stored := false
	defer func() {
		if !stored {
			s.resolver.RemoveBlobs(ctx, out.Fresh...)
		}
	}()
	main, refs := p.Design.Spec, p.Design.Files
	if p.Design.Task != nil {
		refs = nil
		for i := range files {
			f := &files[i]
			item := runs.LibraryItem{ID: runs.NewItemID(), Name: f.Name, FileType: "yml"}
			content := runs.LibraryFile{
				Name:        f.Name,
				ContentType: "application/yaml",
				Bytes:       f.Bytes,
				SHA256:      f.SHA256,
			}
			if !f.Main {
				item.FileType, content.ContentType = "protein", spec.Target.ContentType
			}
			if f.Fresh {
				text := []byte(spec.Text)
				if !f.Main {
					text = spec.Fetched
				}
				f.Key = submit.NewLibraryKey(item.ID)
				if _, err := s.blobs.Put(ctx, f.Key, bytes.NewReader(text)); err != nil {
					return nil, nil, storageError(err)
				}
				out.Fresh = append(out.Fresh, f.Key)
			}
			content.Key = f.Key
			item.Files = []runs.LibraryFile{content}
			out.Items = append(out.Items, item)
			if ref := (design.Reference{Item: item.ID, Name: f.Name}); f.Main {
				main = ref
			} else {
				refs = append(refs, ref)
			}
		}
	}
	var err error
	out.Graph, err = design.WriteGraph(p.Alias, &p.Design.Params, main, refs)
	stored = err == nil
	return out, files, err
}

// draftedDesign returns the plan of a draft of a design, as its graph says.
func (s *Server) draftedDesign(ctx context.Context, w *pleat.Workflow) (*flow.Plan, error) {
	d, err := s.store.Runs.Design(ctx, w.ID)
	if err != nil {
		return nil, err
	}
	if d.Graph == "" {
		return nil, pleat.Errorf(pleat.CodeConflict,
			"the workflow has no graph; POST /v1/workflows/%s/workflow.yml saves one", w.ID)
	}
	p, _, err := parseGraph(w.Alias, d.Graph)
	return p, err
}

// addDesign adds to a workflow what its owner sees of it as a design.
func (s *Server) addDesign(ctx context.Context, v *visibleWorkflow, out *api.Workflow) error {
	if v.Workflow.Kind != pleat.TaskDesign || v.to != wire.ForOwner {
		return nil
	}
	d, err := s.store.Runs.Design(ctx, v.Workflow.ID)
	if err != nil {
		return err
	}
	id := string(d.Workspace)
	out.Workspace = &id
	out.Graph = &api.WorkflowGraph{}
	if out.Graph.Nodes, out.Graph.Edges, err = graphOf(d.Graph); err != nil {
		return err
	}
	out.Folds, err = s.designFolds(ctx, v.Workflow.ID)
	return err
}

// graphOf returns the nodes and edges of a graph as it was saved; none if none was.
func graphOf(text string) (nodes, edges []json.RawMessage, err error) {
	nodes, edges = []json.RawMessage{}, []json.RawMessage{}
	if text == "" {
		return nodes, edges, nil
	}
	g, err := design.ReadGraph([]byte(text))
	if err != nil {
		return nil, nil, fmt.Errorf("read a graph that was saved: %w", err)
	}
	for i := range g.Nodes {
		n, err := api.Encode(g.Nodes[i])
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, n)
	}
	for i := range g.Edges {
		e, err := api.Encode(g.Edges[i])
		if err != nil {
			return nil, nil, err
		}
		edges = append(edges, e)
	}
	return nodes, edges, nil
}

// viewGraph is GET /v1/workflows/{id}/graph, for the owner of a design: its nodes and edges.
func (s *Server) viewGraph(ctx context.Context, c *call) (api.GraphView, error) {
	v, d, err := s.ownDesign(ctx, c)
	if err != nil {
		return api.GraphView{}, err
	}
	out := api.GraphView{ID: string(v.Workflow.ID)}
	out.Nodes, out.Edges, err = graphOf(d.Graph)
	return out, err
}

// graphText is GET /v1/workflows/{id}/workflow.yml, for the owner of a design: the text that was last saved. 404: none
// was.
func (s *Server) graphText(ctx context.Context, c *call) error {
	v, d, err := s.ownDesign(ctx, c)
	if err != nil {
		return err
	}
	if d.Graph == "" {
		return pleat.Errorf(pleat.CodeNotFound,
			"the workflow has no graph; POST /v1/workflows/%s/workflow.yml saves one", v.Workflow.ID)
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/yaml; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusOK)
	_, err = io.WriteString(c.w, d.Graph)
	return quiet(c, err)
}

// syncGraph is POST /v1/workflows/{id}/sync/workflow.yml, for the owner of a design: the workflow. The graph and its
// text are one here, so that there is nothing to bring into step.
func (s *Server) syncGraph(ctx context.Context, c *call) (api.Workflow, error) {
	v, _, err := s.ownDesign(ctx, c)
	if err != nil {
		return api.Workflow{}, err
	}
	return s.readWorkflow(ctx, v.Workflow.ID)
}
