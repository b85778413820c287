// Package sandbox limits what the process of an engine may reach, and protects the memory of the service from it.
//
// It owns the kernel's part: Landlock for files, signals and abstract sockets, a system call filter (seccomp) for
// sockets and further ways out, and the loss of privileges. It must not know what an engine is; the caller lists the
// paths.
//
// A program that calls Command must call Main first of all. Command starts the program itself again; Main, in the new
// process, applies the limits and then executes the command. Nothing of the service runs in between, and the limits
// hold for the command and all its children.
//
// Sources: landlock(7), seccomp(2), PR_SET_NO_NEW_PRIVS and PR_SET_DUMPABLE in prctl(2).
package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Mode says whether processes are limited.
type Mode string

// The modes. None still denies new privileges. Auto applies what the system offers. Required makes it an error if the
// system offers too little.
const (
	None     Mode = "none"
	Auto     Mode = "auto"
	Required Mode = "required"
)

// Policy is what a process may reach. Paths are absolute; one that does not exist is ignored. A folder stands for
// everything below it. Nothing else is readable, except what programs of the system need: its libraries, a few files
// of /etc, /proc and /sys.
type Policy struct {
	Mode    Mode     `json:"mode"`
	Read    []string `json:"read"`    // may be read and executed
	Write   []string `json:"write"`   // may be read, written, created and deleted; not executed
	Devices []string `json:"devices"` // may be read, written and controlled
}

// Support is what this system can limit.
type Support struct {
	Landlock int  // version of its interface; 0: there is none
	Filter   bool // of system calls
}

// Versions of Landlock from which it limits something.
const (
	landlockTruncate = 3 // before, a process may empty files that it cannot write
	landlockTCP      = 4
	landlockIoctl    = 5
	landlockScope    = 6 // signals and abstract sockets
)

// Missing returns what a limited process can do here all the same, one clause for each; empty: nothing that this
// package limits elsewhere.
func (s Support) Missing() []string {
	var out []string
	if s.Landlock == 0 {
		out = append(out, "read and write the files of the user that runs the service")
	} else if s.Landlock < landlockTruncate {
		out = append(out, "empty files of the user that runs the service")
	}
	if !s.Filter {
		out = append(out, "use the network")
	}
	if s.Landlock < landlockScope {
		out = append(out, "send signals to processes of the user")
	}
	return out
}

// Check returns why processes cannot be limited here as the mode Required demands: files, network and memory are out of
// reach. Nil: they can.
func (s Support) Check() error {
	switch {
	case s.Landlock < landlockTruncate:
		return fmt.Errorf("the kernel has Landlock %d, and %d or later is needed: Linux 6.2 with lsm=landlock",
			s.Landlock, landlockTruncate)
	case !s.Filter:
		return errors.New("the kernel cannot filter system calls on this architecture")
	}
	return nil
}

// systemFiles are what programs of the system read and execute. They have no secrets of users; /proc lists the
// processes of the machine with their command lines, and the kernel guards what is private there.
var systemFiles = []string{
	"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc", "/sys",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/mime.types",
	"/etc/fonts", "/etc/OpenCL", "/etc/vulkan", "/etc/nvidia", "/etc/python3", "/etc/os-release",
}

// systemDevices are the devices that hold nothing.
var systemDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Reaches returns the path through which a process under the policy can read a file or folder, and whether it can. It
// is for a mistake of the configuration, such as data inside a folder of libraries.
func (p Policy) Reaches(path string) (through string, ok bool) {
	path = real(path)
	for _, list := range [][]string{systemFiles, p.Read, p.Write, p.Devices} {
		for _, allowed := range list {
			rel, err := filepath.Rel(real(allowed), path)
			if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return allowed, true
			}
		}
	}
	return "", false
}

// real returns a path without symbolic links, as far as it exists.
func real(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(real(dir), filepath.Base(path))
	}
	return path
}
