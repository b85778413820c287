// Package seal protects secrets: a ring of master keys from which one key is derived for each use, encryption at rest,
// signatures, and the API keys and webhook secrets that the service issues.
//
// It must not store or print plain secrets. It uses the standard library's cryptography only: HKDF (RFC 5869) with
// SHA-256, AES-256-GCM with random nonces, HMAC-SHA-256.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Ring holds the master keys. The first one encrypts and signs; all of them decrypt and verify, so that a key can be
// rotated. Load and Parse return a Ring; the zero value has no keys and panics when it should sign or encrypt.
type Ring struct{ masters []master }

type master struct {
	id      string // 8 hexadecimal digits, not secret: identifies the key that encrypted a value
	key     [32]byte
	derived *sync.Map // keys derived from it, by use; there are few, and deriving costs more than using
}

// Load returns the ring from text (PLEAT_SECRET_KEY). If text is empty, it reads the file, which it creates once with
// mode 0600. Two processes that start at the same time agree on one key, because the file is linked into place
// atomically.
func Load(text, file string) (*Ring, error) {
	if text != "" {
		return Parse(text)
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFile(file); err != nil {
			return nil, fmt.Errorf("make the secret key: %w", err)
		}
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by other users of this machine; run: chmod 600 %s", file, file)
	}
	r, err := Parse(strings.TrimSpace(string(b)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; put the one of your backup back, or remove it, which ends every link and "+
			"every webhook secret given out", file, err)
	}
	return r, nil
}

// Parse parses one or more master keys, separated by commas, the current one first. Each has 32 bytes, as 64
// hexadecimal digits or in base64. The error never contains the text.
func Parse(text string) (*Ring, error) {
	r := &Ring{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		b, err := hex.DecodeString(part)
		if err != nil || len(b) != 32 {
			if b, err = base64.StdEncoding.DecodeString(part); err != nil || len(b) != 32 {
				return nil, errors.New("a secret key is 32 bytes, written as 64 hexadecimal digits or in base64")
			}
		}
		m := master{key: [32]byte(b), derived: &sync.Map{}}
		sum := sha256.Sum256(append([]byte("pleat key id\x00"), b...))
		m.id = hex.EncodeToString(sum[:4])
		r.masters = append(r.masters, m)
	}
	return r, nil
}

func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	_, err = f.WriteString(hex.EncodeToString(key[:]) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// derive returns the key for one use of a master key.
func (m master) derive(use string) []byte {
	if key, ok := m.derived.Load(use); ok {
		return key.([]byte)
	}
	key, err := hkdf.Key(sha256.New, m.key[:], nil, "pleat/"+use, 32)
	if err != nil {
		panic(err) // the length is right
	}
	m.derived.Store(use, key)
	return key
}

const version = "s1"

// Seal encrypts a value for a user and a column; Open needs the same ones. The form is «s1.KEYID.BASE64».
func (r *Ring) Seal(user, column string, plain []byte) string {
	m := r.masters[0]
	aead := m.aead()
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	box := aead.Seal(nonce, nonce, plain, bind(user, column, m.id))
	return version + "." + m.id + "." + base64.RawURLEncoding.EncodeToString(box)
}

// ErrSealed means that a value cannot be decrypted: it was changed, belongs to another user or column, or its key is
// missing.
var ErrSealed = errors.New("a stored secret cannot be opened: its key is missing or it was changed")

// Open decrypts a value that Seal encrypted for the same user and column.
func (r *Ring) Open(user, column, sealed string) ([]byte, error) {
	v, rest, _ := strings.Cut(sealed, ".")
	id, text, ok := strings.Cut(rest, ".")
	box, err := base64.RawURLEncoding.DecodeString(text)
	if v != version || !ok || err != nil {
		return nil, ErrSealed
	}
	for _, m := range r.masters {
		if m.id != id {
			continue
		}
		aead := m.aead()
		if len(box) < aead.NonceSize() {
			return nil, ErrSealed
		}
		plain, err := aead.Open(nil, box[:aead.NonceSize()], box[aead.NonceSize():], bind(user, column, id))
		if err != nil {
			return nil, ErrSealed
		}
		return plain, nil
	}
	return nil, ErrSealed
}

// Opens reports whether the ring has the key with which Seal encrypted a value. It does not open the value.
func (r *Ring) Opens(sealed string) bool {
	v, rest, _ := strings.Cut(sealed, ".")
	id, _, ok := strings.Cut(rest, ".")
	return v == version && ok && slices.ContainsFunc(r.masters, func(m master) bool { return m.id == id })
}

// Fingerprints returns a name of each key, in their order, by which two rings can be compared: a signature that reveals
// nothing of the key.
func (r *Ring) Fingerprints() []string {
	var out []string
	for _, m := range r.masters {
		out = append(out, m.sign("fingerprint", nil))
	}
	return out
}

// Reseal encrypts a value with the current key. If the value has that key already, it returns the value unchanged and
// false.
func (r *Ring) Reseal(user, column, sealed string) (string, bool, error) {
	plain, err := r.Open(user, column, sealed)
	if err != nil {
		return sealed, false, err
	}
	if strings.HasPrefix(sealed, version+"."+r.masters[0].id+".") {
		return sealed, false, nil
	}
	return r.Seal(user, column, plain), true, nil
}

func (m master) aead() cipher.AEAD {
	const key = "aead"
	if a, ok := m.derived.Load(key); ok {
		return a.(cipher.AEAD)
	}
	block, err := aes.NewCipher(m.derive("seal"))
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	m.derived.Store(key, aead)
	return aead
}

// Sign returns a signature of parts for one use, the label: HMAC-SHA-256, truncated to 128 bits, in base64url.
func (r *Ring) Sign(label string, parts ...string) string { return r.masters[0].sign(label, parts) }

// Verify reports whether Sign made the signature. It takes constant time for each key.
func (r *Ring) Verify(label, signature string, parts ...string) bool {
	ok := 0
	for _, m := range r.masters {
		ok |= subtle.ConstantTimeCompare([]byte(m.sign(label, parts)), []byte(signature))
	}
	return ok == 1
}

// Equal reports whether a secret is the one that is wanted. It compares digests, which have the same length, so that
// the time reveals nothing about the length either.
func Equal(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func (m master) sign(label string, parts []string) string {
	mac := hmac.New(sha256.New, m.derive("sign/"+label))
	mac.Write(bind(parts...))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// bind joins parts so that different lists never give the same bytes.
func bind(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

// keyStart begins every API key, so that scanners of code and logs can find a leaked one.
const keyStart = "pleat_"

// NewKey returns an API key: «pleat_» and 256 random bits in base64url.
func NewKey() string { return keyStart + newSecret() }

// IsKey reports whether a text begins as an API key does.
func IsKey(text string) bool { return strings.HasPrefix(text, keyStart) }

// SessionPrefix begins the id of every session of a person who signed in. No API key begins so.
const SessionPrefix = "pleatlogin_"

// NewSession returns the id of such a session: «pleatlogin_» and 256 random bits in base64url.
func NewSession() string { return SessionPrefix + newSecret() }

// FleetTokenPrefix begins every token of workers and of programs that scale them.
const FleetTokenPrefix = "pleatfleet_"

// NewFleetToken returns a token for a program that scales the workers: «pleatfleet_» and 256 random bits in base64url.
func NewFleetToken() string { return FleetTokenPrefix + newSecret() }

// NewLinkToken returns the token of a link that invites or shares: «pleatlink_» and 256 random bits in base64url.
func NewLinkToken() string { return "pleatlink_" + newSecret() }

func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Prefix returns the part of a key that may be shown: enough to distinguish keys, too little to guess the rest.
func Prefix(key string) string { return key[:min(len(key), len(keyStart)+6)] }

// HashKey returns the form in which a key is stored and looked up: its SHA-256 in hexadecimal. A key has 256 random
// bits, so a slow hash is not needed.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
