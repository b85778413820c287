// Package docs tests that what the documentation and the files of deploy say is so: pages are followed, commands,
// settings, metrics and spans are those of the program, and the commands that pages show work against a server.
package docs

import (
	"testing"

	"pleat/internal/testprogram"
)

func TestMain(m *testing.M) { testprogram.Main(m) }
