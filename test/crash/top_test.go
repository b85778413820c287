package crash

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pleat/internal/store/storetest"
	"pleat/internal/testprogram"
)

// terminal opens a pseudo terminal, and returns both its sides.
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("this system has no pseudo terminals: ", err)
	}
	t.Cleanup(func() { _ = user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	return user, program
}

// However top ends, the terminal is as before.
func TestTopRestoresTheTerminal(t *testing.T) {
	address := testprogram.SQLite(t)
	s := storetest.OpenAt(t, address, nil)
	storetest.CreateJob(t, s, storetest.NewFold(storetest.User(t, s, "ada"), "one"))
	program, err := testprogram.Released()
	if err != nil {
		t.Fatal(err)
	}
	for name, end := range map[string]func(user *os.File, p *os.Process) error{
		"the key q":    func(user *os.File, _ *os.Process) error { _, err := user.WriteString("q"); return err },
		"an interrupt": func(user *os.File, _ *os.Process) error { _, err := user.WriteString("\x03"); return err },
		"SIGTERM":      func(_ *os.File, p *os.Process) error { return p.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			user, tty := terminal(t)
			before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "top")
			cmd.Env = append(os.Environ(), "PLEAT_DATABASE="+address, "PLEAT_DATA="+filepath.Join(t.TempDir(), "d"))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			shown := &screenLog{}
			go func() { _, _ = shown.from(user) }()
			storetest.Eventually(t, "the queue is shown", func() bool { return shown.has("fold/null") })
			if err := end(user, cmd.Process); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("top ended with %v", err)
			}
			after, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Errorf("the terminal has other settings: %s", d)
			}
			storetest.Eventually(t, "the screen is left", func() bool { return shown.has("\x1b[?1049l") })
		})
	}
}

// screenLog keeps what a terminal shows.
type screenLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// from reads a terminal until it is closed.
func (l *screenLog) from(user *os.File) (int64, error) {
	part := make([]byte, 4096)
	for n := int64(0); ; {
		k, err := user.Read(part)
		l.mu.Lock()
		l.text.Write(part[:k])
		l.mu.Unlock()
		if n += int64(k); err != nil {
			return n, err
		}
	}
}

func (l *screenLog) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}
