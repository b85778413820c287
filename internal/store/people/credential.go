package people

import "pleat"

// Credential is what a request has to show who calls: an API key, a session of the page that began with one, or a
// login, which is a session or a token of a person who signed in.
type Credential struct {
	Hash    string // that seal.HashKey makes of the key, of the session's id or of the token; empty: none
	Session bool
	Login   bool
}

// Principal is the user that a credential authenticates.
type Principal struct {
	User pleat.UserID
	Name string
	Key  pleat.KeyID // empty for a login
	// Scopes are those of the key, also for a session; all for a login.
	Scopes   pleat.Scopes
	Project  pleat.ProjectID // the only one that the key reaches; empty: all of the user
	Operator bool            // the user is one, and the key reaches all projects
}

// Topic has news when what authenticates the principal may have ended.
func (p *Principal) Topic() string {
	if p.Key == "" {
		return loginTopic(p.User)
	}
	return KeyTopic(p.Key)
}

// Reach is what the principal may read and change.
func (p *Principal) Reach() Reach { return Reach{User: p.User, Project: p.Project} }
