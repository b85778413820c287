package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/blob"
	"pleat/internal/store/people"
)

// item makes a library item of a user's, with a file where its name is not empty.
func (h *fixture) item(key, name, file string, content ...string) string {
	h.t.Helper()
	c := h.client(key)
	i, err := c.CreateItem(context.Background(), api.CreateItem{Name: name, Type: "file"})
	if err != nil {
		h.t.Fatal(err)
	}
	if file != "" {
		if _, err := c.UploadFile(context.Background(), i.ID, file, strings.NewReader(content[0])); err != nil {
			h.t.Fatal(err)
		}
	}
	return i.ID
}

const smallPDB = "ATOM      1  CA  GLY A   1       0.000   0.000   0.000  1.00 50.00           C\n" +
	"ATOM      2  CA  SER A   2       3.800   0.000   0.000  1.00 50.00           C\nEND\n"

func TestLibrary(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	ctx, c := context.Background(), h.client(h.key)
	_, ben := h.newUser("ben")
	created := h.as(h.key, "POST", "/v1/library/create",
		`{"name":"structures","type":"folder","metadata":{"project":"x","files":"mine"}}`)
	var folder api.CreatedItem
	if created.status != 201 || json.Unmarshal([]byte(created.body), &folder) != nil {
		t.Fatalf("%d %s", created.status, created.body)
	}
	item, err := c.CreateItem(ctx, api.CreateItem{
		Name:     "small",
		FileType: "pdb",
		Origin:   "upload",
		ParentID: folder.ID,
	})
	if err != nil {
		t.Fatal(err)
	}
	up, err := c.UploadFile(ctx, item.ID, "my structure.pdb", strings.NewReader(smallPDB))
	sum := sha256.Sum256([]byte(smallPDB))
	if err != nil || len(up.Files) != 1 || up.Files[0].SHA256 != hex.EncodeToString(sum[:]) ||
		up.Files[0].ContentType != "chemical/x-pdb" {
		t.Fatalf("%+v %v", up, err)
	}
	view := h.as(h.key, "GET", "/v1/library/"+item.ID, nil)
	var got struct {
		Metadata struct {
			Files []struct {
				FileName string `json:"file_name"`
			}
		}
		ParentID string `json:"parent_id"`
	}
	if json.Unmarshal([]byte(view.body), &got) != nil || len(got.Metadata.Files) != 1 ||
		got.Metadata.Files[0].FileName != "my structure.pdb" || got.ParentID != folder.ID {
		t.Errorf("%s", view.body)
	}
	if v, err := c.LibraryItem(ctx, folder.ID); err != nil || len(v.Children) != 1 || v.Children[0].ID != item.ID ||
		!strings.Contains(string(v.Metadata), `"project":"x"`) {
		t.Errorf("%+v %v", v, err)
	}
	link, err := c.LibraryFileURL(ctx, item.ID, "my structure.pdb")
	if err != nil {
		t.Fatal(err)
	}
	if r := h.ask("GET", link, nil); r.status != 200 || r.body != smallPDB ||
		r.header.Get("Content-Type") != "chemical/x-pdb" {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, bad := range []string{strings.Replace(link, "s=", "s=x", 1), strings.Replace(link, "e=", "e=9", 1),
		strings.Split(link, "?")[0]} {
		if r := h.ask("GET", bad, nil); r.status != 401 {
			t.Errorf("%s: %d", bad, r.status)
		}
	}
	// strangers, and what does not fit
	for _, r := range []reply{h.as(ben, "GET", "/v1/library/"+item.ID, nil),
		h.as(ben, "DELETE", "/v1/library/"+item.ID, nil),
		h.as(ben, "GET", "/v1/library/file/"+item.ID+"/my%20structure.pdb", nil),
		h.as(ben, "POST", "/v1/library/create", `{"name":"x","parent_id":"`+folder.ID+`"}`)} {
		if r.status != 404 || !strings.Contains(r.message(t), "Library item not found") {
			t.Errorf("a stranger: %d %s", r.status, r.body)
		}
	}
	if list, err := c.Library(ctx, "", 1); err != nil || len(list.Data) != 1 || list.NextCursor == nil {
		t.Errorf("%+v %v", list, err)
	}
	// another file of the same name kills the old link; deletion kills all
	if _, err := c.UploadFile(ctx, item.ID, "my structure.pdb",
		strings.NewReader(strings.Replace(smallPDB, "SER", "ALA", 1))); err != nil {
		t.Fatal(err)
	}
	if r := h.ask("GET", link, nil); r.status != 401 {
		t.Errorf("the link to the file that was replaced: %d", r.status)
	}
	link, _ = c.LibraryFileURL(ctx, item.ID, "my structure.pdb")
	h.clock.Advance(25 * time.Hour)
	if r := h.ask("GET", link, nil); r.status != 401 || !strings.Contains(r.message(t), "expired") {
		t.Errorf("after a day: %d %s", r.status, r.body)
	}
	if d, err := c.DeleteItem(ctx, folder.ID); err != nil || !d.Deleted {
		t.Errorf("%+v %v", d, err)
	}
	if r := h.as(h.key, "GET", "/v1/library/"+item.ID, nil); r.status != 404 {
		t.Errorf("an item of a deleted folder: %d", r.status)
	}
}

// upload sends a form as given.
func (h *fixture) upload(item string, parts ...[3]string) reply {
	h.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for _, p := range parts {
		w, err := form.CreateFormFile(p[0], p[1])
		if err != nil {
			h.t.Fatal(err)
		}
		_, _ = w.Write([]byte(p[2]))
	}
	_ = form.Close()
	return h.as(h.key, "POST", "/v1/library/"+item+"/upload-files", &b, "Content-Type", form.FormDataContentType())
}

// A form is refused by name where it is sent in an encoding in which its files would be lost or damaged.
func TestEncodedUploads(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	path := "/v1/library/" + h.item(h.key, "x", "") + "/upload-files"
	part := func(name, header, content string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"" + name + "\"\r\n" + header +
			"\r\n" + content + "\r\n--b--\r\n"
	}
	for _, c := range []struct {
		encoding, body string
		status         int
		want           string
	}{
		{"gzip", zipped(part("a.pdb", "", smallPDB)), 415, `the Content-Encoding is "gzip"; send the form uncompressed`},
		{"br", part("a.pdb", "", smallPDB), 415, `the Content-Encoding is "br"`},
		{"", part("a.pdb", "Content-Transfer-Encoding: BASE64\r\n", "QVRPTQ=="), 400, "a file is sent in base64"},
		{"", part("mod\xe8le.pdb", "", smallPDB), 400, "is not in UTF-8"},
		{"identity", part("a.pdb", "Content-Transfer-Encoding: binary\r\n", smallPDB), 200, `"a.pdb"`},
	} {
		r := h.as(h.key, "POST", path, strings.NewReader(c.body), "Content-Type", "multipart/form-data; boundary=b",
			"Content-Encoding", c.encoding)
		if r.status != c.status || !strings.Contains(r.body, c.want) &&
			!strings.Contains(r.message(t), c.want) {
			t.Errorf("%+v: %d %s", c, r.status, r.body)
		}
	}
}

// Two files of one name are not stored as one, and names keep the letters of every script.
func TestUploadNames(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	item := h.item(h.key, "x", "")
	two := h.upload(item, [3]string{"files", "two.pdb", smallPDB}, [3]string{"files", "two.pdb ", smallPDB + "END\n"})
	if two.status != 400 || !strings.Contains(two.message(t), `two files of the form are stored as "two.pdb"`) {
		t.Errorf("two of one name: %d %s", two.status, two.body)
	}
	named := "modèle 7.pdb"
	if r := h.upload(item, [3]string{"files", named + " ", smallPDB}); r.status != 200 ||
		!strings.Contains(r.body, `"`+named+`"`) {
		t.Errorf("a name with a blank at its end: %d %s", r.status, r.body)
	}
	sent := h.sentFile(item, named).header.Get("Content-Disposition")
	if want := `attachment; filename="mod_le 7.pdb"; filename*=UTF-8''mod%C3%A8le%207.pdb`; sent != want {
		t.Errorf("%s, want %s", sent, want)
	}
}

func TestUploads(t *testing.T) {
	t.Parallel()
	h := newWorkflowFixture(t)
	item := h.item(h.key, "x", "")
	good := map[string]string{
		"a.pdb": smallPDB, "a.ENT": smallPDB, "pae.json": `{"predicted_aligned_error":[[0,1],[1,0]]}`,
		"seq.fasta": ">x\nGSGS\n", "seq.fa": ">x\nGSGS\n",
		"aln.a3m": "#1\n>x\nGSGS\n>y\nG-aGS\n",
		"b.cif": "data_x\nloop_\n_atom_site.group_PDB\n_atom_site.id\n_atom_site.type_symbol\n" +
			"_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n_atom_site.label_seq_id\n" +
			"_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\nATOM 1 C CA GLY A 1 0.0 0.0 0.0\n",
	}
	for name, content := range good {
		if r := h.upload(item, [3]string{"files", name, content}); r.status != 200 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	for _, c := range []struct {
		name, content, want string
		status              int
	}{
		{"a.pdb", "this is no structure\n", "not what its name says", 400},
		{"a.pdb", "\x7fELF\x00\x00", "not what its name says", 400},
		{"a.cif", smallPDB, "not what its name says", 400},
		{"a.json", `{"a":`, "ends too early", 400},
		{"a.json", `{} {}`, "has data after", 400},
		{"a.json", `7`, "neither an object", 400},
		{"a.json", strings.Repeat("[", 100), "levels deep", 400},
		{"a.fasta", "GS\x00GS", "not what its name says", 400},
		{"a.a3m", "GSGS\n", "before the first name", 400},
		{"a.a3m", ">x\nGSGS\n>y\nGS\n", "row 2 has 2 columns; the sequence has 4 residues", 400},
		{"a.a3m", ">x\nGS GS\n", "position 3", 400},
		{"a.pdb", "", "is empty", 400},
		{"a.exe", "MZ", "of no known type", 400},
		{"noending", "x", "of no known type", 400},
		{".pdb", smallPDB, "not a plain file name", 400},
		{"a\u202ebdp.pdb", smallPDB, "not a plain file name", 400},
		{strings.Repeat("a", 130) + ".pdb", smallPDB, "characters", 400},
	} {
		r := h.upload(item, [3]string{"files", c.name, c.content})
		if r.status != c.status || !strings.Contains(r.message(t), c.want) {
			t.Errorf("%s %q: %d %s; want %q", pleat.Clip(c.name), pleat.Clip(c.content), r.status, r.body, c.want)
		}
	}
	if r := h.upload(item, [3]string{"file", "a.pdb", smallPDB}); r.status != 400 ||
		!strings.Contains(r.message(t), `unknown field "file"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.upload(item); r.status != 400 {
		t.Errorf("nothing: %d %s", r.status, r.body)
	}
	if r := h.as(h.key, "POST", "/v1/library/"+item+"/upload-files", `{}`); r.status != 415 {
		t.Errorf("JSON: %d %s", r.status, r.body)
	}
	if r := h.as(h.key, "POST", "/v1/library/"+item+"/upload-files",
		"--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.pdb\"\r\n\r\nATOM", "Content-Type",
		"multipart/form-data; boundary=x"); r.status != 400 {
		t.Errorf("a torn form: %d %s", r.status, r.body)
	}
	// nothing that was refused is left in the store of files
	n := 0
	if err := h.blobs.Walk(context.Background(), "library/", time.Time{}, func(blob.Info) error {
		n++
		return nil
	}); err != nil || n != len(good) {
		t.Errorf("%d files are left, want %d: %v", n, len(good), err)
	}
}

func TestLibraryQuota(t *testing.T) {
	t.Parallel()
	h := newLimitedFixture(t, people.Limits{LibraryBytes: int64(len(smallPDB)) + 10})
	item := h.item(h.key, "x", "a.pdb", smallPDB)
	if r := h.upload(item, [3]string{"files", "b.pdb", smallPDB}); r.status != 413 ||
		!strings.Contains(r.message(t), "the library may hold") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := h.upload(item, [3]string{"files", "a.pdb", smallPDB}); r.status != 200 {
		t.Errorf("in place of itself: %d %s", r.status, r.body)
	}
	if r := h.upload(item, [3]string{
		"files", "big.pdb", strings.Repeat("x", 64<<20+1),
	}); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// No file that is uploaded makes the server answer anything but that it is kept or one sentence about it.
func FuzzUpload(fz *testing.F) {
	for name, content := range map[string]string{"a.pdb": smallPDB, "a.cif": "data_x\n", "a.json": `[[0]]`,
		"a.fa": ">x\nGS\n", "a.a3m": ">x\nG-s\n", "../x": "\x00"} {
		fz.Add(name, []byte(content))
	}
	h := newWorkflowFixture(fz)
	item := h.item(h.key, "x", "")
	fz.Fuzz(func(t *testing.T, name string, content []byte) {
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		part, err := form.CreateFormFile("files", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(content)
		_ = form.Close()
		r := httptest.NewRequest("POST", "/v1/library/"+item+"/upload-files", &b)
		r.Header.Set("Content-Type", form.FormDataContentType())
		r.Header.Set("X-API-Key", h.key)
		w := httptest.NewRecorder()
		h.srv.Handler().ServeHTTP(w, r)
		if w.Code != 200 && w.Code != 400 && w.Code != 413 {
			t.Fatalf("%q: %d %s", name, w.Code, w.Body)
		}
	})
}
