package msa_test

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
	"time"

	"pleat/internal/msa"
)

// colab is a server that speaks ColabFold's interface, with faults on demand. Each list of answers is used up one by one; where
// it is empty, all goes well.
type colab struct {
	*httptest.Server
	mu        sync.Mutex
	submit    []answer // to submissions
	look      []answer // to looks at a ticket
	download  []answer // to downloads
	files     func(t submission) map[string]string
	tickets   []submission
	agents    map[string]int
	auth      string
	downloads int
	looks     int
	gate      chan struct{} // if set, looks answer RUNNING until it is closed
}

type submission struct {
	path, mode string
	sequences  []string
}

type answer struct {
	code   int
	body   string
	header [2]string
	hang   bool
}

func newColab(t *testing.T) *colab {
	c := &colab{agents: map[string]int{}, files: answerFiles}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// server is a client of c whose seconds are milliseconds.
func (c *colab) client() *msa.Server {
	s := &msa.Server{URL: c.URL, Agent: "pleat/test"}
	s.Hurry(time.Millisecond)
	return s
}

// answerFiles aligns every sequence with itself, with a row that has a gap and an insertion, and with another one.
func answerFiles(t submission) map[string]string {
	out := map[string]string{}
	add := func(file, name, row string, i int) {
		if row == "" {
			out[file] += fmt.Sprintf(">%d\n%s\n", 101+i, t.sequences[i])
		} else {
			out[file] += fmt.Sprintf(">%s\n%s\n", name, row)
		}
	}
	for i, s := range t.sequences {
		gapped, other := s[:1]+"ins-"+s[2:], strings.Repeat("G", len(s))
		if t.path == "/ticket/pair" {
			add("pair.a3m", "", "", i)
			add("pair.a3m", "UniRef100_A\t100", gapped, i)
			out["pair.a3m"] += "\x00"
			continue
		}
		add("uniref.a3m", "", "", i)
		add("uniref.a3m", "UniRef100_A\t100", gapped, i)
		out["uniref.a3m"] += "\x00"
		if strings.HasPrefix(t.mode, "env") {
			add("bfd.mgnify30.metaeuk30.smag30.a3m", "", "", i)
			add("bfd.mgnify30.metaeuk30.smag30.a3m", "env\t50", other, i)
			out["bfd.mgnify30.metaeuk30.smag30.a3m"] += "\x00"
		}
	}
	out["msa.sh"] = "#!/bin/sh\n"
	return out
}

func next(list *[]answer) (answer, bool) {
	if len(*list) == 0 {
		return answer{}, false
	}
	a := (*list)[0]
	*list = (*list)[1:]
	return a, true
}

func (c *colab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // a server sees that a caller hangs up once it has read the body
	c.mu.Lock()
	c.agents[r.UserAgent()]++
	user, password, _ := r.BasicAuth()
	c.auth = user + ":" + password
	var a answer
	var scripted bool
	switch {
	case r.Method == http.MethodPost:
		if a, scripted = next(&c.submit); !scripted {
			a = c.accept(r)
		}
	case strings.HasPrefix(r.URL.Path, "/ticket/"):
		c.looks++
		if a, scripted = next(&c.look); !scripted {
			a = c.state(strings.TrimPrefix(r.URL.Path, "/ticket/"))
		}
	default:
		c.downloads++
		if a, scripted = next(&c.download); !scripted {
			a = c.archive(strings.TrimPrefix(r.URL.Path, "/result/download/"))
		}
	}
	c.mu.Unlock()
	if a.hang {
		<-r.Context().Done()
		return
	}
	if a.header[0] != "" {
		w.Header().Set(a.header[0], a.header[1])
	}
	if a.code != 0 {
		w.WriteHeader(a.code)
	}
	_, _ = w.Write([]byte(a.body))
}

func (c *colab) accept(r *http.Request) answer {
	s := submission{path: r.URL.Path, mode: r.FormValue("mode")}
	for i, line := range strings.Split(strings.TrimSpace(r.FormValue("q")), "\n") {
		if i%2 == 1 {
			s.sequences = append(s.sequences, line)
		} else if want := fmt.Sprintf(">%d", 101+i/2); line != want {
			return answer{body: `{"id":"","status":"ERROR"}`}
		}
	}
	c.tickets = append(c.tickets, s)
	return answer{body: fmt.Sprintf(`{"id":"ticket-%d","status":"PENDING"}`, len(c.tickets)-1)}
}

func (c *colab) number(id string) int {
	n := -1
	_, _ = fmt.Sscanf(id, "ticket-%d", &n)
	return n
}

func (c *colab) state(id string) answer {
	status := "COMPLETE"
	if c.gate != nil {
		select {
		case <-c.gate:
		default:
			status = "RUNNING"
		}
	}
	if n := c.number(id); n < 0 || n >= len(c.tickets) {
		status = "UNKNOWN"
	}
	b, _ := json.Marshal(map[string]string{"id": id, "status": status})
	return answer{body: string(b)}
}

func (c *colab) archive(id string) answer {
	n := c.number(id)
	if n < 0 || n >= len(c.tickets) {
		return answer{code: 404}
	}
	return answer{body: string(pack(c.files(c.tickets[n])))}
}

// pack makes a gzipped tar archive.
func pack(files map[string]string) []byte {
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
