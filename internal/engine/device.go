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

// FindDevices lists the accelerators of this machine as nvidia-smi reports them. Visible is the value of
// CUDA_VISIBLE_DEVICES, which restricts and orders them; nil: all. Without nvidia-smi there are none.
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

// parseDevices parses lines of index, id, name and memory in MiB. A visible device that is not among them, such as a
// partition (MIG), is listed with unknown memory.
func parseDevices(out []byte, visible *string) ([]pleat.Device, error) {
	rows := csv.NewReader(bytes.NewReader(out))
	rows.TrimLeadingSpace, rows.FieldsPerRecord = true, 4
	all, err := rows.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("the output of nvidia-smi cannot be parsed: %w", err)
	}
	var list []pleat.Device
	names := map[string]pleat.Device{}
	for _, r := range all {
		mib, err := strconv.ParseInt(strings.TrimSpace(r[3]), 10, 64)
		if err != nil { // such as [N/A], for devices that share the memory of the machine
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
			break // CUDA ignores the rest
		}
		d, ok := names[id]
		if !ok {
			d = pleat.Device{ID: id, Name: id}
		}
		list = append(list, d)
	}
	return list, nil
}

// ParseDevice parses a device as an operator writes it: an id in the form of CUDA_VISIBLE_DEVICES, optionally with its
// memory, such as 0=48GB. ParseSize parses the memory.
func ParseDevice(text string, parseSize func(string) (int64, error)) (pleat.Device, error) {
	id, size, ok := strings.Cut(text, "=")
	d := pleat.Device{ID: strings.TrimSpace(id), Name: strings.TrimSpace(id)}
	if d.ID == "" || strings.ContainsFunc(d.ID, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '/' && r != ':'
	}) {
		return d, fmt.Errorf("%q is no device; write its index or UUID and its memory, such as 0=48GB",
			pleat.Clip(text))
	}
	if !ok {
		return d, nil
	}
	var err error
	d.Memory, err = parseSize(strings.TrimSpace(size))
	return d, err
}
