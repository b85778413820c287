package cli

import (
	"fmt"
	"strings"
)

// Exit codes. A job without a result has its own code, so that scripts can tell it from a server that does not respond.
const (
	exitOK = 0
	// exitFailed: the command failed; standard error has the reason in one sentence. Repeating the command may help.
	exitFailed = 1
	// exitUsage: the command line or the configuration is wrong. Nothing was done, and repeating does not help.
	exitUsage = 2
	// exitUnfinished: the job or workflow ended FAILED or STOPPED, or ended without the result that was asked for.
	exitUnfinished = 3
	// exitDiffers: the repeated run of pleat verify gave different structures.
	exitDiffers = 4
	// exitInterrupted: the command was interrupted while it followed a job, which continues.
	exitInterrupted = 130
)

// exit is an error with its exit code.
type exit struct {
	code int
	// err is nil if nothing is to be printed.
	err error
}

// Error returns the text of the error as one line, and Unwrap the error itself.
func (e *exit) Error() string { return sentence(e.err) }

func (e *exit) Unwrap() error { return e.err }

// exitWith returns an error for which the program exits with a code. Err is nil if nothing is to be printed.
func exitWith(code int, err error) error { return &exit{code, err} }

// usageError returns an error for which the program exits with exitUsage.
func usageError(err error) error { return exitWith(exitUsage, err) }

// usagef is usageError of an error with a text in the format of package fmt.
func usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

// sentence returns the text of an error as one line: an error of several lines would break logs and scripts.
func sentence(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
