package route

import (
	"context"
	"fmt"
	"testing"

	"pleat"
)

// TestRoutesThatContradictThemselves makes routes that must not be served, and some that may.
func TestRoutesThatContradictThemselves(t *testing.T) {
	t.Parallel()
	route := func(who Who, cost Cost) func() {
		return func() {
			handler := Answers(nil, func(context.Context, *Call) error { return nil })
			Route{
				ID: "x", Section: "Operation", Pattern: "GET /x", Summary: "X", Who: who, Cost: cost, Handler: handler,
			}.check()
		}
	}
	read := User(pleat.ScopeRead)
	for _, c := range []struct {
		name   string
		make   func()
		panics bool
	}{
		{"nobody", route(Who{}, 0), true},
		{"open", route(Open(), 0), false},
		{"open, new work", route(Open(), CostNewWork), true},
		{"open, counted", route(Open(), CostOpen), false},
		{"open, guessed", route(Open(), CostGuess), false},
		{"open, polled", route(Open(), CostPoll), true},
		{"anyone", route(Anyone(), 0), false},
		{"anyone, guessed", route(Anyone(), CostGuess), true},
		{"readers, polled", route(Reader(), CostPoll), false},
		{"readers, new work", route(Reader(), CostNewWork), true},
		{"users, new work", route(User(pleat.ScopeSubmit), CostNewWork), false},
		{"users, an unknown cost", route(read, 99), true},
		{"users without a scope", func() { User("") }, true},
		{"operators without an act", func() { Operator(pleat.ScopeRead, "") }, true},
		{"operators with the key itself", func() { Operator(pleat.ScopeRead, "read").WithKeyItself() }, true},
		{"open with a role", func() { Open().As(pleat.Manager) }, true},
		{"users with the role of the scope", func() { read.As(pleat.Viewer) }, true},
		{"users with another role", func() { read.As(pleat.Manager) }, false},
		{"readers checked by the store", func() { Reader().CheckedByStore() }, true},
		{"no handler", func() { Route{ID: "x", Section: "Operation", Summary: "X", Who: read}.check() }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fault := func() (fault any) {
				defer func() { fault = recover() }()
				c.make()
				return nil
			}()
			if (fault != nil) != c.panics {
				t.Error(fmt.Sprint(fault))
			}
		})
	}
}
