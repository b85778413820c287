package client

import (
	"context"
	"errors"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/cli"
)

// projectNamed returns the id of a project that an argument or a flag, as which it is named in messages, gives by id or
// name. Only names are looked up, for operators among all projects if they have no role in one of that name; the server
// checks ids.
func projectNamed(ctx context.Context, c *api.Client, what, text string) (string, error) {
	if pleat.IsUUID(text) {
		return strings.ToLower(text), nil
	}
	list, err := c.Projects(ctx)
	if err != nil {
		return "", err
	}
	ids, names := projectsNamed(list.Data, text)
	whose := "you have"
	if len(ids) == 0 {
		me, err := c.Me(ctx)
		if err != nil {
			return "", err
		}
		if me.IsOperator {
			if list, err = c.AllProjects(ctx); err != nil {
				return "", err
			}
			ids, names = projectsNamed(list.Data, text)
			whose = "there is"
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return "", cli.Usagef("%s: %s no project %q; %s", what, whose, pleat.Clip(text),
			cli.Suggest(text, names, "pleat whoami lists yours"))
	}
	return "", cli.Usagef("%s: you have %d projects %q; name one by its id: %s", what, len(ids), pleat.Clip(text),
		strings.Join(ids, " or "))
}

// errNoRole says why a server does not find the project of --project.
var errNoRole = errors.New("--project: there is no such project, or you have no role in it")

// isNoProject reports whether an error of a call says that the project of --project is not found.
func isNoProject(c *api.Client, err error) bool {
	var refused *api.Error
	return c.Project != "" && errors.As(err, &refused) && refused.Message == pleat.ErrNoProject.Error()
}

// projectsNamed returns the ids of the projects of a name, and the names of all.
func projectsNamed(list []api.ProjectRole, name string) (ids, names []string) {
	for i := range list {
		if list[i].Name == name {
			ids = append(ids, list[i].ID)
		}
		names = append(names, list[i].Name)
	}
	return ids, names
}
