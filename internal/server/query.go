package server

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/api"
)

// page is what a request wants of a list: how many entries, and after which.
type page struct {
	limit  int
	before string // id of the last entry of the previous page; empty: the first page
}

// maxPage bounds the limit of a list; docs/interface.md promises it.
const maxPage = 200

// pageQuery reads limit and cursor; limit is def if it is absent. A cursor is the id of the last entry of a page, in
// base64 so that clients do not take it for an id. Ids are UUIDs of version 7, whose order is that of creation, so a
// page begins where the last one ended even if entries were added or deleted between the two requests.
func pageQuery(r *http.Request, def int) (page, error) {
	limit, err := intQuery(r, "limit", 1, maxPage, def)
	if err != nil {
		return page{}, err
	}
	cursor := r.URL.Query().Get("cursor")
	if cursor == "" {
		return page{limit: limit}, nil
	}
	id, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || !pleat.IsUUID(string(id)) {
		return page{}, pleat.InvalidField("cursor", " is %q; it must be a next_cursor of this list", pleat.Clip(cursor))
	}
	return page{limit: limit, before: string(id)}, nil
}

// listOf converts the rows of a page to a response. The rows were read with a limit of p.limit+1: if there is one more
// than p.limit, the response has a cursor for the next page.
func listOf[Row, Out any](p page, rows []Row, id func(*Row) string, convert func(*Row) Out) api.List[Out] {
	out := api.List[Out]{Data: []Out{}}
	if len(rows) > p.limit {
		rows = rows[:p.limit]
		next := base64.RawURLEncoding.EncodeToString([]byte(id(&rows[p.limit-1])))
		out.NextCursor = &next
	}
	for i := range rows {
		out.Data = append(out.Data, convert(&rows[i]))
	}
	return out
}

// uuidQuery reads a query parameter that is a UUID; empty if it is absent.
func uuidQuery(r *http.Request, name string) (string, error) {
	v := r.URL.Query().Get(name)
	if v != "" && !pleat.IsUUID(v) {
		return "", pleat.InvalidField(name, " is %q; it must be a UUID", pleat.Clip(v))
	}
	return v, nil
}

// creatorQuery reads the query parameter createdBy: a user's id, or me for the caller; empty if it is absent.
func creatorQuery(c *call) (pleat.UserID, error) {
	v := c.r.URL.Query().Get("createdBy")
	switch {
	case v == "me":
		return c.who.User, nil
	case v == "" || pleat.IsUUID(v):
		return pleat.UserID(strings.ToLower(v)), nil
	}
	return "", pleat.InvalidField("createdBy", " is %q; it must be me or the id of a user, a UUID", pleat.Clip(v))
}

// statusQuery reads the query parameter status, which must be one of allowed; empty if it is absent.
func statusQuery[S ~string](r *http.Request, allowed []S) (S, error) {
	v := S(r.URL.Query().Get("status"))
	if v == "" || slices.Contains(allowed, v) {
		return v, nil
	}
	names := make([]string, 0, len(allowed))
	for _, s := range allowed {
		names = append(names, string(s))
	}
	last := len(names) - 1
	return "", pleat.InvalidField("status", " is %q; it may be %s or %s", pleat.Clip(string(v)),
		strings.Join(names[:last], ", "), names[last])
}

// intQuery reads a query parameter that is a whole number from lo to hi; def if it is absent.
func intQuery(r *http.Request, name string, lo, hi, def int) (int, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		return 0, pleat.InvalidField(name, " is %q; it must be a whole number from %d to %d", pleat.Clip(v), lo, hi)
	}
	return n, nil
}
