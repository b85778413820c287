package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childName is the name (argument 0) of a process that Main limits. Its next arguments are a launch as JSON and the
// command.
const childName = "pleat-sandbox"

// exitStart is the exit status of a process whose limits could not be applied or whose command could not be started.
const exitStart = 126

// launch is what the new process needs to know.
type launch struct {
	Policy
	Program string `json:"program"` // absolute path of the command
}

// mainCalled is whether Main was called: without it, Command would start the program itself without end.
var mainCalled atomic.Bool

// Main returns at once in an ordinary process. In a process that Command started it applies the limits, executes the
// command and does not return: it ends the process with a line on standard error if either fails. It must be called
// before the program reads its arguments.
func Main() {
	mainCalled.Store(true)
	if len(os.Args) < 3 || os.Args[0] != childName {
		return
	}
	err := become(os.Args[1], os.Args[2:])
	fmt.Fprintln(os.Stderr, "pleat: the process could not be started:", err)
	os.Exit(exitStart)
}

// become applies the limits to this thread and executes the command, which replaces all threads by this one.
func become(text string, argv []string) error {
	runtime.LockOSThread()
	var l launch
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("deny new privileges: %w", err)
	}
	// Files that the process which started the service left open are not for the command. Linux before 5.11 cannot do
	// it at once.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if l.Mode != None {
		if err := l.apply(); err != nil {
			return err
		}
	}
	return fmt.Errorf("execute %s: %w", l.Program, unix.Exec(l.Program, argv, os.Environ()))
}

// apply limits this thread as far as the system can.
func (l launch) apply() error {
	has := Detect()
	if has.Landlock > 0 {
		if err := l.restrictFiles(has.Landlock); err != nil {
			return fmt.Errorf("limit the files: %w", err)
		}
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if has.Filter {
		if err := filterCalls(); err != nil {
			return fmt.Errorf("filter system calls: %w", err)
		}
	}
	return nil
}

// Command returns a command that runs argv under the policy, and never with more privileges than this process has. The
// caller sets its environment, folder and pipes. The program is looked for in the PATH of this process. An error: the
// program does not exist, or the policy requires what this system does not offer.
func Command(p Policy, argv []string) (*exec.Cmd, error) {
	if !mainCalled.Load() {
		return nil, errors.New("sandbox: this program does not call sandbox.Main")
	}
	if p.Mode == Required {
		if err := Detect().Check(); err != nil {
			return nil, err
		}
	}
	program, err := exec.LookPath(argv[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(launch{p, program})
	if err != nil {
		return nil, err
	}
	// This link finds the program after its file was replaced by another version, too.
	return &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{childName, string(text)}, argv...)}, nil
}

// Detect returns what this system can limit.
var Detect = sync.OnceValue(func() Support {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		version = 0
	}
	// It reports EFAULT for the missing filter where the mode is known.
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0)
	return Support{Landlock: int(version), Filter: auditArch() != 0 && errors.Is(err, unix.EFAULT)}
})

// HideMemory makes the memory of this process, and the environment that it was started with, unreadable for other
// processes of its user, which cannot trace it either. The kernel writes no core file of it.
func HideMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// Rights of Landlock, by what a path is for.
const (
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// handledRights returns the rights on files that a version of Landlock knows. All of them are denied where no rule
// grants them.
func handledRights(version int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM)<<1 - 1 // all of the first version
	if version > 1 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= landlockTruncate {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= landlockIoctl {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// restrictFiles limits this thread to the paths of the policy, and denies TCP, signals to other processes and abstract
// sockets of others where the version of Landlock can. Tracing and reading the memory of others is denied by all.
func (l launch) restrictFiles(version int) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handledRights(version)}
	if version >= landlockTCP {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= landlockScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(ruleset))
	for _, grant := range []struct {
		paths  []string
		rights uint64
	}{
		{append([]string{l.Program}, systemFiles...), readRights},
		{l.Read, readRights},
		{l.Write, writeRights},
		{append(l.Devices, systemDevices...), deviceRights},
	} {
		for _, path := range grant.paths {
			if err := allow(int(ruleset), path, grant.rights&attr.Handled_access_fs); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow adds a rule to a ruleset: rights on a file, or on everything below a folder. A path that cannot be opened is
// left out, since the process could not open it either.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// dropCapabilities gives up what root may do more than others, so that a service that runs as root starts ordinary
// processes. Without new privileges, executing a program does not bring them back.
func dropCapabilities() error {
	for c := range uintptr(64) { // the numbers that there can be
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		// There is none of this number, or the process has no privileges to give up.
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}
