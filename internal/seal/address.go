package seal

import (
	"net/url"

	"pleat"
)

// SealAddress seals the address of a receiver for the project that owns it and for a column. An address that cannot be
// parsed has no origin.
func (r *Ring) SealAddress(owner pleat.ProjectID, column, address string) pleat.Address {
	out := pleat.Address{Sealed: r.Seal(string(owner), column, []byte(address))}
	if u, err := url.Parse(address); err == nil {
		out.Origin = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	}
	return out
}
