package server

import (
	"archive/zip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/batch"
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
	// maxExports is how many files of batches a caller may be sent at a time on a node; strangerExports those that all
	// callers without a valid credential may.
	maxExports, strangerExports = 2, 8
	// batchEvents is the shortest time between two events of a batch, since each counts its rows.
	batchEvents = time.Second
)

// batchRows is GET /v1/batches/{id}/rows, for readers of the batch: a page of its table, sorted and filtered.
func (s *Server) batchRows(ctx context.Context, c *call) (api.BatchRows, error) {
	b, to, err := s.readableBatch(ctx, c)
	if err != nil {
		return api.BatchRows{}, err
	}
	q, err := tableQuery(c.r, &b)
	if err != nil {
		return api.BatchRows{}, err
	}
	columns, err := s.store.Batches.BatchColumns(ctx, b.ID)
	if err != nil {
		return api.BatchRows{}, err
	}
	rows, next, err := s.store.Batches.BatchTable(ctx, &b, q)
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
func tableQuery(r *http.Request, b *pleat.Batch) (batches.TableQuery, error) {
	var q batches.TableQuery
	query := r.URL.Query()
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
	if q.Limit, err = intQuery(r, "limit", 1, tablePage, 100); err != nil {
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
func (s *Server) eachPage(
	ctx context.Context, b *pleat.Batch, q batches.TableQuery, fn func(rows []batches.TableRow) error,
) error {
	for q.Limit = tablePage; ; {
		rows, next, err := s.store.Batches.BatchTable(ctx, b, q)
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
func tableFile(ending, media string, to func(io.Writer, []pleat.ScoreColumn) batch.TableWriter) writerFunc {
	return func(s *Server, ctx context.Context, c *call) error {
		b, audience, err := s.readableBatch(ctx, c)
		if err != nil {
			return err
		}
		q, err := tableQuery(c.r, &b)
		if err != nil {
			return err
		}
		attached := func() { attach(c, media, batchFileName(&b, ending)) }
		if c.r.Method == http.MethodHead { // the rest is the work for a body
			attached()
			return nil
		}
		release, err := s.beginExport(c)
		if err != nil {
			return err
		}
		defer release()
		columns, err := s.store.Batches.BatchColumns(ctx, b.ID)
		if err != nil {
			return err
		}
		attached()
		table := to(c.w, batch.Columns(columns))
		c.deadline(tableWrite)
		err = s.eachPage(ctx, &b, q, func(rows []batches.TableRow) error {
			c.deadline(tableWrite)
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

// attach sets the header of a file that is written by this service.
func attach(c *call, media, name string) {
	h := c.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	h.Set("Cache-Control", "no-store")
}

// batchFileName is the name of a file about a batch.
func batchFileName(b *pleat.Batch, ending string) string {
	name := words.Slug(b.Name, 80)
	if name == "" {
		name = string(b.ID)
	}
	return name + ending
}

// beginExport counts a file of a batch that is being sent, and returns what ends it. 429: the caller has too many.
func (s *Server) beginExport(c *call) (func(), error) {
	who, stranger := c.caller, c.cred.Hash == ""
	if err := s.exports.Acquire(who, stranger); err != nil {
		return nil, err
	}
	return func() { s.exports.Release(who, stranger) }, nil
}

// batchArchive is GET /v1/batches/{id}/archive.zip, for readers of the batch: the structures of the completed rows that
// the filter selects, in folders that are called by the number and the customId of the row.
func (s *Server) batchArchive(ctx context.Context, c *call) error {
	b, _, err := s.readableBatch(ctx, c)
	if err != nil {
		return err
	}
	q, err := tableQuery(c.r, &b)
	if err != nil {
		return err
	}
	attached := func() { attach(c, "application/zip", batchFileName(&b, ".zip")) }
	if c.r.Method == http.MethodHead {
		attached()
		return nil
	}
	release, err := s.beginExport(c)
	if err != nil {
		return err
	}
	defer release()
	attached()
	z := zip.NewWriter(c.w)
	c.deadline(tableWrite)
	err = s.eachPage(ctx, &b, q, func(rows []batches.TableRow) error {
		for i := range rows {
			if r := &rows[i]; r.State == pleat.StateCompleted {
				if err := s.archiveRow(ctx, c, z, &b, r); err != nil {
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

// archiveRow writes the structures of a row into an archive. A row that was deleted or run again since has none.
func (s *Server) archiveRow(ctx context.Context, c *call, z *zip.Writer, b *pleat.Batch, r *batches.TableRow) error {
	v, err := s.store.Runs.View(ctx, r.Job)
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
		f, _, err := s.blobs.Open(ctx, a.Key)
		if err != nil {
			return err
		}
		c.deadline(tableWrite)
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
// they change, at most one a second, until the batch has ended. The stream also ends when the batch is deleted or made
// private, or the credential is revoked.
func (s *Server) batchEventStream(ctx context.Context, c *call) error {
	b, to, err := s.readableBatch(ctx, c)
	if err != nil {
		return err
	}
	news, stop := s.store.DB.Subscribe(runs.BatchTopic(b.ID))
	defer stop()
	credential, forget := s.credentialEnds(c)
	defer forget()
	st, closed, err := s.openStream(c)
	if closed != nil {
		defer closed()
	}
	if err != nil {
		return quiet(c, err)
	}
	beat, tick := time.NewTicker(s.cfg.StreamHeartbeat), time.NewTicker(max(s.cfg.StreamPoll, batchEvents))
	defer beat.Stop()
	defer tick.Stop()
	changed := false
	for n := int64(1); ; n++ {
		seen, err := s.batchFor(ctx, &b, to)
		if err != nil {
			return quiet(c, err)
		}
		if err := st.event("batch", n, seen); err != nil {
			return quiet(c, err)
		}
		if err := st.flush(); err != nil || !b.EndedAt.IsZero() {
			return quiet(c, err)
		}
		for before := fmt.Sprint(b.State(), b.Counts); before == fmt.Sprint(b.State(), b.Counts); {
			select {
			case <-ctx.Done():
				return nil
			case <-s.stop:
				return nil
			case <-credential:
			case <-beat.C:
				st.comment("here")
				if err := st.flush(); err != nil {
					return quiet(c, err)
				}
			case <-news:
				changed = true
				continue
			case <-tick.C:
				if s.open.ended(ctx, s, c.cred) {
					return nil
				}
				if !changed && s.store.DB.Notified() {
					continue
				}
			}
			changed = false
			now, audience, err := s.readableBatch(ctx, c)
			if err != nil || audience != to {
				return quiet(c, err)
			}
			b = now
		}
	}
}
