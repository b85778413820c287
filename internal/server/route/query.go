package route

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/api"
)

// Page is what a request wants of a list: how many entries, and after which.
type Page struct {
	Limit  int
	Before string // id of the last entry of the previous page; empty: the first page
}

// MaxPage bounds the limit of a list; docs/interface.md promises it.
const MaxPage = 200

// PageQuery reads limit and cursor; limit is def if it is absent. A cursor is the id of the last entry of a page, in
// base64 so that clients do not take it for an id. Ids are UUIDs of version 7, whose order is that of creation, so a
// page begins where the last one ended even if entries were added or deleted between the two requests.
func (c *Call) PageQuery(def int) (Page, error) {
	limit, err := c.IntQuery("limit", 1, MaxPage, def)
	if err != nil {
		return Page{}, err
	}
	cursor := c.R.URL.Query().Get("cursor")
	if cursor == "" {
		return Page{Limit: limit}, nil
	}
	id, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || !pleat.IsUUID(string(id)) {
		return Page{}, pleat.InvalidField("cursor", " is %q; it must be a next_cursor of this list", pleat.Clip(cursor))
	}
	return Page{Limit: limit, Before: string(id)}, nil
}

// List converts the rows of a page to a response. The rows were read with a limit of p.Limit+1: if there is one more
// than p.Limit, the response has a cursor for the next page.
func List[Row, Out any](p Page, rows []Row, id func(*Row) string, convert func(*Row) Out) api.List[Out] {
	out := api.List[Out]{Data: []Out{}}
	if len(rows) > p.Limit {
		rows = rows[:p.Limit]
		next := base64.RawURLEncoding.EncodeToString([]byte(id(&rows[p.Limit-1])))
		out.NextCursor = &next
	}
	for i := range rows {
		out.Data = append(out.Data, convert(&rows[i]))
	}
	return out
}

// UUIDQuery reads a query parameter that is a UUID; empty if it is absent.
func (c *Call) UUIDQuery(name string) (string, error) {
	v := c.R.URL.Query().Get(name)
	if v != "" && !pleat.IsUUID(v) {
		return "", pleat.InvalidField(name, " is %q; it must be a UUID", pleat.Clip(v))
	}
	return v, nil
}

// CreatorQuery reads the query parameter createdBy: a user's id, or me for the caller; empty if it is absent.
func (c *Call) CreatorQuery() (pleat.UserID, error) {
	v := c.R.URL.Query().Get("createdBy")
	switch {
	case v == "me":
		return c.Who.User, nil
	case v == "" || pleat.IsUUID(v):
		return pleat.UserID(strings.ToLower(v)), nil
	}
	return "", pleat.InvalidField("createdBy", " is %q; it must be me or the id of a user, a UUID", pleat.Clip(v))
}

// StatusQuery reads the query parameter status, which must be one of allowed; empty if it is absent.
func StatusQuery[S ~string](c *Call, allowed []S) (S, error) {
	v := S(c.R.URL.Query().Get("status"))
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

// IntQuery reads a query parameter that is a whole number from lo to hi; def if it is absent.
func (c *Call) IntQuery(name string, lo, hi, def int) (int, error) {
	v := c.R.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		return 0, pleat.InvalidField(name, " is %q; it must be a whole number from %d to %d", pleat.Clip(v), lo, hi)
	}
	return n, nil
}

// DayQuery reads a query parameter that is a day; def if it is absent.
func (c *Call) DayQuery(name string, def time.Time) (time.Time, error) {
	v := c.R.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	day, err := time.Parse(time.DateOnly, v)
	if err != nil || day.Year() < 1970 {
		return day, pleat.InvalidField(name, " is %q; it must be a day such as 2027-01-31", pleat.Clip(v))
	}
	return day, nil
}
