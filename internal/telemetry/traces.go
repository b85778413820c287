package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"pleat"
	"pleat/internal/tracing"
)

// TraceOptions are what the settings of the program say of traces. The standard variables of OpenTelemetry say the
// rest.
type TraceOptions struct {
	// Endpoint is the URL of an OTLP receiver; empty: that of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
	// OTEL_EXPORTER_OTLP_ENDPOINT. Without any of them no trace is made.
	Endpoint string
	// Ratio is the share of requests that are traced, 0 to 1; negative: what OTEL_TRACES_SAMPLER says, or all.
	Ratio float64
	// Report is called after each export: with the error if the spans were dropped, nil if the receiver has them. It is
	// not called by two goroutines at once.
	Report func(error)
}

// Traces are the traces of one process. Nil is a process that makes none.
type Traces struct {
	Host  string // of the receiver
	Ratio float64

	provider *sdktrace.TracerProvider
	tracer   *tracing.Tracer
	limit    time.Duration // of Close
}

// closeLimit bounds how long the last spans of a process that ends are sent.
const closeLimit = 5 * time.Second

// OpenTraces begins to make traces; it returns nil if they are off, which is the default. An error names a setting or a
// variable that cannot be used, and what would be right. Nothing is sent before the first span has ended, and a
// receiver that does not answer delays nothing but the end of the process, for at most 5 s. Spans that cannot be sent
// are dropped; OTEL_BSP_MAX_QUEUE_SIZE (2048) bounds those that wait.
func OpenTraces(ctx context.Context, o TraceOptions) (*Traces, error) {
	client, err := newOTLPClient(o)
	if err != nil || client == nil {
		return nil, err
	}
	ratio, err := sampleRatio(o.Ratio)
	if err != nil || ratio == 0 {
		return nil, err
	}
	if err := checkCounts(); err != nil {
		return nil, err
	}
	named, err := processResource(ctx)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("start the export of traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(named),
		// A parent is a span of this service: what callers send is only linked. See tracing.Tracer.Serve.
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio))),
	)
	return &Traces{
		Host:     client.host,
		Ratio:    ratio,
		provider: provider,
		tracer:   tracing.New(provider),
		limit:    closeLimit,
	}, nil
}

// Tracer returns what begins the spans of the process; nil if traces are off.
func (t *Traces) Tracer() *tracing.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Close sends the spans that wait, for at most 5 s, and ends the export.
func (t *Traces) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what could not be sent was reported
}

// processResource describes this process, as every span is sent with it. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES
// come last, and so override what is here.
func processResource(ctx context.Context) (*resource.Resource, error) {
	r, err := resource.New(ctx,
		resource.WithSchemaURL(tracing.SchemaURL),
		resource.WithAttributes(
			semconv.ServiceNameKey.String("pleat"),
			semconv.ServiceVersionKey.String(pleat.Version),
			semconv.ServiceInstanceIDKey.String(uuid.NewString()),
		),
		resource.WithHost(),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES must be a list such as deployment.environment.name=lab, "+
			"separated by commas: %w", err)
	}
	return r, nil
}

// samplers are the values of OTEL_TRACES_SAMPLER, each with the ratio that it means; -1: OTEL_TRACES_SAMPLER_ARG. With
// and without parentbased they mean the same here, since a trace has its first span in this service.
var samplers = map[string]float64{
	"always_on":                1,
	"always_off":               0,
	"traceidratio":             -1,
	"parentbased_always_on":    1,
	"parentbased_always_off":   0,
	"parentbased_traceidratio": -1,
}

// sampleRatio returns the share of requests that are traced.
func sampleRatio(set float64) (float64, error) {
	if set >= 0 {
		return set, nil
	}
	name := cmp.Or(os.Getenv("OTEL_TRACES_SAMPLER"), "always_on")
	ratio, known := samplers[name]
	if !known {
		return 0, fmt.Errorf("OTEL_TRACES_SAMPLER is %q; it must be always_on, always_off or traceidratio, each also "+
			"with parentbased_ before it", pleat.Clip(name))
	}
	if ratio >= 0 {
		return ratio, nil
	}
	text := cmp.Or(os.Getenv("OTEL_TRACES_SAMPLER_ARG"), "1")
	ratio, err := strconv.ParseFloat(text, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return 0, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q; it must be a number from 0 to 1", pleat.Clip(text))
	}
	return ratio, nil
}

// checkCounts refuses numbers that the library would replace by its own.
func checkCounts() error {
	for _, name := range []string{
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
	} {
		if _, err := positive(name, 1); err != nil {
			return err
		}
	}
	return nil
}

// positive reads a variable that is a whole number of at least 1; def if it is not set.
func positive(name string, def int) (int, error) {
	text := strings.TrimSpace(os.Getenv(name))
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q; it must be a whole number of at least 1", name, pleat.Clip(text))
	}
	return n, nil
}

// exporterVariable returns the value of a variable of the OTLP exporter for traces, or else for all signals, and the
// name of the one that has it.
func exporterVariable(name string) (value, from string) {
	for _, from := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if v := strings.TrimSpace(os.Getenv(from)); v != "" {
			return v, from
		}
	}
	return "", ""
}

// receiverURL returns where traces are sent, and the setting that says so; nil: nowhere, traces are off.
func receiverURL(endpoint string) (*url.URL, error) {
	if off, _ := strconv.ParseBool(os.Getenv("OTEL_SDK_DISABLED")); off {
		return nil, nil
	}
	switch exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %q; it must be otlp or none", pleat.Clip(exporter))
	}
	// The path /v1/traces belongs to an address of all signals, and to one without a path.
	from, text, complete := "traces-endpoint", endpoint, false
	if text == "" {
		text, from = exporterVariable("ENDPOINT")
		complete = strings.HasSuffix(from, "TRACES_ENDPOINT")
	}
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		return nil, fmt.Errorf("%s must be an address such as http://127.0.0.1:4318", from) // it may hold a password
	}
	if protocol, from := exporterVariable("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s is %q; it must be http/protobuf, which receivers have at port 4318", from,
			pleat.Clip(protocol))
	}
	if !complete && (endpoint == "" || strings.Trim(u.Path, "/") == "") {
		u = u.JoinPath("v1", "traces")
	}
	return u, nil
}
