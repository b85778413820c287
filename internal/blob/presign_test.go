package blob

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"

	"pleat/internal/blob/blobtest"
)

// presignPut presigns the PUT of some content for an hour.
func presignPut(t *testing.T, p Presigner, key string, content []byte) Transfer {
	t.Helper()
	transfer, err := p.PresignPut(t.Context(), key, Upload{
		Bytes:  int64(len(content)),
		SHA256: hexOf(content),
		Valid:  time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	return transfer
}

// send sends a presigned request with net/http alone, as a process without keys does.
func send(t *testing.T, method string, transfer Transfer, body []byte) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, transfer.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = transfer.Header.Clone()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// A presigned PUT stores the same as Put, below the prefix of the bucket, and a presigned GET reads it until it is
// deleted.
func TestPresigned(t *testing.T) {
	t.Parallel()
	b := openS3(t)
	client := blobtest.Client(t)
	for key, content := range map[string][]byte{
		"runs/1/1/model.cif": []byte("data_model"), "runs/1/1/empty": {}, "runs/1/1/large": make([]byte, 20<<20),
	} {
		transfer := presignPut(t, b, key, content)
		if n, err := strconv.Atoi(transfer.Header.Get("Content-Length")); err != nil || n != len(content) {
			t.Errorf("%s: the length is signed as %d: %v", key, n, err)
		}
		for range 2 { // an answer may be lost
			if status, answer := send(t, http.MethodPut, transfer, content); status != http.StatusOK {
				t.Fatalf("%s: %d: %s", key, status, answer)
			}
		}
		if got := get(t, b, key); !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes came back, or others", key, len(got))
		}
		info, err := b.Stat(t.Context(), key)
		if err != nil || info.SHA256 != hexOf(content) || info.Bytes != int64(len(content)) {
			t.Errorf("%s: %+v, %v", key, info, err)
		}
		stat, err := client.StatObject(t.Context(), b.bucket, "some/prefix/"+key, minio.StatObjectOptions{})
		if err != nil || stat.ContentType != contentType {
			t.Errorf("%s below the prefix: type %q, %v", key, stat.ContentType, err)
		}
		read, err := b.PresignGet(t.Context(), key, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := send(t, http.MethodGet, read, nil); status != http.StatusOK || answer != string(content) {
			t.Errorf("get %s: %d with %d bytes", key, status, len(answer))
		}
		if status, _ := send(t, http.MethodPut, read, nil); status != http.StatusForbidden {
			t.Errorf("put %s with the signature of a GET: %d", key, status)
		}
		if err := b.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if status, answer := send(t, http.MethodGet, read, nil); status != http.StatusNotFound {
			t.Errorf("get %s after it was deleted: %d: %s", key, status, answer)
		}
	}
}

// The server refuses everything but what was signed, and stores nothing.
func TestPresignedPutRefusesOthers(t *testing.T) {
	t.Parallel()
	b := openS3(t)
	content, key := []byte("data_model of a run"), "runs/1/1/model.cif"
	signed := presignPut(t, b, key, content)
	other := bytes.Repeat([]byte("x"), len(content))
	// with returns the request with another value of a header; an empty one leaves it out.
	with := func(name, value string) Transfer {
		header := signed.Header.Clone()
		if header.Del(name); value != "" {
			header.Set(name, value)
		}
		return Transfer{URL: signed.URL, Header: header}
	}
	moved := func(to string) Transfer {
		return Transfer{URL: strings.Replace(signed.URL, key, to, 1), Header: signed.Header}
	}
	of := presignPut(t, b, key, other).Header
	for _, c := range []struct {
		name   string
		send   Transfer
		body   []byte
		status int
	}{
		{"other bytes", signed, other, http.StatusBadRequest},
		{"a longer body", signed, append(slices.Clone(content), '\n'), http.StatusForbidden},
		{"a shorter body", signed, content[1:], http.StatusForbidden},
		{"no body", signed, nil, http.StatusForbidden},
		{"another key", moved("runs/1/1/pae.npz"), content, http.StatusForbidden},
		{"another run", moved("runs/2/1/model.cif"), content, http.StatusForbidden},
		{"a longer key", moved(key + ".gz"), content, http.StatusForbidden},
		{"no headers", Transfer{URL: signed.URL, Header: http.Header{}}, content, http.StatusForbidden},
		{"no checksum", with("X-Amz-Checksum-Sha256", ""), other, http.StatusForbidden},
		{"no hash", with("X-Amz-Meta-Sha256", ""), content, http.StatusForbidden},
		{"no type", with("Content-Type", ""), content, http.StatusForbidden},
		{"another type", with("Content-Type", "text/html"), content, http.StatusForbidden},
		{"a header more", with("X-Amz-Acl", "public-read"), content, http.StatusForbidden},
		{"a copy", with("X-Amz-Copy-Source", b.bucket+"/some/prefix/secret"), content, http.StatusForbidden},
		{"a parameter more", Transfer{signed.URL + "&acl=", signed.Header}, content, http.StatusForbidden},
		{"another hash", with("X-Amz-Meta-Sha256", hexOf(other)), content, http.StatusForbidden},
		{"the headers of other bytes", Transfer{URL: signed.URL, Header: of}, other, http.StatusForbidden},
		{
			"another checksum", with("X-Amz-Checksum-Sha256", of.Get("X-Amz-Checksum-Sha256")), other,
			http.StatusForbidden,
		},
	} {
		status, answer := send(t, http.MethodPut, c.send, c.body)
		if status != c.status {
			t.Errorf("%s: %d, want %d: %s", c.name, status, c.status, answer)
		}
		if left := keys(t, b, "", time.Time{}); left != nil {
			t.Fatalf("%s: the bucket holds %q", c.name, left)
		}
	}
}

// The signature of a PUT is good for a PUT, and one that is refused leaves the earlier object.
func TestPresignedPutKeepsEarlier(t *testing.T) {
	t.Parallel()
	b := openS3(t)
	content := []byte("content")
	put(t, b, "a", content)
	signed := presignPut(t, b, "a", content)
	for method, want := range map[string]int{
		http.MethodGet: http.StatusForbidden, http.MethodDelete: http.StatusForbidden,
		http.MethodPut: http.StatusBadRequest, // the bytes are others
	} {
		if status, answer := send(t, method, signed, []byte("CONTENT")); status != want {
			t.Errorf("%s: %d, want %d: %s", method, status, want, answer)
		}
		if got := get(t, b, "a"); !bytes.Equal(got, content) {
			t.Errorf("%s: the key holds %q, want what it held before", method, got)
		}
	}
}

// A presigned request ends with its time. The clock of a bubble signs at a time of the past.
func TestPresignedExpires(t *testing.T) {
	t.Parallel()
	b := openS3(t)
	content := []byte("content")
	put(t, b, "read", content)
	now := time.Now().Round(0) // the monotonic clock of a bubble is another one
	signedAgo := func(ago time.Duration) (write, read Transfer) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(now.Add(-ago)))
			write = presignPut(t, b, "written", content)
			var err error
			if read, err = b.PresignGet(t.Context(), "read", time.Hour); err != nil {
				t.Error(err)
			}
		})
		return write, read
	}
	write, read := signedAgo(time.Hour + 2*time.Second)
	for method, transfer := range map[string]Transfer{http.MethodPut: write, http.MethodGet: read} {
		status, answer := send(t, method, transfer, content)
		if status != http.StatusForbidden || !strings.Contains(answer, "expired") {
			t.Errorf("%s after its time: %d: %s", method, status, answer)
		}
	}
	if _, err := b.Stat(t.Context(), "written"); !errors.Is(err, ErrNotFound) {
		t.Errorf("stored after its time: %v", err)
	}
	write, read = signedAgo(time.Hour - 5*time.Minute)
	for method, transfer := range map[string]Transfer{http.MethodPut: write, http.MethodGet: read} {
		if status, answer := send(t, method, transfer, content); status != http.StatusOK {
			t.Errorf("%s before its time is over: %d: %s", method, status, answer)
		}
	}
}

// A request is signed with the credentials that the file holds at that moment.
func TestPresignedWithRotatedCredentials(t *testing.T) {
	address := blobtest.Address(t, blobtest.Bucket(t), "")
	access, secret, dir := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), t.TempDir()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", keysFile(t, dir, access, secret))
	s, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	b, content := s.(*Bucket), []byte("content")
	for _, c := range []struct {
		access, secret string
		status         int
	}{
		{access, secret, http.StatusOK},
		{"revoked", secret, http.StatusForbidden},
		{access, "replaced", http.StatusForbidden},
		{access, secret, http.StatusOK},
	} {
		keysFile(t, dir, c.access, c.secret)
		transfer := presignPut(t, b, "a", content)
		if !strings.Contains(transfer.URL, "X-Amz-Credential="+c.access+"%2F") {
			t.Errorf("signed with other keys than %s: %s", c.access, transfer.URL)
		}
		if status, answer := send(t, http.MethodPut, transfer, content); status != c.status {
			t.Errorf("keys %s and %s: %d, want %d: %s", c.access, c.secret, status, c.status, answer)
		}
	}
}

// A request that no server would take is not signed.
func TestPresignRefuses(t *testing.T) {
	t.Parallel()
	b := openS3(t)
	hash := hexOf(nil)
	for _, c := range []struct {
		want string
		o    Upload
	}{
		{"the SHA-256 must have 64 lower-case hexadecimal digits", Upload{0, "", time.Hour}},
		{"the SHA-256 must have 64 lower-case hexadecimal digits", Upload{0, hash[2:], time.Hour}},
		{"the SHA-256 must have 64 lower-case hexadecimal digits", Upload{0, hash + "00", time.Hour}},
		{"the SHA-256 must have 64 lower-case hexadecimal digits", Upload{0, hash[:63] + "g", time.Hour}},
		{"the SHA-256 must have 64 lower-case hexadecimal digits", Upload{0, strings.ToUpper(hash), time.Hour}},
		{"the upload has -1 bytes; 0 to 5368709120 are allowed", Upload{-1, hash, time.Hour}},
		{"the upload has 5368709121 bytes; 0 to 5368709120 are allowed", Upload{MaxUpload + 1, hash, time.Hour}},
		{"it is to be valid for 0s; 1s to 168h0m0s are allowed", Upload{0, hash, 0}},
		{"it is to be valid for 999ms; 1s to 168h0m0s are allowed", Upload{0, hash, 999 * time.Millisecond}},
		{"it is to be valid for 168h0m1s; 1s to 168h0m0s are allowed", Upload{0, hash, maxValid + time.Second}},
	} {
		got, err := b.PresignPut(t.Context(), "runs/1/1/a", c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || got.URL != "" {
			t.Errorf("%+v: %v\nwant …%s", c.o, err, c.want)
		}
	}
	for _, key := range badKeys {
		_, perr := b.PresignPut(t.Context(), key, Upload{0, hash, time.Hour})
		_, gerr := b.PresignGet(t.Context(), key, time.Hour)
		if !errors.Is(perr, ErrInvalidKey) || !errors.Is(gerr, ErrInvalidKey) {
			t.Errorf("%q: %v, %v; want ErrInvalidKey", key, perr, gerr)
		}
	}
	if _, err := b.PresignGet(t.Context(), "a", 0); err == nil || !strings.Contains(err.Error(), "valid for 0s") {
		t.Errorf("a GET that is never valid: %v", err)
	}
	if _, err := b.PresignPut(t.Context(), "a", Upload{MaxUpload, hash, maxValid}); err != nil {
		t.Errorf("the largest and longest: %v", err)
	}
}

// A Monitor finds the Presigner in the store that it watches; a folder has none.
func TestMonitorPresigner(t *testing.T) {
	t.Parallel()
	if p, ok := NewMonitor(openDir(t), slog.New(slog.DiscardHandler)).Presigner(); ok {
		t.Errorf("a folder presigns: %v", p)
	}
	m := NewMonitor(openS3(t), slog.New(slog.DiscardHandler))
	p, ok := m.Presigner()
	if !ok {
		t.Fatal("a bucket does not presign")
	}
	content := []byte("content")
	if status, answer := send(t, http.MethodPut, presignPut(t, p, "a", content), content); status != http.StatusOK {
		t.Errorf("%d: %s", status, answer)
	}
	if got := get(t, m, "a"); !bytes.Equal(got, content) {
		t.Errorf("got %q", got)
	}
	if got := slices.Sorted(maps.Keys(presignPut(t, p, "a", content).Header)); !slices.Equal(got, []string{
		"Content-Length", "Content-Type", "X-Amz-Checksum-Sha256", "X-Amz-Meta-Sha256",
	}) {
		t.Errorf("the headers are %q", got)
	}
}
