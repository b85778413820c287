package seal

import (
	"net/url"
	"strconv"
	"time"

	"pleat"
)

const linkLabel = "artifact link" // the label of the signing key

// LinkScope is what the links to the files of a job or a workflow depend on besides the file.
type LinkScope struct {
	Public bool  // everybody may read the files; a link to them does not expire
	Epoch  int64 // changes with the visibility, which ends the links made before
}

// JobScope is the scope of the links to a job's files.
func JobScope(j *pleat.Job) LinkScope { return LinkScope{j.Public, j.Epoch} }

// WorkflowScope is the scope of the links to a workflow's files.
func WorkflowScope(w *pleat.Workflow) LinkScope { return LinkScope{w.Public, w.Epoch} }

// Links builds and verifies signed links, which make a file readable without a credential. A link is valid as long as
// the visibility epoch of its job or workflow is unchanged; a link to a private file also expires.
type Links struct {
	Ring *Ring
	Base string        // public address of the service, without a trailing slash
	For  time.Duration // longest validity of a link to a private file
}

// URL returns the link of a file. A link to a private file expires within For. The expiry is derived from the full
// hour, so that links made within one hour are equal.
func (l Links) URL(a *pleat.Artifact, scope LinkScope, now time.Time) string {
	until := ""
	if !scope.Public {
		until = strconv.FormatInt(now.Truncate(time.Hour).Add(l.For).Unix(), 10)
	}
	u := l.Base + "/v1/artifacts/" + string(a.ID) + "/" + url.PathEscape(a.Name) + "?"
	if until != "" {
		u += "e=" + until + "&"
	}
	return u + "s=" + l.Ring.Sign(linkLabel, string(a.ID), strconv.FormatInt(scope.Epoch, 10), until)
}

// Verify reports whether URL made the signature for the file, the epoch and the expiry. The expiry is the text in the
// link; empty: none.
func (l Links) Verify(id pleat.ArtifactID, epoch int64, until, signature string) bool {
	return l.Ring.Verify(linkLabel, signature, string(id), strconv.FormatInt(epoch, 10), until)
}
