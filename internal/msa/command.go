package msa

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command searches on this machine, by ColabFold's colabfold_search or by mmseqs alone. No shell is involved, and what
// the program gets from a job is a file with its sequences.
type Command struct {
	Program string // path of colabfold_search, or of mmseqs
	Target  string // what it searches: colabfold_search's folder of databases, or mmseqs' database
	Mode    Mode   // empty: ModeEnv; of no meaning to mmseqs
	Threads int    // 0: one per core
	Scratch string // folder below which each search has a folder of its own, removed in the end
}

// colabfold reports which of the two programs it is.
func (c *Command) colabfold() bool {
	return strings.HasPrefix(filepath.Base(c.Program), "colabfold_search")
}

// CheckProgram refuses a path that names neither program.
func CheckProgram(path string) error {
	base := filepath.Base(path)
	if !strings.HasPrefix(base, "colabfold_search") && !strings.HasPrefix(base, "mmseqs") {
		return errors.New("must name colabfold_search or mmseqs")
	}
	return nil
}

// Database names the program, what it searches and the mode.
func (c *Command) Database() string {
	name := filepath.Base(c.Program) + " " + c.Target
	if c.colabfold() {
		name += " " + string(c.mode())
	}
	return name
}

// Pairs reports whether rows can be paired: mmseqs alone knows no organisms.
func (c *Command) Pairs() bool { return c.colabfold() }

func (c *Command) mode() Mode {
	if c.Mode == "" {
		return ModeEnv
	}
	return c.Mode
}

// Search runs the program in a fresh folder.
func (c *Command) Search(ctx context.Context, sequences []string, pairing Pairing, say func(string)) ([]*Alignment,
	error) {
	scratch, err := filepath.Abs(c.Scratch) // the program runs in its folder
	if err == nil {
		err = os.MkdirAll(scratch, 0o700)
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(scratch, "msa-")
	}
	if err != nil {
		return nil, &Error{Message: "the worker has no room to search in", Retry: true, Err: err}
	}
	defer os.RemoveAll(dir)
	say("searching for related sequences")
	r := run{Command: c, dir: dir, sequences: sequences}
	var out []*Alignment
	switch {
	case !c.colabfold():
		out, err = r.mmseqs(ctx)
	case pairing != PairNone:
		out, err = r.pair(ctx, pairing)
	default:
		out, err = r.colabfold(ctx)
	}
	var told *Error
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &told):
		return nil, err
	}
	return nil, &Error{Message: "the search program's alignment cannot be used", Err: err}
}

// run is one search in its folder.
type run struct {
	*Command
	dir       string
	sequences []string
}

func (r *run) path(name string) string { return filepath.Join(r.dir, name) }

// query writes the sequences, one record each, or all in one record as the chains of a complex.
func (r *run) query(together bool) error {
	var b strings.Builder
	if together {
		fmt.Fprintf(&b, ">%d\n%s\n", firstID, strings.Join(r.sequences, ":"))
	} else {
		for i, s := range r.sequences {
			fmt.Fprintf(&b, ">%d\n%s\n", firstID+i, s)
		}
	}
	return os.WriteFile(r.path("query.fasta"), []byte(b.String()), 0o600)
}

func (r *run) threads() []string {
	if r.Threads == 0 {
		return nil
	}
	return []string{"--threads", strconv.Itoa(r.Threads)}
}

func (r *run) search(ctx context.Context, together bool, more ...string) error {
	if err := r.query(together); err != nil {
		return err
	}
	env, filter := "0", "1"
	if m := r.mode(); m == ModeEnv || m == ModeEnvNoFilter {
		env = "1"
	}
	if m := r.mode(); m == ModeNoFilter || m == ModeEnvNoFilter {
		filter = "0"
	}
	args := append([]string{r.path("query.fasta"), r.Target, r.path("out"), "--use-env", env, "--filter", filter},
		more...)
	return r.exec(ctx, append(args, r.threads()...)...)
}

// colabfold finds one file per record, named by it.
func (r *run) colabfold(ctx context.Context) ([]*Alignment, error) {
	if err := r.search(ctx, false); err != nil {
		return nil, err
	}
	return r.each(func(i int) string { return filepath.Join("out", strconv.Itoa(firstID+i)+".a3m") })
}

// pair finds one file whose rows run through all chains.
func (r *run) pair(ctx context.Context, pairing Pairing) ([]*Alignment, error) {
	strategy := "0"
	if pairing == PairComplete {
		strategy = "1"
	}
	if err := r.search(ctx, true, "--pair-mode", "paired", "--pairing_strategy", strategy); err != nil {
		return nil, err
	}
	whole, err := r.read(filepath.Join("out", strconv.Itoa(firstID)+".a3m"), strings.Join(r.sequences, ""))
	if err != nil {
		return nil, err
	}
	return cut(whole, r.sequences), nil
}

// mmseqs searches in three rounds, as ColabFold does in its first database, and writes one file per query.
func (r *run) mmseqs(ctx context.Context) ([]*Alignment, error) {
	if err := r.query(false); err != nil {
		return nil, err
	}
	q, res, tmp, all := r.path("query"), r.path("result"), r.path("tmp"), r.path("all")
	for _, args := range [][]string{
		{"createdb", r.path("query.fasta"), q, "--shuffle", "0", "--dbtype", "1"},
		slices.Concat([]string{"search", q, r.Target, res, tmp, "--num-iterations", "3", "-a", "-e", "0.1",
			"--max-seqs", "10000"}, r.threads()),
		slices.Concat([]string{"result2msa", q, r.Target, res, all, "--msa-format-mode", "6"}, r.threads()),
		slices.Concat([]string{"unpackdb", all, r.path("out"), "--unpack-name-mode", "0", "--unpack-suffix", ".a3m"},
			r.threads()),
	} {
		if err := r.exec(ctx, args...); err != nil {
			return nil, err
		}
	}
	return r.each(func(i int) string { return filepath.Join("out", strconv.Itoa(i)+".a3m") })
}

func (r *run) each(name func(i int) string) ([]*Alignment, error) {
	out := make([]*Alignment, len(r.sequences))
	for i, s := range r.sequences {
		var err error
		if out[i], err = r.read(name(i), s); err != nil {
			return nil, err
		}
		out[i].Rows[0].Name = strconv.Itoa(firstID + i)
	}
	return out, nil
}

func (r *run) read(name, query string) (*Alignment, error) {
	in, err := os.Open(r.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &Error{Message: "the search program wrote no alignment", Err: err}
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return Read(skipNUL{in}, query)
}

// skipNUL drops the bytes with which mmseqs ends an entry.
type skipNUL struct{ r io.Reader }

func (s skipNUL) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	return len(slices.DeleteFunc(p[:n], func(c byte) bool { return c == 0 })), err
}

// cut takes rows that run through several sequences apart. Rows that cover one sequence alone are no pairs and are
// left out.
func cut(whole *Alignment, sequences []string) []*Alignment {
	out := make([]*Alignment, len(sequences))
	for i := range out {
		out[i] = &Alignment{}
	}
	for k, row := range whole.Rows {
		parts, covered := make([]string, len(sequences)), 0
		text := row.Text
		for i, s := range sequences {
			end := columnEnd(text, len(s), i == len(sequences)-1)
			parts[i], text = text[:end], text[end:]
			if strings.Trim(parts[i], "-") != "" {
				covered++
			}
		}
		if k > 0 && covered < 2 {
			continue
		}
		for i, p := range parts {
			out[i].Rows = append(out[i].Rows, Row{row.Name, p})
		}
	}
	for i, a := range out {
		a.Rows[0].Name = strconv.Itoa(firstID + i)
	}
	return out
}

// columnEnd is where the first n columns of a row end; insertions that follow belong to them where they are the last.
func columnEnd(text string, n int, last bool) int {
	if last {
		return len(text)
	}
	for i := range len(text) {
		if c := text[i]; c < 'a' || c > 'z' {
			if n--; n == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// environment is what the program sees of the service's own: nothing secret.
func (r *run) environment() []string {
	env := []string{"HOME=" + r.dir, "TMPDIR=" + r.dir, "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// exec runs the program to its end, or ends it with all that it started.
func (r *run) exec(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, r.Program, args...)
	var said tail
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.environment(), &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if cmd.Process != nil {
		_ = cmd.Cancel() // what it started may outlive it
	}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &Error{Message: "the search program cannot be started", Err: err}
	}
	return &Error{Message: "the search program failed", Retry: true, Err: fmt.Errorf("%w: %s", err, said.text())}
}

// tail keeps the end of what a program says.
type tail struct{ kept []byte }

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[max(0, len(p)-tailBytes):]...)
	if extra := len(t.kept) - tailBytes; extra > 0 {
		t.kept = t.kept[extra:]
	}
	return len(p), nil
}

func (t *tail) text() string { return string(bytes.ToValidUTF8(bytes.TrimSpace(t.kept), []byte("?"))) }
