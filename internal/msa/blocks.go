package msa

import (
	"bytes"
	"fmt"
	"strconv"
)

// firstID is the number of the first sequence of a search; the others follow. ColabFold's programs start there too.
const firstID = 101

// fasta returns the sequences as FASTA, each named by its number.
func fasta(sequences []string) (out []byte) {
	for i, s := range sequences {
		out = fmt.Appendf(out, ">%d\n%s\n", firstID+i, s)
	}
	return out
}

// split returns the blocks of a file of several alignments by the number in their first line. NUL bytes separate the
// blocks. A block with a number that was not requested is an error.
func split(file []byte, sequences []string) ([][]byte, error) {
	out := make([][]byte, len(sequences))
	for block := range bytes.SplitSeq(file, []byte{0}) {
		block = bytes.TrimLeft(block, "\r\n")
		if len(block) == 0 {
			continue
		}
		head, _, _ := bytes.Cut(block, []byte("\n"))
		name, ok := bytes.CutPrefix(bytes.TrimSpace(head), []byte(">"))
		number, _, _ := bytes.Cut(name, []byte("\t"))
		id, err := strconv.Atoi(string(number))
		if !ok || err != nil || id < firstID || id >= firstID+len(sequences) {
			return nil, fmt.Errorf("a block begins with %q, which is not one of the sequences that were sent",
				clip(head))
		}
		if out[id-firstID] != nil {
			return nil, fmt.Errorf("it has two blocks of the sequence %d", id)
		}
		out[id-firstID] = block
	}
	return out, nil
}

// clip returns at most 40 bytes for a message.
func clip(b []byte) string {
	return string(b[:min(len(b), 40)])
}

// gather reads one alignment for each sequence from several such files. Rows of later files follow those of earlier
// ones. The first file must contain every sequence. It sets the entries of files to nil to free memory.
func gather(files [][]byte, sequences []string) ([]*Alignment, error) {
	out := make([]*Alignment, len(sequences))
	for k, file := range files {
		blocks, err := split(file, sequences)
		if err != nil {
			return nil, err
		}
		for i, block := range blocks {
			if block == nil {
				if k == 0 {
					return nil, fmt.Errorf("it has no alignment of the sequence %d", firstID+i)
				}
				continue
			}
			a, err := Read(bytes.NewReader(block), sequences[i])
			if err != nil {
				return nil, fmt.Errorf("the alignment of the sequence %d: %w", firstID+i, err)
			}
			if out[i] == nil {
				out[i] = a
			} else {
				out[i].Rows = append(out[i].Rows, a.Rows[1:]...)
			}
			out[i].Rows[0].Name = strconv.Itoa(firstID + i)
		}
		files[k] = nil
	}
	for i, a := range out {
		if len(a.Rows) > maxRows {
			return nil, fmt.Errorf("the alignment of the sequence %d has more than %d rows", firstID+i, maxRows)
		}
	}
	return out, nil
}

// checkPaired returns an error if paired alignments differ in their number of rows.
func checkPaired(all []*Alignment) error {
	for i, a := range all {
		if len(a.Rows) != len(all[0].Rows) {
			return fmt.Errorf("the paired alignment of the sequence %d has %d rows, that of the sequence %d has %d; "+
				"rows are paired by their order",
				firstID+i, len(a.Rows), firstID, len(all[0].Rows))
		}
	}
	return nil
}
