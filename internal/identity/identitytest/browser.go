package identitytest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
)

// Browser is one person's browser, for issuers that show forms. It keeps every cookie, since Keycloak takes
// 127.0.0.1 for safe and sets cookies there that the jar of net/http would keep from http.
type Browser struct {
	callback string
	mu       sync.Mutex
	cookies  map[string]string
	http.Client
}

// NewBrowser returns a browser that stops where it is sent to an address that begins with callback.
func NewBrowser(callback string) *Browser {
	b := &Browser{callback: callback, cookies: map[string]string{}}
	b.Jar = b
	b.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(req.URL.String(), callback) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	return b
}

// SetCookies keeps cookies; Cookies returns all of them.
func (b *Browser) SetCookies(_ *url.URL, cookies []*http.Cookie) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range cookies {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 || c.Value == "" {
			delete(b.cookies, c.Name)
		}
	}
}

// Cookies returns all cookies, whatever they are for.
func (b *Browser) Cookies(*url.URL) (out []*http.Cookie) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, value := range b.cookies {
		out = append(out, &http.Cookie{Name: name, Value: value})
	}
	return out
}

// Visit opens an address, and submits the forms that it leads to with these values, until it leads back to the service
// or to a page without a form. It returns the parameters of the way back; nil: there was none. Forms counts the forms.
func (b *Browser) Visit(t testing.TB, address string, values map[string]string) (back url.Values, forms int) {
	t.Helper()
	resp, err := b.Get(address)
	for ; ; forms++ {
		if err != nil {
			t.Fatal(err)
		}
		body, errBody := io.ReadAll(resp.Body)
		resp.Body.Close()
		if to, err := resp.Location(); err == nil && strings.HasPrefix(to.String(), b.callback) {
			return to.Query(), forms
		}
		if errBody != nil || resp.StatusCode >= 500 {
			t.Fatalf("%s: %s, %v\n%s", resp.Request.URL, resp.Status, errBody, body)
		}
		action, form := readForm(t, body, values)
		if action == "" || forms == 3 {
			return nil, forms
		}
		to, err := resp.Request.URL.Parse(action)
		if err != nil {
			t.Fatal(err)
		}
		resp, err = b.PostForm(to.String(), form)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// readForm returns where the form of a page goes, and what is in it after the values have been entered. If there are
// several buttons, it presses the first that is not for cancelling.
func readForm(t testing.TB, page []byte, values map[string]string) (action string, form url.Values) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	form = url.Values{}
	for n := range root.Descendants() {
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		name, kind := attributes["name"], attributes["type"]
		switch {
		case n.Data == "form" && action == "":
			action = attributes["action"]
		case n.Data != "input" && n.Data != "button" || name == "" || action == "":
		case values[name] != "":
			form.Set(name, values[name])
		case kind == "hidden", kind == "submit" && name != "cancel":
			form.Set(name, attributes["value"])
		}
	}
	return action, form
}
