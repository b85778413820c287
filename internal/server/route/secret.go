package route

import (
	"pleat"
	"pleat/internal/seal"
)

// CheckSecret compares a secret that a request carries with the one in the configuration. 401: it is wrong, or the
// configuration has none; 429: see CheckGuess.
func (c *Call) CheckSecret(got, want string) error {
	return c.CheckGuess(func() (bool, error) { return want != "" && seal.Equal(got, want), nil })
}

// CheckGuess calls right, which looks whether the secret of a request is right. An address that sends wrong ones must
// wait for the next try, since people choose some of these secrets. 401: it is wrong; 429: the address must wait, and
// what it sent was not looked at.
func (c *Call) CheckGuess(right func() (bool, error)) error {
	k := c.core
	from, now := c.route()+" "+peer(c.from), k.clock()
	if k.limits.secrets.Spent(from, now) {
		return pleat.Errorf(pleat.CodeLimited, "Too many wrong secrets come from this address; try again in a second")
	}
	if ok, err := right(); ok || err != nil {
		return err
	}
	k.limits.secrets.Take(from, now)
	return pleat.ErrUnauthorized
}
