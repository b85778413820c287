package docs

import (
	"bytes"
	"os"
	"testing"

	"pleat/internal/testprogram"
)

// The program executes no template, as decision 050 says: the linker would keep every exported method. The names of all
// functions are in a program.
func TestProgramExecutesNoTemplate(t *testing.T) {
	path, err := testprogram.Released()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte("/internal/cli.New")) {
		t.Fatal("the program has no names of functions")
	}
	if bytes.Contains(program, []byte("text/template.(*Template).Execute")) {
		t.Error("the program executes templates of text/template or html/template; see decision 050")
	}
}
