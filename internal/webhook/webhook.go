// Package webhook is everything about one delivery that needs no database: the body, the signature, the guard against
// private addresses, one POST, and the arithmetic of schedule and breaker.
//
// It owns what goes over the wire to a receiver and how the answer is judged. It must not keep state between deliveries
// beyond idle connections, must not read a database, and must never put a token, a secret or an endpoint's query string
// into an error, a log line or a stored attempt. internal/work joins it with internal/store.
//
//	payload.go   Build: the delivered body, under 20 kB, without sequences or secrets
//	clean.go     what is taken out of a body before it goes
//	sign.go      Key, Sign, Verify: Standard Webhooks, v1 and v1a
//	guard.go     Guard: where a delivery may go, at save and at dial
//	address.go   host names and addresses in every spelling
//	post.go      Sender.Post: one POST under one deadline
//	answer.go    what an answer or an error means
//	schedule.go  Next: when to try again
//	breaker.go   Breaker, Pace: when an endpoint is left alone
package webhook

// Headers of a delivery. The first is the interface's own (section 5.4); the others are those of the Standard Webhooks
// specification, whose names are lower case.
const (
	HeaderToken     = "X-Webhook-Token"
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
	// HeaderDelivery is how a receiver steers later deliveries: «disable» or «abort-message».
	HeaderDelivery = "webhook-delivery"
)
