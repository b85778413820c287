package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// CreateAlignment is the body of POST /v1/alignments ([Client.CreateAlignment]).
type CreateAlignment struct {
	Name      string            `json:"name,omitempty" doc:"Name of the alignment; absent: what is aligned." maxLength:"255"`
	Sequences []json.RawMessage `json:"sequences" doc:"The proteins: each a string of letters, or an item with a proteinChain as in POST /v1/jobs. At most 20,000 letters together." minItems:"1" maxItems:"32"`
	Pairing   string            `json:"pairing,omitempty" doc:"How rows of several proteins are paired by their organism: greedy pairs whichever proteins an organism has, complete takes only organisms that have all, none pairs nothing. Absent: as the operator has set it." enum:"Pairing"`
	Webhooks  json.RawMessage   `json:"webhooks,omitempty" doc:"Notification of its end: custom_http, an object with enabled and its settings."`
	ProjectID string            `json:"projectId,omitempty" doc:"The project that owns it; absent: that of the key, else your own." format:"uuid"`
}

// Alignment is the response of POST /v1/alignments and GET /v1/alignments/{id}. It is a workflow of the type
// alignment_v1, whose id is alignmentId: the endpoints of workflows list, cancel, share and delete it.
type Alignment struct {
	ID        string           `json:"alignmentId" doc:"For params.alignmentId of a job." format:"uuid"`
	Status    string           `json:"status" enum:"TaskStatus"`
	Name      string           `json:"name"`
	Pairing   *string          `json:"pairing" doc:"As the request gave it; null: as the operator has set it."`
	Proteins  []AlignedProtein `json:"proteins" doc:"In the order of the request."`
	Notes     []string         `json:"notes,omitempty" doc:"The parts of sequences that were dropped, with their paths in the body; absent if there are none."`
	Coverage  *string          `json:"msa_coverage_plot_url" doc:"Figure of how many rows cover each residue; null until COMPLETED."`
	Error     *string          `json:"error" doc:"Why there is no alignment; null if there is no failure."`
	CreatedAt Time             `json:"createdAt"`
	UpdatedAt Time             `json:"updatedAt"`
}

// AlignedProtein is a protein of an alignment. The results of the search are null until the alignment is COMPLETED.
type AlignedProtein struct {
	Chain       string  `json:"chain" doc:"The name of the protein in the names of files."`
	Sequence    string  `json:"sequence"`
	Depth       *int    `json:"depth" doc:"Rows of its alignment, the protein itself included."`
	PairedDepth *int    `json:"pairedDepth" doc:"Rows of its paired alignment, which belong by their order to those of the other proteins; null: it was not paired."`
	URL         *string `json:"msa_url" doc:"Its alignment in A3M format."`
	PairedURL   *string `json:"paired_msa_url" doc:"Its paired alignment in A3M format; null: it was not paired."`
}

// CreateAlignment searches for alignments of proteins.
func (c *Client) CreateAlignment(ctx context.Context, a CreateAlignment) (Alignment, error) {
	a.ProjectID = c.in(a.ProjectID)
	return do[Alignment](ctx, c, post("/v1/alignments", a))
}

// Alignment reads an alignment.
func (c *Client) Alignment(ctx context.Context, id string) (Alignment, error) {
	return do[Alignment](ctx, c, request{method: http.MethodGet, path: "/v1/alignments/" + url.PathEscape(id)})
}
