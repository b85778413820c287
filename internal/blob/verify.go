package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"pleat"
)

// ErrDamaged is an object whose bytes are not those that were stored: a disk or a server has changed them. Such an
// error is also a [pleat.Error] with CodeUnavailable, whose message names the file.
var ErrDamaged = errors.New("its stored bytes have another SHA-256")

// Expected is what the database says of an object. The zero value is that of an object without a row, such as a cached
// alignment or a checkpoint.
type Expected struct {
	Name   string // the file as its users call it
	SHA256 string // lower-case hexadecimal; empty: not known
}

const (
	// FirstSent is the size in bytes up to which a file that is sent is compared before its first byte.
	FirstSent = 1 << 20
	// firstRead is the same for a file that is read, whose reader may stop before the end.
	firstRead = 64 << 20
	// keptRead is the size up to which the compared bytes are kept for the reader. Larger objects are read twice: many
	// slow clients must not hold much memory.
	keptRead = 64 << 10
	// maxDamagedLogged bounds the digests of damaged objects that a Monitor remembers, to log each once.
	maxDamagedLogged = 10_000
)

// CompareWith makes Open compare every object with what the function says of its key: the name and the SHA-256 of its
// row, as Expected has them. Until then, objects are compared only where the store itself keeps their SHA-256.
func (m *Monitor) CompareWith(expect func(ctx context.Context, key string) (name, sha256 string, err error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expect = expect
}

// Expect returns what the database says of an object.
func (m *Monitor) Expect(ctx context.Context, key string) (Expected, error) {
	m.mu.Lock()
	expect := m.expect
	m.mu.Unlock()
	if expect == nil {
		return Expected{}, nil
	}
	name, sum, err := expect(ctx, key)
	return Expected{name, sum}, err
}

// Open implements Store. The content is compared before the first byte, or, if it is larger than 64 MiB, when it has
// been read to its end: a damaged object is ErrDamaged.
func (m *Monitor) Open(ctx context.Context, key string) (io.ReadSeekCloser, Info, error) {
	want, err := m.Expect(ctx, key)
	if err != nil {
		return nil, Info{}, err
	}
	return m.OpenExpected(ctx, key, want, firstRead)
}

// OpenExpected opens an object of which the caller knows what it must be. Up to first bytes, a damaged object is
// ErrDamaged at once. A larger one is compared while it is read from its beginning to its end, in any number of reads:
// the last of them returns ErrDamaged in the place of the last bytes. Parts of it are not compared.
func (m *Monitor) OpenExpected(
	ctx context.Context, key string, want Expected, first int64,
) (io.ReadSeekCloser, Info, error) {
	in, info, err := m.OpenPart(ctx, key)
	if err != nil {
		return nil, Info{}, err
	}
	if want.SHA256 == "" {
		want.SHA256 = info.SHA256
	}
	if want.SHA256 == "" {
		return in, info, nil
	}
	c := &comparing{ReadSeekCloser: in, size: info.Bytes, want: want.SHA256, sum: sha256.New()}
	c.damaged = func() error { return m.Damage(key, want) }
	if info.Bytes > first {
		return c, info, nil
	}
	out, err := c.ahead(ctx)
	if err != nil {
		in.Close()
		return nil, Info{}, err
	}
	return out, info, nil
}

// OpenPart opens an object to read parts of it, which cannot be compared.
func (m *Monitor) OpenPart(ctx context.Context, key string) (io.ReadSeekCloser, Info, error) {
	number := m.begin()
	r, info, err := m.Store.Open(ctx, key)
	m.record(ctx, number, opRead, err)
	return r, info, err
}

// Damaged is how often an object was opened or read that is damaged.
func (m *Monitor) Damaged() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.damaged
}

// Damage counts a damaged object, logs each once, and returns the error for it.
func (m *Monitor) Damage(key string, want Expected) error {
	m.mu.Lock()
	m.damaged++
	known := m.damagedLogged[want.SHA256] || len(m.damagedLogged) >= maxDamagedLogged
	if !known {
		m.damagedLogged[want.SHA256] = true
	}
	m.mu.Unlock()
	if !known {
		m.log.Error("a stored file is damaged", "key", key, "digest", want.SHA256)
	}
	return DamagedError(key, want.Name)
}

// DamagedError is the error for a damaged object that users call by a name; empty: by none.
func DamagedError(key, name string) error {
	file := "the file"
	if name != "" {
		file = fmt.Sprintf("the file %q", pleat.Clip(name))
	}
	return &pleat.Error{
		Code: pleat.CodeUnavailable,
		Message: file + " is damaged: its bytes in the artifact store have changed; " +
			"the operator has to restore it from a backup",
		Err: fmt.Errorf("blob: read %s: %w", key, ErrDamaged),
	}
}

// Compare returns a reader of r that returns damaged in the place of the last bytes unless all have the SHA-256. Size
// is their number; negative: not known, and then nothing is held back.
func Compare(r io.ReadCloser, size int64, sha string, damaged error) io.ReadCloser {
	c := &comparing{
		ReadSeekCloser: unseekable{r},
		size:           size,
		want:           sha,
		sum:            sha256.New(),
		damaged:        func() error { return damaged },
	}
	return struct {
		io.Reader
		io.Closer
	}{c, r}
}

// unseekable is a ReadSeekCloser that cannot seek.
type unseekable struct{ io.ReadCloser }

// Seek implements io.Seeker.
func (unseekable) Seek(int64, int) (int64, error) { return 0, errors.ErrUnsupported }

// comparing compares what is read from the beginning to the end with a SHA-256.
type comparing struct {
	io.ReadSeekCloser
	size    int64  // negative: not known
	want    string // hexadecimal
	sum     hash.Hash
	damaged func() error
	at      int64 // where the next read begins
	hashed  int64 // bytes from the beginning on that the sum has
	ended   bool  // they have been compared
	err     error // the result, once it is bad
}

// Read implements io.Reader.
func (c *comparing) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.ReadSeekCloser.Read(p)
	if c.at <= c.hashed && c.at+int64(n) > c.hashed {
		c.sum.Write(p[c.hashed-c.at : n])
		c.hashed = c.at + int64(n)
	}
	c.at += int64(n)
	whole := c.hashed == c.size || errors.Is(err, io.EOF) && c.at == c.hashed
	if !whole || c.ended {
		return n, err
	}
	c.ended = true
	if hexSum(c.sum) != c.want {
		c.err = c.damaged()
		return 0, c.err
	}
	return n, err
}

// Seek implements io.Seeker.
func (c *comparing) Seek(offset int64, whence int) (int64, error) {
	at, err := c.ReadSeekCloser.Seek(offset, whence)
	if err == nil {
		c.at = at
	}
	return at, err
}

// ahead compares the whole, and returns a reader from its beginning.
func (c *comparing) ahead(ctx context.Context) (io.ReadSeekCloser, error) {
	var kept bytes.Buffer
	var to io.Writer = io.Discard
	keeps := c.size <= keptRead
	if keeps {
		to = &kept
	}
	if _, err := io.Copy(to, ContextReader(ctx, c)); err != nil {
		return nil, err
	}
	if keeps {
		return struct {
			io.ReadSeeker
			io.Closer
		}{bytes.NewReader(kept.Bytes()), c}, nil
	}
	c.sum.Reset() // what is read now is compared too
	c.hashed, c.ended = 0, false
	_, err := c.Seek(0, io.SeekStart)
	return c, err
}
