package server

import "pleat"

// RouteForTest is what a test outside of this package needs to know of a route.
type RouteForTest struct {
	ID, Method, Path string
	Access           string // open, anyone, reader or user
	Needs            pleat.Role
	InProject        bool // it takes the query projectId
	Stream           bool // it answers with an event stream
}

// RoutesForTest returns all routes.
func RoutesForTest() []RouteForTest {
	var out []RouteForTest
	for _, rt := range allRoutes() {
		r := RouteForTest{ID: rt.id, Method: rt.method(), Path: rt.path(), Needs: rt.needs(),
			Stream: rt.handler.eventStream,
			Access: map[access]string{open: "open", anyone: "anyone", reader: "reader", user: "user"}[rt.access]}
		for _, p := range rt.query {
			r.InProject = r.InProject || p.Name == projectParam
		}
		out = append(out, r)
	}
	return out
}
