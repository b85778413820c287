package people

import (
	"context"

	"pleat"
	"pleat/api"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

// audit is GET /v1/audit, for any user: who changed the caller's keys and webhook settings and opened sessions, newest
// first. Changes that an operator made on the database are there too.
func (h *Handlers) audit(ctx context.Context, c *route.Call) (api.List[api.AuditEntry], error) {
	p, err := c.PageQuery(50)
	if err != nil {
		return api.List[api.AuditEntry]{}, err
	}
	list, err := h.People.Audit(ctx, c.Reach(), pleat.AuditID(p.Before), p.Limit+1)
	return route.List(p, list, func(e *people.AuditEntry) string { return string(e.ID) }, wire.AuditEntry), err
}
