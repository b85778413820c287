//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

// Main does nothing on this system.
func Main() {}

// Command returns the command without limits, which this system does not have. A policy that requires them is an error.
func Command(p Policy, argv []string) (*exec.Cmd, error) {
	if p.Mode == Required {
		return nil, Detect().Check()
	}
	return exec.Command(argv[0], argv[1:]...), nil
}

// Detect returns that this system limits nothing.
func Detect() Support { return Support{} }

// HideMemory returns that this system has no such protection.
func HideMemory() error { return errors.New("this system does not offer it") }
