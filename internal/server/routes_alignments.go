package server

import "pleat"

// alignmentRoutes are the routes of alignments. The routes of workflows list, cancel, share and delete them.
var alignmentRoutes = inSection("Alignments", []route{
	{
		id:      "createAlignment",
		pattern: "POST /v1/alignments",
		access:  user,
		scope:   pleat.ScopeSubmit,
		grows:   true,
		summary: "Search for alignments of proteins",
		handler: jsonBody(large, (*Server).createAlignment),
	},
	{
		id:      "getAlignment",
		pattern: "GET /v1/alignments/{id}",
		access:  reader,
		scope:   pleat.ScopeRead,
		counted: asPoll,
		summary: "Read an alignment with its files",
		handler: noBody((*Server).viewAlignment),
	},
})
