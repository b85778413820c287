// Command pleat serves protein folds and calls such a service. Package program has its command line.
package main

import (
	"os"

	"pleat/internal/cli"
	"pleat/internal/cli/program"
	"pleat/internal/engine/apart"
	"pleat/internal/sandbox"
)

func main() {
	sandbox.Main()
	apart.Main()
	os.Exit(program.Run(cli.Hooks{}))
}
