package flow

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"pleat"
)

// Fold is the source of a follow-up.
type Fold struct {
	Ref   pleat.FoldRef
	Name  string
	Owner pleat.UserID
}

// Follow is the workflow that the end of a fold starts.
type Follow struct {
	Name  string
	Input json.RawMessage
	Draft bool
	Plan  Plan // Input, parsed
}

// FromFold is the workflow that a destination of a fold (qna, md or another word for them) starts, by the settings it
// was given. A question that is absent or empty makes a draft. What md's settings hold passes through; the preset is
// single_af_go where they name none. The input is checked as a caller's would be.
func FromFold(word string, settings json.RawMessage, fold Fold) (Follow, error) {
	return fromFold(word, settings, fold, "webhooks."+word)
}

// CheckSettings refuses, at a fold's creation, settings of a follow-up that could not start. Path names them in the
// message.
func CheckSettings(word string, settings json.RawMessage, path string) error {
	const id = "00000000-0000-7000-8000-000000000000"
	_, err := fromFold(word, settings, Fold{Ref: pleat.FoldRef{Job: id, Run: id, Sequence: id}, Name: "fold",
		Owner: id}, path)
	return err
}

func fromFold(word string, settings json.RawMessage, fold Fold, path string) (Follow, error) {
	given := map[string]json.RawMessage{}
	if len(settings) > 0 && json.Unmarshal(settings, &given) != nil {
		return Follow{}, pleat.InvalidField(path, " must be an object")
	}
	_, kind, _ := pleat.WorkflowAlias(word)
	f := open(settingsOf(settings), path)
	out := Follow{}
	input := map[string]any{"source_job_id": fold.Ref.Job, "source_job_run_id": fold.Ref.Run,
		"source_sequence_id": fold.Ref.Sequence, "sourceUserId": fold.Owner}
	if kind == pleat.TaskQnA {
		question := f.string("initial_question", MaxQuestion)
		input["targetSource"], input["question"], out.Draft = SourceFold, question, question == ""
		out.Name = clipName("Question about " + fold.Name)
		if w := f.raw("webhooks"); w != nil {
			input["webhooks"] = w
		}
		f.noSecrets()
	} else {
		// The source is always the fold, so other sources in the settings are removed.
		for _, n := range []string{"source_job_id", "source_job_run_id", "source_run_id", "source_sequence_id",
			"sourceUserId", "sourceType", "targetSource", "files", "libraryItemId"} {
			for _, s := range spellings(n) {
				delete(given, s)
			}
		}
		for k, v := range overrides(given) {
			input[k] = v
		}
		input["sourceType"] = SourceFold
		f.noSecrets()
		if f.raw("preset") == nil {
			input["preset"] = PresetGo
		}
		out.Name = clipName("Dynamics of " + fold.Name)
	}
	if *f.err != nil {
		return out, *f.err
	}
	var err error
	if out.Input, err = json.Marshal(input); err != nil {
		return out, err
	}
	out.Plan, err = parse(word, out.Input, out.Draft, path)
	return out, err
}

// noSecrets refuses an endpoint in the settings of a follow-up, because its token would be stored unencrypted.
func (f *fields) noSecrets() {
	custom := f.object("webhooks").object("custom_http")
	if custom == nil {
		return
	}
	for _, name := range []string{"target_url", "token_value"} {
		if custom.raw(name) != nil {
			f.fail(custom.pathOf(name), " is not taken here: a follow-up tells the endpoint of PUT "+
				"/v1/webhooks/custom-http-config")
		}
	}
}

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

func clipName(s string) string {
	if utf8.RuneCountInString(s) > pleat.MaxName {
		return string([]rune(s)[:pleat.MaxName])
	}
	return s
}
