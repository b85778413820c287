package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/format"
	"pleat/internal/server/wire"
	"pleat/internal/words"
)

// batchInput is what the flags say about a batch that is read from a file or a folder.
type batchInput struct {
	model, name, seed string
}

// maxBatchFile bounds the files of a batch together, in bytes; the service takes no larger body.
const maxBatchFile = 64 << 20

// rowOptions are those of files whose jobs become rows.
var rowOptions = format.Options{Rows: true, Bytes: maxBatchFile, Jobs: pleat.MaxBatchRows}

// read reads a batch from a file or a folder, and uploads the alignments that it names; - is standard input.
func (b batchInput) read(cmd *cobra.Command, c *api.Client, path string) (api.CreateBatch, uploadedInputs, error) {
	out := api.CreateBatch{
		Kind:   string(pleat.BatchList),
		Params: &api.Params{ModelName: b.model, Seed: cli.TextOrNil(b.seed)},
	}
	out.Name = inputStem(path)
	if path == "-" {
		out.Name = "batch"
	}
	var with uploadedInputs
	var err error
	if isFolder(path) {
		if full, err := filepath.Abs(path); err == nil {
			out.Name = filepath.Base(full)
		}
		with, err = b.readFolder(cmd, c, path, &out)
	} else {
		with, err = b.readFile(cmd, c, path, &out)
	}
	out.Name = words.Shorten(out.Name, pleat.MaxName)
	if b.name != "" {
		out.Name = b.name
	}
	return out, with, err
}

// readFile reads a batch from a file: a request, or a file of another program whose jobs are the rows.
func (b batchInput) readFile(
	cmd *cobra.Command, c *api.Client, path string, out *api.CreateBatch,
) (uploadedInputs, error) {
	text, dir, err := readInput(cmd, path, "the file", maxBatchFile)
	if err != nil {
		return uploadedInputs{}, cli.UsageError(err)
	}
	if data := bytes.TrimPrefix([]byte(text), []byte("\ufeff")); isBatchRequest(data) {
		flags := *out
		*out = api.CreateBatch{Kind: flags.Kind}
		if err := api.DecodeAs("the file", data, out); err != nil {
			return uploadedInputs{}, cli.UsageError(err)
		}
		if out.Name == "" {
			out.Name = flags.Name
		}
		if out.Params == nil {
			out.Params = flags.Params
		} else if b.seed != "" {
			out.Params.Seed = &b.seed
		}
		return uploadedInputs{}, nil
	}
	from, err := openSources(cmd, dir)
	if err != nil {
		return uploadedInputs{}, err
	}
	defer from.close()
	if text, err = from.detach(text); err != nil {
		return uploadedInputs{}, cli.Usagef("%s: %w", path, err)
	}
	opt := rowOptions
	opt.Name, opt.Files = out.Name, from.files()
	if _, err := format.Import(text, from.format, opt); err != nil {
		return uploadedInputs{}, cli.Usagef("%s: %w", path, err)
	}
	with, err := from.upload(cmd, c, false)
	if err != nil {
		return with, err
	}
	with.refer(&opt.Files)
	got, err := format.Import(text, from.format, opt)
	if err != nil {
		return with, fmt.Errorf("%s: %w", path, err)
	}
	printNotes(cmd, got.Notes)
	for i := range got.Jobs {
		out.Jobs = append(out.Jobs, b.row(got.IDs[i], &got.Jobs[i], out.Params))
	}
	return with, nil
}

// isBatchRequest reports whether a file is a request of POST /v1/batches, which has a kind, or is an object that no
// other program writes.
func isBatchRequest(data []byte) bool {
	var has map[string]json.RawMessage
	if data = bytes.TrimLeft(data, " \t\r\n"); len(data) == 0 || data[0] != '{' {
		return false
	}
	if json.Unmarshal(data, &has) != nil {
		return true // its fault is told as that of a request
	}
	return has["kind"] != nil || has["queries"] == nil && has["sequences"] == nil
}

// row returns a job of a file as a row of a batch. The seed of the flags stands before that of the file, and what the
// file says before the other parameters of the batch.
func (b batchInput) row(id string, j *pleat.Job, params *api.Params) api.BatchJob {
	request := wire.CreateJob(j)
	row := api.BatchJob{CustomID: id, Sequences: request.Sequences}
	if len(j.Params.Values) > 0 {
		p := *params
		if request.Params.Seed != nil && b.seed == "" {
			p.Seed = request.Params.Seed
		}
		if request.Params.MSAAlgorithm != nil {
			p.MSAAlgorithm = request.Params.MSAAlgorithm
		}
		row.Params = &p
	}
	if !j.Constraints.Empty() {
		row.Constraints = request.Constraints
	}
	return row
}

// readFolder reads a batch from the files of a folder, each of whose jobs is a row. If one cannot be read, there is no
// batch.
func (b batchInput) readFolder(
	cmd *cobra.Command, c *api.Client, dir string, out *api.CreateBatch,
) (uploadedInputs, error) {
	in, err := openInputs(cmd, dir, rowOptions)
	if err != nil {
		return uploadedInputs{}, err
	}
	defer in.from.close()
	if err := in.fault(); err != nil {
		return uploadedInputs{}, cli.UsageError(err)
	}
	with, err := in.from.upload(cmd, c, false)
	if err != nil {
		return with, err
	}
	files := in.from.files()
	with.refer(&files)
	ids := words.Unique{}
	for i := range in.files {
		f := &in.files[i]
		got, err := in.read(f, rowOptions, in.from, files)
		if err != nil {
			return with, fmt.Errorf("%s: %w", f.name, err)
		}
		for _, n := range got.Notes {
			printNotes(cmd, []string{f.name + ": " + n})
		}
		for k := range got.Jobs {
			id := f.stem()
			if len(got.Jobs) > 1 {
				id = strings.TrimSuffix(id+"-"+got.IDs[k], "-")
			}
			out.Jobs = append(out.Jobs, b.row(ids.Name(id, pleat.MaxName), &got.Jobs[k], out.Params))
		}
		if len(out.Jobs) > pleat.MaxBatchRows {
			return with, cli.Usagef("the files up to %s have more than %d jobs; a batch has at most as many rows",
				f.name, pleat.MaxBatchRows)
		}
	}
	return with, nil
}

// fault returns the faults of the inputs that cannot be read; nil if all can.
func (in *inputFolder) fault() error {
	var bad []string
	for _, f := range in.files {
		if f.err != nil {
			bad = append(bad, fmt.Sprintf("%s: %s", f.name, cli.ErrorLine(f.err)))
		}
	}
	switch {
	case len(bad) == 0:
		return nil
	case len(bad) == 1:
		return errors.New(bad[0])
	}
	return fmt.Errorf("%d of %d files cannot be read: %s", len(bad), len(in.files),
		strings.Join(bad[:min(len(bad), 10)], "; "))
}

// batchKey is the Idempotency-Key of a batch: the same file and flags make one batch.
func batchKey(request api.CreateBatch) (string, error) {
	b, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("encode the batch: %w", err)
	}
	sum := sha256.Sum256(b)
	return "pleat-batch-" + hex.EncodeToString(sum[:16]), nil
}
