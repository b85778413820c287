package structure_test

import (
	"testing"

	"pleat/internal/structure"
)

func TestParseResidueNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]structure.ResidueNumber{
		"82": {Value: 82}, "82A": {Value: 82, Ins: "A"}, "82a": {Value: 82, Ins: "a"}, "-3": {Value: -3},
		"-3B": {Value: -3, Ins: "B"}, "0": {}, "007": {Value: 7}, "999999999": {Value: 999_999_999},
	} {
		if got, ok := structure.ParseResidueNumber(text); !ok || got != want {
			t.Errorf("%q: %v, %t; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "A", "-", "-A", "--3", "+3", "82AB", "82_", "82 A", " 82", "1234567890", "٣", "8²", "0x1"} {
		if got, ok := structure.ParseResidueNumber(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
