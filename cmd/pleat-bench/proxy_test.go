package main

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// A proxy passes on all bytes in order, each way after its delay, and counts what a client waits for.
func TestProxy(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // echoes what the one client sends
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	const delay = 20 * time.Millisecond
	p, err := newProxy(t.Context(), "postgres://user@"+l.Addr().String()+"/name", delay)
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const trips = 3
	for i := range trips {
		began := time.Now()
		for range 2 { // statements that are sent together
			if _, err := c.Write([]byte("ab")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*delay {
			t.Errorf("trip %d took %v", i, took)
		}
	}
	if n := p.trips.Load(); n < trips || n > 2*trips { // two writes may be two reads
		t.Errorf("%d trips", n)
	}
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() { _, _ = c.Write(sent) }()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("other bytes came back: %v", err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(got); err == nil {
		t.Error("the connection outlives the proxy")
	}
}
