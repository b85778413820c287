package msa_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pleat/internal/msa"
)

// Called by the name of the search program, the test binary is one.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "colabfold_search") {
		os.Exit(pretend(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// pretend answers as colabfold_search does: one file per record, chains of a complex joined. The folder of databases
// names a fault.
func pretend(args []string) int {
	if len(args) < 7 || args[3] != "--use-env" || args[5] != "--filter" {
		fmt.Fprintln(os.Stderr, "bad arguments", args)
		return 2
	}
	switch filepath.Base(args[1]) {
	case "fails":
		fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 10_000), "the database is broken")
		return 1
	case "hangs":
		child := exec.Command("sleep", "60")
		child.Stdout = os.Stdout // would keep the pipe open
		_ = child.Start()
		_ = os.WriteFile(filepath.Join(filepath.Dir(args[1]), "child"), []byte(fmt.Sprint(child.Process.Pid)), 0o600)
		time.Sleep(time.Minute)
	case "silent":
		return 0
	}
	if os.Getenv("PLEAT_SECRET_KEY") != "" {
		fmt.Fprintln(os.Stderr, "a secret is in sight")
		return 1
	}
	raw, err := os.ReadFile(args[0])
	if err != nil {
		return 1
	}
	_ = os.Mkdir(args[2], 0o700)
	records := strings.Split(strings.TrimSpace(string(raw)), ">")[1:]
	for _, rec := range records {
		name, sequence, _ := strings.Cut(strings.TrimSpace(rec), "\n")
		chains := strings.Split(sequence, ":")
		out := fmt.Sprintf(">%s\n%s\n>hit\n%s\n", name, sequence, sequence[:1]+"ins-"+sequence[2:])
		if len(chains) > 1 {
			a, b := chains[0], chains[1]
			out = fmt.Sprintf("#%d,%d\t1,1\n>101\t102\n%s%s\n>both\n%s\n>first alone\n%s\n", len(a), len(b), a, b,
				a[:len(a)-1]+"-x"+"Y"+b[1:]+"tail", a+strings.Repeat("-", len(b)))
		}
		out += ">" + strings.Join(args[3:], " ") + "\n" + strings.Repeat("-", len(strings.Join(chains, ""))) + "\n"
		if err := os.WriteFile(filepath.Join(args[2], name+".a3m"), []byte(out), 0o600); err != nil {
			return 1
		}
	}
	return 0
}

func newCommand(t *testing.T, target string) *msa.Command {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "colabfold_search")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	return &msa.Command{
		Program: program,
		Target:  filepath.Join(dir, target),
		Scratch: filepath.Join(dir, "scratch"),
		Threads: 1,
	}
}

func TestColabfoldSearch(t *testing.T) {
	t.Setenv("PLEAT_SECRET_KEY", "hush")
	for mode, want := range map[msa.Mode]string{
		"": "--use-env 1 --filter 1 --threads 1", msa.ModeAll: "--use-env 0 --filter 1 --threads 1",
		msa.ModeNoFilter:    "--use-env 0 --filter 0 --threads 1",
		msa.ModeEnvNoFilter: "--use-env 1 --filter 0 --threads 1",
	} {
		c := newCommand(t, "db")
		c.Mode = mode
		out, err := c.Search(context.Background(), []string{seqA, seqB}, msa.PairNone, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]msa.Row{{Name: "102", Text: seqB}, {Name: "hit", Text: "Gins-HMLEDP"},
			{Name: want, Text: "--------"}}, out[1].Rows); d != "" {
			t.Error(d)
		}
		left, err := os.ReadDir(c.Scratch)
		if err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestColabfoldSearchPairs(t *testing.T) {
	t.Parallel()
	c := newCommand(t, "db")
	out, err := c.Search(context.Background(), []string{seqA, seqB}, msa.PairGreedy, quiet)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{seqA, "MKTAYIA-"}, {seqB, "xYSHMLEDPtail"}}
	if d := cmp.Diff(want, [][]string{texts(out[0]), texts(out[1])}); d != "" {
		t.Error(d)
	}
	if !c.Pairs() || (&msa.Command{Program: "/usr/bin/mmseqs"}).Pairs() {
		t.Error("colabfold_search pairs, and mmseqs does not")
	}
}

func TestCommandFaults(t *testing.T) {
	t.Parallel()
	for target, c := range map[string]struct {
		want  string
		retry bool
	}{"fails": {"the search program failed", true}, "silent": {"the search program wrote no alignment", false}} {
		cmd := newCommand(t, target)
		_, err := cmd.Search(context.Background(), []string{seqA}, msa.PairNone, quiet)
		wantError(t, err, c.want, c.retry)
		if target == "fails" && (!strings.Contains(err.Error(), "the database is broken") || len(err.Error()) > 5000) {
			t.Errorf("%d bytes: %.100s", len(err.Error()), err)
		}
	}
	gone := newCommand(t, "db")
	gone.Program += "_gone"
	_, err := gone.Search(context.Background(), []string{seqA}, msa.PairNone, quiet)
	wantError(t, err, "the search program cannot be started", false)
	if msa.CheckProgram("/bin/sh") == nil || msa.CheckProgram("/opt/mmseqs/bin/mmseqs") != nil {
		t.Error("programs are colabfold_search and mmseqs")
	}
}

// A cancelled search takes with it what the program had started.
func TestCancelEndsTheProgram(t *testing.T) {
	t.Parallel()
	c := newCommand(t, "hangs")
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	note := filepath.Join(filepath.Dir(c.Target), "child")
	go func() {
		for {
			if b, err := os.ReadFile(note); err == nil && len(b) > 0 {
				cancel(stop)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := c.Search(ctx, []string{seqA}, msa.PairNone, quiet)
	if !errors.Is(err, stop) {
		t.Errorf("ended with %v", err)
	}
	pid, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile("/proc/" + string(pid) + "/stat")
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the program's child lives on")
		}
	}
}

// With the real mmseqs: close relatives are found and aligned, and a stranger is not.
func TestRealMMseqs(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("mmseqs")
	if err != nil {
		t.Skip("mmseqs is not installed")
	}
	dir := t.TempDir()
	const ubiquitin = "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG"
	const nedd8 = "MLIKVKTLTGKEIEIDIEPTDKVERIKERVEEKEGIPPQQQRLIYSGKQMNDEKTAADYKILGGSVLHLVLALRGG"
	const villin = "LSDEDFKAVFGMTRSAFANLPLWKQQNLKKEKGLF"
	fasta := filepath.Join(dir, "db.fasta")
	if err := os.WriteFile(fasta, []byte(">ubiquitin\n"+ubiquitin+"\n>nedd8\n"+nedd8+"\n>villin\n"+villin+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "db")
	if out, err := exec.Command(program, "createdb", fasta, target).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := &msa.Command{Program: program, Target: target, Scratch: filepath.Join(dir, "scratch"), Threads: 1}
	query := ubiquitin[:40] + "A" + ubiquitin[41:]
	ctx, done := context.WithTimeout(context.Background(), 2*time.Minute)
	defer done()
	out, err := c.Search(ctx, []string{query, villin}, msa.PairNone, quiet)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range out[0].Rows {
		name, _, _ := strings.Cut(r.Name, "\t")
		found[name] = r.Aligned()
	}
	if found["ubiquitin"] != ubiquitin || found["nedd8"] == "" || found["villin"] != "" || len(out[1].Rows) < 2 {
		t.Errorf("found %v and %v", found, out[1].Rows)
	}
	if x := msa.Identity(query, found["ubiquitin"]); x != 75.0/76 {
		t.Errorf("identity %v, want 75 of 76", x)
	}
}
