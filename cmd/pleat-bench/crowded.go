package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pleat/api"
	"pleat/internal/structure"
	"pleat/internal/structure/structuretest"
)

// crowded measures what the files of a hostile user cost: structures whose atoms lie on one another. Each is uploaded
// to a server that has just started, and a question is asked about its pockets. The figures are the processor time of
// the server until it has answered, and its largest memory above that at the start. PostgreSQL is not measured: the
// database has no part in it.
func (b *bench) crowded(ctx context.Context, d database) error {
	if d.server != "" {
		return nil
	}
	if !reportsProcesses() {
		l := line{what: "crowded structures", database: d.name, unmeasured: "this system does not report it"}
		b.lines = append(b.lines, l)
		return nil
	}
	for _, c := range []struct {
		name string
		s    *structure.Structure
	}{
		{"25,000 atoms in a cube of 30 Å", structuretest.CrowdedCube(25_000, 30)},
		{"50,000 atoms in a cube of 30 Å", structuretest.CrowdedCube(50_000, 30)},
		{"9,000 atoms on one point", structuretest.CrowdedCube(9_000, 0)},
		{"10,000 atoms in a cube of 34 Å", structuretest.CrowdedCube(10_000, 34)},
	} {
		var file bytes.Buffer
		if err := structure.WriteCIF(&file, c.s, structure.Meta{}); err != nil {
			return err
		}
		size := fmt.Sprintf("a file of %.1f MB", float64(file.Len())/1e6)
		err := b.withServer(ctx, d, "analyst", func(s *serverProcess) error {
			spent, memory, err := s.costOf(ctx, file.Bytes())
			if err != nil {
				return err
			}
			b.within(line{what: "question on " + c.name, database: d.name, ceiling: size}, spent, 2*time.Second)
			b.lines = append(b.lines, line{
				what:     "memory above rest for " + c.name,
				database: d.name,
				figure:   fmt.Sprintf("%.0f MB", float64(memory)/1e6),
				ceiling:  size,
				target:   "≤ 200 MB",
				met:      memory <= 200_000_000,
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// costOf uploads a structure, asks about its pockets and waits for the answer. It returns the processor time that the
// server spent, and how far its memory rose.
func (s *serverProcess) costOf(ctx context.Context, file []byte) (spent time.Duration, memory int64, err error) {
	pid := s.cmd.Process.Pid
	rest, err := residentBytes(pid)
	if err != nil {
		return 0, 0, err
	}
	before, err := processTime(pid)
	if err != nil {
		return 0, 0, err
	}
	c := &api.Client{Base: s.url, Key: s.key}
	item, err := c.CreateItem(ctx, api.CreateItem{Name: "crowded", Type: "file", FileType: "cif"})
	if err != nil {
		return 0, 0, err
	}
	if _, err := c.UploadFile(ctx, item.ID, "crowded.cif", bytes.NewReader(file)); err != nil {
		return 0, 0, err
	}
	w, err := c.CreateWorkflow(ctx, api.CreateWorkflow{
		WorkflowName: "qna_v1",
		Name:         "crowded",
		Input: json.RawMessage(fmt.Sprintf(
			`{"question":"What pockets are there?","targetSource":"library","libraryItemId":%q}`, item.ID)),
	})
	if err != nil {
		return 0, 0, err
	}
	if err := c.FollowWorkflow(ctx, w.ID, 0, func(api.Event) error { return nil }); err != nil {
		return 0, 0, err
	}
	peak, err := processBytes(pid, "VmHWM")
	if err != nil {
		return 0, 0, err
	}
	after, err := processTime(pid)
	return after - before, peak - rest, err
}

// processTime returns the processor time, user and system, that a process has used so far, in steps of 10 ms.
func processTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// After the name, which may hold spaces, the 12th and 13th fields are the times in hundredths of a second.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("the system does not report the time of the process")
	}
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}
