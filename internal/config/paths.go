package config

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/engine"
	"pleat/internal/webhook"
)

// DatabaseURL returns the address of the database: the setting, or SQLite in the data folder.
func (c *Config) DatabaseURL() string {
	if c.Database == "" {
		return "sqlite:" + filepath.Join(c.Data, "pleat.db")
	}
	return c.Database
}

// SQLitePath returns the path of the database's file. It is false for another database.
func (c *Config) SQLitePath() (string, bool) { return strings.CutPrefix(c.DatabaseURL(), "sqlite:") }

// CheckSharedKey refuses PostgreSQL without a secret key: each node would generate its own, and could neither check the
// links nor open the secrets of the others. SQLite has one node's data folder, which holds the generated key.
func (c *Config) CheckSharedKey() error {
	if _, ok := c.SQLitePath(); ok || c.SecretKey != "" || c.SecretFile != "" {
		return nil
	}
	return errors.New("PLEAT_SECRET_KEY is not set, and every node of one PostgreSQL database needs the same; " +
		"make one with: openssl rand -hex 32")
}

// GeneratedKeyFile returns the path of the generated secret key, which is used where no key and no file is set.
func (c *Config) GeneratedKeyFile() string { return filepath.Join(c.Data, "secret.key") }

// SecretVariables returns the names of the environment variables of all settings that hold a secret or may hold one.
func (c *Config) SecretVariables() []string {
	var out []string
	for _, s := range c.Settings() {
		if s.secrecy != public {
			out = append(out, s.Variable())
		}
	}
	return out
}

// Secrets returns the secrets that the settings hold: secret values, and of URLs their passwords and the values of
// their parameters. Text that is shown to others must have none of them.
func (c *Config) Secrets() []string {
	var out []string
	for _, s := range c.Settings() {
		text := s.String()
		switch {
		case text == "" || s.secrecy == public:
		case s.secrecy == secretInURL:
			out = append(out, secretsOfURL(text)...)
		default:
			out = append(append(out, text), strings.Split(text, ",")...)
		}
	}
	return out
}

// secretsOfURL returns the password of a URL, as it is written and decoded, and the values of its parameters; the whole
// text if it cannot be read.
func secretsOfURL(text string) []string {
	u, err := url.Parse(text)
	if err != nil {
		return []string{text}
	}
	var out []string
	if password, ok := u.User.Password(); ok {
		_, written, _ := strings.Cut(u.User.String(), ":")
		out = append(out, password, written)
	}
	for _, values := range u.Query() {
		out = append(out, values...)
	}
	return out
}

// BlobAddress returns the address of the artifacts as blob.Open reads it: dir:PATH or a URL, such as s3://BUCKET.
func (c *Config) BlobAddress() string {
	switch {
	case c.Blobs == "":
		return "dir:" + filepath.Join(c.Data, "blobs")
	case strings.Contains(c.Blobs, "://"), strings.HasPrefix(c.Blobs, "dir:"):
		return c.Blobs
	}
	return "dir:" + c.Blobs
}

// DiskFolders returns the folders into which a node writes: those of the data and of scratch files, and that of the
// artifacts if they are on this machine.
func (c *Config) DiskFolders() []string {
	out := []string{c.Data}
	if c.Scratch != "" {
		out = append(out, c.Scratch)
	}
	if folder, ok := strings.CutPrefix(c.BlobAddress(), "dir:"); ok {
		out = append(out, folder)
	}
	return out
}

// ScratchDir returns the absolute path of the folder of this process's identity and temporary files.
func (c *Config) ScratchDir() string { return absolute(cmp.Or(c.Scratch, c.Data), "", "", "") }

// MemoryLimit returns the bytes that jobs may use together: the setting, else four fifths of the machine's memory,
// which leaves the rest to the system and the file cache; 0 where the machine's memory is unknown.
func (c *Config) MemoryLimit() int64 {
	if c.Memory > 0 || runtime.GOOS != "linux" {
		return int64(c.Memory)
	}
	return MachineMemory() / 5 * 4
}

// RunnersDir returns the folder of the runners that are not embedded: the setting, else the first of the default
// folders that exists; empty if there is none. A folder is one of runners if it has foldrun, the module that they
// share.
func (c *Config) RunnersDir() string {
	if c.Runners != "" {
		return c.Runners
	}
	candidates := []string{"runners"}
	if exe, err := os.Executable(); err == nil {
		dir := filepath.Dir(exe)
		candidates = append(candidates, filepath.Join(dir, "runners"), filepath.Join(dir, "..", "runners"))
	}
	candidates = append(candidates, "/usr/local/share/pleat/runners", "/usr/share/pleat/runners")
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, "foldrun")); err == nil {
			return dir
		}
	}
	return ""
}

// EmbeddedRunnersDir returns the absolute path of the folder into which every version of the program unpacks its
// embedded runners, a folder for each version. It is beside the environments; no engine has a name with a dot.
func (c *Config) EmbeddedRunnersDir() string { return c.EngineDir(".runners") }

// EngineDir returns the absolute path of the folder of a virtual environment or a runner's caches. An empty name means
// the folder of all.
func (c *Config) EngineDir(name string) string {
	return absolute(c.EngineData, c.Data, "engines", name)
}

// WeightsDir returns the absolute path of the folder of an engine's weights. An empty name means the folder of all.
func (c *Config) WeightsDir(engine string) string {
	return absolute(c.Weights, c.Data, "weights", engine)
}

// absolute returns the folder of a name in the folder that is set, else in the default folder of the data folder. It is
// absolute since runners start in folders of their own.
func absolute(set, data, def, name string) string {
	if set == "" {
		set = filepath.Join(data, def)
	}
	path := filepath.Join(set, name)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// DeviceList returns the accelerators of the setting devices. For auto it returns what find finds; for none it is
// empty. Find is not called otherwise.
func (c *Config) DeviceList(find func() ([]pleat.Device, error)) ([]pleat.Device, error) {
	if len(c.Devices) == 0 || len(c.Devices) == 1 && c.Devices[0] == "none" {
		return nil, nil
	}
	if len(c.Devices) == 1 && c.Devices[0] == "auto" {
		return find()
	}
	var out []pleat.Device
	for _, text := range c.Devices {
		d, err := engine.ParseDevice(text, func(size string) (int64, error) {
			n, err := ParseBytes(size)
			return int64(n), err
		})
		if err != nil {
			return nil, c.Errorf("devices", "cannot be used: %w", err)
		}
		out = append(out, d)
	}
	return out, nil
}

// VerificationKeys returns the keys of the setting webhook-secret; during a rotation there are two. It is empty if none
// is set.
func (c *Config) VerificationKeys() ([]webhook.Key, error) {
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

// TrustedProxies returns the networks of the proxies whose X-Forwarded-For is believed. A single address is a network.
func (c *Config) TrustedProxies() ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range c.Proxies {
		net, err := netip.ParsePrefix(text)
		if a, alone := netip.ParseAddr(text); alone == nil {
			net, err = a.Prefix(a.BitLen())
		}
		if err != nil {
			return nil, c.Errorf("trusted-proxies", "has %q; it must be an address or a network, such as 10.1.0.0/16",
				pleat.Clip(text))
		}
		if net.Bits() == 0 {
			return nil, c.Errorf("trusted-proxies", "has %s, which is every address: any client could then write "+
				"in X-Forwarded-For what it likes; name the network of your proxies", net)
		}
		if a := net.Addr(); a.Is4In6() { // clients are compared as IPv4 addresses
			if net.Bits() <= 96 {
				return nil, c.Errorf("trusted-proxies", "has %s, which holds every IPv4 address; "+
					"write a network of IPv4 such as 10.1.0.0/16", net)
			}
			net = netip.PrefixFrom(a.Unmap(), net.Bits()-96)
		}
		out = append(out, net.Masked())
	}
	return out, nil
}

// WebhookGuard returns the guard that decides to which addresses deliveries may go, by webhook-allow and webhook-ports.
func (c *Config) WebhookGuard() (*webhook.Guard, error) {
	allow, err := webhook.ParseAllow(strings.Join(c.WebhookAllow, ","))
	if err != nil {
		return nil, c.Errorf("webhook-allow", "cannot be used: %w", err)
	}
	var ports []uint16
	for _, text := range c.WebhookPorts {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return nil, c.Errorf("webhook-ports", "has %q; a port is 1 to 65535", pleat.Clip(text))
		}
		ports = append(ports, uint16(n))
	}
	return webhook.NewGuard(allow, ports, nil), nil
}

// LocalURL returns the URL at which this machine reaches what listens on an address; on all addresses, it is reached on
// loopback. The URL has no trailing slash.
func LocalURL(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "http://" + address
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(strings.ToLower(host), port)
}
