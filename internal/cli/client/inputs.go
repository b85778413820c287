package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/internal/cli"
	"pleat/internal/format"
)

// maxFolderFiles bounds the files of a folder of inputs.
const maxFolderFiles = 10_000

// inputEndings are the endings of the files of a folder that are inputs. Others, such as alignments, are there for the
// inputs that name them.
var inputEndings = []string{".fasta", ".fa", ".faa", ".fas", ".yaml", ".yml", ".json", ".csv", ".tsv"}

// isFolder reports whether a path is that of a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// inputFolder are the inputs in a folder, and the files that they name.
type inputFolder struct {
	dir   string
	from  *sources
	files []inputFile // by name
}

// inputFile is one input of a folder.
type inputFile struct {
	name string
	jobs int
	err  error // why it cannot be read; nil: it can
}

// stem is the name of the file without its ending.
func (f *inputFile) stem() string { return inputStem(f.name) }

// inputStem is the name of an input without its folder and endings.
func inputStem(path string) string {
	name := pleat.StoredName(filepath.Base(path))
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// openInputs reads all inputs of a folder once, to find their faults and what they name. The files that an input names
// are not inputs. The caller must close the sources.
func openInputs(cmd *cobra.Command, dir string, opt format.Options) (*inputFolder, error) {
	from, err := openSources(cmd, dir)
	if err != nil {
		return nil, err
	}
	in := &inputFolder{dir: dir, from: from}
	if err := in.list(cmd); err != nil {
		from.close()
		return nil, err
	}
	for i := range in.files {
		f := &in.files[i]
		got, err := in.read(f, opt, from, from.files())
		f.jobs, f.err = len(got.Jobs), err
		if err := cmd.Context().Err(); err != nil {
			from.close()
			return nil, err
		}
	}
	named := map[string]bool{}
	for _, f := range from.found {
		if f.folder == from.folders[0] {
			named[f.path] = true
		}
	}
	in.files = slices.DeleteFunc(in.files, func(f inputFile) bool { return named[f.name] })
	if len(in.files) == 0 {
		from.close()
		return nil, cli.Usagef("the folder %s has no file to fold; their names end in %s", dir,
			strings.Join(inputEndings, ", "))
	}
	return in, nil
}

// list finds the inputs of the folder by their names, and prints what else it has.
func (in *inputFolder) list(cmd *cobra.Command) error {
	entries, err := fs.ReadDir(in.from.folders[0].root.FS(), ".") // sorted by name
	if err != nil {
		return err
	}
	folders := 0
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			folders++
		case slices.Contains(inputEndings, strings.ToLower(filepath.Ext(pleat.StoredName(name)))):
			in.files = append(in.files, inputFile{name: name})
		}
	}
	if len(in.files) > maxFolderFiles {
		return cli.Usagef("the folder %s has %d files to fold; at most %d are taken at once", in.dir, len(in.files),
			maxFolderFiles)
	}
	if folders > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: the folders in %s are not read: %d\n", in.dir, folders)
	}
	return nil
}

// text returns the text of an input. The structures inside it become sources, which it names.
func (in *inputFolder) text(f *inputFile, from *sources) (string, error) {
	root := in.from.folders[0].root
	info, err := root.Stat(f.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the file is gone, or a link to nothing")
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("it is not a file")
	}
	r, err := root.Open(f.name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := readText(r, "the file", format.MaxDetach)
	if err != nil {
		return "", err
	}
	return from.detach(text)
}

// read reads an input with what the options and files say. The structures inside it become sources.
func (in *inputFolder) read(
	f *inputFile, opt format.Options, from *sources, files format.Files,
) (format.Imported, error) {
	text, err := in.text(f, from)
	if err != nil {
		return format.Imported{}, err
	}
	return in.parse(f, text, opt, files)
}

// parse is read for an input whose text is known.
func (in *inputFolder) parse(
	f *inputFile, text string, opt format.Options, files format.Files,
) (format.Imported, error) {
	opt.Name, opt.Files = pleat.Clip(f.stem()), files
	return format.Import(text, in.from.format, opt)
}

// sequenceOr requires an argument or the flag --sequence, and refuses both. The argument is named as in "give a file",
// and needed is what the command needs instead of --sequence.
func sequenceOr(argument, needed string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		path, hasSequence := cmd.CommandPath(), cmd.Flags().Changed("sequence")
		switch {
		case len(args) > 1:
			return cli.Usagef("%s accepts one %s, not %d", path, argument, len(args))
		case len(args) == 1 && hasSequence:
			return cli.Usagef("give a %s or --sequence, not both", argument)
		case len(args) == 0 && !hasSequence:
			return cli.Usagef("%s needs %s or --sequence; see %s --help", path, needed, path)
		}
		return nil
	}
}
