package server

import (
	"context"

	"pleat/internal/submit"
	"pleat/internal/tracing"
)

// submitter returns the caller as one who asks for work in the project that the call has entered.
func (s *Server) submitter(ctx context.Context, c *call) submit.Caller {
	return submit.Caller{
		In:      c.in,
		Reach:   c.reach(),
		Scopes:  c.who.Scopes,
		Request: c.id,
		Trace:   tracing.Text(ctx),
		Turn: func(ctx context.Context) (func(), error) {
			return s.beginComputation(ctx, c, c.who.User)
		},
	}
}
