package route

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"

	"pleat"
	"pleat/internal/fair"
)

// Large text files are sent with gzip: digits in JSON and mmCIF become a half to a fifth of their size. Only files are
// compressed. They never change, so no request can mix its own text with theirs to guess what they hold from the size
// of an answer; a response that holds links or keys next to the text of a user must not be compressed.
const (
	minCompressed = 256 << 10 // bytes; a smaller file costs more than it saves
	maxCompressed = 12        // answers at once; others are sent as they are
	// maxCompressedEach is how many of those one address may have, so that clients that read slowly do not keep all.
	maxCompressedEach = 3
)

// compressible reports whether a file is large text, which caches may then hold in both forms.
func compressible(a *pleat.Artifact) bool {
	media, _, _ := strings.Cut(a.ContentType, ";")
	return a.Bytes >= minCompressed && (strings.HasPrefix(media, "text/") || strings.HasPrefix(media, "chemical/") ||
		media == "application/json" || media == "image/svg+xml")
}

// compressor sends files with gzip, a bounded number at once. Its zero value is not usable.
type compressor struct {
	slots   chan struct{}
	each    fair.Streams // by address
	writers sync.Pool    // of *gzip.Writer
}

// newCompressor returns a compressor that sends nothing yet.
func newCompressor() *compressor {
	return &compressor{
		slots: make(chan struct{}, maxCompressed),
		each:  fair.Streams{Each: maxCompressedEach},
		writers: sync.Pool{New: func() any {
			z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
			if err != nil {
				panic(err) // the level is a constant
			}
			return z
		}},
	}
}

// acquire reports whether an answer may be compressed: its client accepts that and asks for no range, whose offsets are
// those of the plain file, and there is a free slot for its address. release returns the slot.
func (z *compressor) acquire(c *Call) bool {
	if c.R.Header.Get("Range") != "" || !AcceptsGzip(c.R.Header.Values("Accept-Encoding")) {
		return false
	}
	if z.each.Acquire(peer(c.from), false) != nil {
		return false
	}
	select {
	case z.slots <- struct{}{}:
		return true
	default:
		z.each.Release(peer(c.from), false)
		return false
	}
}

// release returns the slot of an answer.
func (z *compressor) release(c *Call) {
	<-z.slots
	z.each.Release(peer(c.from), false)
}

// AcceptsGzip reports whether the values of Accept-Encoding have gzip with a weight that is not 0.
func AcceptsGzip(values []string) bool {
	for one := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, weight, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, q, weighed := strings.Cut(weight, "=")
			return !weighed || strings.Trim(q, " 0.") != ""
		}
	}
	return false
}

// send calls serve with a writer that compresses the body of a success. If serve wrote only a part of the file, the
// connection is broken: the client could take a complete gzip stream for the whole file.
func (z *compressor) send(c *Call, size int64, serve func(http.ResponseWriter)) {
	w := z.writers.Get().(*gzip.Writer)
	defer z.writers.Put(w)
	out := &gzipWriter{ResponseWriter: &jsonErrors{Answer: c.W}, gzip: w}
	w.Reset(out.ResponseWriter)
	serve(out)
	if out.status != http.StatusOK || c.R.Method == http.MethodHead {
		return // the response has no body, or the plain one of an error
	}
	if out.written != size || w.Close() != nil {
		panic(http.ErrAbortHandler)
	}
}

// gzipWriter compresses the body of a success.
type gzipWriter struct {
	http.ResponseWriter
	gzip    *gzip.Writer
	status  int
	written int64 // bytes before compression
}

func (w *gzipWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *gzipWriter) Write(b []byte) (int, error) {
	if w.status != http.StatusOK {
		return w.ResponseWriter.Write(b)
	}
	n, err := w.gzip.Write(b)
	w.written += int64(n)
	return n, err
}
