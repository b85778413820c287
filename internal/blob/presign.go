package blob

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Presigner signs requests in advance, so that a process without keys can write or read one object of the store over
// HTTP. Bucket implements it. Both methods return ErrInvalidKey for a key that CheckKey refuses.
type Presigner interface {
	// PresignPut returns a PUT that stores an object under key, as Put does: of this length and this hash, and nothing
	// else. Anybody who has it can repeat it until it expires, also after the object was deleted.
	PresignPut(ctx context.Context, key string, o Upload) (Transfer, error)
	// PresignGet returns a GET of the object under key. It does not check that there is one: the answer to a GET of an
	// absent object has the status 404. Valid has the limits of Upload.Valid.
	PresignGet(ctx context.Context, key string, valid time.Duration) (Transfer, error)
}

// Upload is what one presigned PUT stores.
type Upload struct {
	Bytes  int64         // 0 to MaxUpload
	SHA256 string        // 64 digits, lower-case hexadecimal
	Valid  time.Duration // 1 s to 7 days, without its fraction of a second
}

// Transfer is a presigned request, whose method is the one that was signed: PUT or GET. The server refuses it without a
// header or with another value, and when the time that was asked for is over or the credentials that signed it have
// expired.
type Transfer struct {
	URL    string      // absolute, with the endpoint of the bucket; it is a secret until it expires
	Header http.Header // to be sent as they are; net/http takes Content-Length from Request.ContentLength instead
}

// MaxUpload is the largest object in bytes that one PUT can store, a limit of S3.
const MaxUpload = 5 << 30

// maxValid is the longest time for which S3 accepts a presigned request.
const maxValid = 7 * 24 * time.Hour

// PresignPut implements Presigner. The length is signed, and so is the hash, as the checksum of the upload and as what
// Open and Stat return. The server has to compare the checksum: one that does not know the header
// x-amz-checksum-sha256 stores other bytes of the same length under this hash.
func (b *Bucket) PresignPut(ctx context.Context, key string, o Upload) (Transfer, error) {
	sum, err := hex.DecodeString(o.SHA256)
	switch {
	case err != nil || hex.EncodeToString(sum) != o.SHA256 || len(sum) != 32:
		return Transfer{}, fmt.Errorf("blob: presign %s: the SHA-256 must have 64 lower-case hexadecimal digits", key)
	case o.Bytes < 0 || o.Bytes > MaxUpload:
		return Transfer{}, fmt.Errorf("blob: presign %s: the upload has %d bytes; 0 to %d are allowed", key, o.Bytes,
			int64(MaxUpload))
	}
	return b.presign(ctx, http.MethodPut, key, o.Valid, http.Header{
		"Content-Length":         {strconv.FormatInt(o.Bytes, 10)},
		"Content-Type":           {contentType},
		"X-Amz-Checksum-Sha256":  {base64.StdEncoding.EncodeToString(sum)},
		"X-Amz-Meta-" + shaField: {o.SHA256},
	})
}

// PresignGet implements Presigner.
func (b *Bucket) PresignGet(ctx context.Context, key string, valid time.Duration) (Transfer, error) {
	return b.presign(ctx, http.MethodGet, key, valid, http.Header{})
}

// presign signs a request and its headers with the credentials of the moment.
func (b *Bucket) presign(
	ctx context.Context, method, key string, valid time.Duration, header http.Header,
) (Transfer, error) {
	if err := CheckKey(key); err != nil {
		return Transfer{}, err
	}
	if valid < time.Second || valid > maxValid {
		return Transfer{}, fmt.Errorf("blob: presign %s: it is to be valid for %v; 1s to %v are allowed", key, valid,
			maxValid)
	}
	u, err := b.client.PresignHeader(ctx, method, b.bucket, b.prefix+key, valid, nil, header)
	if err != nil {
		return Transfer{}, b.fail("presign", key, err)
	}
	return Transfer{URL: u.String(), Header: header}, nil
}
