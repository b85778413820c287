// Package cli is the program pleat: its command line, which serves protein folds and calls such a service. The command
// pleat runs it, and so do the binaries of tests.
//
// Each command is one file: it reads its settings and flags, calls internal/app or a server, and prints the result. The
// package owns the command line, its messages and exit codes. It must not hold rules of the service: those are in
// package pleat and in internal.
//
// There are three kinds of commands. Processes of the service run until SIGINT or SIGTERM. Clients talk to a server
// over HTTP, with --url and --key, and touch no data of the service. Administration opens the database or the data
// folder itself, next to a running server or without one, and needs no API key.
//
// Every command writes its result to standard output, and progress, notes and errors to standard error, so that its
// output can be used in a pipe. With --json the result is one JSON value. Lists print one page and the cursor of the
// next.
package cli

// Hooks are what only tests set. The released program has the zero value.
type Hooks struct {
	// DeliveryStep is called at each step of a delivery, so that a test can end the process there. It may be nil.
	DeliveryStep func(name string)
	// MiniSteps is the length of the trajectories of the engine mini; 0: the whole length, as in the released program.
	MiniSteps int
}
