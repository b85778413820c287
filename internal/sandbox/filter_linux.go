package sandbox

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deniedCalls are system calls that a process of an engine does not need, and that reach other processes, keys of the
// user, or sockets without the call socket. Its children cannot have other privileges by a user namespace.
var deniedCalls = []uint32{
	unix.SYS_CONNECT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// skippedCalls are system calls that do nothing and report success. They change the permissions or the owner of a file
// by its path, which Landlock does not limit: a process could make the secret key readable for every user of the
// machine. Programs make them for files of their own, such as those that copy a file with its permissions, and would
// fail if they were denied. The calls for times are allowed: Path.touch of Python creates a file only if they fail.
func skippedCalls() []uint32 {
	calls := []uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT}
	if runtime.GOARCH == "amd64" { // chmod, chown and lchown, which arm64 does not have
		calls = append(calls, 90, 92, 94)
	}
	return calls
}

// Offsets in struct seccomp_data: the number of the call, its architecture and the low halves of its arguments, on
// little-endian machines.
const (
	offsetCall  = 0
	offsetArch  = 4
	offsetFirst = 16
	offsetNext  = 24
)

// x32Calls are the numbers from which amd64 has the calls of another interface, which no rule would match.
const x32Calls = 0x40000000

// auditArch returns the kernel's name of this architecture; 0: the filter does not know it.
func auditArch() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// filterCalls denies system calls to this thread. The only sockets left are Unix sockets with connections, which
// nothing can connect: CUDA makes one at its start, and socketpair works.
func filterCalls() error {
	program := callFilter()
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// callFilter returns the filter as a program of BPF, in which a jump skips instructions forward. See seccomp(2).
func callFilter() []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		some  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
	)
	deny := func(errno unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	allow := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
	program := []unix.SockFilter{
		{Code: load, K: offsetArch},
		{Code: equal, K: auditArch(), Jt: 1},
		deny(unix.EPERM),
		{Code: load, K: offsetCall},
	}
	if runtime.GOARCH == "amd64" {
		program = append(program, unix.SockFilter{Code: least, K: x32Calls, Jf: 1}, deny(unix.ENOSYS))
	}
	for _, call := range deniedCalls {
		program = append(program, unix.SockFilter{Code: equal, K: call, Jf: 1}, deny(unix.EACCES))
	}
	for _, call := range skippedCalls() {
		program = append(program, unix.SockFilter{Code: equal, K: call, Jf: 1}, deny(0))
	}
	return append(program,
		// It sets limits of any process of the user; 0 is the caller.
		unix.SockFilter{Code: equal, K: unix.SYS_PRLIMIT64, Jf: 4},
		unix.SockFilter{Code: load, K: offsetFirst},
		unix.SockFilter{Code: equal, K: 0, Jf: 1},
		allow,
		deny(unix.EPERM),
		// Its flags are in memory, where no filter reads them; C libraries then call clone.
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		deny(unix.ENOSYS),
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		unix.SockFilter{Code: load, K: offsetFirst},
		unix.SockFilter{Code: some, K: unix.CLONE_NEWUSER, Jf: 1},
		deny(unix.EPERM),
		allow,
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKET, Jt: 1},
		unix.SockFilter{Code: equal, K: unix.SYS_SOCKETPAIR, Jf: 8},
		unix.SockFilter{Code: load, K: offsetFirst},
		unix.SockFilter{Code: equal, K: unix.AF_UNIX, Jt: 1},
		deny(unix.EACCES),
		unix.SockFilter{Code: load, K: offsetNext},
		unix.SockFilter{Code: and, K: 0xf}, // without flags such as SOCK_CLOEXEC
		unix.SockFilter{Code: equal, K: unix.SOCK_STREAM, Jt: 2},
		unix.SockFilter{Code: equal, K: unix.SOCK_SEQPACKET, Jt: 1},
		deny(unix.EACCES),
		allow,
	)
}
