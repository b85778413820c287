package people

import (
	"context"
	"net/http"
	"strings"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

// linkFor is how long a link to a job, batch or workflow lasts that names no end, and mostLinkFor how long any does.
const linkFor, mostLinkFor = 30 * 24 * time.Hour, 366 * 24 * time.Hour

// openShare is GET /s/{token}, for everyone who has the link: it gives a browser the cookie of the link, and shows the
// page of what the link opens. 404: the link does not exist or has expired.
func (h *Handlers) openShare(ctx context.Context, c *route.Call) error {
	token := c.R.PathValue("token")
	share, err := h.People.Shared(ctx, route.TokenHash(token))
	if pleat.CodeOf(err) == pleat.CodeNotFound && strings.Contains(c.R.Header.Get("Accept"), "text/html") {
		c.W.Header().Set("Content-Type", "text/html; charset=utf-8")
		c.W.Header().Set("Cache-Control", "no-store")
		c.W.WriteHeader(http.StatusNotFound)
		_, err = c.W.Write([]byte(endedLinkPage))
		return c.Quiet(err)
	}
	if err != nil {
		return err
	}
	if !c.Site().KnownHost(c.R.Host) {
		return unknownHost(c)
	}
	http.SetCookie(c.W, c.Site().ShareCookie(token, share.ExpiresAt))
	c.W.Header().Set("Referrer-Policy", "no-referrer")
	c.W.Header().Set("Cache-Control", "no-store")
	http.Redirect(c.W, c.R, pageOfSource(share.Source), http.StatusSeeOther)
	return nil
}

// endedLinkPage tells a person that a link opens nothing.
const endedLinkPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Pleat</title>
<h1>This link opens nothing</h1>
<p>It has expired or was ended, or its address is incomplete. Ask who sent it to you for a new one.</p>
<p><a href="/ui/">Pleat</a></p>
</html>
`

// pageOfSource is the address of the page of a job, batch or workflow.
func pageOfSource(source pleat.Source) string {
	switch source.Kind() {
	case pleat.SourceBatch:
		return "/ui/batches/" + source.ID()
	case pleat.SourceWorkflow:
		return "/ui/workflows/" + source.ID()
	}
	return "/ui/jobs/" + source.ID()
}

// sourceOf returns what the path names, of a route of jobs, batches or workflows.
func sourceOf(c *route.Call, kind pleat.SourceKind) (pleat.Source, error) {
	id, err := c.UUID("id", people.SourceNotFound(kind))
	return pleat.SourceOf(kind, id), err
}

// createLink returns the handler of POST …/{id}/links, for members of the project that owns a job, batch or workflow.
// The response is the only one that shows the link. 409: it has too many.
func (h *Handlers) createLink(kind pleat.SourceKind) route.Poster[api.CreateLink, api.NewLink] {
	return func(ctx context.Context, c *route.Call, in *api.CreateLink) (api.NewLink, error) {
		source, err := sourceOf(c, kind)
		if err != nil {
			return api.NewLink{}, err
		}
		until, err := endOf(c, in.ExpiresAt, mostLinkFor)
		if err != nil {
			return api.NewLink{}, err
		}
		if until.IsZero() {
			until = c.Now().Add(linkFor)
		}
		token := seal.NewLinkToken()
		share, err := h.People.CreateShare(ctx, c.ActorInReach(), source, seal.HashKey(token), until)
		share.CreatedBy = c.Who.Name
		return api.NewLink{Link: wire.Link(&share), Token: token, URL: c.Site().Base + route.SharePath + token}, err
	}
}

// listLinks returns the handler of GET …/{id}/links, for members of the project.
func (h *Handlers) listLinks(kind pleat.SourceKind) route.Getter[api.List[api.Link]] {
	return func(ctx context.Context, c *route.Call) (api.List[api.Link], error) {
		out := api.List[api.Link]{Data: []api.Link{}}
		source, err := sourceOf(c, kind)
		if err != nil {
			return out, err
		}
		list, err := h.People.Shares(ctx, c.Reach(), source)
		for i := range list {
			out.Data = append(out.Data, wire.Link(&list[i]))
		}
		return out, err
	}
}

// deleteLink returns the handler of DELETE …/{id}/links/{linkId}, for members of the project. The link ends at once.
func (h *Handlers) deleteLink(kind pleat.SourceKind) route.Getter[api.DeletedLink] {
	return func(ctx context.Context, c *route.Call) (api.DeletedLink, error) {
		source, err := sourceOf(c, kind)
		if err != nil {
			return api.DeletedLink{}, err
		}
		id, err := c.UUID("linkId", pleat.Errorf(pleat.CodeNotFound, "Link not found"))
		if err == nil {
			err = h.People.DeleteShare(ctx, c.ActorInReach(), source, pleat.ShareID(id))
		}
		return api.DeletedLink{ID: id, Deleted: true}, err
	}
}
