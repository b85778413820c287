package route

import (
	"context"
	"net/http"

	"pleat"
	"pleat/internal/seal"
)

// SharePath begins the addresses of links. The rest of the address is a secret, which no log has.
const SharePath = "/s/"

// shareHeader is the header by which a program reads what a link opens.
const shareHeader = "X-Share-Token"

// shareHash returns the hash of the token of a link that a request brings; empty: none.
func (c *Call) shareHash() string {
	r := c.R
	if token := r.Header.Get(shareHeader); token != "" {
		return TokenHash(token)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !c.core.site.KnownHost(r.Host) {
		return ""
	}
	if cookies := r.CookiesNamed(c.core.site.shareCookie); len(cookies) == 1 {
		return TokenHash(cookies[0].Value)
	}
	return ""
}

// shares reports whether a request brings the token of a link that opens something for reading.
func (c *Call) shares(ctx context.Context, source pleat.Source) (bool, error) {
	hash := c.shareHash()
	if hash == "" || c.served.Who.access != reader {
		return false, nil
	}
	if source.Job != "" {
		return c.core.stores.people.SharesJob(ctx, hash, source.Job)
	}
	h, err := c.core.stores.people.Shared(ctx, hash)
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		return false, nil
	}
	return err == nil && h.Source == source, err
}

// TokenHash returns the hash of a token of a link; empty, which is that of none, if it is too long to be one.
func TokenHash(token string) string {
	if token == "" || len(token) > 256 {
		return ""
	}
	return seal.HashKey(token)
}
