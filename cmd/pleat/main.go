// Command pleat serves protein folds and calls such a service. Its commands are package cli.
package main

import (
	"os"

	"pleat/internal/cli"
	"pleat/internal/sandbox"
)

func main() {
	sandbox.Main()
	os.Exit(cli.Run(cli.Hooks{}))
}
