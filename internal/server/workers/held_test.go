package workers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pleat/internal/store/storetest"
)

// Claims that are held do not keep others from sending a body whose length a proxy has hidden.
func TestHeldCallsLeaveRoom(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	session := f.session("gpu", newID())
	var held sync.WaitGroup
	ended := make(chan struct{}, 8)
	for range cap(ended) {
		other := f.session("gpu", newID())
		held.Go(func() {
			claim := `{"asks":[{"queues":["fold/null"],"n":1}],"wait_s":50}`
			f.ask("POST", "claim", other, io.MultiReader(strings.NewReader(claim))) // without a length
			ended <- struct{}{}
		})
	}
	storetest.Eventually(t, "all claims wait", func() bool { return f.serving.WaitingClaims() == cap(ended) })
	answered := make(chan answer, 1)
	held.Go(func() {
		answered <- f.ask("POST", "heartbeat", session, io.MultiReader(strings.NewReader(`{"tasks":[]}`)))
	})
	select {
	case a := <-answered:
		if a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	case <-ended:
		t.Error("a claim has ended before a heartbeat was answered")
	}
	f.stop()
	held.Wait()
}

// The workers of one class that send their bodies slowly do not keep out those of another.
func TestSlowBodiesOfAClass(t *testing.T) {
	t.Parallel()
	f := onSQLite(t)
	slow, session := f.session("gpu", newID()), f.session("cpu", newID())
	address := strings.TrimPrefix(f.url, "http://")
	read := make(chan error, 6) // of each body that the server has begun to read
	for range cap(read) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /worker/v1/heartbeat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", slow, 20<<20)
		go func() {
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil && res.StatusCode != http.StatusContinue {
				err = fmt.Errorf("status %d", res.StatusCode)
			}
			read <- err
		}()
	}
	for range 2 {
		if err := <-read; err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		body := `{"tasks":[]}` + strings.Repeat(" ", 160<<10)
		if a := f.ask("POST", "heartbeat", session, strings.NewReader(body)); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if n := len(read); n > 0 {
		t.Errorf("%d more bodies of one class are read at once", n)
	}
}
