package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"pleat"
	"pleat/internal/words"
)

// otlpClient sends spans to an OTLP receiver over HTTP. It implements otlptrace.Client. The client of the library would
// bring gRPC into the program, which is 5.6 MB; see docs/decisions/021-traces.md.
type otlpClient struct {
	http     *http.Client
	url      string
	host     string
	header   http.Header
	compress bool
	timeout  time.Duration // of an export with all its tries
	retry    time.Duration // pause before the second, which doubles with each
	report   func(error)
	sending  sync.Mutex
}

const (
	exportTimeout = 10 * time.Second
	firstRetry    = time.Second
	maxReply      = 64 << 10 // bytes that are read of a response
)

// newOTLPClient returns the client that the options and the variables OTEL_EXPORTER_OTLP_… describe; nil: none.
func newOTLPClient(o TraceOptions) (*otlpClient, error) {
	u, err := receiverURL(o.Endpoint)
	if err != nil || u == nil {
		return nil, err
	}
	c := &otlpClient{url: u.String(), host: u.Host, report: o.Report, retry: firstRetry}
	if c.header, err = exportHeader(); err != nil {
		return nil, err
	}
	switch value, from := exporterVariable("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		c.compress = true
	default:
		return nil, fmt.Errorf("%s is %q; it must be gzip or none", from, pleat.Clip(value))
	}
	c.timeout = exportTimeout
	if _, from := exporterVariable("TIMEOUT"); from != "" {
		ms, err := positive(from, 0)
		if err != nil {
			return nil, err
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if t.TLSClientConfig, err = exportTLS(); err != nil {
		return nil, err
	}
	c.http = &http.Client{
		Transport: t,
		// The header may hold a credential, which is for this receiver alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// exportHeader returns the header that OTEL_EXPORTER_OTLP_HEADERS describes: a list of name=value, whose values are
// percent-encoded. Errors do not show values, which are often credentials.
func exportHeader() (http.Header, error) {
	out := http.Header{}
	text, from := exporterVariable("HEADERS")
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, value, ok := strings.Cut(entry, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || strings.TrimSpace(name) == "" || strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("%s must be a list such as authorization=Bearer%%20TOKEN, separated by commas", from)
		}
		out.Set(strings.TrimSpace(name), value)
	}
	return out, nil
}

// exportTLS returns the authorities and the certificate that the variables name.
func exportTLS() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if path, from := exporterVariable("CERTIFICATE"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", from, err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s names a file that has no certificate in PEM", from)
		}
	}
	cert, from := exporterVariable("CLIENT_CERTIFICATE")
	key, keyFrom := exporterVariable("CLIENT_KEY")
	switch {
	case cert == "" && key == "":
		return cfg, nil
	case cert == "" || key == "":
		return nil, fmt.Errorf("%s is set without the other of OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and "+
			"OTEL_EXPORTER_OTLP_CLIENT_KEY", from+keyFrom)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used with %s: %w", from, keyFrom, err)
	}
	cfg.Certificates = []tls.Certificate{pair}
	return cfg, nil
}

// Start implements otlptrace.Client.
func (*otlpClient) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *otlpClient) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans, and tries again while the timeout allows it if the receiver may take them later. It returns
// no error, which the library would print: it reports it.
func (c *otlpClient) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.report(c.upload(ctx, spans))
	return nil
}

// upload sends spans. TracesData is on the wire what the request of the collector's service is.
func (c *otlpClient) upload(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	if c.compress {
		if body, err = zipped(body); err != nil {
			return fmt.Errorf("compress spans: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for pause := c.retry; ; pause *= 2 {
		retryAfter, err := c.post(ctx, body)
		if err == nil || retryAfter < 0 {
			return err
		}
		wait := time.NewTimer(max(pause, retryAfter))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return err
		}
	}
}

// zipped returns a text compressed by gzip.
func zipped(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(text)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

// post makes one try. With an error it returns how long the receiver wants no other; negative: another is of no use.
func (c *otlpClient) post(ctx context.Context, body []byte) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("the address of the receiver cannot be used")
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "pleat/"+pleat.Version)
	if c.compress {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, words.WithoutAddress(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply)) // so that the connection is used again
	if resp.StatusCode/100 == 2 {
		return 0, nil
	}
	err = fmt.Errorf("the receiver of traces answered %d", resp.StatusCode)
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(max(after, 0)) * time.Second, err
	}
	return -1, err
}
