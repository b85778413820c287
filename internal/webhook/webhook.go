// Package webhook implements the parts of a delivery that need no database: body, signature, the guard against private
// addresses, one POST, and the arithmetic of the schedule and the circuit breaker.
//
// It owns what is sent to a receiver and how its response is evaluated. It must not keep state between deliveries
// except idle connections, must not read a database, and must never put a token, a secret or an endpoint's query string
// into an error, a log line or a stored attempt. internal/deliver connects it with internal/store.
package webhook

// Headers of a delivery. The first is the interface's own; the others belong to the Standard Webhooks specification,
// whose names are lower case.
const (
	HeaderToken     = "X-Webhook-Token"
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
	// HeaderDelivery is a response header by which a receiver controls later deliveries: «disable» or «abort-message».
	HeaderDelivery = "webhook-delivery"
)
