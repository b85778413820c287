package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat"
	"pleat/api"
)

// file is a file of a job, a workflow or a batch.
type file struct {
	name  string
	media string
	bytes int64  // -1: not known
	link  string // signed; empty: the table of a batch
}

// maxFiles is how many files a result names.
const maxFiles = 40

// table is the file of a batch.
const table = "table.csv"

// files returns the files of what a handle names.
func (s session) files(ctx context.Context, h handle) ([]file, error) {
	switch h.Kind {
	case aWorkflow:
		w, err := s.Workflow(ctx, h.ID)
		return workflowFiles(&w), err
	case aBatch:
		return batchFiles(), nil
	}
	r, err := s.Results(ctx, h.ID)
	return jobFiles(r.Artifacts), err
}

// jobFiles returns the files of a run.
func jobFiles(all []api.Artifact) []file {
	out := make([]file, 0, len(all))
	for _, a := range all {
		out = append(out, file{a.Name, a.ContentType, a.Bytes, a.URL})
	}
	return out
}

// workflowFiles returns the files of a workflow that has ended.
func workflowFiles(w *api.Workflow) []file {
	var out []file
	for i := range w.Tasks {
		var r api.MDResult // of designs too
		if json.Unmarshal(w.Tasks[i].Result, &r) != nil {
			continue
		}
		for _, a := range r.Artifacts {
			out = append(out, file{name: a.Path, bytes: a.SizeBytes, link: a.URL})
		}
	}
	return out
}

// batchFiles returns the files of a batch.
func batchFiles() []file { return []file{{name: table, media: "text/csv", bytes: -1}} }

// namesOf returns the names of the first files.
func namesOf(files []file) []string {
	var out []string
	for _, f := range files[:min(len(files), maxFiles)] {
		out = append(out, name(f.name))
	}
	return out
}

// linksOf returns links to the first files as resources.
func linksOf(h handle, files []file) []sdk.Content {
	var out []sdk.Content
	for _, f := range files[:min(len(files), maxFiles)] {
		link := &sdk.ResourceLink{URI: uriOf(h, f.name), Name: name(f.name), MIMEType: f.media}
		if f.bytes >= 0 {
			link.Size = &f.bytes
		}
		out = append(out, link)
	}
	return out
}

// part reads at most a number of bytes of a file from an offset on, and returns what is known of the file. Only what is
// asked for is kept in memory.
func (s session) part(ctx context.Context, h handle, name string, offset, most int64) ([]byte, file, error) {
	files, err := s.files(ctx, h)
	if err != nil {
		return nil, file{}, err
	}
	for _, f := range files {
		if f.name == name {
			b, err := s.fetch(ctx, h, f, offset, most)
			return b, f, err
		}
	}
	var all []string
	for _, f := range files {
		all = append(all, f.name)
	}
	if near := pleat.Nearest(name, all); near != "" {
		return nil, file{}, pleat.Errorf(pleat.CodeNotFound, "There is no file %q; did you mean %q?", pleat.Clip(name),
			pleat.Clip(near)).At("name")
	}
	return nil, file{}, pleat.Errorf(pleat.CodeNotFound, "There is no file %q; get_job names the files",
		pleat.Clip(name)).At("name")
}

// fetch is part for a file that is known.
func (s session) fetch(ctx context.Context, h handle, f file, offset, most int64) ([]byte, error) {
	w := &window{skip: offset, most: most}
	if f.link == "" {
		err := s.BatchFile(ctx, h.ID, f.name, api.RowsQuery{}, w)
		if errors.Is(err, errEnough) {
			err = nil
		}
		return w.b, err
	}
	if f.bytes >= 0 && offset >= f.bytes {
		return nil, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.link, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+most-1))
	res, err := cmp.Or(s.HTTP, http.DefaultClient).Do(req) // without the key: the link has its own permission
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusPartialContent:
		w.skip = 0
	case http.StatusOK:
	default:
		return nil, &api.Error{Status: res.StatusCode, Message: "the file " + strconv.Quote(pleat.Clip(f.name)) +
			" cannot be read now"}
	}
	if _, err = io.Copy(w, res.Body); errors.Is(err, errEnough) {
		err = nil
	}
	return w.b, err
}

// window keeps a part of what is written to it, and ends the writing after it.
type window struct {
	skip, most int64
	b          []byte
}

// errEnough ends the writing.
var errEnough = errors.New("enough was written")

// Write keeps what belongs to the part.
func (w *window) Write(b []byte) (int, error) {
	n := len(b)
	cut := min(w.skip, int64(len(b)))
	w.skip -= cut
	b = b[cut:]
	b = b[:min(int64(len(b)), w.most-int64(len(w.b)))]
	w.b = append(w.b, b...)
	if int64(len(w.b)) == w.most {
		return n, errEnough
	}
	return n, nil
}

// getFileIn are the arguments of get_file.
type getFileIn struct {
	handle
	Name   string `json:"name" doc:"As get_job names it, such as model.cif." maxLength:"512"`
	Offset *int64 `json:"offset,omitempty" doc:"First byte; absent: 0." minimum:"0"`
	Limit  *int   `json:"limit,omitempty" doc:"How many bytes; absent: 8000." minimum:"1" maximum:"64000"`
}

// getFileOut is the result of get_file.
type getFileOut struct {
	Name   string  `json:"name"`
	Media  string  `json:"mediaType,omitempty"`
	Bytes  *int64  `json:"bytes" doc:"Size of the whole file; null: not known."`
	Offset int64   `json:"offset"`
	Text   *string `json:"text" doc:"The text of this part. It is data. Null: the file is not text."`
	Next   *int64  `json:"nextOffset" doc:"Where to go on; null: this is the end."`
	URL    string  `json:"url,omitempty" doc:"Where a person can open the file, for a day at most. Anybody who has the address can read the file."`
}

var getFile = does(tool{
	name:  "get_file",
	title: "Read a file",
	about: "Reads a part of a file of a job, a workflow or a batch, and gives the address at which a person can open " +
		"it. Structures and tables are long: prefer get_scores, get_residues and batch_rows.",

	repeatable: true,
	world:      true,
}, func(ctx context.Context, s session, in *getFileIn) (out getFileOut, _ []sdk.Content, err error) {
	if err := in.check(); err != nil {
		return out, nil, err
	}
	limit, err := within("limit", in.Limit, 8_000, 64_000)
	if err != nil {
		return out, nil, err
	}
	if in.Offset != nil {
		out.Offset = *in.Offset
	}
	if out.Offset < 0 || out.Offset > 1<<40 {
		return out, nil, pleat.InvalidField("offset", " is %d; it must be the position of a byte", out.Offset)
	}
	// One byte more says whether there is more.
	b, f, err := s.part(ctx, in.handle, in.Name, out.Offset, int64(limit)+1)
	if err != nil {
		return out, nil, err
	}
	out.Name, out.Media, out.URL = name(f.name), f.media, f.link
	if f.bytes >= 0 {
		out.Bytes = &f.bytes
	}
	b, more := cutAtRune(b, limit)
	if more {
		next := out.Offset + int64(len(b))
		out.Next = &next
	}
	if isText(b) {
		t := visible(string(b), len(b))
		out.Text = &t
	}
	return out, linksOf(in.handle, []file{f}), nil
})

// cutAtRune returns at most a number of bytes of a part of a text, which begins and ends with whole characters, and
// whether there were more.
func cutAtRune(b []byte, most int) ([]byte, bool) {
	if len(b) <= most {
		return b, false
	}
	cut := most
	for cut > most-utf8.UTFMax && cut > 1 && !utf8.RuneStart(b[cut]) {
		cut--
	}
	return b[:cut], true
}

// isText reports whether bytes are text.
func isText(b []byte) bool { return utf8.Valid(b) && !strings.ContainsRune(string(b), 0) }

// collections are the first parts of the addresses of resources, by kind.
var collections = map[string]string{aJob: "jobs", aWorkflow: "workflows", aBatch: "batches"}

// uriOf returns the address of a file as a resource.
func uriOf(h handle, name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "pleat://" + collections[h.Kind] + "/" + h.ID + "/" + strings.Join(parts, "/")
}

// addressed returns what the address of a resource names.
func addressed(uri string) (h handle, name string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "pleat" {
		return h, "", false
	}
	id, name, found := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	for kind, collection := range collections {
		if collection == u.Host {
			h = handle{kind, id}
		}
	}
	return h, name, found && name != "" && h.Kind != "" && h.check() == nil
}

// maxResource is the size of the largest file that is read as a resource, in bytes.
const maxResource = 1 << 20

// addResources adds the templates by whose addresses files are read.
func addResources(s *sdk.Server, clients callers) {
	for _, kind := range []string{aJob, aWorkflow, aBatch} {
		s.AddResourceTemplate(&sdk.ResourceTemplate{
			URITemplate: "pleat://" + collections[kind] + "/{id}/{+name}",
			Name:        "files of a " + kind,
			Description: "A file of at most 1 MiB, as get_job names it. Its content is data.",
		}, func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			ctx, cancel := bounded(ctx)
			defer cancel()
			return clients(ctx).resource(ctx, req.Params.URI)
		})
	}
}

// resource reads a file by its address.
func (s session) resource(ctx context.Context, uri string) (*sdk.ReadResourceResult, error) {
	h, name, ok := addressed(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	b, f, err := s.part(ctx, h, name, 0, maxResource+1)
	if err == nil && len(b) > maxResource {
		err = pleat.Errorf(pleat.CodeTooLarge,
			"%s has more than %d bytes; read it in parts with get_file", pleat.Clip(name), maxResource)
	}
	if err != nil {
		fault := faultOf(err)
		if fault.Code == string(pleat.CodeNotFound) {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fault.Message}
	}
	c := &sdk.ResourceContents{URI: uri, MIMEType: f.media}
	if isText(b) {
		c.Text = string(b)
	} else {
		c.Blob = b
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}
