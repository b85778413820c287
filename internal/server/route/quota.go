package route

import (
	"context"
	"strconv"

	"pleat"
	"pleat/internal/store/people"
)

// Usage returns how much of today's quotas the project of the call has spent.
func (c *Call) Usage(ctx context.Context) (people.Usages, error) {
	return c.core.stores.people.Usage(ctx, c.In)
}

// WithRetryAfter sets Retry-After if err says that a quota is used up: to the time at which the quota that choose
// returns starts again. It returns err, or the error of reading the quota.
func (c *Call) WithRetryAfter(ctx context.Context, err error, choose func(people.Usages) people.Usage) error {
	if pleat.CodeOf(err) != pleat.CodeLimited {
		return err
	}
	u, uerr := c.Usage(ctx)
	if uerr != nil {
		return uerr
	}
	c.retryAfter(choose(u).Reset.Sub(c.core.clock()))
	return err
}

// WithJobQuota is WithRetryAfter for the quota of jobs, which it shows in the headers, too.
func (c *Call) WithJobQuota(ctx context.Context, err error) error {
	return c.WithRetryAfter(ctx, err, func(u people.Usages) people.Usage {
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
