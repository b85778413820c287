package flow

import (
	"encoding/json"
	"slices"

	"pleat"
)

// Fold is the source of a follow-up.
type Fold struct {
	Ref  pleat.FoldRef
	Name string       // of what the follow-up is about
	User pleat.UserID // who created it
}

// Follow is the workflow that the end of a fold starts.
type Follow struct {
	Name  string
	Input json.RawMessage
	Plan  Plan // Input, parsed; a question that waits to be asked makes it a draft
}

// FromFold returns the workflow that a destination of a fold, given by its alias (qna, md, …), starts. A question that
// is absent or empty in the settings makes a draft. The settings of md become its input; if they name no preset, it is
// single_af_go. The input is checked like a caller's, see [Parse].
func FromFold(alias string, settings json.RawMessage, fold Fold) (Follow, error) {
	return fromFold(alias, settings, fold, "webhooks."+alias)
}

// CheckSettings refuses, when a fold is created, the settings of a follow-up that could not start. path is theirs in
// the request. An error is like that of [Parse].
func CheckSettings(alias string, settings json.RawMessage, path string) error {
	const id = "00000000-0000-7000-8000-000000000000"
	_, err := fromFold(alias, settings, Fold{Ref: pleat.FoldRef{Job: id, Run: id, Sequence: id}, Name: "fold",
		User: id}, path)
	return err
}

// fromFold is FromFold for settings at a path.
func fromFold(alias string, settings json.RawMessage, fold Fold, path string) (Follow, error) {
	fields := map[string]json.RawMessage{}
	if len(settings) > 0 && json.Unmarshal(settings, &fields) != nil {
		return Follow{}, pleat.InvalidField(path, " must be an object")
	}
	_, kind, _ := pleat.WorkflowAlias(alias)
	f := open(settingsOf(settings), path)
	out := Follow{Name: nameOf(kind, fold.Name), Plan: Plan{Alias: alias}}
	input := map[string]any{
		"source_job_id":      fold.Ref.Job,
		"source_job_run_id":  fold.Ref.Run,
		"source_sequence_id": fold.Ref.Sequence,
		"sourceUserId":       fold.User,
	}
	if kind == pleat.TaskQnA {
		question := f.string("initial_question", maxQuestion)
		input["targetSource"], input["question"], out.Plan.Draft = SourceFold, question, question == ""
		if w := f.raw("webhooks"); w != nil {
			input["webhooks"] = w
		}
		f.noSecrets("a follow-up")
	} else {
		// The source is always the fold, so other sources in the settings are removed.
		for _, n := range []string{"source_job_id", "source_job_run_id", "source_run_id", "source_sequence_id",
			"sourceUserId", "sourceType", "targetSource", "files", "libraryItemId"} {
			for _, s := range spellings(n) {
				delete(fields, s)
			}
		}
		delete(fields, "enabled")
		for k, v := range fields {
			input[k] = v
		}
		input["sourceType"] = SourceFold
		f.noSecrets("a follow-up")
		if f.raw("preset") == nil {
			input["preset"] = PresetGo
		}
	}
	var err error
	if out.Input, err = json.Marshal(input); err != nil {
		return out, err
	}
	out.Plan, err = parse(out.Plan, out.Input, path)
	f.refuse(err)
	return out, f.faults.Err()
}

// noSecrets refuses an endpoint in settings whose token would be stored unencrypted. who is what notifies.
func (f *fields) noSecrets(who string) {
	custom := f.object("webhooks").object("custom_http")
	if custom == nil {
		return
	}
	for _, name := range []string{"target_url", "token_value"} {
		if custom.raw(name) != nil {
			f.fail(custom.pathOf(name), " is not allowed here: %s notifies the endpoint of "+
				"PUT /v1/webhooks/custom-http-config", who)
		}
	}
}

// settingsOf returns the settings of a destination; an empty object if there are none.
func settingsOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// FirstProtein returns the first protein, which is the sequence of a fold's follow-ups; false if there is none.
func FirstProtein(all []pleat.Sequence) (pleat.Sequence, bool) {
	i := slices.IndexFunc(all, func(s pleat.Sequence) bool { return s.Kind == pleat.Protein })
	if i < 0 {
		return pleat.Sequence{}, false
	}
	return all[i], true
}
