package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// messageLines returns the lines of in that are messages. It answers each other line on out with an error of JSON-RPC:
// the SDK ends the connection at the first of them, and answers nothing. Blank lines are skipped.
func messageLines(in io.ReadCloser, out io.Writer) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				if sendErr := passOrRefuse(line, w, out); sendErr != nil {
					err = sendErr
				}
			}
			if err != nil {
				_ = w.CloseWithError(err)
				return
			}
		}
	}()
	return lineReader{r, in}
}

// passOrRefuse writes a line that is a message to messages, and the error of any other to answers.
func passOrRefuse(line []byte, messages, answers io.Writer) error {
	m, fault := readMessage(line)
	if fault == nil {
		_, err := messages.Write(append(m.withoutNull(line), '\n'))
		return err
	}
	b, err := json.Marshal(m.failure(fault))
	if err == nil {
		_, err = answers.Write(append(b, '\n'))
	}
	return err
}

// lineReader reads lines, and closes where they come from.
type lineReader struct {
	*io.PipeReader
	from io.Closer
}

func (r lineReader) Close() error {
	_ = r.PipeReader.Close()
	return r.from.Close()
}

// lineWriter writes one line at a time: answers of the SDK, and those of messageLines.
type lineWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(b)
}
