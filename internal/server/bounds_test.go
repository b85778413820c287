package server_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pleat/api"
	"pleat/internal/config"
	"pleat/internal/server/flows"
	"pleat/internal/server/library"
	"pleat/internal/server/route"
	"pleat/internal/submit"
)

// The table of bounds in docs/proxy.md has the numbers of the code.
func TestDocumentedBounds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/proxy.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	c := config.Default()
	cfg := route.Config{}.WithDefaults()
	const mib = 1 << 20
	for _, row := range []string{
		fmt.Sprintf("| address and headers of a request | %d KiB |", route.MaxHeader>>10),
		fmt.Sprintf("| JSON with sequences, questions or files of other programs | %s bytes |", thousands(api.MaxBody)),
		fmt.Sprintf("| other JSON | %d KiB |", route.Small(nil)>>10),
		fmt.Sprintf("| levels of arrays and objects | %d |", api.MaxDepth),
		fmt.Sprintf("| large JSON bodies of one user under way | %d times `max-body` |", route.BodyShare),
		fmt.Sprintf("| large JSON bodies of all users under way | %d times `max-body`, and %d more for users",
			route.BodyTotal, route.BodyFirst),
		fmt.Sprintf("| metadata of a library item | %d KiB |", library.MaxMetadata>>10),
		fmt.Sprintf("| one file of a library | %d MiB |", submit.MaxFile/mib),
		fmt.Sprintf("| files of one upload | %d, together %s MiB |", library.MaxUploadFiles,
			thousands(library.MaxUploadFiles*(submit.MaxFile/mib+1))),
		fmt.Sprintf("| uploads of one user under way | %d |", library.MaxUploads),
		fmt.Sprintf("| comparisons, contacts and scripts of one caller under way | %d |", route.MaxComputations),
		fmt.Sprintf("| comparisons, contacts and scripts of all callers without a key under way | %d |",
			route.StrangerComputations),
		fmt.Sprintf("| one structure of a comparison, contacts or a script | %d MiB |", submit.MaxDirectBytes/mib),
		fmt.Sprintf("| entries of the Protein Data Bank that one caller is sent at a time | %d |", flows.MaxEntries),
		fmt.Sprintf("| templates that a request has checked, together | %d MiB |", submit.MaxTemplatesRead/mib),
		fmt.Sprintf("| files and metadata of one user's library | %s |",
			strings.Replace(c.Library.String(), "GiB", " GiB", 1)),
		fmt.Sprintf("| items and files of one user's library | %s |", thousands(c.LibraryItems)),
		fmt.Sprintf("| event streams of one user, or of one address without a key | %d |", cfg.Streams),
		fmt.Sprintf("| event streams of all callers without a key | %s |", thousands(route.StrangerStreams)),
		fmt.Sprintf("Bodies of up to %d KiB are not counted", route.FreeBody>>10),
		fmt.Sprintf("A stream has a comment every %.0f seconds", cfg.StreamHeartbeat.Seconds()),
	} {
		if !strings.Contains(page, row) {
			t.Errorf("docs/proxy.md does not have %q", row)
		}
	}
}

// thousands writes a number of at most nine digits with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
