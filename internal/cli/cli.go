// Package cli has what the commands of the program pleat share: exit codes and usage errors, groups of commands and
// their arguments, tables, JSON and progress. Package program joins the commands, which are in packages client (they
// call a server), admin (they run a service or work on its data) and engines.
//
// Every command writes its result to standard output, and progress, notes and errors to standard error, so that its
// output can be used in a pipe. With --json the result is one JSON value. Lists print one page and the cursor of the
// next.
//
// The package owns the form of output, messages and exit codes. It must not know a single command, call a server or
// open a database.
package cli

// Hooks are what only tests set. The released program has the zero value.
type Hooks struct {
	// DeliveryStep is called at each step of a delivery, so that a test can end the process there. It may be nil.
	DeliveryStep func(name string)
	// MiniSteps is the length of the trajectories of the engine mini; 0: the whole length, as in the released program.
	MiniSteps int
}
