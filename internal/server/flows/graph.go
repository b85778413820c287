package flows

import (
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
	"pleat/internal/design"
	"pleat/internal/server/openapi"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/runs"
)

// addGraph is POST /v1/workflows/graph/add, for any user: it creates a draft of a design with an empty graph, and the
// folder of its files. 409: workflows of this kind have no graph.
func (h *Handlers) addGraph(ctx context.Context, c *route.Call, in *api.AddGraph) (api.Workflow, error) {
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
	if err := pleat.CheckOptionalName("name", in.Name); err != nil {
		return api.Workflow{}, err
	}
	if in.CreateMode != "" && in.CreateMode != "api" && in.CreateMode != "draft" {
		return api.Workflow{}, pleat.InvalidField("create_mode", " is %q; it may be api or draft, or absent",
			pleat.Clip(in.CreateMode))
	}
	if err := c.EnterNamed(ctx, in.ProjectID); err != nil {
		return api.Workflow{}, err
	}
	w, err := h.Runs.CreateWorkflow(ctx, h.Computations.Caller(ctx, c).EmptyDesign(alias, in.Name))
	if err != nil {
		return api.Workflow{}, err
	}
	c.Created.Workflow = w.ID
	return h.readWorkflow(ctx, w.ID)
}

// graphMedia are the media types of a workflow.yml.
var graphMedia = []string{"text/yaml", "application/yaml", "application/x-yaml", "text/plain"}

// graphBody makes an endpoint of a function whose body is a workflow.yml. 413: it is too large; 415: it is labelled as
// something else.
func graphBody[Out any](
	fn func(ctx context.Context, c *route.Call, text string) (Out, error),
) route.Endpoint {
	return route.Reads(openapi.TextRequest(graphMedia[0]), openapi.JSON[Out](),
		func(ctx context.Context, c *route.Call) error {
			kind := c.R.Header.Get("Content-Type")
			if media, _, err := mime.ParseMediaType(kind); err != nil || !slices.Contains(graphMedia, media) {
				return pleat.Errorf(pleat.CodeNotJSON, "the Content-Type is %q; it must be %s", pleat.Clip(kind),
					strings.Join(graphMedia, ", "))
			}
			if enc := c.R.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
				return pleat.Errorf(pleat.CodeNotJSON, "the Content-Encoding is %q; send the text uncompressed",
					pleat.Clip(enc))
			}
			text, err := io.ReadAll(http.MaxBytesReader(c.W, c.R.Body, route.FreeBody))
			var over *http.MaxBytesError
			switch {
			case errors.As(err, &over):
				return route.TooLarge(route.FreeBody)
			case err != nil:
				return pleat.Invalidf("the request body is incomplete")
			}
			out, err := fn(ctx, c, string(text))
			if err != nil {
				return err
			}
			return c.JSON(out)
		})
}

// ownDesign reads a design of the caller's.
func (h *Handlers) ownDesign(ctx context.Context, c *route.Call) (runs.WorkflowView, runs.DesignView, error) {
	v, err := h.ownWorkflow(ctx, c, c.R.PathValue("id"))
	if err != nil {
		return v, runs.DesignView{}, err
	}
	d, err := h.Runs.Design(ctx, v.Workflow.ID)
	return v, d, err
}

// saveGraph is POST /v1/workflows/{id}/workflow.yml, for the owner of a draft of a design: it replaces the graph, or
// changes nothing. The spec that the graph runs is checked with its files. 400: the text or the spec is wrong; 403: the
// key may not read; 404: a file is not in the caller's library; 409: it is not a draft.
func (h *Handlers) saveGraph(ctx context.Context, c *route.Call, text string) (api.Workflow, error) {
	v, _, err := h.ownDesign(ctx, c)
	if err != nil {
		return api.Workflow{}, err
	}
	if v.Workflow.State != pleat.StateDraft {
		return api.Workflow{}, pleat.ErrNotDraft(v.Workflow.State, "changed")
	}
	g, err := h.Submit.Graph(ctx, h.Computations.Caller(ctx, c), v.Workflow.Alias, text)
	if err != nil {
		return api.Workflow{}, err
	}
	_, err = h.Runs.SaveGraph(ctx, c.Reach(), v.Workflow.ID, g)
	if err != nil {
		return api.Workflow{}, err
	}
	return h.readWorkflow(ctx, v.Workflow.ID)
}

// addDesign adds to a workflow what its owner sees of it as a design.
func (h *Handlers) addDesign(ctx context.Context, v *visibleWorkflow, out *api.Workflow) error {
	if v.Workflow.Kind != pleat.TaskDesign || v.to != wire.ForOwner {
		return nil
	}
	d, err := h.Runs.Design(ctx, v.Workflow.ID)
	if err != nil {
		return err
	}
	id := string(d.Workspace)
	out.Workspace = &id
	out.Graph = &api.WorkflowGraph{}
	if out.Graph.Nodes, out.Graph.Edges, err = graphOf(d.Graph); err != nil {
		return err
	}
	out.Folds, err = h.designFolds(ctx, v.Workflow.ID)
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
func (h *Handlers) viewGraph(ctx context.Context, c *route.Call) (api.GraphView, error) {
	v, d, err := h.ownDesign(ctx, c)
	if err != nil {
		return api.GraphView{}, err
	}
	out := api.GraphView{ID: string(v.Workflow.ID)}
	out.Nodes, out.Edges, err = graphOf(d.Graph)
	return out, err
}

// graphText is GET /v1/workflows/{id}/workflow.yml, for the owner of a design: the text that was last saved. 404: none
// was.
func (h *Handlers) graphText(ctx context.Context, c *route.Call) error {
	v, d, err := h.ownDesign(ctx, c)
	if err != nil {
		return err
	}
	if d.Graph == "" {
		return pleat.Errorf(pleat.CodeNotFound,
			"the workflow has no graph; POST /v1/workflows/%s/workflow.yml saves one", v.Workflow.ID)
	}
	header := c.W.Header()
	header.Set("Content-Type", "text/yaml; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	c.W.WriteHeader(http.StatusOK)
	_, err = io.WriteString(c.W, d.Graph)
	return c.Quiet(err)
}

// syncGraph is POST /v1/workflows/{id}/sync/workflow.yml, for the owner of a design: the workflow. The graph and its
// text are one here, so that there is nothing to bring into step.
func (h *Handlers) syncGraph(ctx context.Context, c *route.Call) (api.Workflow, error) {
	v, _, err := h.ownDesign(ctx, c)
	if err != nil {
		return api.Workflow{}, err
	}
	return h.readWorkflow(ctx, v.Workflow.ID)
}
