package telemetry

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// setOTEL sets variables of OpenTelemetry, and unsets all others.
func setOTEL(t *testing.T, variables ...string) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for _, v := range variables {
		if name, value, ok := strings.Cut(v, "="); ok {
			t.Setenv(name, value)
		}
	}
}

func TestTracesAreOffOrRefused(t *testing.T) {
	const on = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
	for _, c := range []struct {
		variables []string
		ratio     float64
		want      string // of the error; empty: off, on: on
	}{
		{nil, -1, ""},
		{[]string{on}, -1, "on"},
		{[]string{on}, 0, ""},
		{[]string{on, "OTEL_SDK_DISABLED=true"}, 1, ""},
		{[]string{on, "OTEL_TRACES_EXPORTER=none"}, 1, ""},
		{[]string{on, "OTEL_TRACES_SAMPLER=always_off"}, -1, ""},
		{[]string{on, "OTEL_TRACES_SAMPLER=always_off"}, 0.5, "on"},
		{[]string{on, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.5"}, -1, "on"},
		{[]string{on, "OTEL_TRACES_EXPORTER=console"}, 1,
			`OTEL_TRACES_EXPORTER is "console"; it must be otlp or none`},
		{[]string{on, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, 1,
			`OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"; it must be http/protobuf, which receivers have at port 4318`},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=user:pass@host"}, 1,
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an address such as http://127.0.0.1:4318"},
		{[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=secret"}, 1,
			"OTEL_EXPORTER_OTLP_HEADERS must be a list such as authorization=Bearer%20TOKEN, separated by commas"},
		{[]string{on, "OTEL_EXPORTER_OTLP_COMPRESSION=zip"}, 1,
			`OTEL_EXPORTER_OTLP_COMPRESSION is "zip"; it must be gzip or none`},
		{[]string{on, "OTEL_EXPORTER_OTLP_TIMEOUT=10s"}, 1,
			`OTEL_EXPORTER_OTLP_TIMEOUT is "10s"; it must be a whole number of at least 1`},
		{[]string{on, "OTEL_BSP_MAX_QUEUE_SIZE=0"}, 1,
			`OTEL_BSP_MAX_QUEUE_SIZE is "0"; it must be a whole number of at least 1`},
		{[]string{on, "OTEL_TRACES_SAMPLER=some"}, -1, `OTEL_TRACES_SAMPLER is "some"; it must be always_on, ` +
			"always_off or traceidratio, each also with parentbased_ before it"},
		{[]string{on, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=2"}, -1,
			`OTEL_TRACES_SAMPLER_ARG is "2"; it must be a number from 0 to 1`},
		{[]string{on, "OTEL_EXPORTER_OTLP_CLIENT_KEY=key.pem"}, 1, "OTEL_EXPORTER_OTLP_CLIENT_KEY is set without the " +
			"other of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY"},
		{[]string{on, "OTEL_RESOURCE_ATTRIBUTES=x"}, 1, "OTEL_RESOURCE_ATTRIBUTES must be a list such as"},
	} {
		t.Run(strings.Join(c.variables, " "), func(t *testing.T) {
			setOTEL(t, c.variables...)
			traces, err := OpenTraces(t.Context(), TraceOptions{Ratio: c.ratio, Report: func(error) {}})
			t.Cleanup(traces.Close)
			got := ""
			switch {
			case err != nil:
				got = err.Error()
			case traces.Tracer() != nil:
				got = "on"
			}
			if got != c.want && (c.want == "" || c.want == "on" || !strings.HasPrefix(got, c.want)) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// The path is added to the address of all signals, and to a setting without one.
func TestReceiverURL(t *testing.T) {
	for _, c := range []struct{ setting, variable, want string }{
		{"http://a:4318", "", "http://a:4318/v1/traces"},
		{"http://a:4318/", "OTEL_EXPORTER_OTLP_ENDPOINT=http://b", "http://a:4318/v1/traces"},
		{"http://a/otlp/v1/traces", "", "http://a/otlp/v1/traces"},
		{"", "OTEL_EXPORTER_OTLP_ENDPOINT=https://b/x/", "https://b/x/v1/traces"},
		{"", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://b/x", "https://b/x"},
	} {
		setOTEL(t, c.variable)
		if u, err := receiverURL(c.setting); err != nil || u.String() != c.want {
			t.Errorf("%q, %s: %v, %v", c.setting, c.variable, u, err)
		}
	}
}

// An export is tried again if the receiver may take it later, and reported in any case.
func TestExport(t *testing.T) {
	statuses := []int{}
	var bodies [][]byte
	var credential string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, _ := io.ReadAll(unzipped)
		bodies, credential = append(bodies, body), r.Header.Get("Authorization")
		w.WriteHeader(statuses[min(len(bodies), len(statuses))-1])
	}))
	defer server.Close()
	spans := []*tracepb.ResourceSpans{{SchemaUrl: "x"}}
	for _, c := range []struct {
		statuses []int
		tries    int
		want     string
	}{
		{[]int{200}, 1, ""},
		{[]int{503, 429, 202}, 3, ""},
		{[]int{401}, 1, "the receiver of traces answered 401"},
		{[]int{302}, 1, "the receiver of traces answered 302"},
	} {
		setOTEL(t, "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20secret", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
		var reported []error
		client, err := newOTLPClient(TraceOptions{Endpoint: server.URL, Report: func(err error) {
			reported = append(reported, err)
		}})
		if err != nil {
			t.Fatal(err)
		}
		client.retry = time.Millisecond
		statuses, bodies = c.statuses, nil
		if err := client.UploadTraces(t.Context(), spans); err != nil {
			t.Error(err)
		}
		got := ""
		if len(reported) == 1 && reported[0] != nil {
			got = reported[0].Error()
		}
		if len(reported) != 1 || got != c.want || len(bodies) != c.tries || credential != "Bearer secret" {
			t.Errorf("%v: %d tries with %q, reported %v", c.statuses, len(bodies), credential, reported)
		}
		var data tracepb.TracesData
		if err := proto.Unmarshal(bodies[0], &data); err != nil || data.ResourceSpans[0].SchemaUrl != "x" {
			t.Errorf("the receiver got %v, %v", &data, err)
		}
	}
}

// A process that ends does not wait for a receiver that does not answer for longer than it says.
func TestCloseIsBounded(t *testing.T) {
	gate := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gate }))
	defer server.Close()
	defer close(gate)
	setOTEL(t)
	reported := make(chan error, 10)
	traces, err := OpenTraces(t.Context(), TraceOptions{Endpoint: server.URL, Ratio: 1, Report: func(err error) {
		reported <- err
	}})
	if err != nil {
		t.Fatal(err)
	}
	traces.limit = time.Millisecond
	_, span := traces.provider.Tracer("x").Start(context.Background(), "x")
	span.End()
	traces.Close() // hangs without the bound
	select {
	case err := <-reported:
		if err == nil {
			t.Error("an export that did not end was reported as sent")
		}
	default: // it goes on until the process ends
	}
}
