package server

import (
	"context"
	"net/http"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/seal"
	"pleat/internal/server/wire"
	"pleat/internal/store/people"
)

// sharePath begins the addresses of links. What follows is a secret, which no log has.
const sharePath = "/s/"

// shareHeader is the header by which a program reads what a link opens.
const shareHeader = "X-Share-Token"

// shareCookieName is the name of the cookie by which a browser reads what the last link opens that it has followed.
func shareCookieName(publicURL string) string {
	if cookieNameOf(publicURL) == "pleat_session" {
		return "pleat_share"
	}
	return "__Host-pleat_share"
}

// shareHash returns the hash of the token of a link that a request brings; empty: none.
func (s *Server) shareHash(r *http.Request) string {
	if token := r.Header.Get(shareHeader); token != "" {
		return tokenHash(token)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !s.knownHost(r.Host) {
		return ""
	}
	if cookies := r.CookiesNamed(s.shareCookie); len(cookies) == 1 {
		return tokenHash(cookies[0].Value)
	}
	return ""
}

// shares reports whether a request brings the token of a link that opens something for reading.
func (s *Server) shares(ctx context.Context, c *call, source pleat.Source) (bool, error) {
	hash := s.shareHash(c.r)
	if hash == "" || c.served.access != reader {
		return false, nil
	}
	if source.Job != "" {
		return s.store.People.SharesJob(ctx, hash, source.Job)
	}
	h, err := s.store.People.Shared(ctx, hash)
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		return false, nil
	}
	return err == nil && h.Source == source, err
}

// openShare is GET /s/{token}, for everyone who has the link: it gives a browser the cookie of the link, and shows the
// page of what the link opens. 404: the link does not exist or has expired.
func (s *Server) openShare(ctx context.Context, c *call) error {
	token := c.r.PathValue("token")
	h, err := s.store.People.Shared(ctx, tokenHash(token))
	if pleat.CodeOf(err) == pleat.CodeNotFound && strings.Contains(c.r.Header.Get("Accept"), "text/html") {
		c.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		c.w.Header().Set("Cache-Control", "no-store")
		c.w.WriteHeader(http.StatusNotFound)
		_, err = c.w.Write([]byte(endedLinkPage))
		return quiet(c, err)
	}
	if err != nil {
		return err
	}
	if !s.knownHost(c.r.Host) {
		return pleat.Invalidf("the Host %q is not a name of this service", pleat.Clip(c.r.Host))
	}
	http.SetCookie(c.w, &http.Cookie{
		Name:     s.shareCookie,
		Value:    token,
		Path:     "/",
		Expires:  h.ExpiresAt,
		HttpOnly: true,
		Secure:   s.public.Scheme == "https",
		SameSite: http.SameSiteLaxMode,
	})
	c.w.Header().Set("Referrer-Policy", "no-referrer")
	c.w.Header().Set("Cache-Control", "no-store")
	http.Redirect(c.w, c.r, pageOfSource(h.Source), http.StatusSeeOther)
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

// source returns what the path names, of a route of jobs, batches or workflows.
func (c *call) source(kind pleat.SourceKind) (pleat.Source, error) {
	id, err := c.uuid("id", people.SourceNotFound(kind))
	return pleat.SourceOf(kind, id), err
}

// createLink returns the handler of POST …/{id}/links, for members of the project that owns a job, batch or workflow.
// The response is the only one that shows the link. 409: it has too many.
func createLink(kind pleat.SourceKind) bodyHandlerFunc[api.CreateLink, api.NewLink] {
	return func(s *Server, ctx context.Context, c *call, in *api.CreateLink) (api.NewLink, error) {
		source, err := c.source(kind)
		if err != nil {
			return api.NewLink{}, err
		}
		until, err := s.endOf(in.ExpiresAt, linkFor, mostLinkFor)
		if err != nil {
			return api.NewLink{}, err
		}
		token := seal.NewLinkToken()
		h, err := s.store.People.CreateShare(ctx, c.changer(), source, seal.HashKey(token), until)
		h.CreatedBy = c.who.Name
		return api.NewLink{Link: wire.Link(&h), Token: token, URL: s.cfg.PublicURL + sharePath + token}, err
	}
}

// changer is the actor of a verb that finds the project itself, within the reach of the caller.
func (c *call) changer() people.Actor {
	by := c.actor()
	by.Reach = c.reach()
	return by
}

// listLinks returns the handler of GET …/{id}/links, for members of the project.
func listLinks(kind pleat.SourceKind) handlerFunc[api.List[api.Link]] {
	return func(s *Server, ctx context.Context, c *call) (api.List[api.Link], error) {
		out := api.List[api.Link]{Data: []api.Link{}}
		source, err := c.source(kind)
		if err != nil {
			return out, err
		}
		list, err := s.store.People.Shares(ctx, c.reach(), source)
		for i := range list {
			out.Data = append(out.Data, wire.Link(&list[i]))
		}
		return out, err
	}
}

// deleteLink returns the handler of DELETE …/{id}/links/{linkId}, for members of the project. The link ends at once.
func deleteLink(kind pleat.SourceKind) handlerFunc[api.DeletedLink] {
	return func(s *Server, ctx context.Context, c *call) (api.DeletedLink, error) {
		source, err := c.source(kind)
		if err != nil {
			return api.DeletedLink{}, err
		}
		id, err := c.uuid("linkId", pleat.Errorf(pleat.CodeNotFound, "Link not found"))
		if err == nil {
			err = s.store.People.DeleteShare(ctx, c.changer(), source, pleat.ShareID(id))
		}
		return api.DeletedLink{ID: id, Deleted: true}, err
	}
}

// moveJob is POST /v1/jobs/{id}/move, for members of both projects: the job with the workflows that it has started
// belongs to another project. 409: something of it has not ended, or it belongs to a batch.
func (s *Server) moveJob(ctx context.Context, c *call, in *api.Move) (api.MovedJob, error) {
	id, err := ownedJob(c)
	if err != nil {
		return api.MovedJob{}, err
	}
	to, err := parseProjectID("projectId", in.ProjectID)
	if err == nil {
		err = s.store.Ops.MoveJob(ctx, c.changer(), id, to)
	}
	return api.MovedJob{JobID: string(id), ProjectID: string(to)}, err
}

// moveWorkflow is POST /v1/workflows/{id}/move, for members of both projects. 409: it has not ended.
func (s *Server) moveWorkflow(ctx context.Context, c *call, in *api.Move) (api.MovedWorkflow, error) {
	id, err := c.uuid("id", pleat.ErrWorkflowNotFound)
	if err != nil {
		return api.MovedWorkflow{}, err
	}
	to, err := parseProjectID("projectId", in.ProjectID)
	if err == nil {
		err = s.store.Ops.MoveWorkflow(ctx, c.changer(), pleat.WorkflowID(id), to)
	}
	return api.MovedWorkflow{WorkflowID: id, ProjectID: string(to)}, err
}
