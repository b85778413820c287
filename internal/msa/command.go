package msa

import (
	"bytes"
	"cmp"
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

// Command searches on this machine with ColabFold's colabfold_search or with mmseqs. It uses no shell; of a job, the
// program gets a file with the sequences only.
type Command struct {
	Program string // path of colabfold_search, or of mmseqs
	Target  string // the folder of databases for colabfold_search, or the database for mmseqs
	Mode    Mode   // empty: ModeEnv; mmseqs ignores it
	Threads int    // 0: one per core
	Scratch string // each search creates a folder in it and removes it at the end
}

// colabfold reports whether the program is colabfold_search.
func (c *Command) colabfold() bool {
	return strings.HasPrefix(filepath.Base(c.Program), "colabfold_search")
}

// CheckProgram returns an error if a path names neither program.
func CheckProgram(path string) error {
	base := filepath.Base(path)
	if !strings.HasPrefix(base, "colabfold_search") && !strings.HasPrefix(base, "mmseqs") {
		return errors.New("must name colabfold_search or mmseqs")
	}
	return nil
}

// Database returns the program, the target and the mode.
func (c *Command) Database() string {
	name := filepath.Base(c.Program) + " " + c.Target
	if c.colabfold() {
		name += " " + string(c.mode())
	}
	return name
}

// Pairs reports whether rows can be paired; mmseqs does not know the organism of a row.
func (c *Command) Pairs() bool { return c.colabfold() }

func (c *Command) mode() Mode {
	return cmp.Or(c.Mode, ModeEnv)
}

// Search implements Searcher. It runs the program in a new folder, which it removes at the end.
func (c *Command) Search(ctx context.Context, sequences []string, pairing Pairing, report func(string)) ([]*Alignment,
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
		return nil, &Error{Message: "the worker cannot create a folder for the search", Retry: true, Err: err}
	}
	defer os.RemoveAll(dir)
	report("searching for related sequences")
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
	var known *Error
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &known):
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

// path returns the path of a file in the folder.
func (r *run) path(name string) string { return filepath.Join(r.dir, name) }

// writeQuery writes the query file, one record for each element of records.
func (r *run) writeQuery(records []string) error {
	return os.WriteFile(r.path("query.fasta"), fasta(records), 0o600)
}

// threads returns the arguments for the number of threads; none: the program uses every core.
func (r *run) threads() []string {
	if r.Threads == 0 {
		return nil
	}
	return []string{"--threads", strconv.Itoa(r.Threads)}
}

// search runs colabfold_search on the records. Chains of a complex are one record, separated by colons.
func (r *run) search(ctx context.Context, records []string, more ...string) error {
	if err := r.writeQuery(records); err != nil {
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

// colabfold searches for each sequence. The program writes one file for each record.
func (r *run) colabfold(ctx context.Context) ([]*Alignment, error) {
	if err := r.search(ctx, r.sequences); err != nil {
		return nil, err
	}
	return r.readAll(func(i int) string { return filepath.Join("out", strconv.Itoa(firstID+i)+".a3m") })
}

// pair searches for paired rows. The program writes one file whose rows span all chains.
func (r *run) pair(ctx context.Context, pairing Pairing) ([]*Alignment, error) {
	strategy := "0"
	if pairing == PairComplete {
		strategy = "1"
	}
	if err := r.search(ctx, []string{strings.Join(r.sequences, ":")}, "--pair-mode", "paired", "--pairing_strategy",
		strategy); err != nil {
		return nil, err
	}
	in, err := r.open(filepath.Join("out", strconv.Itoa(firstID)+".a3m"))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readPairs(skipNUL{in}, r.sequences)
}

// mmseqs searches in three iterations, as ColabFold does in its first database, and writes one file for each query.
func (r *run) mmseqs(ctx context.Context) ([]*Alignment, error) {
	if err := r.writeQuery(r.sequences); err != nil {
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
	return r.readAll(func(i int) string { return filepath.Join("out", strconv.Itoa(i)+".a3m") })
}

// readAll reads the alignment of every sequence from the file that name returns for its index.
func (r *run) readAll(name func(i int) string) ([]*Alignment, error) {
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

// open opens an alignment in the folder. That the file is missing is the program's fault, and permanent.
func (r *run) open(name string) (*os.File, error) {
	in, err := os.Open(r.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, &Error{Message: "the search program wrote no alignment", Err: err}
	}
	return in, err
}

// read reads one alignment from the folder.
func (r *run) read(name, query string) (*Alignment, error) {
	in, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return Read(skipNUL{in}, query)
}

// skipNUL removes the NUL bytes with which mmseqs ends an entry.
type skipNUL struct{ r io.Reader }

func (s skipNUL) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	return len(slices.DeleteFunc(p[:n], func(c byte) bool { return c == 0 })), err
}

// environment returns the variables for the program: no secrets of the service, and the folder of the search as the
// place for temporary files.
func (r *run) environment() []string {
	env := []string{"HOME=" + r.dir, "TMPDIR=" + r.dir, "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// exec runs the program. When ctx ends, it kills the whole process group.
func (r *run) exec(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, r.Program, args...)
	var output tail
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.environment(), &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if cmd.Process != nil {
		_ = cmd.Cancel() // its children may outlive it
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return &Error{Message: "the search program cannot be started", Err: err}
	}
	return &Error{Message: "the search program failed", Retry: true, Err: fmt.Errorf("%w: %s", err, output.String())}
}

// tail is a writer that keeps the last tailBytes bytes.
type tail struct{ last []byte }

// tailBytes is how much of a failed program's output goes into the log.
const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p[max(0, len(p)-tailBytes):]...)
	if extra := len(t.last) - tailBytes; extra > 0 {
		t.last = t.last[extra:]
	}
	return len(p), nil
}

// String returns the bytes as trimmed, valid UTF-8.
func (t *tail) String() string {
	return string(bytes.ToValidUTF8(bytes.TrimSpace(t.last), []byte("?")))
}
