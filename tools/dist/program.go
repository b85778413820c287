package main

import (
	"debug/elf"
	"debug/macho"
	"fmt"
)

// The oldest macOS for which the tag of the wheel stands. Go 1.26 builds for it.
const oldestMac = 12

// runsAnywhere returns an error if a program needs more of its system than the tags of its wheel promise: a library on
// Linux, or a newer macOS.
func runsAnywhere(path, system string) error {
	if system == "darwin" {
		newest, err := macOf(path)
		if err == nil && newest > oldestMac {
			err = fmt.Errorf("%s needs macOS %d; the tag of its wheel says %d", path, newest, oldestMac)
		}
		return err
	}
	program, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%s needs libraries of its system: build it with CGO_ENABLED=0", path)
		}
	}
	return nil
}

// macOf returns the oldest macOS on which a program starts.
func macOf(path string) (uint32, error) {
	const buildVersion = 0x32 // LC_BUILD_VERSION: command, its size, platform, and the version as 16, 8 and 8 bits
	program, err := macho.Open(path)
	if err != nil {
		return 0, err
	}
	defer program.Close()
	for _, l := range program.Loads {
		raw := l.Raw()
		if len(raw) >= 16 && program.ByteOrder.Uint32(raw) == buildVersion {
			return program.ByteOrder.Uint32(raw[12:]) >> 16, nil
		}
	}
	return 0, fmt.Errorf("%s does not name the macOS that it needs", path)
}
