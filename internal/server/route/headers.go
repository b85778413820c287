package route

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"pleat"
	"pleat/internal/submit"
)

// Once reads the Idempotency-Key of a request, in which in is the body and from what the request has outside of it.
func (c *Call) Once(in any, from string) (submit.Once, error) {
	key, err := c.IdempotencyKey()
	if err != nil {
		return submit.Once{}, err
	}
	digest, err := Digest(in, from)
	return submit.Once{Key: key, Digest: digest}, err
}

// IdempotencyKey reads the Idempotency-Key of a request; empty if it has none. Its characters and length are those that
// every proxy passes on and the database stores.
func (c *Call) IdempotencyKey() (string, error) {
	k := c.R.Header.Get("Idempotency-Key")
	if len(k) > 255 {
		return "", pleat.Invalidf("the Idempotency-Key has %d characters; at most 255 are allowed", len(k)).
			At("Idempotency-Key")
	}
	for i := range len(k) {
		if k[i] < ' ' || k[i] > '~' {
			return "", pleat.Invalidf("the Idempotency-Key must hold printable ASCII only").At("Idempotency-Key")
		}
	}
	return k, nil
}

// Digest returns a digest of a request in hexadecimal, that does not depend on the order of its fields and on white
// space. from is what the request has outside its body. The store compares it to detect an Idempotency-Key that comes
// again with another body.
func Digest(in any, from string) (string, error) {
	b, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(b, from...))
	return hex.EncodeToString(sum[:]), nil
}

// BypassesCache reports whether a request wants its run computed even if an earlier run has the result: RFC 9111,
// section 5.2.1.
func (c *Call) BypassesCache() bool {
	for _, line := range c.R.Header.Values("Cache-Control") {
		for d := range strings.SplitSeq(line, ",") {
			if d = strings.ToLower(strings.TrimSpace(d)); d == "no-cache" || d == "no-store" {
				return true
			}
		}
	}
	return false
}
