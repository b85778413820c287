package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const service = "0197c1c0-7f00-7000-8000-000000000001"

// programs is a folder of programs in PATH that stand for those of Slurm: they note how they were called and answer
// what the test says.
type programs struct {
	t   *testing.T
	dir string
}

func newPrograms(t *testing.T) programs {
	p := programs{t: t, dir: t.TempDir()}
	t.Setenv("PATH", p.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return p
}

// answers makes a program print something and end with a status.
func (p programs) answers(name, stdout, stderr string, status int) {
	p.write(name+".stdout", stdout)
	p.write(name+".stderr", stderr)
	p.write(name, fmt.Sprintf(`#!/bin/sh
cd '%s' || exit 99
printf '%%s\n' "$@" >%[2]s.argv
env >%[2]s.env
cat >%[2]s.stdin
cat %[2]s.stderr >&2
cat %[2]s.stdout
exit %[3]d
`, p.dir, name, status))
}

func (p programs) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func (p programs) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

var spec = WorkerSpec{
	Class:    "gpu-80",
	Program:  "/opt/pleat's/bin/pleat",
	Args:     []string{"worker", "--config", "/etc/pleat/worker $(id).yaml", "--until", "3h55m"},
	Walltime: 4 * time.Hour,
	Cores:    8,
	Memory:   64_000_000_000,
	Devices:  1,
	Options:  map[string]string{"partition": "gpu", "qos": "normal", "constraint": "a100|h100"},
}

func TestSubmit(t *testing.T) {
	p := newPrograms(t)
	t.Setenv("PLEAT_SECRET_KEY", "a secret")
	t.Setenv("SBATCH_PARTITION", "elsewhere")
	t.Setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
	p.answers("sbatch", "4711;cluster\n", "", 0)
	ref, err := (&Slurm{Service: service}).Submit(t.Context(), spec)
	if err != nil || ref != "4711" {
		t.Fatalf("Submit: %q, %v; want 4711", ref, err)
	}
	want := []string{
		"--parsable", "--export=NONE", "--job-name=pleat-" + service,
		"--comment=pleat/" + service + "/gpu-80", "--nodes=1", "--ntasks=1", "--requeue", "--open-mode=append", "--chdir=/",
		"--time=240", "--signal=B:TERM@300", "--cpus-per-task=8", "--mem=61036M",
		"--constraint=a100|h100", "--gres=gpu:1", "--output=/dev/null", "--partition=gpu", "--qos=normal",
	}
	if d := cmp.Diff(want, strings.Split(strings.TrimSpace(p.read("sbatch.argv")), "\n")); d != "" {
		t.Errorf("arguments of sbatch (-want +got):\n%s", d)
	}
	script := "#!/bin/sh\numask 077\n" +
		`exec '/opt/pleat'\''s/bin/pleat' 'worker' '--config' '/etc/pleat/worker $(id).yaml' '--until' '3h55m'` + "\n"
	if d := cmp.Diff(script, p.read("sbatch.stdin")); d != "" {
		t.Errorf("script (-want +got):\n%s", d)
	}
	env := p.read("sbatch.env")
	if strings.Contains(env, "a secret") || strings.Contains(env, "SBATCH_") {
		t.Errorf("sbatch got more of the environment than it needs:\n%s", env)
	}
	if !strings.Contains(env, "SLURM_CONF=/etc/slurm/slurm.conf\n") {
		t.Errorf("sbatch did not get SLURM_CONF:\n%s", env)
	}
}

//nolint:paralleltest // newPrograms sets PATH
func TestSubmitFails(t *testing.T) {
	const refusal = "Requested node configuration is not available"
	for name, c := range map[string]struct {
		stdout, stderr string
		status         int
		want           string
		refused        bool
	}{
		"22.05 refuses": {"", "sbatch: error: Batch job submission failed: " + refusal + "\n", 1, refusal, true},
		"23.11 refuses, with a plugin's text": {"", "sbatch: error: lua: use --account\nsbatch: error: " +
			"Batch job submission failed: Unspecified error\n", 1, "Unspecified error", true},
		"24.11 refuses": {"", "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: " +
			"Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n", 1,
			"Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", true},
		"no answer": {"", "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect " +
			"failure)\n", 1, "sbatch: Unable to contact slurm controller (connect failure)", false},
		"ssh fails": {"", "ssh: connect to host login1 port 22: No route to host\n", 255,
			"sbatch: ssh: connect to host login1 port 22: No route to host", false},
		"no words":     {"", "", 3, "sbatch ended with status 3 and no message", true},
		"not a number": {"Submitted\x1b[1m batch job\n", "", 0, `sbatch: the answer "Submitted [1m batch job" is not the number of a job`, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t)
			p.answers("sbatch", c.stdout, c.stderr, c.status)
			_, err := (&Slurm{Service: service}).Submit(t.Context(), spec)
			var refused *RefusedError
			if err == nil || err.Error() != c.want || errors.As(err, &refused) != c.refused {
				t.Errorf("Submit: %q, refused %v; want %q, %v", err, errors.As(err, &refused), c.want, c.refused)
			}
		})
	}
}

//nolint:paralleltest // newPrograms sets PATH
func TestSubmitChecks(t *testing.T) {
	newPrograms(t)
	for name, change := range map[string]func(w *WorkerSpec){
		"class":   func(w *WorkerSpec) { w.Class = "a/b" },
		"program": func(w *WorkerSpec) { w.Program = "pleat" },
		"option":  func(w *WorkerSpec) { w.Options = map[string]string{"partition": "gpu --uid=0"} },
	} {
		w := spec
		change(&w)
		_, err := (&Slurm{Service: service}).Submit(t.Context(), w)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v; want an error that names it", name, err)
		}
	}
}

// TestList reads what different versions print. Later ones write local times where they do not get SLURM_TIME_FORMAT.
func TestList(t *testing.T) {
	ours := "pleat/" + service + "/"
	at := func(s string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04:05", s, time.Local)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for name, c := range map[string]struct {
		text string
		want []Job
	}{
		"nothing": {"", nil},
		"22.05": {
			"12|RUNNING|1795453682|1795453681|" + ours + "gpu|None\n" +
				"13|PENDING|N/A|1795453685|" + ours + "gpu|PartitionTimeLimit\n" +
				"9|COMPLETED|1795453600|1795453599|" + ours + "gpu|None\n" +
				"8|CANCELLED|1795453600|1795453599|" + ours + "gpu|None\n",
			[]Job{
				{Ref: "12", Class: "gpu", State: JobRunning, Submitted: time.Unix(1795453681, 0), Started: time.Unix(1795453682, 0)},
				{Ref: "13", Class: "gpu", State: JobPending, Reason: "PartitionTimeLimit", Submitted: time.Unix(1795453685, 0)},
			},
		},
		"23.11": {
			"20|PENDING|2026-11-23T18:00:00|2026-11-23T17:08:02|" + ours + "a|ReqNodeNotAvail, UnavailableNodes:n[1-2]\n" +
				"21|COMPLETING|2026-11-23T17:00:00|2026-11-23T16:59:59|" + ours + "a|None\n",
			[]Job{
				{
					Ref: "20", Class: "a", State: JobPending, Reason: "ReqNodeNotAvail, UnavailableNodes:n[1-2]",
					Submitted: at("2026-11-23 17:08:02"), ExpectedStart: at("2026-11-23 18:00:00"),
				},
				{
					Ref:       "21",
					Class:     "a",
					State:     JobEnding,
					Submitted: at("2026-11-23 16:59:59"),
					Started:   at("2026-11-23 17:00:00"),
				},
			},
		},
		"24.11": {
			"30|EXPEDITING|N/A|1795453681|" + ours + "a.b_c|JobHeldAdmin\n" +
				"31|PENDING|N/A|1795453681|" + ours + "a|Nodes required for job are DOWN, DRAINED | reserved\n" +
				"32|NODE_FAIL|1795453600|1795453681|" + ours + "a|NodeDown\n",
			[]Job{
				{Ref: "30", Class: "a.b_c", State: JobOther, Submitted: time.Unix(1795453681, 0)},
				{
					Ref:       "31",
					Class:     "a",
					State:     JobPending,
					Reason:    "Nodes required for job are DOWN, DRAINED | reserved",
					Submitted: time.Unix(1795453681, 0),
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t)
			t.Setenv("SQUEUE_FORMAT", "%i")
			p.answers("squeue", c.text, "", 0)
			got, err := (&Slurm{Service: service}).List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("List (-want +got):\n%s", d)
			}
			if env := p.read("squeue.env"); strings.Contains(env, "SQUEUE_") {
				t.Errorf("squeue got a variable that changes what it prints:\n%s", env)
			}
		})
	}
}

// TestListFails checks that a wrong answer is no answer: a job that is missing in a list has ended for the fleet.
//
//nolint:paralleltest // newPrograms sets PATH
func TestListFails(t *testing.T) {
	line := "12|RUNNING|1795453682|1795453681|pleat/" + service + "/gpu|None\n"
	for name, c := range map[string]struct {
		text, stderr string
		status       int
		want         string
	}{
		"no controller": {"", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", 1,
			"squeue: Unable to contact slurm controller"},
		"half a line":   {line + line[:30], "", 0, "ends in the middle of a line"},
		"a banner":      {"Welcome to login1!\n" + line, "", 0, `"Welcome to login1!": it has 1 fields; want 6`},
		"no number":     {strings.Replace(line, "12", "12_[1-3]", 1), "", 0, `"12_[1-3]" is not the number of a job`},
		"state":         {strings.Replace(line, "RUNNING", "R", 1), "", 0, `"R" is not the state`},
		"other service": {strings.Replace(line, service, "other", 1), "", 0, `the comment is "pleat/other/gpu"`},
		"class":         {strings.Replace(line, "/gpu", "/a b", 1), "", 0, "the comment is"},
		"time":          {strings.Replace(line, "1795453682", "now", 1), "", 0, `the start is "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t)
			p.answers("squeue", c.text, c.stderr, c.status)
			jobs, err := (&Slurm{Service: service}).List(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) || jobs != nil {
				t.Errorf("List: %v, %q; want an error with %q", jobs, err, c.want)
			}
		})
	}
}

// TestParseJobs checks that what squeue would print of any jobs is read back, and that an answer from which something
// is missing is refused or reads as the whole lines that are left.
func TestParseJobs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var want []Job
		for range rapid.IntRange(0, 5).Draw(t, "jobs") {
			j := Job{
				Ref:   Ref(fmt.Sprint(rapid.IntRange(1, 1<<31).Draw(t, "number"))),
				Class: rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,62}`).Draw(t, "class"),
				State: JobPending,
				// A line that squeue could print, without line ends.
				Reason:    strings.TrimSpace(rapid.StringMatching(`[ -~]{0,100}`).Draw(t, "reason")),
				Submitted: time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "submitted"), 0),
			}
			word := rapid.SampledFrom([]string{"PENDING", "FAILED"}).Draw(t, "state")
			fmt.Fprintf(&text, "%s|%s|N/A|%d|pleat/%s/%s|%s\n", j.Ref, word, j.Submitted.Unix(), service, j.Class,
				j.Reason)
			if word == "PENDING" {
				want = append(want, j)
			}
		}
		got, err := parseJobs(service, text.String())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("jobs (-want +got):\n%s", d)
		}
		if text.Len() == 0 {
			return
		}
		cut := text.String()[:rapid.IntRange(0, text.Len()-1).Draw(t, "cut")]
		jobs, err := parseJobs(service, cut)
		if whole := cut == "" || strings.HasSuffix(cut, "\n"); whole != (err == nil) {
			t.Fatalf("of %q: %v, %v", cut, jobs, err)
		}
	})
}

func FuzzParseJobs(f *testing.F) {
	f.Add("12|RUNNING|1795453682|1795453681|pleat/" + service + "/gpu|None\n")
	f.Add("13|PENDING|N/A|2026-11-23T17:08:02|pleat/" + service + "/gpu|a|b\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := parseJobs(service, text)
		if err != nil && jobs != nil {
			t.Errorf("jobs beside the error %v", err)
		}
		for _, j := range jobs {
			if CheckClass(j.Class) != nil || !jobNumber.MatchString(string(j.Ref)) || j.State == "" {
				t.Errorf("job %+v of %q", j, text)
			}
		}
	})
}

// TestLogin runs Slurm's programs through a login host: a shell that gets one line, as ssh gives it to the user's.
//
//nolint:paralleltest // newPrograms sets PATH
func TestLogin(t *testing.T) {
	p := newPrograms(t)
	p.write("ssh", "#!/bin/sh\nSQUEUE_USERS=nobody SBATCH_PARTITION=x; export SQUEUE_USERS SBATCH_PARTITION\n"+
		"[ \"$1\" = login1 ] && [ $# = 2 ] && exec sh -c \"$2\"\n")
	p.answers("sbatch", "7\n", "", 0)
	p.answers("squeue", "", "", 0)
	s := &Slurm{Service: service, Login: []string{"ssh", "login1"}}
	w := spec
	w.Options = map[string]string{"output": `/var/log/it's $(touch pwned) "%j".log`}
	if ref, err := s.Submit(t.Context(), w); err != nil || ref != "7" {
		t.Fatalf("Submit: %q, %v", ref, err)
	}
	if argv := p.read("sbatch.argv"); !strings.Contains(argv, `--output=/var/log/it's $(touch pwned) "%j".log`+"\n") {
		t.Errorf("the login host changed an argument:\n%s", argv)
	}
	if stdin := p.read("sbatch.stdin"); !strings.HasPrefix(stdin, "#!/bin/sh\n") {
		t.Errorf("the script is %q", stdin)
	}
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	env := p.read("squeue.env") + p.read("sbatch.env")
	if strings.Contains(env, "SQUEUE_USERS") || strings.Contains(env, "SBATCH_PARTITION") {
		t.Errorf("Slurm's programs got the variables of the login host's user:\n%s", env)
	}
	if !strings.Contains(env, "SLURM_TIME_FORMAT=%s\n") {
		t.Errorf("squeue did not get SLURM_TIME_FORMAT:\n%s", env)
	}
}

//nolint:paralleltest // newPrograms sets PATH
func TestCancel(t *testing.T) {
	p := newPrograms(t)
	p.answers("scancel", "", "", 0)
	s := &Slurm{Service: service}
	if err := s.Cancel(t.Context(), []Ref{"5", "6"}); err != nil {
		t.Fatal(err)
	}
	want := "--quiet\n--state=PENDING\n--name=pleat-" + service + "\n5\n6\n"
	if d := cmp.Diff(want, p.read("scancel.argv")); d != "" {
		t.Errorf("arguments of scancel (-want +got):\n%s", d)
	}
	if err := s.Cancel(t.Context(), []Ref{"--full"}); err == nil {
		t.Error("Cancel takes an option for a job")
	}
}

// TestNoAnswer checks that a program that hangs, with a child that holds its output, is ended with the context.
//
//nolint:paralleltest // newPrograms sets PATH
func TestNoAnswer(t *testing.T) {
	p := newPrograms(t)
	p.write("squeue", "#!/bin/sh\necho >'"+p.dir+"/started'\nsleep 1000 &\nsleep 1000\n")
	ctx, cancel := cancelWhen(t, func() bool { _, err := os.Stat(p.dir + "/started"); return err == nil })
	defer cancel()
	if jobs, err := (&Slurm{Service: service}).List(ctx); err == nil || !strings.Contains(err.Error(), "squeue: ") {
		t.Errorf("List: %v, %v; want an error", jobs, err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]Why{
		"Resources": {"Slurm says Resources: the suitable nodes are busy", false},
		"Priority":  {"Slurm says Priority: jobs of higher priority are first", false},
		"":          {"Slurm gives no reason", false},
		"ReqNodeNotAvail, UnavailableNodes:n1": {
			"Slurm says ReqNodeNotAvail: the nodes that it needs are down, drained or reserved", false,
		},
		"Nodes required for job are DOWN, DRAINED or reserved": {
			"Slurm says Nodes required for job are DOWN: the nodes that it needs are down, drained or reserved", false,
		},
		"SomethingNew": {"Slurm says SomethingNew", false},
		"PartitionTimeLimit": {"Slurm says PartitionTimeLimit: the class's walltime is longer than the partition allows; " +
			"no worker of this class starts until that changes", true},
		"AssocGrpGRES":     {"Slurm says AssocGrpGRES: a limit of the account is reached", false},
		"QOSGrpCpuLimit":   {"Slurm says QOSGrpCpuLimit: a limit of the quality of service is reached", false},
		"QOSMaxGRESPerJob": {"Slurm says QOSMaxGRESPerJob: the class asks for more than one job may have; no worker of this class starts until that changes", true},
		"QOSMaxJobsPerUserLimit": {
			"Slurm says QOSMaxJobsPerUserLimit: a limit of the quality of service is reached", false,
		},
		"QOSNotAllowed": {"Slurm says QOSNotAllowed: the quality of service of the class is not allowed here; " +
			"no worker of this class starts until that changes", true},
		"launch failed requeued held": {
			"Slurm says launch failed requeued held: its start failed and it is held; " +
				"no worker of this class starts until that changes", true,
		},
	} {
		if got := Explain(reason); got != want {
			t.Errorf("Explain(%q) = %+v\nwant %+v", reason, got, want)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver string
		values map[string]string
		want   string // "": accepted
	}{
		{"slurm", nil, ""},
		{"slurm", map[string]string{
			"partition": "gpu,big", "gres": "gpu:a100:2", "account": "lab_1", "qos": "normal", "constraint": "[a100|h100]&nvme",
			"exclude": "n[1-3,7],x1", "output": "/var/log/pleat/%x-%j.log", "nice": "100", "reservation": "r", "licenses": "f@s:1",
		}, ""},
		{"local", map[string]string{"output": "/tmp/w.log"}, ""},
		{"local", map[string]string{"partition": "gpu"}, `the driver local has no option "partition"; its options are output`},
		{"slurm", map[string]string{"partitoin": "gpu"}, `no option "partitoin" (did you mean "partition"?); its options are ` +
			"account, constraint, exclude, gres, licenses, nice, output, partition, qos, reservation"},
		{"slrum", nil, `the driver "slrum" is unknown (did you mean "slurm"?); the drivers are local, slurm`},
		{"slurm", map[string]string{"partition": "gpu\n#SBATCH --uid=0"}, "must be names separated by commas"},
		{"slurm", map[string]string{"partition": "-x"}, "must be names"},
		{"slurm", map[string]string{"partition": ""}, "must be names"},
		{"slurm", map[string]string{"output": "log"}, "must be an absolute path"},
		{"slurm", map[string]string{"output": "/a\nb"}, "must be an absolute path"},
		{"slurm", map[string]string{"nice": "-5"}, "must be a whole number"},
		{"slurm", map[string]string{"gres": strings.Repeat("g", 256)}, "of at most 255 characters"},
		{"slurm", map[string]string{"uid": "0"}, `no option "uid"; its options`},
	} {
		err := CheckOptions(c.driver, c.values)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("CheckOptions(%s, %v): %v; want %q", c.driver, c.values, err, c.want)
		}
	}
}
