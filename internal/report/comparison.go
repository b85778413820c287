package report

import (
	"bytes"
	"encoding/json"

	"pleat"
	"pleat/api"
)

// Comparison completes a comparison with where its structures come from, in their order, and returns it as the row of a
// workflow, which is also what GET /v1/compare answers.
func Comparison(c *api.Comparison, from []pleat.ComparedStructure) (json.RawMessage, error) {
	for i := range from {
		f, s := &from[i], &c.Structures[i]
		s.Of, s.Kind, s.Name = f.Of, f.Kind, f.Name
		for _, field := range []struct {
			to    **string
			value string
		}{
			{&s.File, f.Stored}, {&s.JobID, string(f.Job)}, {&s.JobRunID, string(f.Run)},
			{&s.LibraryItemID, string(f.Item)}, {&s.ModelName, f.Model},
		} {
			if field.value != "" {
				*field.to = &field.value
			}
		}
	}
	b, err := api.Encode(c)
	return bytes.TrimSpace(b), err
}
