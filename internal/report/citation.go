package report

import (
	"embed"
	"fmt"
	"strings"

	"pleat"
)

//go:embed citations/*.bib
var bibliography embed.FS

// Cite returns entries of the embedded bibliography, the files citations/KEY.bib, in the order of the keys. It panics
// if a key has no file: keys are constants of the engines, and a test reads all of them.
func Cite(keys ...string) []pleat.Citation {
	out := make([]pleat.Citation, len(keys))
	for i, key := range keys {
		raw, err := bibliography.ReadFile("citations/" + key + ".bib")
		if err != nil {
			panic(fmt.Sprintf("no citation %q: %v", key, err))
		}
		out[i] = pleat.Citation{Key: key, BibTeX: strings.TrimSuffix(string(raw), "\n")}
	}
	return out
}
