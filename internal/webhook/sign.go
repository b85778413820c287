package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pleat"
)

// Prefixes of keys and signatures in the Standard Webhooks specification.
const (
	prefixHMAC    = "whsec_" // a shared secret
	prefixPrivate = "whsk_"  // an Ed25519 private key
	prefixPublic  = "whpk_"  // its public key
	schemeHMAC    = "v1,"
	schemeEd25519 = "v1a,"
)

// Tolerance is the largest difference between a delivery's timestamp and the receiver's clock.
const Tolerance = 5 * time.Minute

// The errors of Verify.
var (
	ErrNoSignature  = errors.New("webhook-id, webhook-timestamp or webhook-signature is missing")
	ErrBadTimestamp = errors.New("webhook-timestamp is not a whole number of seconds")
	ErrTooOld       = errors.New("webhook-timestamp is too old")
	ErrTooNew       = errors.New("webhook-timestamp is in the future")
	ErrBadSignature = errors.New("no signature matches")
)

// Key signs or verifies deliveries: a shared secret (v1) or an Ed25519 key (v1a). Printing redacts it; Text returns it.
// The zero value signs and verifies nothing.
type Key struct {
	secret  []byte
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

// NewKey returns a shared secret of 32 random bytes.
func NewKey() Key {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return Key{secret: b}
}

// NewKeyPair returns an Ed25519 key that signs. Receivers get its public half.
func NewKeyPair() Key {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic("webhook: " + err.Error()) // crypto/rand does not fail
	}
	return Key{private: private, public: public}
}

// ParseKey parses whsec_, whsk_ or whpk_ followed by base64. Secrets have 24 to 64 bytes, as the specification demands.
func ParseKey(text string) (Key, error) {
	prefix, body, _ := strings.Cut(text, "_")
	b, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(body)
	}
	switch prefix += "_"; {
	case prefix != prefixHMAC && prefix != prefixPrivate && prefix != prefixPublic:
		return Key{}, pleat.Invalidf("a signing secret starts with %s, %s or %s", prefixHMAC, prefixPrivate,
			prefixPublic)
	case err != nil:
		return Key{}, pleat.Invalidf("a signing secret is base64 after its %s", prefix)
	case prefix == prefixHMAC && len(b) >= 24 && len(b) <= 64:
		return Key{secret: b}, nil
	case prefix == prefixPublic && len(b) == ed25519.PublicKeySize:
		return Key{public: b}, nil
	case prefix == prefixPrivate && len(b) == ed25519.SeedSize:
		private := ed25519.NewKeyFromSeed(b)
		return Key{private: private, public: private.Public().(ed25519.PublicKey)}, nil
	case prefix == prefixPrivate && len(b) == ed25519.PrivateKeySize:
		private := ed25519.NewKeyFromSeed(b[:ed25519.SeedSize])
		if !hmac.Equal(private, b) {
			return Key{}, pleat.Invalidf("the two halves of the signing key do not belong together")
		}
		return Key{private: private, public: private.Public().(ed25519.PublicKey)}, nil
	}
	return Key{}, pleat.Invalidf("a signing secret with %s has %d bytes, which is not its length", prefix, len(b))
}

// Text returns the key in the form for receivers and for storage. It is the secret itself.
func (k Key) Text() string {
	switch {
	case k.private != nil:
		return prefixPrivate + base64.StdEncoding.EncodeToString(k.private)
	case k.secret != nil:
		return prefixHMAC + base64.StdEncoding.EncodeToString(k.secret)
	}
	return k.Public()
}

// Public returns the public key, with which a receiver can verify but not sign; empty for a shared secret.
func (k Key) Public() string {
	if k.public == nil {
		return ""
	}
	return prefixPublic + base64.StdEncoding.EncodeToString(k.public)
}

// String redacts the key in logs and errors.
func (k Key) String() string { return "[signing secret]" }

// GoString is String.
func (k Key) GoString() string { return k.String() }

// MarshalText redacts the key in encoded values.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// sign returns one signature of the content, or "" if the key cannot sign.
func (k Key) sign(content []byte) string {
	switch {
	case k.private != nil:
		return schemeEd25519 + base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, content))
	case k.secret != nil:
		mac := hmac.New(sha256.New, k.secret)
		mac.Write(content)
		return schemeHMAC + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return ""
}

// content returns the signed bytes: id.timestamp.body.
func content(id, timestamp string, body []byte) []byte {
	b := make([]byte, 0, len(id)+len(timestamp)+2+len(body))
	b = append(append(b, id...), '.')
	b = append(append(b, timestamp...), '.')
	return append(b, body...)
}

// Sign returns the value of webhook-signature: one signature for each key, separated by spaces. During a rotation,
// receivers with the old and with the new secret accept it.
func Sign(id string, at time.Time, body []byte, keys ...Key) string {
	if len(keys) == 0 {
		return ""
	}
	c := content(id, strconv.FormatInt(at.Unix(), 10), body)
	var all []string
	for _, k := range keys {
		if s := k.sign(c); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, " ")
}

// Verify accepts a delivery that any of the keys signed and whose timestamp is within tolerance of now. Receivers call
// it. It returns one of the errors above.
func Verify(header http.Header, body []byte, now time.Time, tolerance time.Duration, keys ...Key) error {
	id, timestamp, signatures := header.Get(HeaderID), header.Get(HeaderTimestamp), header.Get(HeaderSignature)
	if id == "" || timestamp == "" || signatures == "" {
		return ErrNoSignature
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return ErrBadTimestamp
	}
	switch at := time.Unix(seconds, 0); {
	case now.Sub(at) > tolerance:
		return ErrTooOld
	case at.Sub(now) > tolerance:
		return ErrTooNew
	}
	c := content(id, timestamp, body)
	ok := 0
	for n, s := range strings.Fields(signatures) {
		if n == 16 { // more than any rotation needs; it limits the work for a hostile header
			break
		}
		for _, k := range keys {
			ok |= k.matches(c, s)
		}
	}
	if ok == 0 {
		return ErrBadSignature
	}
	return nil
}

// matches returns 1 if s is the key's signature of the content, else 0.
func (k Key) matches(c []byte, s string) int {
	if k.secret != nil {
		return subtle.ConstantTimeCompare([]byte(k.sign(c)), []byte(s))
	}
	text, ok := strings.CutPrefix(s, schemeEd25519)
	if !ok || k.public == nil {
		return 0
	}
	sig, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sig) != ed25519.SignatureSize || !ed25519.Verify(k.public, c, sig) {
		return 0
	}
	return 1
}

// CheckToken returns an error for a token that cannot be a header value: it must have 1 to 1024 printable ASCII
// characters without spaces at the ends.
func CheckToken(field, token string) error {
	if token == "" {
		return pleat.InvalidField(field, " is empty; it must hold the token to send as %s", HeaderToken)
	}
	if len(token) > 1024 {
		return pleat.InvalidField(field, " has %d characters; at most 1024 are allowed", len(token))
	}
	for i := range len(token) {
		if token[i] < ' ' || token[i] > '~' {
			return pleat.Invalidf(
				"%s has a character at position %d that cannot stand in a header; printable ASCII is taken", field, i+1)
		}
	}
	if strings.TrimSpace(token) != token {
		return pleat.InvalidField(field, " starts or ends with a space")
	}
	return nil
}
