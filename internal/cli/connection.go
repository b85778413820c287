package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
)

// ConnectionError turns the error of a request that got no response into a sentence that says what to do. It returns
// any other error as it is.
func ConnectionError(address string, err error) error {
	var dial *net.OpError
	var request *url.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s; start a server with: pleat serve", address)
	case errors.As(err, &dial):
		return fmt.Errorf("cannot reach %s: %w", address, dial.Err)
	case errors.As(err, &request):
		return fmt.Errorf("cannot reach %s: %w", address, request.Err)
	}
	return err
}
