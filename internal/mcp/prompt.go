package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompt is a text by which a person starts a task.
type prompt struct {
	name, title, about string
	arguments          []*sdk.PromptArgument
	text               string // with {argument} in the places of its arguments
}

var prompts = []prompt{
	{
		name:  "fold-and-judge",
		title: "Fold and judge",
		about: "Folds a sequence and says how far the structure can be trusted.",
		arguments: []*sdk.PromptArgument{
			{Name: "sequence", Description: "The sequence of a protein.", Required: true},
			{Name: "model", Description: "A fold model; absent: one that list_models shows."},
		},
		text: `Fold the protein below and judge the result.

1. Call list_models with kind "fold". Use the model named below, or else choose one for which workers run, and say why.
2. Call validate, and tell me its cost and what is left of the quota.
3. Call fold, and get_job until it has ended.
4. Call get_scores, and get_residues with below 70 for the uncertain parts.
5. Say which parts can be trusted and which cannot, by what confidence and notice of the model say. Leave out what was
   not computed.

Sequence: {sequence}
Model: {model}`,
	},
	{
		name:  "screen",
		title: "Screen",
		about: "Folds many variants, ligands or pairs in one batch, and ranks them.",
		arguments: []*sdk.PromptArgument{
			{Name: "goal", Description: "The molecules to screen, and their targets.", Required: true},
			{Name: "score", Description: "The score to rank by, such as iptm_score; absent: one that fits."},
		},
		text: `Screen as described below.

1. Choose the kind of batch that fits (list, matrix, ligands, variants or seeds) and a model from list_models.
2. Call submit_batch with checkOnly, tell me the rows, the cost and what is left of the quota, and wait for my word.
3. Call submit_batch, and get_job with kind "batch" until it has ended.
4. Call batch_rows sorted by the score, and with filter status=FAILED for the failures.
5. Give me the best rows with their job ids, say what the score means, and how close the next rows are.

Goal: {goal}
Score: {score}`,
	},
	{
		name:  "design",
		title: "Design a binder",
		about: "Designs proteins for a target, and folds the best with another model.",
		arguments: []*sdk.PromptArgument{
			{Name: "target", Description: "The target: a job's id, a sequence or a PDB entry.", Required: true},
			{Name: "epitope", Description: "Chains and residues to bind; absent: anywhere."},
		},
		text: `Design binders for the target below.

1. Call list_models with kind "design". If there is none for which workers run, say so and stop.
2. Tell me what you are about to start: protocol, length, number of designs, and wait for my word.
3. Call design, and get_job with kind "workflow" until it has ended. It can take hours: tell me the id.
4. Look at pass_filters and failed_filters of the rows. Designs that fail filters are returned too.
5. Fold the best with target and binder as two chains, by a model that is not kin of the one that ranked them, and
   compare.

Target: {target}
Epitope: {epitope}`,
	},
}

// maxArgument is how many characters an argument of a prompt may have.
const maxArgument = 20_000

// addPrompts adds the prompts to a server.
func addPrompts(s *sdk.Server) {
	for _, p := range prompts {
		s.AddPrompt(&sdk.Prompt{Name: p.name, Title: p.title, Description: p.about, Arguments: p.arguments}, p.get)
	}
}

// get returns the text of a prompt with its arguments.
func (p prompt) get(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	var pairs []string
	for _, a := range p.arguments {
		value := visible(req.Params.Arguments[a.Name], maxArgument)
		if value == "" && a.Required {
			return nil, invalidParams(fmt.Sprintf("the prompt %s needs the argument %s", p.name, a.Name))
		}
		if value == "" {
			value = "(not given)"
		}
		pairs = append(pairs, "{"+a.Name+"}", value)
	}
	return &sdk.GetPromptResult{
		Description: p.about,
		Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: strings.NewReplacer(pairs...).Replace(p.text)}},
		},
	}, nil
}
