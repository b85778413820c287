package wire

import (
	"encoding/json"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/flow"
	"pleat/internal/store/runs"
	"pleat/internal/words"
)

// WorkflowRow returns a workflow in a list, without its input and its result.
func WorkflowRow(row *runs.WorkflowRow) api.WorkflowRow {
	w := &row.Workflow
	return api.WorkflowRow{
		ID:               string(w.ID),
		Owned:            Owned(w.Owner, w.CreatedBy(), w.CreatorName, ForOwner),
		Status:           string(w.State),
		Type:             w.Type,
		Name:             w.Name,
		IsPublic:         w.Public,
		SourceJobID:      OptionalString(string(w.Source.Job)),
		SourceJobRunID:   OptionalString(string(w.Source.Run)),
		SourceSequenceID: OptionalString(string(w.Source.Sequence)),
		Stage:            Stage(w.State, row.Stage),
		Done:             row.Done,
		Total:            row.Total,
		Error:            FailureMessage(row.Failure, ForOwner),
		CreatedAt:        api.At(w.Created),
		UpdatedAt:        api.At(w.Updated),
	}
}

// maxPreview bounds the preview of a question, in characters, as the schema of api.LinkedPreview says.
const maxPreview = 120

// LinkedPreview returns a question about a fold without its long texts: of the question the start, of the answer
// nothing.
func LinkedPreview(w *pleat.Workflow) api.LinkedPreview {
	return api.LinkedPreview{
		WorkflowID:       string(w.ID),
		WorkflowStatus:   string(w.State),
		WorkflowType:     w.Type,
		Name:             w.Name,
		QuestionPreview:  words.Shorten(strings.TrimSpace(Question(w)), maxPreview),
		SourceJobID:      OptionalString(string(w.Source.Job)),
		SourceJobRunID:   OptionalString(string(w.Source.Run)),
		SourceSequenceID: OptionalString(string(w.Source.Sequence)),
		CreatedAt:        api.At(w.Created),
		UpdatedAt:        api.At(w.Updated),
	}
}

// Question returns the question of a workflow's input; empty if a draft has none. The field has one spelling, unlike
// those that name the source.
func Question(w *pleat.Workflow) string {
	var in struct {
		Question string `json:"question"`
	}
	_ = json.Unmarshal(w.Input, &in) // it was checked when it was made
	return in.Question
}

// WorkflowInput returns the input of a workflow as it was given, in its own spelling and with fields that the service
// does not know. It sets isPublic to the present visibility, which may have changed since. Only the owner sees
// webhooks, the owner of the source, ids and file names of the library, and what a comparison names. Others see the ids
// of the fold that it is about only if it is readable, a fold that they may read.
func WorkflowInput(w *pleat.Workflow, to Audience, readable pleat.FoldRef) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(w.Input, &all); err != nil {
		return nil, err
	}
	public := json.RawMessage("false")
	if w.Public {
		public = json.RawMessage("true")
	}
	delete(all, "is_public")
	all["isPublic"] = public
	if to == ForOthers {
		for _, name := range []string{"webhooks", "sourceUserId", "source_user_id"} {
			delete(all, name)
		}
		flow.RemoveFiles(all)
		if w.Kind == pleat.TaskCompare {
			if err := flow.RemoveCompared(all); err != nil {
				return nil, err
			}
		}
		if w.Kind == pleat.TaskDesign {
			if err := flow.RemoveTarget(all); err != nil {
				return nil, err
			}
		}
		if readable.Job == "" || readable != w.Source {
			flow.RemoveFold(all)
		}
	}
	return api.Encode(all)
}
