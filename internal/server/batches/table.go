package batches

import (
	"archive/zip"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/batch"
	"pleat/internal/blob"
	"pleat/internal/server/route"
	"pleat/internal/server/wire"
	"pleat/internal/store/batches"
	"pleat/internal/store/runs"
	"pleat/internal/words"
)

const (
	// tablePage is how many rows are read at once for a file.
	tablePage = 1000
	// tableWrite is how long the sending of tablePage rows, or of one structure, may take.
	tableWrite = time.Minute
	// batchEvents is the shortest time between two events of a batch, since each counts its rows.
	batchEvents = time.Second
)

// batchRows is GET /v1/batches/{id}/rows, for readers of the batch: a page of its table, sorted and filtered.
func (h *Handlers) batchRows(ctx context.Context, c *route.Call) (api.BatchRows, error) {
	b, to, err := h.readableBatch(ctx, c)
	if err != nil {
		return api.BatchRows{}, err
	}
	q, err := tableQuery(c, &b)
	if err != nil {
		return api.BatchRows{}, err
	}
	columns, err := h.Batches.BatchColumns(ctx, b.ID)
	if err != nil {
		return api.BatchRows{}, err
	}
	rows, next, err := h.Batches.BatchTable(ctx, &b, q)
	if err != nil {
		return api.BatchRows{}, err
	}
	out := api.BatchRows{Columns: wire.ScoreColumns(columns), Data: []api.BatchRow{}}
	for i := range rows {
		out.Data = append(out.Data, wire.BatchRow(&rows[i], columns, to))
	}
	if next != nil {
		cursor, err := json.Marshal(next)
		if err != nil {
			return out, err
		}
		text := base64.RawURLEncoding.EncodeToString(cursor)
		out.NextCursor = &text
	}
	return out, nil
}

// tableQuery reads sort, filter, rows, limit and cursor of the table of a batch.
func tableQuery(c *route.Call, b *pleat.Batch) (batches.TableQuery, error) {
	var q batches.TableQuery
	query := c.R.URL.Query()
	by, err := batch.ParseSort(query.Get("sort"))
	if err != nil {
		return q, err
	}
	q.Sort, q.Descending = by.Column, by.Descending
	f, err := batch.ParseFilter(query.Get("filter"))
	if err != nil {
		return q, err
	}
	q.State, q.CustomID, q.Conditions = f.State, f.CustomID, f.Conditions
	if q.Numbers, err = batch.ParseRows(query.Get("rows"), b.Rows); err != nil {
		return q, err
	}
	if q.Limit, err = c.IntQuery("limit", 1, tablePage, 100); err != nil {
		return q, err
	}
	if text := query.Get("cursor"); text != "" {
		cursor, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil {
			err = json.Unmarshal(cursor, &q.After)
		}
		if err != nil || q.After == nil || q.After.Number < 1 {
			return q, pleat.InvalidField("cursor", " is %q; it must be a next_cursor of this table", pleat.Clip(text))
		}
	}
	return q, nil
}

// eachPage reads the rows that a query selects page by page, and calls fn for each page until it fails.
func (h *Handlers) eachPage(
	ctx context.Context, b *pleat.Batch, q batches.TableQuery, fn func(rows []batches.TableRow) error,
) error {
	for q.Limit = tablePage; ; {
		rows, next, err := h.Batches.BatchTable(ctx, b, q)
		if err != nil {
			return err
		}
		if err := fn(rows); err != nil || next == nil {
			return err
		}
		q.After = next
	}
}

// tableFile returns the handler of GET /v1/batches/{id}/table.* in one format, for readers of the batch: all rows that
// the filter selects.
func (h *Handlers) tableFile(
	ending, media string, to func(io.Writer, []pleat.ScoreColumn) batch.TableWriter,
) route.Handler {
	return func(ctx context.Context, c *route.Call) error {
		b, audience, err := h.readableBatch(ctx, c)
		if err != nil {
			return err
		}
		q, err := tableQuery(c, &b)
		if err != nil {
			return err
		}
		attached := func() { c.Attach(media, batchFileName(&b, ending)) }
		if c.R.Method == http.MethodHead { // the rest is the work for a body
			attached()
			return nil
		}
		release, err := c.Acquire(h.Exports)
		if err != nil {
			return err
		}
		defer release()
		columns, err := h.Batches.BatchColumns(ctx, b.ID)
		if err != nil {
			return err
		}
		attached()
		table := to(c.W, batch.Columns(columns))
		c.Deadline(tableWrite)
		err = h.eachPage(ctx, &b, q, func(rows []batches.TableRow) error {
			c.Deadline(tableWrite)
			for i := range rows {
				if err := table.Write(wire.TableRow(&rows[i], audience)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return table.Close()
	}
}

// batchFileName is the name of a file about a batch.
func batchFileName(b *pleat.Batch, ending string) string {
	name := words.FileName(b.Name, 80)
	if name == "" {
		name = string(b.ID)
	}
	return name + ending
}

// batchArchive is GET /v1/batches/{id}/archive.zip, for readers of the batch: the structures of the completed rows that
// the filter selects, in folders that are called by the number and the customId of the row.
func (h *Handlers) batchArchive(ctx context.Context, c *route.Call) error {
	b, _, err := h.readableBatch(ctx, c)
	if err != nil {
		return err
	}
	q, err := tableQuery(c, &b)
	if err != nil {
		return err
	}
	attached := func() { c.Attach("application/zip", batchFileName(&b, ".zip")) }
	if c.R.Method == http.MethodHead {
		attached()
		return nil
	}
	release, err := c.Acquire(h.Exports)
	if err != nil {
		return err
	}
	defer release()
	attached()
	z := zip.NewWriter(c.W)
	fast := fastDeflate{}
	z.RegisterCompressor(zip.Deflate, fast.begin)
	c.Deadline(tableWrite)
	err = h.eachPage(ctx, &b, q, func(rows []batches.TableRow) error {
		for i := range rows {
			if r := &rows[i]; r.State == pleat.StateCompleted {
				if err := h.archiveRow(ctx, c, z, &b, r); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err // and not a zip that seems whole
	}
	return z.Close()
}

// fastDeflate compresses the files of an archive one after another, with one compressor at its fastest level. The
// default level takes two to three times the processor time of compression for an archive that is an eighth smaller.
type fastDeflate struct{ w *flate.Writer }

// begin begins a file, when the one before is closed.
func (f *fastDeflate) begin(out io.Writer) (io.WriteCloser, error) {
	if f.w != nil {
		f.w.Reset(out)
		return f.w, nil
	}
	var err error
	f.w, err = flate.NewWriter(out, flate.BestSpeed)
	return f.w, err
}

// archiveRow writes the structures of a row into an archive. A row that was deleted or run again since has none.
func (h *Handlers) archiveRow(
	ctx context.Context, c *route.Call, z *zip.Writer, b *pleat.Batch, r *batches.TableRow,
) error {
	v, err := h.Runs.EndedView(ctx, r.Job)
	if errors.Is(err, pleat.ErrJobNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	folder := fmt.Sprintf("%0*d", len(fmt.Sprint(b.Rows)), r.Number)
	if id := words.Slug(r.CustomID, 80); id != "" {
		folder += "-" + id
	}
	for i := range v.Artifacts {
		a := &v.Artifacts[i]
		if a.Kind != pleat.ArtifactCIF {
			continue
		}
		f, _, err := h.Files.Blobs.OpenExpected(
			ctx, a.Key, blob.Expected{Name: a.Name, SHA256: a.SHA256}, 0) // the end breaks the archive in time
		if err != nil {
			return err
		}
		c.Deadline(tableWrite)
		w, err := z.CreateHeader(&zip.FileHeader{
			Name: folder + "/" + a.Name, Method: zip.Deflate, Modified: a.CreatedAt,
		})
		if err == nil {
			_, err = io.Copy(w, f)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// batchEventStream is GET /v1/batches/{id}/events, for readers of the batch: its status and counts, now and whenever
// they change, at most one a second, until the batch has ended. A client that has the present ones already, as its
// Last-Event-ID says, hears of the next change; 204: there will be none. The stream also ends when the batch is deleted
// or made private, or the credential is revoked.
func (h *Handlers) batchEventStream(ctx context.Context, c *route.Call) error {
	b, to, err := h.readableBatch(ctx, c)
	if err != nil {
		return err
	}
	of, last, err := c.LastEventID()
	if err != nil {
		return err
	}
	known := string(of) == string(b.ID) && last == stateNumber(&b)
	if known && !b.EndedAt.IsZero() {
		c.W.WriteHeader(http.StatusNoContent) // a browser does not reconnect then
		return nil
	}
	news, stop := h.DB.Subscribe(runs.BatchTopic(b.ID))
	defer stop()
	credential, forget := c.CredentialEnds()
	defer forget()
	st, closed, err := c.OpenStream(credential, batchEvents)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return c.Quiet(err)
	}
	return c.Quiet(h.sendBatch(ctx, c, &batchStream{st, news, to, known}, b))
}

// batchStream is an open stream of the events of a batch.
type batchStream struct {
	*route.Events
	news  <-chan struct{}
	to    wire.Audience
	known bool // the client has the present state
}

// sendBatch sends the states of a batch, from b on.
func (h *Handlers) sendBatch(ctx context.Context, c *route.Call, st *batchStream, b pleat.Batch) error {
	for ; ; st.known = false {
		if !st.known {
			seen, err := h.batchFor(ctx, &b, st.to)
			if err != nil {
				return err
			}
			if err := st.Add("batch", route.EventID(pleat.RunID(b.ID), stateNumber(&b)), seen); err != nil {
				return err
			}
			if err := st.Flush(); err != nil || !b.EndedAt.IsZero() {
				return err
			}
		}
		changed, err := h.nextChange(ctx, c, st, b)
		if err != nil || changed == nil {
			return err
		}
		b = *changed
	}
}

// stateNumber is a positive number of the status and counts of a batch: another state has another one, but for chance.
func stateNumber(b *pleat.Batch) int64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, string(b.State()))
	for _, state := range slices.Sorted(maps.Keys(b.Counts)) {
		_, _ = fmt.Fprintf(h, " %s %d", state, b.Counts[state])
	}
	return int64(h.Sum64()>>12) + 1 // which JSON keeps exactly
}

// nextChange waits until the status or the counts of a batch differ from those of seen, and returns the batch then;
// nil: the stream must end.
func (h *Handlers) nextChange(
	ctx context.Context, c *route.Call, st *batchStream, seen pleat.Batch,
) (*pleat.Batch, error) {
	notified := false
	for {
		wake, err := st.Next(ctx, st.news)
		if err != nil || wake == route.WakeEnd {
			return nil, err
		}
		if wake == route.WakeNews || wake == route.WakePoll && !notified && h.DB.Notified() {
			notified = notified || wake == route.WakeNews
			continue // counting the rows waits for the next poll
		}
		notified = false
		now, audience, err := h.readableBatch(ctx, c)
		if err != nil || audience != st.to {
			return nil, err
		}
		if now.State() != seen.State() || !maps.Equal(now.Counts, seen.Counts) {
			return &now, nil
		}
	}
}
