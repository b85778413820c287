package msa

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

func packed(name, body string) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	_ = w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(body)), Mode: 0o600})
	_, _ = w.Write([]byte(body))
	_ = w.Close()
	_ = zipped.Close()
	return out.Bytes()
}

// Whatever a server sends, no more than the bound is kept, and no name leads anywhere.
func FuzzUnpack(f *testing.F) {
	f.Add(packed("uniref.a3m", ">101\nMK\n\x00"))
	f.Add(packed("../x.a3m", ">101\nMK\n"))
	f.Add(packed("./a/b.a3m", strings.Repeat("x", 2000)))
	f.Add(packed("uniref.a3m", ">101\nMK\n")[:50])
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := unpack(bytes.NewReader(data), 1<<10)
		if err != nil {
			return
		}
		held := 0
		for name, body := range files {
			held += len(body)
			if strings.Contains("/"+name+"/", "/../") || strings.HasPrefix(name, "/") {
				t.Errorf("the name %q", name)
			}
			out, err := gather([][]byte{body}, []string{"MK"})
			if err == nil && out[0].Query() != "MK" {
				t.Errorf("the query %q", out[0].Query())
			}
		}
		if held > 1<<10 {
			t.Errorf("%d bytes are kept", held)
		}
	})
}

// A hole in a sparse file costs the sender nothing: it counts as what it is.
func TestSparseFileIsBounded(t *testing.T) {
	t.Parallel()
	sparse := sparseArchive(t, 1<<30)
	if h, err := tar.NewReader(bytes.NewReader(sparse)).Next(); err != nil || h.Size != 1<<30 ||
		h.Name != "uniref.a3m" {
		t.Fatalf("the archive of the test is wrong: %+v, %v", h, err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(sparse)
	_ = z.Close()
	if _, err := unpack(&zipped, 1<<20); err == nil || !strings.Contains(err.Error(), "holds more than 1 MiB") {
		t.Errorf("error is %v", err)
	}
}

// sparseArchive is a tar archive with a file of one byte and a hole before it, in the format PAX 1.0: the map stands
// before the data. The writer does not make such, so the PAX record that it writes is replaced.
func sparseArchive(t *testing.T, size int) []byte {
	body := fmt.Sprintf("1\n%d\n1\n", size-1)
	body += strings.Repeat("\x00", 512-len(body)) + "x"
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	head := tar.Header{
		Name:       "x",
		Typeflag:   tar.TypeReg,
		Size:       int64(len(body)),
		Mode:       0o600,
		Format:     tar.FormatPAX,
		PAXRecords: map[string]string{"VENDOR.x": "y"},
	}
	if err := w.WriteHeader(&head); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(body))
	_ = w.Close()
	doc, records := out.Bytes(), ""
	for _, kv := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", fmt.Sprintf("GNU.sparse.realsize=%d", size),
		"GNU.sparse.name=uniref.a3m"} {
		records += fmt.Sprintf("%02d %s\n", len(kv)+4, kv)
	}
	copy(doc[512:1024], append([]byte(records), make([]byte, 512-len(records))...))
	copy(doc[124:136], fmt.Sprintf("%011o\x00", len(records))) // the records' size, then the sum of their header
	copy(doc[148:156], "        ")
	sum := 0
	for _, c := range doc[:512] {
		sum += int(c)
	}
	copy(doc[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return doc
}
