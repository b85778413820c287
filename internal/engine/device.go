package engine

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"pleat"
)

// FindDevices asks nvidia-smi for the accelerators of this machine that visible, the value of CUDA_VISIBLE_DEVICES, leaves to
// this process; nil leaves all. None where there is no such program, or where it finds none.
func FindDevices(ctx context.Context, visible *string) ([]pleat.Device, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, nil
	}
	ctx, done := context.WithTimeout(ctx, 20*time.Second)
	defer done()
	cmd := exec.CommandContext(ctx, path, "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	return parseDevices(out, visible)
}

// parseDevices reads lines of an index, an id, a name and memory in MiB. What is visible and not among them, as a part of a
// device, counts with its memory unknown.
func parseDevices(out []byte, visible *string) ([]pleat.Device, error) {
	rows := csv.NewReader(bytes.NewReader(out))
	rows.TrimLeadingSpace, rows.FieldsPerRecord = true, 4
	all, err := rows.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi wrote what cannot be read: %w", err)
	}
	var list []pleat.Device
	names := map[string]pleat.Device{}
	for _, r := range all {
		mib, err := strconv.ParseInt(strings.TrimSpace(r[3]), 10, 64)
		if err != nil { // such as [N/A], of devices that share the machine's memory
			mib = 0
		}
		d := pleat.Device{ID: r[1], Name: r[2], Memory: mib << 20}
		list = append(list, d)
		names[r[0]], names[r[1]] = d, d
	}
	if visible == nil {
		return list, nil
	}
	list = nil
	for id := range strings.SplitSeq(*visible, ",") {
		if id = strings.TrimSpace(id); id == "" || id == "-1" || strings.EqualFold(id, "NoDevFiles") {
			break // what follows is not visible
		}
		d, ok := names[id]
		if !ok {
			d = pleat.Device{ID: id, Name: id}
		}
		list = append(list, d)
	}
	return list, nil
}

// ParseDevice reads a device as an operator writes it: an id as CUDA_VISIBLE_DEVICES takes it, then its memory, ID=48GB; the
// size is read by parse.
func ParseDevice(text string, parse func(string) (int64, error)) (pleat.Device, error) {
	id, size, ok := strings.Cut(text, "=")
	d := pleat.Device{ID: strings.TrimSpace(id), Name: strings.TrimSpace(id)}
	if d.ID == "" || strings.ContainsFunc(d.ID, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '/' && r != ':'
	}) {
		return d, fmt.Errorf("%q is no device; write its index or UUID and its memory, such as 0=48GB", pleat.Clip(text))
	}
	if !ok {
		return d, nil
	}
	var err error
	d.Memory, err = parse(strings.TrimSpace(size))
	return d, err
}
