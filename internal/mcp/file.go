package mcp

import (
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"pleat/api"
)

// file is a file of a job, a workflow or a batch.
type file struct {
	name  string
	media string
	bytes int64  // -1: not known
	link  string // signed; empty: only the service's interface gives it
	sha   string
}

// maxFiles is how many files a result names.
const maxFiles = 40

// jobFiles returns the files of a run.
func jobFiles(all []api.Artifact) []file {
	out := make([]file, 0, len(all))
	for _, a := range all {
		out = append(out, file{a.Name, a.ContentType, a.Bytes, a.URL, a.SHA256})
	}
	return out
}

func workflowFiles(*api.Workflow) []file { return nil }
func batchFiles(string) []file           { return nil }

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
