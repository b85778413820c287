package app

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"pleat/internal/config"
	"pleat/internal/deliver"
	"pleat/internal/seal"
	"pleat/internal/webhook"
)

// linkLifetime is how long the links in the payloads of deliveries are valid: long enough for a receiver that works
// through a queue, short enough that a stored payload gives no lasting access.
const linkLifetime = 24 * time.Hour

// newDeliverer makes this process deliver webhooks. The caller closes the sender. Step may be nil, see Options.
// Deliveries are leased under an identity of their own, next to that of the worker. Without a worker in this process,
// the deliverer runs a queue.Poller.
func (a *App) newDeliverer(g *webhook.Guard, public string, step func(string)) (*deliver.Pool, *webhook.Sender, error) {
	sender, err := newSender(a.cfg, g)
	if err != nil {
		return nil, nil, err
	}
	id, err := a.node()
	if err != nil {
		return nil, nil, err
	}
	links := seal.Links{Ring: a.ring, Base: strings.TrimRight(public, "/"), For: linkLifetime}
	return deliver.New(deliver.Config{
		ID:        id + "/deliver",
		DB:        a.Store.DB,
		Webhooks:  a.Store.Webhooks,
		Runs:      a.Store.Runs,
		Batches:   a.Store.Batches,
		Rate:      a.cfg.WebhookRate,
		Base:      links.Base,
		Link:      links.URL,
		Poll:      !a.cfg.Work,
		Retention: days(a.cfg.WebhookKeep),
		Clock:     time.Now,
		Tracer:    a.traces.Tracer(),
		Log:       a.log,
		Step:      step,
	}, a.ring, sender), sender, nil
}

// newSender returns what sends deliveries: through the proxy, with the authorities and the certificate that are set. It
// reads the files of these once, so a new certificate needs a restart.
func newSender(c config.Config, guard *webhook.Guard) (*webhook.Sender, error) {
	cfg := webhook.Config{Guard: guard, Timeout: seconds(c.WebhookTimeout)}
	if c.WebhookProxy != "" {
		var err error
		if cfg.Proxy, err = url.Parse(c.WebhookProxy); err != nil {
			return nil, c.Errorf("webhook-proxy", "cannot be read") // the value may hold a password
		}
	}
	if c.WebhookCA != "" {
		var err error
		if cfg.Roots, err = withAuthorities(c, "webhook-ca", c.WebhookCA); err != nil {
			return nil, err
		}
	}
	if c.WebhookCert != "" {
		pair, err := tls.LoadX509KeyPair(c.WebhookCert, c.WebhookCertKey)
		if err != nil {
			return nil, c.Errorf("webhook-cert", "cannot be used with webhook-cert-key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return webhook.NewSender(cfg), nil
}

// withAuthorities returns the system's certificate authorities and those of the file that a setting names, so that
// public servers keep working.
func withAuthorities(c config.Config, setting, file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, c.Errorf(setting, "cannot be read: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, c.Errorf(setting, "has no certificate in PEM")
	}
	return roots, nil
}
