package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Bucket is a Store in an S3 bucket, under a prefix. An object becomes visible as a whole; a multipart upload appears
// when it is completed.
type Bucket struct {
	client *minio.Client
	bucket string
	prefix string // "" or ends with a slash
}

// S3Options locate a bucket. Nil Credentials come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN, the file AWS_SHARED_CREDENTIALS_FILE, or the role in AWS_WEB_IDENTITY_TOKEN_FILE or
// AWS_CONTAINER_CREDENTIALS_….
type S3Options struct {
	Bucket      string
	Prefix      string // without leading and trailing slashes; empty for the whole bucket
	Endpoint    string // such as https://minio.example:9000; empty for Amazon's
	Region      string // empty: AWS_REGION, else the server's answer
	Credentials *credentials.Credentials
	Transport   http.RoundTripper // nil for the default; set it for a private certificate authority
}

// parseS3 parses s3://bucket/prefix?endpoint=…&region=….
func parseS3(u *url.URL) (S3Options, error) {
	o := S3Options{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if u.User != nil {
		return o, errors.New("blob: the s3 address holds a user or password; " +
			"credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	if o.Bucket == "" {
		return o, errors.New("blob: the s3 address has no bucket; it must be s3://bucket/prefix")
	}
	if o.Prefix != "" {
		if err := CheckKey(o.Prefix); err != nil {
			return o, fmt.Errorf("blob: the prefix of the s3 address: %w", err)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return o, errors.New(
			"blob: the s3 address is malformed after its '?'; it may have the parameters endpoint and region")
	}
	for name, values := range query {
		if len(values) != 1 {
			return o, fmt.Errorf("blob: the s3 address gives %s %d times", name, len(values))
		}
		switch name {
		case "endpoint":
			o.Endpoint = values[0]
		case "region":
			o.Region = values[0]
		default:
			return o, fmt.Errorf("blob: the s3 address has the unknown parameter %q; endpoint and region are known",
				name)
		}
	}
	return o, nil
}

// retries is the number of retries of one request by the client, with growing pauses: about 5 s until a dead server is
// reported.
const retries = 4

// OpenBucket connects to a bucket and checks that it exists.
func OpenBucket(ctx context.Context, o S3Options) (*Bucket, error) {
	host, secure := "s3.amazonaws.com", true
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
			strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return nil, errors.New(
				"blob: the s3 endpoint is malformed; it must be https://host or https://host:port, without a path")
		}
		host, secure = u.Host, u.Scheme == "https"
	}
	creds := o.Credentials
	if creds == nil {
		var err error
		if creds, err = fromEnvironment(); err != nil {
			return nil, err
		}
	}
	region := o.Region
	if region == "" {
		region = os.Getenv("AWS_REGION")
	}
	client, err := minio.New(host, &minio.Options{
		Creds:      creds,
		Secure:     secure,
		Region:     region,
		MaxRetries: retries,
		Transport:  o.Transport,
	})
	if err != nil {
		return nil, fmt.Errorf("blob: s3 endpoint: %w", err)
	}
	b := &Bucket{client: client, bucket: o.Bucket}
	if o.Prefix != "" {
		b.prefix = o.Prefix + "/"
	}
	if err := b.exists(ctx); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return b, nil
}

// exists returns an error if the bucket cannot be reached or does not exist.
func (b *Bucket) exists(ctx context.Context) error {
	there, err := b.client.BucketExists(ctx, b.bucket)
	if err != nil {
		return b.explain(err)
	}
	if !there {
		return fmt.Errorf("s3 bucket %q does not exist; make it first", b.bucket)
	}
	return nil
}

// fromEnvironment returns the credentials that S3Options names. It returns an error if there are none, rather than ask
// the metadata service of the machine.
func fromEnvironment() (*credentials.Credentials, error) {
	key, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	file := os.Getenv("AWS_SHARED_CREDENTIALS_FILE")
	switch {
	case key != "" && secret != "":
		// They are read now, since the program removes them from its environment once it is running.
		return credentials.NewStaticV4(key, secret, os.Getenv("AWS_SESSION_TOKEN")), nil
	case file != "":
		// They are read for every request, so that another program can rotate them.
		return credentials.NewFileAWSCredentials(file, ""), nil
	case os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "", os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "",
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		return credentials.NewIAM(""), nil
	}
	return nil, errors.New("blob: no credentials for s3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both " +
		"set, nor is AWS_SHARED_CREDENTIALS_FILE")
}

// shaField is the metadata field with the SHA-256 of an object.
const shaField = "Sha256"

// contentType is the type of all objects: the store does not know what their bytes mean.
const contentType = "application/octet-stream"

// Put buffers r, in memory if it is small and in a temporary file otherwise. It sends nothing before r has been read to
// its end and its hash is known. The hash is stored as metadata of the object.
func (b *Bucket) Put(ctx context.Context, key string, r io.Reader) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	body, info, err := gather(ctx, r)
	if err != nil {
		return Info{}, fmt.Errorf("blob: put %s: %w", key, err)
	}
	defer body.Close()
	info.Key = key
	_, err = b.client.PutObject(ctx, b.bucket, b.prefix+key, body.ReadSeeker, info.Bytes, minio.PutObjectOptions{
		ContentType: contentType, SendContentMd5: true, UserMetadata: map[string]string{
			shaField: info.SHA256,
		},
	})
	if err != nil {
		return Info{}, b.fail("put", key, err)
	}
	return info, nil
}

// inMemory is the size in bytes below which Put buffers in memory.
const inMemory = 4 << 20

// spool is a buffered upload. Its file has no name any more, so it disappears with the process.
type spool struct {
	io.ReadSeeker
	file *os.File
}

func (s spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// gather reads r to its end, into memory or, if it is not small, into a temporary file. It returns the size and the
// hash, which S3 needs before the upload. The caller closes the spool.
func gather(ctx context.Context, r io.Reader) (spool, Info, error) {
	sum := sha256.New()
	var head bytes.Buffer
	n, err := counted(ctx, &head, io.LimitReader(r, inMemory), sum)
	if err != nil {
		return spool{}, Info{}, err
	}
	if n < inMemory {
		return spool{ReadSeeker: bytes.NewReader(head.Bytes())}, Info{Bytes: n, SHA256: hexSum(sum)}, nil
	}
	f, err := os.CreateTemp("", "pleat-upload-")
	if err != nil {
		return spool{}, Info{}, err
	}
	err = os.Remove(f.Name())
	var more int64
	if err == nil {
		_, err = f.Write(head.Bytes())
	}
	if err == nil {
		more, err = counted(ctx, f, r, sum)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		if DiskFull(err) {
			err = fmt.Errorf("%w (while gathering the upload in %s): %w", ErrFull, os.TempDir(), err)
		}
		return spool{}, Info{}, err
	}
	return spool{ReadSeeker: f, file: f}, Info{Bytes: n + more, SHA256: hexSum(sum)}, nil
}

// Open implements Store. The bytes are fetched as they are read.
func (b *Bucket) Open(ctx context.Context, key string) (io.ReadSeekCloser, Info, error) {
	if err := CheckKey(key); err != nil {
		return nil, Info{}, err
	}
	object, err := b.client.GetObject(ctx, b.bucket, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, Info{}, b.fail("open", key, err)
	}
	stat, err := object.Stat()
	if err != nil {
		object.Close()
		return nil, Info{}, b.failStat(ctx, "open", key, err)
	}
	return &bucketObject{object, b, key}, infoOf(key, stat), nil
}

// Stat implements Statter.
func (b *Bucket) Stat(ctx context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	stat, err := b.client.StatObject(ctx, b.bucket, b.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return Info{}, b.failStat(ctx, "stat", key, err)
	}
	return infoOf(key, stat), nil
}

// infoOf returns what the metadata of an object says.
func infoOf(key string, stat minio.ObjectInfo) Info {
	return Info{
		Key:     key,
		Bytes:   stat.Size,
		SHA256:  stat.UserMetadata[shaField],
		ModTime: stat.LastModified,
	}
}

// failStat is fail for a request for metadata, whose answer has no body that would tell a missing bucket from a missing
// object.
func (b *Bucket) failStat(ctx context.Context, verb, key string, err error) error {
	err = b.fail(verb, key, err)
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if gone := b.exists(ctx); gone != nil {
		return fmt.Errorf("blob: %s %s: %w", verb, key, gone)
	}
	return err
}

// bucketObject is an object that is read. Its errors are those of a Store: the object may be deleted in the meantime.
type bucketObject struct {
	*minio.Object
	b   *Bucket
	key string
}

// Read implements io.Reader.
func (o *bucketObject) Read(p []byte) (int, error) {
	n, err := o.Object.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = o.b.fail("read", o.key, err)
	}
	return n, err
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	err := b.fail("delete", key, b.client.RemoveObject(ctx, b.bucket, b.prefix+key, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Walk implements Store. It skips objects whose keys are invalid.
func (b *Bucket) Walk(ctx context.Context, prefix string, before time.Time, fn func(Info) error) error {
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{
		Prefix: b.prefix + prefix, Recursive: true,
	}) {
		if o.Err != nil {
			return fmt.Errorf("blob: walk: %w", b.explain(o.Err))
		}
		key := strings.TrimPrefix(o.Key, b.prefix)
		if CheckKey(key) != nil || !before.IsZero() && !o.LastModified.Before(before) {
			continue
		}
		if err := fn(Info{Key: key, Bytes: o.Size, ModTime: o.LastModified}); err != nil {
			return fmt.Errorf("blob: walk: %w", err)
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("blob: walk: %w", context.Cause(ctx))
	}
	return nil
}

// removeTemps aborts multipart uploads that were started before the given time.
func (b *Bucket) removeTemps(ctx context.Context, before time.Time) (int, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the listing on an early return
	core := minio.Core{Client: b.client}
	removed := 0
	for u := range b.client.ListIncompleteUploads(ctx, b.bucket, b.prefix, true) {
		if minio.ToErrorResponse(u.Err).Code == minio.NoSuchUpload {
			return removed, nil // some servers answer like this if there is none
		}
		if u.Err != nil {
			return removed, fmt.Errorf("blob: collect garbage: %w", b.explain(u.Err))
		}
		if !u.Initiated.Before(before) {
			continue
		}
		if err := core.AbortMultipartUpload(ctx, b.bucket, u.Key, u.UploadID); err != nil &&
			minio.ToErrorResponse(err).Code != minio.NoSuchUpload {
			return removed, fmt.Errorf("blob: collect garbage: %w", b.explain(err))
		}
		removed++
	}
	return removed, nil
}

// fail wraps an error of the client and distinguishes an absent object from an absent bucket.
func (b *Bucket) fail(verb, key string, err error) error {
	if err == nil {
		return nil
	}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		switch {
		case answer.Code == minio.NoSuchKey: // the client's word for any 404 without a body, too
			return fmt.Errorf("blob: %s %s: %w", verb, key, ErrNotFound)
		case answer.StatusCode == http.StatusInsufficientStorage || answer.Code == "XMinioStorageFull":
			return fmt.Errorf("blob: %s %s: %w: %w", verb, key, ErrFull, err)
		}
	}
	return fmt.Errorf("blob: %s %s: %w", verb, key, b.explain(err))
}

// explain names the bucket in an error of the client, and says whether the server answered. Where the server refuses
// access, it also says what to check.
func (b *Bucket) explain(err error) error {
	var answer minio.ErrorResponse
	switch {
	case !errors.As(err, &answer):
		return fmt.Errorf("s3 bucket %q cannot be reached: %w", b.bucket, err)
	case refuses(answer):
		return fmt.Errorf("s3 bucket %q: %w: %w", b.bucket, ErrRefused, err)
	}
	return fmt.Errorf("s3 bucket %q: %w", b.bucket, err)
}

// refuses reports whether a server refuses access. A wrong clock, which is refused too, is no fault of the credentials.
func refuses(answer minio.ErrorResponse) bool {
	switch answer.Code {
	case "ExpiredToken", "InvalidToken", "TokenRefreshRequired": // their status is 400
		return true
	}
	return answer.StatusCode == http.StatusForbidden && answer.Code != "RequestTimeTooSkewed"
}
