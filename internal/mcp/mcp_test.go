package mcp_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// call calls a tool and decodes its structured result. It fails if the tool refuses.
func call[Out any](t *testing.T, c *sdk.ClientSession, name string, arguments any) Out {
	t.Helper()
	res := answer(t, c, name, arguments)
	if res.IsError {
		t.Fatalf("%s refuses: %s", name, textOf(res))
	}
	var out Out
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// answer calls a tool.
func answer(t *testing.T, c *sdk.ClientSession, name string, arguments any) *sdk.CallToolResult {
	t.Helper()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// textOf returns the text of a result.
func textOf(res *sdk.CallToolResult) string {
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

// trpCage is a job that folds Trp-cage.
const trpCage = `{"name": "Trp-cage", "params": {"modelName": "mini", "seed": "1"}, "sequences": [{"proteinChain": ` +
	`{"sequence": "DAYAQWLKDGGPSSGRPPPS"}}]}`

func TestFoldOverHTTP(t *testing.T) {
	s := start(t)
	c := s.connect(s.key)
	models := call[struct{ Models []struct{ Name string } }](t, c, "list_models", nil)
	if len(models.Models) == 0 {
		t.Error("there is no model")
	}
	done := call[struct {
		Status string
		Scores struct{ MeanPLDDT *float64 }
		Cost   struct{ Tokens int }
	}](t, c, "fold", json.RawMessage(trpCage))
	if done.Status != "COMPLETED" || done.Scores.MeanPLDDT == nil || done.Cost.Tokens != 20 {
		t.Errorf("the fold is %+v", done)
	}
}
