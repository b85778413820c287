package engine

import (
	"strings"
	"testing"
)

func TestDevices(t *testing.T) {
	t.Parallel()
	out := []byte("0, GPU-11, NVIDIA H100 80GB HBM3, 81559\n1, GPU-22, NVIDIA GB10, [N/A]\n")
	for visible, want := range map[string]string{
		"all":      "GPU-11 GPU-22",
		"":         "",
		"1":        "GPU-22",
		"GPU-22,0": "GPU-22 GPU-11",
		"0,-1,1":   "GPU-11",
		"MIG-5":    "MIG-5",
	} {
		only := &visible
		if visible == "all" {
			only = nil
		}
		got, err := parseDevices(out, only)
		var ids []string
		for _, d := range got {
			ids = append(ids, d.ID)
			if d.Memory != map[string]int64{"GPU-11": 81559 << 20}[d.ID] {
				t.Errorf("%+v", d)
			}
		}
		if err != nil || strings.Join(ids, " ") != want {
			t.Errorf("%q leaves %v, %v; want %s", visible, ids, err, want)
		}
	}
	if _, err := parseDevices([]byte("no devices were found\n"), nil); err == nil {
		t.Error("a sentence was taken for a list")
	}
}
