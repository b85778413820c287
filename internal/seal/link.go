package seal

import (
	"net/url"
	"strconv"
	"time"

	"pleat"
)

const linkLabel = "artifact link" // what the signing key is derived for

// Links makes and checks addresses under which a file can be read without a credential. A link holds as long as the
// visibility epoch of its job stands; one to a private file also ends.
type Links struct {
	Ring *Ring
	Base string        // the public address of the service, without a slash at its end
	For  time.Duration // how long a link to a private file lives at most
}

// URL is the address of a file. That of a private one ends within For, counted from a full hour, so that bytes made in
// one hour stay the same.
func (l Links) URL(a *pleat.Artifact, j *pleat.Job, now time.Time) string {
	until := ""
	if !j.Public {
		until = strconv.FormatInt(now.Truncate(time.Hour).Add(l.For).Unix(), 10)
	}
	u := l.Base + "/v1/artifacts/" + string(a.ID) + "/" + url.PathEscape(a.Name) + "?"
	if until != "" {
		u += "e=" + until + "&"
	}
	return u + "s=" + l.Ring.Sign(linkLabel, string(a.ID), strconv.FormatInt(j.Epoch, 10), until)
}

// Verify reports whether URL made the signature for the file, the epoch and the end (empty: none).
func (l Links) Verify(id pleat.ArtifactID, epoch int64, until, signature string) bool {
	return l.Ring.Verify(linkLabel, signature, string(id), strconv.FormatInt(epoch, 10), until)
}
