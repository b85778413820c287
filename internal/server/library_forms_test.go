package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"pleat/internal/blob"
)

// zipped returns a text compressed with gzip.
func zipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return out.String()
}

// Files are stored without compression, and BinaryCIF as mmCIF, each under the name of what is stored.
func TestUploadedForms(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	item := h.item(h.key, "x", "")
	raw, err := os.ReadFile("../bcif/testdata/molstar.bcif")
	if err != nil {
		t.Fatal(err)
	}
	packed, model := string(raw), strings.ReplaceAll(smallPDB, "END\n", "")
	archive, err := os.ReadFile("../pae/testdata/boltz.npz")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, content, stored, kind, start string }{
		{"a.pdb.gz", zipped(smallPDB), "a.pdb", "chemical/x-pdb", smallPDB},
		{"b.ENT.GZ", zipped(smallPDB), "b.ENT", "chemical/x-pdb", smallPDB},
		{"c.pdb", zipped(smallPDB), "c.pdb", "chemical/x-pdb", smallPDB},
		{"d.pdb.gz", smallPDB, "d.pdb", "chemical/x-pdb", smallPDB},
		{"e.pdb1", "MODEL        1\n" + model + "ENDMDL\n", "e.pdb", "chemical/x-pdb", "MODEL"},
		{"f.a3m.gz", zipped(">x\nGS") + zipped("GS\n"), "f.a3m", "text/x-a3m", ">x\nGSGS\n"},
		{"g.bcif", packed, "g.cif", "chemical/x-mmcif", "data_1L2Y\n#\nloop_\n_entry.id\n"},
		{"h.bcif.gz", zipped(packed), "h.cif", "chemical/x-mmcif", "data_1L2Y\n"},
		{"i.cif", packed, "i.cif", "chemical/x-mmcif", "data_1L2Y\n"},
		{"j.npz", string(archive), "j.npz", "application/zip", "PK"},
		{"k.pdbx", "data_x\n", "", "", ": \"k.cif\" is not what its name says: mmCIF file: "},
		{"a.pdb.gz", zipped("nothing"), "", "", `: "a.pdb" is not what its name says`},
		{"a.pdb.gz", zipped(smallPDB)[:60], "", "", `the compressed file "a.pdb.gz" is damaged or incomplete`},
		{"a.bcif", packed[:4000], "", "", `: "a.cif" is not what its name says: it is no complete BinaryCIF file`},
		{"a.pdb.gz", zipped(zipped(smallPDB)), "", "", `: "a.pdb" is not what its name says`},
		{"a.pdb", "PK\x03\x04x", "", "", `: "a.pdb" is not what its name says: it is a zip archive; upload the files in it`},
		{"a.pdb", "BZh91AY", "", "", "it is compressed with bzip2; decompress it, or use gzip"},
		{"a.fasta", "\xff\xfe>\x00a\x00", "", "", "its text is UTF-16; save it as UTF-8"},
		{"a.npz", "PK", "", "", `: "a.npz" is not what its name says: the PAE file is no archive of NumPy`},
		{"pae.json", `{"pae":[[0,null],[1,0]]}`, "", "", "the PAE has null in row 1, column 2; it must be a number of Å"},
		{"pae.json", `{"pae":[[0,NaN],[1,0]]}`, "", "", "it is not JSON: line 1, column 12: NaN is no value of JSON; it has null"},
		{"a.gz", zipped(smallPDB), "", "", `: "a.gz" is of no known type; names may end in .pdb`},
		{"a.mol2", "@<TRIPOS>MOLECULE\n", "", "", `: "a.mol2" is MOL2; convert it to SDF, for example with Open Babel`},
		{"a.gro.gz", "x", "", "", `: "a.gro.gz" is a structure of GROMACS; convert it to PDB with gmx editconf`},
		{"a.zip", "PK", "", "", `: "a.zip" is an archive; upload the files in it`},
		{"a.cif", "data_x\n_cell_length_a 1\nloop_\n_atom_site_label\n_atom_site_fract_x\nC1 0.1\n", "", "",
			"it is the CIF of a crystal of small molecules, which is not mmCIF; give the molecule as SDF"},
	} {
		r := h.upload(item, [3]string{"files", c.name, c.content})
		if c.stored == "" {
			if r.status != http.StatusBadRequest || !strings.Contains(r.message(t), c.start) {
				t.Errorf("%s: %d %s; want %s", c.name, r.status, r.body, c.start)
			}
			continue
		}
		got := []string{"file_name\":\"" + c.stored + `"`, `"` + c.kind + `"`}
		if r.status != http.StatusOK || !strings.Contains(r.body, got[0]) || !strings.Contains(r.body, got[1]) {
			t.Errorf("%s: %d %s; want %s", c.name, r.status, r.body, got)
		}
		if text := h.libraryFile(item, c.stored); !strings.HasPrefix(text, c.start) {
			t.Errorf("%s is stored as %.60q; want %.60q", c.name, text, c.start)
		}
	}
	// A small file that grows is refused while it is read.
	if r := h.upload(item, [3]string{"files", "a.pdb.gz", zipped(strings.Repeat("\n", 64<<20+1))}); r.status !=
		http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", r.status, r.body)
	}
	left := 0
	if err := h.blobs.Walk(context.Background(), "library/", time.Time{}, func(blob.Info) error {
		left++
		return nil
	}); err != nil || left != 10 {
		t.Errorf("%d files are left: %v", left, err)
	}
}

// sentFile is the answer to the signed link to a stored file.
func (h *fixture) sentFile(item, name string) reply {
	h.t.Helper()
	var link string
	r := h.as(h.key, "GET", "/v1/library/file/"+item+"/"+url.PathEscape(name), nil)
	if err := json.Unmarshal([]byte(r.body), &link); err != nil {
		h.t.Errorf("%s: %d %s", name, r.status, r.body)
		return reply{}
	}
	return h.ask("GET", link, nil)
}

// libraryFile returns the content of a stored file, by the signed link to it.
func (h *fixture) libraryFile(item, name string) string {
	h.t.Helper()
	return h.sentFile(item, name).body
}
