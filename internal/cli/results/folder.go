package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// runFile is the file of a folder that says which run the other files belong to. The server's own files cannot: equal
// runs share them.
const runFile = "pleat-run.json"

// maxRunFile bounds a runFile in bytes.
const maxRunFile = 1 << 20

// SavedRun is the content of runFile: a job with its run, or a workflow.
type SavedRun struct {
	Kind    string   `json:"kind"` // job or workflow
	ID      string   `json:"id"`
	Run     string   `json:"run,omitempty"` // of a job
	Name    string   `json:"name"`
	Created api.Time `json:"created"`
	Files   []string `json:"files"`
}

// String describes the run for messages.
func (r SavedRun) String() string {
	text := r.ID
	if r.Run != "" {
		text += ", run " + r.Run
	}
	return fmt.Sprintf("the %s %q (%s, created %s)", r.Kind, pleat.Clip(r.Name), text, r.Created.Format(time.DateTime))
}

// Folder is a folder for the files of one run.
type Folder struct {
	Dir   string
	Force bool // replace the files of another run, and files that have the names of this one's
}

// AddFlags adds the flags of a command that saves the files of a run; standard describes the default folder.
func AddFlags(cmd *cobra.Command, standard string) {
	cmd.Flags().String("out", "", "folder for the files; default: "+standard)
	cmd.Flags().Bool("force", false, "replace the files that the folder has of another run")
}

// FolderOf returns the folder of the flags. Its dir is empty if none was given.
func FolderOf(cmd *cobra.Command) Folder {
	return Folder{Dir: cli.FlagText(cmd, "out"), Force: cli.IsOn(cmd, "force")}
}

// Or returns the folder, or that of a name if none was given.
func (f Folder) Or(dir string) Folder {
	if f.Dir == "" {
		f.Dir = dir
	}
	return f
}

// Sub returns a folder in the folder; none if none was given.
func (f Folder) Sub(name string) Folder {
	if f.Dir != "" {
		f.Dir = filepath.Join(f.Dir, name)
	}
	return f
}

// MaxNamePart bounds each part of a folder's name, in bytes: file systems bound a name at 255.
const MaxNamePart = 60

// UnusedName returns a name, with a number behind it if one of the sets has it, and adds it to the first set.
func UnusedName(name string, used map[string]bool, others ...map[string]bool) string {
	unique := name
	taken := func(set map[string]bool) bool { return set[unique] }
	for n := 2; used[unique] || slices.ContainsFunc(others, taken); n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	used[unique] = true
	return unique
}

// everyRun are files that every run of a job or a simulation has.
var everyRun = []string{"config.json", "metrics.json", "results.zip"}

// CheckNew returns a usage error if a run that does not exist yet could not be saved in the folder, so that none is
// started in vain.
func (f Folder) CheckNew() error {
	if f.Dir == "" {
		return nil
	}
	if info, err := os.Stat(f.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil && !info.IsDir() {
		return cli.Usagef("%s is a file; --out must be a folder", f.Dir)
	}
	root, err := openFolder(f.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := f.check(root, SavedRun{Files: everyRun}); err != nil {
		return cli.UsageError(err)
	}
	return nil
}

// openFolder opens a folder for results, and createFolder creates it first if it does not exist.
func openFolder(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for the results: %w", err)
	}
	return root, nil
}

func createFolder(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create the folder for the results: %w", err)
	}
	return openFolder(dir)
}

// check returns an error if saving a run in the folder would replace files of another run or of anything else.
func (f Folder) check(root *os.Root, run SavedRun) error {
	const instead = "choose another folder with --out, or replace them with --force"
	if f.Force {
		return nil
	}
	has, err := SavedIn(root)
	switch {
	case err != nil:
		return fmt.Errorf("the folder %s has a file %s that cannot be read: %w; %s", f.Dir, runFile, err, instead)
	case has != nil && (has.Kind != run.Kind || has.ID != run.ID || has.Run != run.Run):
		return fmt.Errorf("the folder %s has the files of %s; %s", f.Dir, has, instead)
	case has != nil:
		return nil
	}
	var there []string
	for _, name := range run.Files {
		if _, err := root.Lstat(name); err == nil {
			there = append(there, name)
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("the folder %s has %s, which the results would replace; %s", f.Dir,
			strings.Join(there[:min(len(there), 3)], ", "), instead)
	}
	return nil
}

// SavedIn returns the run whose files a folder has; nil if it has no runFile.
func SavedIn(root *os.Root) (*SavedRun, error) {
	in, err := root.Open(runFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var run SavedRun
	b, err := io.ReadAll(io.LimitReader(in, maxRunFile))
	if err == nil {
		err = json.Unmarshal(b, &run)
	}
	return &run, err
}

// Save downloads the files of a run into the folder, which it creates, and returns their paths, with that of the
// runFile as the last. It may be repeated for the same run. Files that the folder has of another run are removed if
// force allows it: a folder has the files of one run. A file gets its name once its SHA-256 was checked. The names come
// from a server, so that a name that is not plain is refused and nothing is written outside the folder.
func (f Folder) Save(
	cmd *cobra.Command, c *api.Client, run SavedRun, artifacts []api.Artifact,
) ([]string, error) {
	run.Files = []string{}
	for _, a := range artifacts {
		if !plainName(a.Name) || a.Name == runFile {
			return nil, fmt.Errorf("the server names a file %q, which is not a plain name", pleat.Clip(a.Name))
		}
		run.Files = append(run.Files, a.Name)
	}
	root, err := createFolder(f.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := f.claim(root, run); err != nil {
		return nil, err
	}
	var paths []string
	for _, a := range artifacts {
		if err := fetch(cmd, c, a, root); err != nil {
			return nil, err
		}
		paths = append(paths, filepath.Join(f.Dir, a.Name))
	}
	return append(paths, filepath.Join(f.Dir, runFile)), nil
}

// claim makes the folder that of a run: it removes what is left of another one, and writes the runFile before the
// files, so that an interrupted download can be repeated.
func (f Folder) claim(root *os.Root, run SavedRun) error {
	if err := f.check(root, run); err != nil {
		return err
	}
	if before, _ := SavedIn(root); before != nil { // with force, an unreadable one is replaced
		for _, name := range before.Files {
			if plainName(name) && !slices.Contains(run.Files, name) {
				_ = root.Remove(name) // it may be gone already
			}
		}
	}
	b, err := api.EncodeIndent(run)
	if err != nil {
		return err
	}
	if err := root.WriteFile(runFile, b, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", runFile, err)
	}
	return nil
}

// plainName reports whether a name is that of a file in the folder itself.
func plainName(name string) bool {
	return name != "" && filepath.IsLocal(name) && !strings.ContainsAny(name, `/\`)
}

// fetch downloads one artifact into a folder, first under a temporary name, which it removes after an error.
func fetch(cmd *cobra.Command, c *api.Client, a api.Artifact, root *os.Root) error {
	part := "." + a.Name + ".part"
	f, err := root.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", a.Name, err)
	}
	err = c.Download(cmd.Context(), a, f)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("write %s: %w", a.Name, cerr)
	}
	if err == nil {
		err = root.Rename(part, a.Name)
	}
	if err != nil {
		_ = root.Remove(part) // err has the reason
		return err
	}
	return nil
}

// SaveArtifacts downloads the files that a workflow's result names into a folder, and prints a table about them and
// their paths. Files that the server does not offer for download are left out.
func SaveArtifacts(cmd *cobra.Command, c *api.Client, w *api.Workflow, folder Folder, table [][]string) error {
	var r api.MDResult
	if err := json.Unmarshal(w.Tasks[0].Result, &r); err != nil {
		return fmt.Errorf("read the result: %w", err)
	}
	var files []api.Artifact
	for _, a := range r.Artifacts {
		if a.URL != "" {
			files = append(files, api.Artifact{Name: a.Path, URL: a.URL, Bytes: a.SizeBytes})
		}
	}
	run := SavedRun{Kind: "workflow", ID: w.ID, Name: w.Name, Created: w.CreatedAt}
	paths, err := folder.Save(cmd, c, run, files)
	if err != nil {
		return err
	}
	return Print(cmd, table, paths)
}

// Print prints a table about what was saved, and the paths of the files.
func Print(cmd *cobra.Command, table [][]string, paths []string) error {
	if err := cli.PrintTable(cmd.OutOrStdout(), table); err != nil {
		return err
	}
	for _, p := range paths {
		fmt.Fprintln(cmd.OutOrStdout(), p)
	}
	return nil
}
