package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/structure"
)

// batchInput is what the flags say about a batch that is read from a file.
type batchInput struct {
	model, name, seed string
}

// maxBatchFile bounds a file of a batch, in bytes; the service takes no larger body.
const maxBatchFile = 64 << 20

// read reads a batch from a file; - is standard input. It warns of what it ignores.
func (b batchInput) read(name string, stdin io.Reader, warnings io.Writer) (api.CreateBatch, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return api.CreateBatch{}, usagef("%v", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxBatchFile+1))
	if err != nil {
		return api.CreateBatch{}, err
	}
	if len(data) > maxBatchFile {
		return api.CreateBatch{}, usagef("the file has more than %d bytes", maxBatchFile)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	out := api.CreateBatch{Kind: string(pleat.BatchList)}
	switch first := bytes.TrimLeft(data, " \t\r\n"); {
	case len(first) == 0:
		return out, usagef("the file is empty")
	case first[0] == '{':
		if err := api.DecodeAs("the file", data, &out); err != nil {
			return out, usagef("%v", err)
		}
	case first[0] == '>':
		out.Jobs, err = fastaRows(data)
	default:
		out.Jobs, err = csvRows(data, warnings)
	}
	if err != nil {
		return out, err
	}
	if out.Params == nil {
		out.Params = &api.Params{ModelName: b.model}
	}
	if b.seed != "" {
		out.Params.Seed = &b.seed
	}
	switch {
	case b.name != "":
		out.Name = b.name
	case out.Name == "" && name == "-":
		out.Name = "batch"
	case out.Name == "":
		out.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return out, nil
}

// fastaRows makes a row of each record of a FASTA file.
func fastaRows(data []byte) ([]api.BatchJob, error) {
	// The chains of a record are read as records of their own, since a colon is no letter.
	const chain = "\x01"
	var text bytes.Buffer
	for line := range bytes.Lines(data) {
		if line[0] != '>' {
			line = bytes.ReplaceAll(line, []byte(":"), []byte("\n>"+chain+"\n"))
		}
		text.Write(line)
	}
	records, err := structure.ReadFASTA(&text, structure.Limits{Bytes: 2 * maxBatchFile, Residues: maxBatchFile})
	if err != nil {
		return nil, usagef("the file is no FASTA: %v", err)
	}
	var out []api.BatchJob
	for _, r := range records {
		if r.Name == chain && len(out) > 0 {
			last := &out[len(out)-1]
			last.Sequences = append(last.Sequences, proteinItem(r.Sequence))
			continue
		}
		id, _, _ := strings.Cut(r.Name, " ")
		out = append(out, api.BatchJob{CustomID: id, Sequences: []api.SequenceItem{proteinItem(r.Sequence)}})
	}
	return out, nil
}

// csvRows makes a row of each line of a CSV or TSV file with the columns id and sequence. It warns of other columns.
func csvRows(data []byte, warnings io.Writer) ([]api.BatchJob, error) {
	r := csv.NewReader(bytes.NewReader(data))
	head, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.ContainsRune(head, '\t') {
		r.Comma = '\t'
	}
	columns, err := r.Read()
	if err != nil {
		return nil, usagef("the file is no CSV: %v", err)
	}
	for i := range columns {
		columns[i] = strings.ToLower(strings.TrimSpace(columns[i]))
	}
	id, sequence := slices.Index(columns, "id"), slices.Index(columns, "sequence")
	if id < 0 || sequence < 0 {
		return nil, usagef("the file has the columns %s; it must have id and sequence",
			pleat.Clip(strings.Join(columns, ", ")))
	}
	var ignored []string
	for i, name := range columns {
		if i != id && i != sequence {
			ignored = append(ignored, strconv.Quote(name))
		}
	}
	if len(ignored) > 0 {
		fmt.Fprintf(warnings, "only the columns id and sequence are read; ignored: %s\n",
			pleat.Clip(strings.Join(ignored, ", ")))
	}
	var out []api.BatchJob
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, usagef("the file is no CSV: %v", err)
		}
		job := api.BatchJob{CustomID: strings.TrimSpace(row[id])}
		for chain := range strings.SplitSeq(row[sequence], ":") {
			job.Sequences = append(job.Sequences, proteinItem(strings.TrimSpace(chain)))
		}
		out = append(out, job)
	}
}

// proteinItem is a protein chain of a request.
func proteinItem(sequence string) api.SequenceItem {
	return api.SequenceItem{ProteinChain: &api.Polymer{Sequence: sequence}}
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
