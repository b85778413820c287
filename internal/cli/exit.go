package cli

import (
	"fmt"
	"strings"
)

// Exit codes. A job without a result has its own code, so that scripts can tell it from a server that does not respond.
const (
	ExitOK = 0
	// ExitFailed: the command failed; standard error has the reason in one sentence. Repeating the command may help.
	ExitFailed = 1
	// ExitUsage: the command line or the configuration is wrong. Nothing was done, and repeating does not help.
	ExitUsage = 2
	// ExitUnfinished: the job or workflow ended FAILED or STOPPED, or ended without the result that was asked for.
	ExitUnfinished = 3
	// ExitDiffers: the repeated run of pleat verify gave different structures.
	ExitDiffers = 4
	// ExitInterrupted: the command was interrupted while it followed a job, which continues.
	ExitInterrupted = 130
)

// ExitError is an error with its exit code.
type ExitError struct {
	Code int
	// Err is nil if nothing is to be printed.
	Err error
}

// Error returns the text of the error as one line, and Unwrap the error itself.
func (e *ExitError) Error() string { return ErrorLine(e.Err) }

func (e *ExitError) Unwrap() error { return e.Err }

// Exitf returns an error for which the program exits with a code, with a text in the format of package fmt.
func Exitf(code int, format string, args ...any) error {
	return &ExitError{code, fmt.Errorf(format, args...)}
}

// UsageError returns an error for which the program exits with ExitUsage.
func UsageError(err error) error { return &ExitError{ExitUsage, err} }

// Usagef is Exitf with ExitUsage.
func Usagef(format string, args ...any) error { return Exitf(ExitUsage, format, args...) }

// ErrorLine returns the text of an error as one line: an error of several lines would break logs and scripts.
func ErrorLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
