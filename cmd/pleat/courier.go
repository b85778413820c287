package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/internal/seal"
	"pleat/internal/webhook"
	"pleat/internal/work"
)

// courierStep, if set, is told each step of a delivery's walk. Tests set it, to end the process there.
var courierStep func(name string)

// linkFor is how long links in deliveries live.
const linkFor = 24 * time.Hour

// courier makes this process deliver webhooks.
func (p *process) courier(guard *webhook.Guard, public string) (*work.Courier, *webhook.Sender, error) {
	sender, err := p.cfg.webhookSender(guard)
	if err != nil {
		return nil, nil, err
	}
	id, err := p.node()
	if err != nil {
		return nil, nil, err
	}
	links := seal.Links{Ring: p.ring, Base: strings.TrimRight(public, "/"), For: linkFor}
	return work.NewCourier(work.CourierConfig{
		ID: id + "/deliver", Rate: p.cfg.WebhookRate, Base: links.Base, Link: links.URL, Reap: !p.cfg.Work,
		Retention: time.Duration(p.cfg.WebhookKeep) * 24 * time.Hour, Clock: time.Now, Log: p.log, Step: courierStep,
	}, p.store, p.ring, sender), sender, nil
}

// webhookGuard is where deliveries may go.
func (c *Config) webhookGuard() (*webhook.Guard, error) {
	allow, err := webhook.ParseAllow(strings.Join(c.WebhookAllow, ","))
	if err != nil {
		return nil, err
	}
	var ports []uint16
	for _, text := range c.WebhookPorts {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q is not a port", pleat.Clip(text))
		}
		ports = append(ports, uint16(n))
	}
	return webhook.NewGuard(allow, ports, nil), nil
}

// webhookSender posts deliveries as the settings say.
func (c *Config) webhookSender(guard *webhook.Guard) (*webhook.Sender, error) {
	cfg := webhook.Config{Guard: guard, Timeout: time.Duration(c.WebhookTimeout) * time.Second}
	if c.WebhookProxy != "" {
		var err error
		if cfg.Proxy, err = url.Parse(c.WebhookProxy); err != nil {
			return nil, c.bad("webhook-proxy", "cannot be read") // the value may hold a password
		}
	}
	if c.WebhookCA != "" {
		pem, err := os.ReadFile(c.WebhookCA)
		if err != nil {
			return nil, c.bad("webhook-ca", "cannot be read: %w", err)
		}
		if cfg.Roots, err = x509.SystemCertPool(); err != nil {
			return nil, fmt.Errorf("read the system's certificates: %w", err)
		}
		if !cfg.Roots.AppendCertsFromPEM(pem) {
			return nil, c.bad("webhook-ca", "has no certificate in PEM")
		}
	}
	if c.WebhookCert != "" {
		pair, err := tls.LoadX509KeyPair(c.WebhookCert, c.WebhookCertKey)
		if err != nil {
			return nil, c.bad("webhook-cert", "cannot be used with webhook-cert-key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return webhook.NewSender(cfg), nil
}

// checkWebhooks refuses settings that could not work.
func (c *Config) checkWebhooks() error {
	if _, err := webhook.ParseAllow(strings.Join(c.WebhookAllow, ",")); err != nil {
		return c.bad("webhook-allow", "cannot be used: %w", err)
	}
	for _, text := range c.WebhookPorts {
		if n, err := strconv.ParseUint(text, 10, 16); err != nil || n == 0 {
			return c.bad("webhook-ports", "has %q; a port is 1 to 65535", pleat.Clip(text))
		}
	}
	if c.WebhookTimeout < 1 || c.WebhookTimeout > 120 {
		return c.bad("webhook-timeout", "is %d; it must be 1 to 120", c.WebhookTimeout)
	}
	if c.WebhookKeep < 0 || c.WebhookKeep > 36500 {
		return c.bad("webhook-keep", "is %d; it must be 0 to 36500", c.WebhookKeep)
	}
	if u, err := url.Parse(c.WebhookProxy); c.WebhookProxy != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return c.bad("webhook-proxy", "must be an address such as http://proxy.example.org:3128") // the value may hold a password
	}
	if (c.WebhookCert == "") != (c.WebhookCertKey == "") {
		return c.bad("webhook-cert", "needs webhook-cert-key, and the other way round")
	}
	if c.WebhookSecret != "" {
		if _, err := c.listenKeys(); err != nil {
			return c.bad("webhook-secret", "cannot be used: it must be whsec_… or whpk_…, as the service shows it")
		}
	}
	return nil
}

// listenKeys are what pleat webhooks listen verifies with.
func (c *Config) listenKeys() ([]webhook.Key, error) {
	var out []webhook.Key
	for text := range strings.SplitSeq(c.WebhookSecret, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		k, err := webhook.ParseKey(text)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}
