package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"pleat"
	"pleat/api"
)

// One job has at most MaxBytes of text, in a large file too: what a reader makes of it may need many times the memory.

// checkOne refuses the text of one job that is too long.
func checkOne(text string) error {
	if len(text) > MaxBytes {
		return pleat.Errorf(pleat.CodeTooLarge, "the file is one job of %d bytes; at most %d are allowed",
			len(text), MaxBytes)
	}
	return nil
}

// decodeOne decodes a file of one job.
func decodeOne(text string, v any) error {
	if err := checkOne(text); err != nil {
		return err
	}
	return api.DecodeAs("the file", []byte(text), v)
}

// decodePart decodes one job of a file. At is its place, and what names it in messages.
func decodePart(at, what string, raw json.RawMessage, v any) error {
	if len(raw) > MaxBytes {
		return pleat.Invalidf("%s has %d bytes; at most %d are allowed", at, len(raw), MaxBytes)
	}
	if err := api.DecodeAs(what, raw, v); err != nil {
		return pleat.Invalidf("%s: %s", at, err)
	}
	return nil
}

// eachElement calls do with each element of a JSON array until one fails. It returns the error of do, or of the syntax.
func eachElement(text string, do func(i int, raw json.RawMessage) error) error {
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for i := 0; dec.More(); i++ {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if err := do(i, raw); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); err == nil {
		return errors.New("it has data after the list")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// eachJob reads a file that is a list of jobs, or one job, which the program itself does not take. A short list is
// decoded as a whole, so that messages have the whole path of a value; of a long one each job is.
func eachJob[T any](text string, in *reading, program string, read func(j *T, d *draft) error) error {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var one T
		if err := decodeOne(text, &one); err != nil {
			return err
		}
		in.addNote("The file is one job instead of a list of jobs; %s itself takes lists alone", program)
		return read(&one, in.draft(""))
	}
	at := func(i int) string { return fmt.Sprintf("[%d]", i) }
	if len(text) <= MaxBytes {
		var jobs []T
		if err := api.DecodeAs("the file", []byte(text), &jobs); err != nil {
			return err
		}
		if len(jobs) == 0 {
			return pleat.Invalidf("the file is an empty list; it must hold at least 1 job")
		}
		for i := range jobs {
			if err := read(&jobs[i], in.draft(at(i)+".")); err != nil {
				return err
			}
		}
		return nil
	}
	var refused error
	err := eachElement(text, func(i int, raw json.RawMessage) error {
		var j T
		if refused = decodePart(at(i), "the job", raw, &j); refused == nil {
			refused = read(&j, in.draft(at(i)+"."))
		}
		return refused
	})
	if err == nil || refused != nil {
		return refused
	}
	if err := api.DecodeAs("the file", []byte(text), new([]json.RawMessage)); err != nil { // it has the position
		return err
	}
	return pleat.Invalidf("the file is not JSON: %s", err)
}
