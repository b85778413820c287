package server_test

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"pleat/internal/server"
)

// withSite is a server whose documentation answers with its path.
func withSite(t *testing.T, reference *string) *fixture {
	t.Helper()
	return newFixtureWith(t, func(_ *server.Config, d *server.Deps) {
		d.Docs = func(html func() []byte) http.Handler {
			*reference = string(html())
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "site "+r.URL.Path)
			})
		}
	})
}

func TestDocsLeadToTheSite(t *testing.T) {
	t.Parallel()
	var reference string
	h := withSite(t, &reference)
	if r := h.ask("GET", "/docs", nil); r.status != http.StatusFound || r.header.Get("Location") != "/docs/" {
		t.Errorf("/docs: %d to %q", r.status, r.header.Get("Location"))
	}
	for _, path := range []string{"/docs/", "/docs/guide/"} {
		if r := h.ask("GET", path, nil); r.status != 200 || r.body != "site "+path {
			t.Errorf("%s: %d %q", path, r.status, r.body)
		}
	}
	for _, want := range []string{`id="CreateJob"`, "/v1/jobs/{id}/results", `<div class="reference">`} {
		if !strings.Contains(reference, want) {
			t.Errorf("the reference for the site has no %s", want)
		}
	}
	if m := regexp.MustCompile(`<html|<style|<script|style=`).FindString(reference); m != "" {
		t.Errorf("the reference for the site has %s, which is no part of a page or is refused by its policy", m)
	}
}

func TestDocsWithoutTheSite(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if r := h.ask("GET", "/docs/", nil); r.status != http.StatusFound || r.header.Get("Location") != "/docs" {
		t.Errorf("/docs/: %d to %q", r.status, r.header.Get("Location"))
	}
	if r := h.ask("GET", "/docs/guide/", nil); r.status != 404 {
		t.Errorf("/docs/guide/: %d, want 404", r.status)
	}
}

// llms.txt has the form of llmstxt.org, and links to pages of this server whose sources are in the repository.
func TestLLMs(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`(?m)^- \[[^\]]+\]\(([^)]+)\): \S`)
	pages := func(h *fixture) (sources []string) {
		t.Helper()
		r := h.ask("GET", "/llms.txt", nil)
		if got := r.header.Get("Content-Type"); r.status != 200 || got != "text/plain; charset=utf-8" {
			t.Errorf("%d %s", r.status, got)
		}
		if !regexp.MustCompile(`\A# Pleat\n\n> [^#]+\n\n- `).MatchString(r.body) {
			t.Errorf("the text does not begin with a title and a summary:\n%.200s", r.body)
		}
		links := link.FindAllStringSubmatch(r.body, -1)
		if len(links) < 2 || len(links) != strings.Count(r.body, "](") {
			t.Errorf("%d links have the form of the specification, of %d", len(links), strings.Count(r.body, "]("))
		}
		for _, m := range links {
			path, ours := strings.CutPrefix(m[1], h.http.URL)
			if name, ok := strings.CutPrefix(path, "/docs/"); ok && strings.HasSuffix(name, ".md") {
				sources = append(sources, name)
			} else if !ours || h.ask("GET", path, nil).status != 200 {
				t.Errorf("%s cannot be read", m[1])
			}
		}
		return sources
	}
	if got := pages(newFixture(t)); len(got) != 0 {
		t.Errorf("a server without the site links to its pages %q", got)
	}
	var reference string
	sources := pages(withSite(t, &reference))
	if len(sources) < 10 {
		t.Errorf("only the pages %q are named", sources)
	}
	for _, name := range sources {
		file := "../../docs/" + name
		if name == "skill.md" {
			file = "../../skills/pleat/SKILL.md"
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}
