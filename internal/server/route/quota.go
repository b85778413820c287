package route

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/store/people"
)

// Usage returns how much of today's quotas the project of the call has spent.
func (c *Call) Usage(ctx context.Context) (people.Usages, error) {
	return c.core.stores.people.Usage(ctx, c.In)
}

// RefusedByQuota sets Retry-After if err says that a quota is used up: to the time at which the quota that of chooses
// starts again. It returns err, or the error of reading the quota.
func (c *Call) RefusedByQuota(ctx context.Context, err error, of func(people.Usages) people.Usage) error {
	if pleat.CodeOf(err) != pleat.CodeLimited {
		return err
	}
	u, uerr := c.Usage(ctx)
	if uerr != nil {
		return uerr
	}
	c.RetryAfter(of(u).Reset.Sub(c.core.clock()))
	return err
}

// RefusedByJobQuota is [Call.RefusedByQuota] for the quota of jobs, which it shows in the headers, too.
func (c *Call) RefusedByJobQuota(ctx context.Context, err error) error {
	return c.RefusedByQuota(ctx, err, func(u people.Usages) people.Usage {
		c.ShowQuota(u.Jobs)
		return u.Jobs
	})
}

// ShowQuota sets the headers that show a caller today's quota. X-RateLimit-Reset is in seconds since 1970.
func (c *Call) ShowQuota(u people.Usage) {
	h := c.W.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(u.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, u.Limit-u.Used)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(u.Reset.Unix(), 10))
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
