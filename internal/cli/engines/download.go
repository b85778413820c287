package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pleat/api"
	"pleat/internal/cli"
	"pleat/internal/config"
	"pleat/internal/engine/runner"
)

// Limits of a download.
const (
	validatorExt  = ".etag"          // of the file with the entity tag of a FILE.part
	maxWeights    = 200_000 << 20    // largest size, in bytes, of a file whose manifest has no size
	stallAfter    = time.Minute      // time without data after which a download fails
	progressEvery = 10 * time.Second // between two lines of a download, where there is no terminal
)

// fetchWeights downloads one file of weights to a path, next to which it keeps FILE.part until the file is complete.
// It resumes an earlier download, reads no more bytes than the manifest says, fails if no byte arrives for a minute,
// and gives the file its name only once its SHA-256 is right: that of w, if it has one. It tells show how many bytes
// there are, and of how many; 0: not known. It returns what it has fetched.
func fetchWeights(
	ctx context.Context, client *http.Client, w runner.WeightFile, to string, show func(have, all int64),
) (got installedWeights, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return got, err
	}
	part := to + ".part"
	out, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return got, err
	}
	if w.Bytes == 0 || have < w.Bytes {
		if err := transfer(ctx, client, w, out, have, show); err != nil {
			return got, err
		}
	}
	if err := out.Sync(); err != nil {
		return got, err
	}
	if got, err = hashFile(part); err != nil {
		return got, err
	}
	got.URL = w.URL
	if w.SHA256 != "" && !strings.EqualFold(got.SHA256, w.SHA256) || w.Bytes > 0 && got.Bytes != w.Bytes {
		os.Remove(part)
		const text = "the download is not the expected file: %d bytes with the SHA-256 %s"
		err := fmt.Errorf(text, got.Bytes, got.SHA256)
		if w.SHA256 != "" {
			err = fmt.Errorf("%w instead of %s", err, w.SHA256)
		}
		return got, err
	}
	if err := keepValidator(part, ""); err != nil {
		return got, err
	}
	return got, os.Rename(part, to)
}

// transfer appends the rest of a file, of which have bytes exist. It starts again if the server sends the whole file,
// or if the file has no known hash and the server has not named its version by an entity tag. A server that sends more
// than the manifest says, or nothing for a minute, is an error.
func transfer(
	ctx context.Context, client *http.Client, w runner.WeightFile, out *os.File, have int64, show func(have, all int64),
) error {
	ctx, stall := context.WithCancelCause(ctx)
	defer stall(nil)
	watch := time.AfterFunc(stallAfter, func() { stall(errors.New("no data arrived for a minute")) })
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL, nil)
	if err != nil {
		return err
	}
	// The rest must be that of the same file: the server sends the whole file if its validator is another one now.
	same, err := os.ReadFile(out.Name() + validatorExt)
	if err != nil && w.SHA256 == "" {
		have = 0
	}
	if have > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(have, 10)+"-")
		if len(same) > 0 {
			req.Header.Set("If-Range", string(same))
		}
	}
	resp, err := client.Do(req)
	if err != nil {
		return cause(ctx, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		have = 0
		if err := out.Truncate(0); err != nil {
			return err
		}
		if err := keepValidator(out.Name(), resp.Header.Get("ETag")); err != nil {
			return err
		}
	case http.StatusRequestedRangeNotSatisfiable: // the file is complete
		return nil
	default:
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	all := w.Bytes
	if all == 0 && resp.ContentLength > 0 {
		all = have + resp.ContentLength
	}
	most := cmp.Or(w.Bytes, maxWeights)
	if _, err := out.Seek(have, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(&progressReader{resp.Body, watch, show, have, all}, most-have+1))
	if err == nil && have+n > most {
		err = errors.Join(fmt.Errorf("the server sent more than the expected %d bytes", most), out.Truncate(0))
	}
	return cause(ctx, err)
}

// keepValidator writes the entity tag of the file that begins to arrive in part. An empty tag deletes what was kept; so
// does a weak one, which does not mean equal bytes (RFC 9110, section 8.8.1).
func keepValidator(part, etag string) error {
	path := part + validatorExt
	if etag == "" || strings.HasPrefix(etag, "W/") {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.WriteFile(path, []byte(etag), 0o644)
}

// cause returns the reason of a cancelled context instead of err, which only says that it was cancelled.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// progressReader resets the stall timer whenever data arrives, and shows how much of all there is.
type progressReader struct {
	io.Reader
	watch     *time.Timer
	show      func(have, all int64)
	have, all int64
}

// Read reads from the body of the response.
func (r *progressReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if n > 0 {
		r.watch.Reset(stallAfter)
		r.have += int64(n)
		r.show(r.have, r.all)
	}
	return n, err
}

// downloadProgress returns a function for fetchWeights that shows the progress of a file, as a bar on a terminal, else
// as a line from time to time, and a function that ends it.
func downloadProgress(out io.Writer, file string) (show func(have, all int64), end func()) {
	if cli.DrawsBars(out) {
		p := cli.NewProgress(out)
		show = func(have, all int64) {
			p.Event(api.Event{Kind: "stage", Stage: filepath.Base(file), Done: int(have >> 10), Total: int(all >> 10)})
		}
		return show, p.Close
	}
	printed := time.Now()
	return func(have, all int64) {
		if time.Since(printed) < progressEvery {
			return
		}
		printed = time.Now()
		text := config.Bytes(have).String()
		if all > 0 {
			text += fmt.Sprintf(" of %s, %d %%", config.Bytes(all), 100*have/all)
		}
		fmt.Fprintf(out, "  %s: %s\n", file, text)
	}, func() {}
}
