package webhook_test

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"pleat/internal/webhook"
)

// A receiver verifies a delivery with the signing secret that PUT /v1/webhooks/custom-http-config has shown once.
func ExampleVerify() {
	key, err := webhook.ParseKey("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	body := []byte(`{"event":{"status":"COMPLETED"}}`)
	header := http.Header{}
	header.Set("webhook-id", "0198c1d2-0000-7000-8000-000000000001")
	header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("webhook-signature", webhook.Sign(header.Get("webhook-id"), now, body, key))

	fmt.Println(webhook.Verify(header, body, now, webhook.Tolerance, key))
	fmt.Println(webhook.Verify(header, []byte(`{}`), now, webhook.Tolerance, key) != nil)
	// Output:
	// <nil>
	// true
}
