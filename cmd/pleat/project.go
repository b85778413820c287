package main

import (
	"context"
	"fmt"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/store"
)

// projectNamed returns the id of a project that an argument or a flag, as which it is named in messages, gives by id or
// name. Only names are looked up; the server checks ids.
func projectNamed(ctx context.Context, c *api.Client, what, text string) (string, error) {
	if pleat.IsUUID(text) {
		return strings.ToLower(text), nil
	}
	list, err := c.Projects(ctx)
	if err != nil {
		return "", err
	}
	var ids, names []string
	for _, p := range list.Data {
		if p.Name == text {
			ids = append(ids, p.ID)
		}
		names = append(names, p.Name)
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		if near := pleat.Nearest(text, names); near != "" {
			return "", usagef("%s: you have no project %q; did you mean %q?", what, pleat.Clip(text), near)
		}
		return "", usagef("%s: you have no project %q; pleat whoami lists yours", what, pleat.Clip(text))
	}
	return "", usagef("%s: you have %d projects %q; name one by its id: %s", what, len(ids), pleat.Clip(text),
		strings.Join(ids, " or "))
}

// storedProject returns the project that an argument gives by id or name, of those that are not users' own.
func storedProject(ctx context.Context, s *store.Store, text string) (store.Project, error) {
	list, err := s.Projects(ctx)
	if err != nil {
		return store.Project{}, err
	}
	for _, p := range list {
		if p.Name == text || string(p.ID) == strings.ToLower(text) {
			return p, nil
		}
	}
	return store.Project{}, fmt.Errorf("there is no project %q; pleat projects list shows them", pleat.Clip(text))
}

// operator is the actor of a command on the database: an operator without a key.
func operator() store.Actor { return store.Actor{Database: true} }

// operatorFor is the operator as the actor of what a user does else, such as to revoke a key.
func operatorFor(user pleat.UserID) store.Actor {
	by := operator()
	by.User = user
	return by
}
