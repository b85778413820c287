package docs

import (
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"pleat/internal/testprogram"
)

// TestSite reads the whole documentation site from a server, as scripts/site has built it: every link leads to
// something that is there, every page is reached, and nothing comes from elsewhere or runs inside a page.
func TestSite(t *testing.T) {
	if os.Getenv("PLEAT_TEST_SITE") == "" {
		t.Skip("make test-site builds the site and runs this test")
	}
	n := testprogram.NewNode(t, testprogram.SQLite(t))
	n.Serve()
	c := &crawler{t: t, base: n.URL, pages: map[string]*sitePage{}}
	for _, at := range linksOfText(c.read(n.URL + "/llms.txt").body) {
		c.visit(at, "/llms.txt")
	}
	c.visit(n.URL+"/docs/", "the test")
	for len(c.waiting) > 0 {
		at := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.follow(at)
	}
	c.checkFragments()
	built := os.DirFS("../../internal/ui/site")
	count := 0
	err := fs.WalkDir(built, ".", func(name string, _ fs.DirEntry, err error) error {
		if folder, ok := strings.CutSuffix("/docs/"+name, "index.html.gz"); ok {
			count++
			if c.pages[n.URL+folder] == nil {
				t.Errorf("no page links to %s", folder)
			}
		}
		return err
	})
	if err != nil || count < 50 {
		t.Errorf("%d pages are built, %v", count, err)
	}
	t.Logf("%d pages and files, %d links to places in pages", len(c.pages), len(c.fragments))
}

// linksOfText returns the addresses of the links of a text in Markdown.
func linksOfText(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// sitePage is what a server answers at one address.
type sitePage struct {
	media, policy, body string
	places              map[string]bool // the places that a fragment can name
}

type fragment struct{ from, page, name string }

// crawler follows the links of one server.
type crawler struct {
	t         *testing.T
	base      string
	pages     map[string]*sitePage
	waiting   []string
	fragments []fragment
}

func (c *crawler) read(at string) *sitePage {
	c.t.Helper()
	r, err := http.Get(at) //nolint:noctx // the server of this test
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		c.t.Errorf("%s: %d, %v", at, r.StatusCode, err)
	}
	return &sitePage{media: r.Header.Get("Content-Type"), policy: r.Header.Get("Content-Security-Policy"),
		body: string(b), places: map[string]bool{}}
}

// visit notes an address of the server, which a page names.
func (c *crawler) visit(at, from string) {
	page, name, _ := strings.Cut(at, "#")
	if name != "" {
		if decoded, err := url.PathUnescape(name); err == nil {
			name = decoded
		}
		c.fragments = append(c.fragments, fragment{from, page, name})
	}
	if c.pages[page] == nil {
		c.pages[page] = &sitePage{}
		c.waiting = append(c.waiting, page)
	}
}

// follow reads an address and visits what it links to, if it belongs to the site.
func (c *crawler) follow(at string) {
	p := c.read(at)
	c.pages[at] = p
	if !strings.HasPrefix(at, c.base+"/docs/") {
		return
	}
	if !strings.Contains(p.policy, "default-src 'none'; script-src 'self'; style-src 'self'") {
		c.t.Errorf("%s: the content security policy is %q", at, p.policy)
	}
	switch media, _, _ := strings.Cut(p.media, ";"); media {
	case "text/html":
		doc, err := html.Parse(strings.NewReader(p.body))
		if err != nil {
			c.t.Fatal(err)
		}
		c.element(at, p, doc)
	case "text/css":
		for _, m := range regexp.MustCompile(`url\(["']?([^"')]+)|@import`).FindAllStringSubmatch(p.body, -1) {
			if !strings.HasPrefix(m[1], "data:") {
				c.t.Errorf("%s loads %s", at, m[0])
			}
		}
	case "text/markdown":
		for _, m := range regexp.MustCompile(`\]\(([^)#:\s]+\.md)[)#]`).FindAllStringSubmatch(p.body, -1) {
			c.visit(c.base+path.Join(path.Dir(strings.TrimPrefix(at, c.base)), m[1]), at)
		}
	}
}

// unrendered is the beginning of a line that the generator took for text, and a forge for a list, table or code.
var unrendered = regexp.MustCompile("(?m)^\\s*(?:- |\\* |\\d+\\. |\\||```)")

// element checks an element and those in it.
func (c *crawler) element(at string, p *sitePage, e *html.Node) {
	attributes := map[string]string{}
	for _, a := range e.Attr {
		attributes[a.Key] = a.Val
		if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
			c.t.Errorf("%s: <%s> has %s=%q", at, e.Data, a.Key, a.Val)
		}
	}
	p.places[attributes["id"]], p.places[attributes["name"]] = true, true
	switch {
	case e.Type == html.TextNode && e.Parent.Data == "p" && unrendered.MatchString(e.Data):
		c.t.Errorf("%s has a paragraph that is no text: %.80q", at, e.Data)
	case e.Data == "style" && e.Type == html.ElementNode,
		e.Data == "script" && attributes["src"] == "" && attributes["type"] != "application/json":
		c.t.Errorf("%s has a %s of its own", at, e.Data)
	}
	for _, name := range []string{"href", "src"} {
		if target, ok := attributes[name]; ok {
			c.link(at, e.Data, target)
		}
	}
	for child := range e.ChildNodes() {
		c.element(at, p, child)
	}
}

// link visits what an element of a page names. Only a link that a person follows may lead elsewhere.
func (c *crawler) link(at, element, target string) {
	from, err := url.Parse(at)
	if err != nil {
		c.t.Fatal(err)
	}
	to, err := from.Parse(target)
	if err != nil {
		c.t.Errorf("%s: %v", at, err)
		return
	}
	switch {
	case strings.HasPrefix(to.String(), c.base+"/"):
		c.visit(to.String(), at)
	case element != "a" || to.Scheme != "https" && to.Scheme != "http":
		c.t.Errorf("%s: <%s> names %s", at, element, target)
	}
}

// checkFragments checks that what fragments name is there.
func (c *crawler) checkFragments() {
	for _, f := range c.fragments {
		p := c.pages[f.page]
		if strings.HasPrefix(p.media, "text/html") && !p.places[f.name] {
			c.t.Errorf("%s links to #%s of %s, which is not there", f.from, f.name, f.page)
		}
	}
}
