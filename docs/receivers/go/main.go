// A receiver that verifies each delivery (standard library only). Run: WEBHOOK_SECRET=whsec_… go run . 127.0.0.1:8090
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func verified(key []byte, h http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	sent, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	fresh := err == nil && math.Abs(float64(time.Now().Unix()-sent)) < 300
	for _, got := range strings.Fields(h.Get("webhook-signature")) { // several during a rotation of the secret
		if fresh && hmac.Equal([]byte(got), []byte(want)) {
			return true
		}
	}
	return false
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(key) == 0 || len(os.Args) != 2 {
		log.Fatal("usage: WEBHOOK_SECRET=whsec_… receiver HOST:PORT")
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !verified(key, r.Header, body) {
			http.Error(w, "not verified", http.StatusUnauthorized)
			return
		}
		fmt.Printf("%s %s\n", r.Header.Get("webhook-id"), body) // the id is the same when a delivery is repeated
		w.WriteHeader(http.StatusNoContent)
	})))
}
