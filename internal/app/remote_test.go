package app

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"pleat"
	"pleat/internal/config"
	"pleat/internal/workerapi"
)

// A worker calls over https the server whose authority it was told, with the token of its class, and no other.
func TestWorkerTrustsItsAuthority(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Proto+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		w.Header().Set(workerapi.CodeHeader, string(pleat.CodeUnauthorized))
		w.WriteHeader(http.StatusUnauthorized)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := config.Config{WorkerServer: server.URL, TokenFile: filepath.Join(dir, "{class}.token"), Class: "gpu"}
	write("gpu.token", []byte("pleatfleet_secret\n"))
	ask := func() pleat.Code {
		client, err := newWorkerClient(&App{cfg: c, log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close(t.Context())
		_, err = client.Class(t.Context())
		return pleat.CodeOf(err)
	}
	if code := ask(); code != pleat.CodeUnavailable || len(asked) != 0 {
		t.Errorf("an unknown authority: %s, asked %v", code, asked)
	}
	c.ServerCA = write("ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if code := ask(); code != pleat.CodeUnauthorized {
		t.Errorf("%s", code)
	}
	if len(asked) != 1 || asked[0] != "HTTP/1.1 /worker/v1/class Bearer pleatfleet_secret" {
		t.Errorf("%v", asked)
	}
	for name, text := range map[string]string{"empty": "", "two": "a b"} {
		c.TokenFile = write(name, []byte(text))
		if _, err := readToken(c); err == nil {
			t.Errorf("a token file that is %s is accepted", name)
		}
	}
}
