package api

import (
	"context"
	"net/http"
)

// Notifications returns which mails the caller gets.
func (c *Client) Notifications(ctx context.Context) (Notifications, error) {
	return do[Notifications](ctx, c, get("/v1/me/notifications", nil))
}

// SetNotifications replaces the caller's address and what mails come about. To another address goes a mail with a link
// to confirm it. 409: the service sends no mails; 429: too many addresses were named today.
func (c *Client) SetNotifications(ctx context.Context, in SetNotifications) (Notifications, error) {
	return do[Notifications](ctx, c, request{method: http.MethodPut, path: "/v1/me/notifications", body: in})
}
