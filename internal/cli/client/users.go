package client

import (
	"context"
	"fmt"

	"pleat"
	"pleat/api"
)

// eachEntry calls do with the entries of a list, page after page, until do returns false or the list ends. Read reads
// the page of a cursor.
func eachEntry[T any](read func(cursor string) (api.List[T], error), do func(*T) (more bool)) error {
	for cursor := ""; ; {
		list, err := read(cursor)
		if err != nil {
			return err
		}
		for i := range list.Data {
			if !do(&list.Data[i]) {
				return nil
			}
		}
		if list.NextCursor == nil || *list.NextCursor == "" {
			return nil
		}
		cursor = *list.NextCursor
	}
}

// userNamed returns the id of the user of a name. It is for operators.
func userNamed(ctx context.Context, c *api.Client, name string) (id string, err error) {
	read := func(cursor string) (api.List[api.OperatorUser], error) { return c.AllUsers(ctx, cursor) }
	err = eachEntry(read, func(u *api.OperatorUser) (more bool) {
		if u.Name == name {
			id = u.ID
		}
		return id == ""
	})
	if err == nil && id == "" {
		err = fmt.Errorf("there is no user %q; pleat users list shows them", pleat.Clip(name))
	}
	return id, err
}
