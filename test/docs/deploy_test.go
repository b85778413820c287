package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"pleat"
	"pleat/internal/cli"
	"pleat/internal/cli/program"
	"pleat/internal/config"
	"pleat/runners"
)

// composeFile is what the test reads of deploy/compose.yaml.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		Volumes     []string
		Ports       []string
		DependsOn   yaml.Node `yaml:"depends_on"`
	}
	Volumes map[string]any
}

// readYAML reads a file of deploy.
func readYAML(t *testing.T, name string, to any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err == nil {
		err = yaml.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// The commands, flags, settings, images and files that deploy/compose.yaml names exist, and no port is public.
func TestCompose(t *testing.T) {
	var file composeFile
	readYAML(t, "compose.yaml", &file)
	images := map[string]bool{ // of Pleat: those that tools/images makes
		"pleat-server:${PLEAT_VERSION:?}":                          true,
		"pleat-worker-${PLEAT_ENGINE:-example}:${PLEAT_VERSION:?}": true,
	}
	ours := 0
	for name, s := range file.Services {
		if images[s.Image] {
			ours++
			checkCommand(t, s.Command)
			checkSettings(t, name, s.Environment)
		} else if !regexp.MustCompile(`^[a-z0-9./-]+/?[a-z0-9-]+:v?\d[\d.]*$`).MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: the port %s is reachable from other machines", name, p)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			_, named := file.Volumes[from]
			if _, err := os.Stat(filepath.Join("../../deploy", from)); err != nil && !named {
				t.Errorf("%s: there is no volume or file %s", name, from)
			}
		}
	}
	if ours != 2 {
		t.Errorf("%d services run Pleat", ours)
	}
	var prometheus struct {
		Scrape []struct {
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "compose/prometheus.yaml", &prometheus)
	for _, target := range prometheus.Scrape[0].Static[0].Targets {
		host, _, _ := strings.Cut(target, ":")
		if _, ok := file.Services[host]; !ok {
			t.Errorf("Prometheus reads %s, which is no service", target)
		}
	}
}

// checkCommand fails the test unless the program has a command with these flags.
func checkCommand(t *testing.T, argv []string) {
	t.Helper()
	cmd, rest, err := program.New(cli.Hooks{}).Find(argv)
	if err != nil || !cmd.Runnable() {
		t.Errorf("pleat %s: %v", strings.Join(argv, " "), err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("pleat %s: %v", strings.Join(argv, " "), err)
	}
	if args := cmd.Flags().Args(); len(args) > 0 {
		t.Errorf("pleat %s: %q are no flags", strings.Join(argv, " "), args)
	}
}

// checkSettings fails the test unless the variables of Pleat in an environment are those of settings.
func checkSettings(t *testing.T, where string, env map[string]string) {
	t.Helper()
	var known []string
	var c config.Config
	for _, s := range c.Settings() {
		known = append(known, s.Variable())
	}
	for name := range env {
		if strings.HasPrefix(name, "PLEAT_") && !slices.Contains(known, name) {
			t.Errorf("%s: no setting has the variable %s", where, name)
		}
	}
}

// The script of a job for Slurm runs the worker with flags that it has, and gives it nothing of its environment.
func TestSlurmScript(t *testing.T) {
	text, err := os.ReadFile("../../deploy/slurm/worker.sbatch")
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"--export=NONE", "--requeue", "--signal=B:TERM@120", "--output=/dev/null"} {
		if !strings.Contains(string(text), "\n#SBATCH "+option+"\n") {
			t.Errorf("the script lacks %s", option)
		}
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "pleat")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nfor a; do echo \"$a\"; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	job := strings.Replace(string(text), "exec /opt/pleat/bin/pleat ", "exec "+program+" ", 1)
	cmd := exec.Command("sh", "-s")
	cmd.Stdin = strings.NewReader(job)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	argv := strings.Split(strings.TrimSpace(string(out)), "\n")
	if argv[0] != "worker" || !slices.Contains(argv, "--until") {
		t.Errorf("the job runs %q", argv)
	}
	checkCommand(t, argv)
}

// The file of classes has known keys and engines.
func TestSlurmClasses(t *testing.T) {
	var file struct{ Classes []map[string]any }
	readYAML(t, "slurm/classes.yaml", &file)
	known := []string{
		"name", "engines", "device-memory", "memory", "cores", "devices", "walltime", "idle-exit", "min-workers",
		"max-workers", "target-wait", "isolation", "alignments", "driver", "options",
	}
	for _, class := range file.Classes {
		for key := range class {
			if !slices.Contains(known, key) {
				t.Errorf("the class %v has the unknown key %s", class["name"], key)
			}
		}
		for _, e := range class["engines"].([]any) {
			if name := e.(string); !slices.Contains(runners.Names(), name) && !pleat.IsBuiltIn(name) {
				t.Errorf("the class %v has the unknown engine %s", class["name"], name)
			}
		}
	}
	if len(file.Classes) < 2 {
		t.Errorf("there are %d classes", len(file.Classes))
	}
}
