// Package msatest is a server with ColabFold's interface for tests, with faults on demand. Its alignments are made up.
package msatest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"pleat/internal/clock"
)

// Server speaks ColabFold's interface. Each list of answers is used up one by one; where it is empty, all goes well.
// Change its fields under Lock once it is in use.
type Server struct {
	*httptest.Server
	sync.Mutex
	Submit   []Answer // to submissions
	Look     []Answer // to looks at a ticket
	Download []Answer // to downloads
	Files    func(Submission) map[string]string
	Tickets  []Submission      // what was submitted
	Agents   map[string]int    // requests by User-Agent
	Auth     string            // user:password of the last request
	Key      string            // if set, a request without it in X-API-Key is answered 401
	Fetched  int               // downloads
	Requests []clock.Stopwatch // started when each request came
	Known    bool              // a ticket is complete as soon as it is asked for, as where others asked before
	Gate     chan struct{}     // if set, tickets are RUNNING until it is closed
}

// Submission is what a ticket was asked for.
type Submission struct {
	Path, Mode string
	Sequences  []string
}

// Answer is what is sent in place of the right one.
type Answer struct {
	Code   int
	Body   string
	Header [2]string
	Hang   bool // until the caller hangs up
}

// New starts a server that ends with the test, or with Close.
func New(t testing.TB) *Server {
	s := Start()
	t.Cleanup(s.Close)
	return s
}

// Start starts a server.
func Start() *Server {
	s := &Server{Agents: map[string]int{}, Files: Align}
	s.Server = httptest.NewServer(s)
	return s
}

// Align aligns every sequence with itself, with a row that has a gap and an insertion, and with another one.
func Align(t Submission) map[string]string {
	out := map[string]string{}
	add := func(file, name, row string, i int) {
		if row == "" {
			out[file] += fmt.Sprintf(">%d\n%s\n", 101+i, t.Sequences[i])
		} else {
			out[file] += fmt.Sprintf(">%s\n%s\n", name, row)
		}
	}
	for i, s := range t.Sequences {
		gapped, other := s[:1]+"ins-"+s[2:], strings.Repeat("G", len(s))
		if t.Path == "/ticket/pair" {
			add("pair.a3m", "", "", i)
			add("pair.a3m", "UniRef100_A\t100", gapped, i)
			out["pair.a3m"] += "\x00"
			continue
		}
		add("uniref.a3m", "", "", i)
		add("uniref.a3m", "UniRef100_A\t100", gapped, i)
		out["uniref.a3m"] += "\x00"
		if strings.HasPrefix(t.Mode, "env") {
			add("bfd.mgnify30.metaeuk30.smag30.a3m", "", "", i)
			add("bfd.mgnify30.metaeuk30.smag30.a3m", "env\t50", other, i)
			out["bfd.mgnify30.metaeuk30.smag30.a3m"] += "\x00"
		}
	}
	out["msa.sh"] = "#!/bin/sh\n"
	return out
}

func next(list *[]Answer) (Answer, bool) {
	if len(*list) == 0 {
		return Answer{}, false
	}
	a := (*list)[0]
	*list = (*list)[1:]
	return a, true
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // a server sees that a caller hangs up once it has read the body
	s.Lock()
	s.Agents[r.UserAgent()]++
	s.Requests = append(s.Requests, clock.Start())
	user, password, _ := r.BasicAuth()
	s.Auth = user + ":" + password
	var a Answer
	var scripted bool
	switch {
	case s.Key != "" && r.Header.Get("X-API-Key") != s.Key:
		a = Answer{Code: http.StatusUnauthorized}
	case r.Method == http.MethodPost:
		if a, scripted = next(&s.Submit); !scripted {
			a = s.accept(r)
		}
	case strings.HasPrefix(r.URL.Path, "/ticket/"):
		if a, scripted = next(&s.Look); !scripted {
			a = s.state(strings.TrimPrefix(r.URL.Path, "/ticket/"))
		}
	default:
		s.Fetched++
		if a, scripted = next(&s.Download); !scripted {
			a = s.archive(strings.TrimPrefix(r.URL.Path, "/result/download/"))
		}
	}
	s.Unlock()
	if a.Hang {
		<-r.Context().Done()
		return
	}
	w.Header()["Date"] = nil // none: a Retry-After with a date is compared with the clock of the client
	if a.Header[0] != "" {
		w.Header().Set(a.Header[0], a.Header[1])
	}
	if a.Code != 0 {
		w.WriteHeader(a.Code)
	}
	_, _ = w.Write([]byte(a.Body))
}

func (s *Server) accept(r *http.Request) Answer {
	t := Submission{Path: r.URL.Path, Mode: r.FormValue("mode")}
	for i, line := range strings.Split(strings.TrimSpace(r.FormValue("q")), "\n") {
		if i%2 == 1 {
			t.Sequences = append(t.Sequences, line)
		} else if want := fmt.Sprintf(">%d", 101+i/2); line != want {
			return Answer{Body: `{"id":"","status":"ERROR"}`}
		}
	}
	s.Tickets = append(s.Tickets, t)
	status := "PENDING"
	if s.Known {
		status = "COMPLETE"
	}
	return Answer{Body: fmt.Sprintf(`{"id":"ticket-%d","status":%q}`, len(s.Tickets)-1, status)}
}

func (s *Server) number(id string) int {
	n := -1
	_, _ = fmt.Sscanf(id, "ticket-%d", &n)
	return n
}

func (s *Server) state(id string) Answer {
	status := "COMPLETE"
	if s.Gate != nil {
		select {
		case <-s.Gate:
		default:
			status = "RUNNING"
		}
	}
	if n := s.number(id); n < 0 || n >= len(s.Tickets) {
		status = "UNKNOWN"
	}
	b, _ := json.Marshal(map[string]string{"id": id, "status": status})
	return Answer{Body: string(b)}
}

func (s *Server) archive(id string) Answer {
	n := s.number(id)
	if n < 0 || n >= len(s.Tickets) {
		return Answer{Code: 404}
	}
	return Answer{Body: string(Pack(s.Files(s.Tickets[n])))}
}

// Pack makes a gzipped tar archive.
func Pack(files map[string]string) []byte {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, body := range files {
		_ = w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Mode: 0o644, Typeflag: tar.TypeReg})
		_, _ = w.Write([]byte(body))
	}
	_ = w.Close()
	_ = zipped.Close()
	return out.Bytes()
}
