package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"pleat"
	"pleat/api"
	"pleat/internal/batch"
	"pleat/internal/server/openapi"
	"pleat/internal/server/wire"
	"pleat/internal/store/batches"
	"pleat/internal/store/people"
	"pleat/internal/store/runs"
	"pleat/internal/submit"
	"pleat/internal/tracing"
)

const (
	// maxBatchBody bounds the body of a batch, in bytes.
	maxBatchBody = 64 << 20
	// maxBatchLetters bounds the sequences of all rows of a batch, copies counted: each row is stored whole, and a
	// short request can describe many long ones.
	maxBatchLetters = 100_000_000
	// modificationLetters is what a modification counts as, since a row has its own copy of each.
	modificationLetters = 50
	// maxBatchInput bounds the inputs of the different rows of a batch, in bytes of JSON: constraints, modifications
	// and names are stored with each row, too.
	maxBatchInput = 200_000_000
	// batchTime bounds the creation and the check of a batch.
	batchTime = 5 * time.Minute
)

// batchBody is jsonBody for the creation and the check of a batch, whose body may be larger and whose work may take
// longer than those of other requests. Unfit is why the body is not one; only a body that is not JSON is refused
// before. A node checks one batch at a time, since a large one needs much memory, and users take turns.
func batchBody[In, Out any](
	read func(s *Server, c *call) (body []byte, done func(), err error),
	fn func(s *Server, ctx context.Context, c *call, in *In, unfit error) (Out, error),
) endpoint {
	return endpoint{
		request:     openapi.JSONRequest[In](),
		response:    openapi.JSON[Out](),
		ownDeadline: true,
		serve: func(s *Server, ctx context.Context, c *call) error {
			if c.r.ContentLength == 0 {
				return pleat.Invalidf("the request body is empty; it must be a JSON object")
			}
			body, done, err := read(s, c)
			defer done()
			if err != nil {
				return err
			}
			c.deadline(batchTime + time.Minute)
			ctx, cancel := context.WithTimeout(ctx, batchTime)
			defer cancel()
			if err := s.batches.Acquire(ctx, c.who.User); err != nil {
				return err
			}
			defer s.batches.Release(c.who.User)
			in := new(In)
			unfit := api.Decode(body, in)
			var all api.DecodeErrors
			if errors.As(unfit, &all) && all[0].Unreadable {
				return unfit
			}
			out, err := fn(s, ctx, c, in, unfit)
			if err != nil {
				return err
			}
			return c.json(out)
		},
	}
}

// newBatchBody reads the description of a batch.
func newBatchBody(s *Server, c *call) (body []byte, done func(), err error) {
	return readBodyOf(c, maxBatchBody, &s.batchBodies)
}

// createBatch is POST /v1/batches, for any user: it validates all rows of a batch and stores it, whole or not at all.
// Its jobs are queued after that, in their order. The rows count against a quota of their own. An Idempotency-Key works
// as in createJob. 400: a field is wrong, whose name says in which row; 409: the key came with another body; 429: the
// quota of the day is used up.
func (s *Server) createBatch(
	ctx context.Context, c *call, in *api.CreateBatch, unfit error,
) (api.CreatedBatch, error) {
	if unfit != nil {
		return api.CreatedBatch{}, unfit
	}
	key, err := idempotencyKey(c.r)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	if err := s.enterNamed(ctx, c, in.ProjectID); err != nil {
		return api.CreatedBatch{}, err
	}
	digest, err := digestOf(in, "")
	if err != nil {
		return api.CreatedBatch{}, err
	}
	p, err := s.prepareBatch(ctx, c, in)
	if err != nil {
		return api.CreatedBatch{}, err
	}
	if err := p.check(ctx); err != nil {
		return api.CreatedBatch{}, err
	}
	if err := s.checkRowReferences(ctx, c, p); err != nil {
		return api.CreatedBatch{}, err
	}
	made, err := s.store.Batches.CreateBatch(ctx, batches.NewBatch{
		By: c.cred.Credential,
		Batch: pleat.Batch{
			Owner: c.in.Project, Creator: c.who.User, Name: in.Name, Kind: p.spec.Kind, Model: p.model.Name,
			Public: in.IsPublic,
			Rows:   p.spec.Count(),
		},
		Rows:    p.rows(ctx, bypassesCache(c.r)),
		EachRow: p.hooks.EachRow,
		Key:     key,
		Digest:  digest,
		Subs:    p.hooks.Subscriptions,
		Request: c.id,
		Trace:   tracing.Text(ctx),
	})
	out := wire.CreatedBatch(made)
	out.Notes = append(out.Notes, p.notes...)
	return out, s.withRowQuota(ctx, c, err)
}

// withRowQuota sets Retry-After if err says that the quota of rows is used up, and returns err.
func (s *Server) withRowQuota(ctx context.Context, c *call, err error) error {
	if pleat.CodeOf(err) != pleat.CodeLimited {
		return err
	}
	u, uerr := s.store.People.Usage(ctx, c.in)
	if uerr != nil {
		return uerr
	}
	retryAfter(c.w.Header(), u.BatchRows.Reset.Sub(s.clock()))
	return err
}

// preparedBatch is a batch whose kind has been checked, but not its rows.
type preparedBatch struct {
	spec  batch.Spec
	model pleat.Model
	hooks submit.BatchWebhooks
	sum   batchSum
	given referencedAlignments // the alignments that rows name
	// templates are the different ones that rows name.
	templates []referencedTemplate
	// components are rows that name files of components, one for each set of them.
	components []batch.Row
	notes      []string // on the file of another program that the rows were read from, and on the model
	// digests identify what each row computes, once check has accepted all.
	digests [][32]byte
}

// batchSum is what the rows of a batch come to.
type batchSum struct {
	rows, jobs, largest int
	bytes               int // of the inputs of the different rows
	tokens              int64
	seconds             float64
	proteins            map[[32]byte]struct{} // that need an alignment
}

// prepareBatch converts a request to a batch and checks it but for its rows. An error of the request is pleat.Errors.
func (s *Server) prepareBatch(ctx context.Context, c *call, in *api.CreateBatch) (*preparedBatch, error) {
	var faults pleat.Errors
	var p preparedBatch
	var err error
	p.spec, err = wire.ToBatch(in)
	if err := faults.Add(err); err != nil {
		return nil, err
	}
	if err := faults.Add(s.readContent(ctx, c, in, &p)); err != nil {
		return nil, err
	}
	if len(faults) == 0 {
		if err := faults.Add(p.spec.Check()); err != nil {
			return nil, err
		}
	}
	p.hooks, err = s.resolver.BatchWebhooks(ctx, c.in.Project, in.Webhooks)
	if err := faults.Add(err); err != nil {
		return nil, err
	}
	p.model, err = s.model(ctx, in.Params)
	if err := faults.Add(err); err != nil {
		return nil, err
	}
	return &p, faults.Err()
}

// check validates all rows and adds them up. Of the faults, the first are in the error, a pleat.Errors.
func (p *preparedBatch) check(ctx context.Context) error {
	if err := p.checkLetters(ctx); err != nil {
		return err
	}
	var faults pleat.Errors
	repeated, apart := 0, false
	p.sum = batchSum{proteins: map[[32]byte]struct{}{}}
	p.given = referencedAlignments{fields: map[referencedAlignment]string{}, made: map[pleat.WorkflowID]batch.Row{}}
	seen := map[[32]byte]struct{}{}
	for row := range p.spec.Rows() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := row.Relocate(p.validate(&row)); err != nil {
			if len(faults) > 0 && err.Error() == faults[len(faults)-1].Error() {
				repeated++ // a fault of what all rows share
			} else if err := faults.Add(err); err != nil {
				return err
			}
			if len(faults)+repeated >= pleat.MaxErrors {
				return faults
			}
			continue
		}
		if err := cmp.Or(p.addAlignments(&row), p.addTemplates(&row), p.addComponents(&row)); err != nil {
			_ = faults.Add(err) // a fault of the request
			return faults
		}
		if row.Job.Apart(p.model) && !apart {
			apart = true
			p.notes = append(p.notes, apartNote(p.model))
		}
		p.sum.rows++
		p.sum.tokens += int64(row.Job.Tokens())
		d, size := rowDigest(&row.Job)
		p.digests = append(p.digests, d)
		if _, twice := seen[d]; twice {
			continue
		}
		seen[d] = struct{}{}
		if p.sum.bytes += size; p.sum.bytes > maxBatchInput {
			_ = faults.Add(pleat.InvalidField(row.Path,
				": the different rows up to this one have inputs of more than %d "+
					"bytes; split the batch", maxBatchInput)) // a fault of the request
			return faults
		}
		p.sum.jobs++
		p.sum.largest = max(p.sum.largest, row.Job.Largest(p.model))
		p.sum.seconds += row.Job.Seconds(p.model)
		if p.model.AlignmentUse(row.Job.Params, row.Job.Sequences) == pleat.SearchedAlignments {
			for i := range row.Job.Sequences {
				if q := &row.Job.Sequences[i]; q.Kind == pleat.Protein && q.MSA == (pleat.FileRef{}) {
					p.sum.proteins[sha256.Sum256([]byte(q.Text))] = struct{}{}
				}
			}
		}
	}
	return faults.Err()
}

// hashes returns the SHA-256, in hex, of the proteins that need an alignment.
func (m *batchSum) hashes() []string {
	out := make([]string, 0, len(m.proteins))
	for sum := range m.proteins {
		out = append(out, hex.EncodeToString(sum[:]))
	}
	return out
}

// checkLetters refuses a batch whose rows are too long together, before any of them is checked.
func (p *preparedBatch) checkLetters(ctx context.Context) error {
	total := 0
	for row := range p.spec.Rows() {
		for i := range row.Job.Sequences {
			q := &row.Job.Sequences[i]
			size := len(q.Text) + modificationLetters*len(q.Modifications)
			total += size * min(max(q.Count, 1), pleat.MaxChains)
		}
		if total > maxBatchLetters {
			return pleat.Errors{pleat.InvalidField(row.Path, ": the rows up to this one have more than %d letters of "+
				"sequences, copies counted; split the batch", maxBatchLetters)}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// validate checks a row and completes its job.
func (p *preparedBatch) validate(row *batch.Row) error {
	if name := row.Job.Params.Model; name != "" && name != p.model.Name {
		return pleat.InvalidField("params.modelName", " is %q; all rows of a batch have one model, here %q",
			pleat.Clip(name), p.model.Name)
	}
	row.Job.Params.Model = p.model.Name
	if len(row.Job.Constraints.Webhooks) > 0 {
		return pleat.InvalidField("constraints.webhooks", " is not for the rows of a batch; webhooks with rows: true "+
			"gives each row an event")
	}
	return row.Job.Validate(p.model)
}

// rowDigest identifies what a row computes, without its name. Size is that of its input, in bytes of JSON.
func rowDigest(j *pleat.Job) (digest [32]byte, size int) {
	b, err := json.Marshal(struct {
		Sequences   []pleat.Sequence
		Params      pleat.Params
		Constraints pleat.Constraints
	}{j.Sequences, j.Params, j.Constraints})
	if err != nil {
		panic("server: digest of a row: " + err.Error()) // our own types: cannot fail but by a bug
	}
	return sha256.Sum256(b), len(b) + len(j.Name)
}

// rows yields the rows for the store, after check has accepted them. Fresh rows are computed even if there is a cached
// result.
func (p *preparedBatch) rows(ctx context.Context, fresh bool) iter.Seq2[batches.NewRow, error] {
	return func(yield func(batches.NewRow, error) bool) {
		for row := range p.spec.Rows() {
			err := cmp.Or(ctx.Err(), p.validate(&row))
			if !yield(newRow(row.CustomID, &row.Job, p.model, fresh, p.digests[row.Number-1]), err) || err != nil {
				return
			}
		}
	}
}

// newRow returns a validated job as a row of a batch.
func newRow(customID string, job *pleat.Job, m pleat.Model, fresh bool, digest [32]byte) batches.NewRow {
	spec := submit.JobRun(job, m)
	spec.Fresh = fresh
	return batches.NewRow{
		CustomID: customID,
		Digest:   digest,
		Input: batches.RowInput{
			Name:        job.Name,
			Sequences:   job.Sequences,
			Constraints: job.Constraints,
			Complex:     job.Complex,
			Run:         spec,
		},
	}
}

// validateBatch is POST /v1/batches/validate, for any user: it makes all checks of createBatch, creates nothing, and
// says what the batch comes to. A batch with faults is a success here, whose response lists the first 100; an exhausted
// quota is one of them.
func (s *Server) validateBatch(
	ctx context.Context, c *call, in *api.CreateBatch, unfit error,
) (api.BatchValidation, error) {
	out := api.BatchValidation{Errors: []api.FieldError{}, Notes: []string{}}
	if err := s.enterNamed(ctx, c, in.ProjectID); err != nil {
		return out, err
	}
	usage, err := s.store.People.Usage(ctx, c.in)
	if err != nil {
		return out, err
	}
	used := usage.BatchRows
	out.QuotaRemaining = max(0, used.Limit-used.Used)
	if err = unfit; err == nil {
		var p *preparedBatch
		if p, err = s.prepareBatch(ctx, c, in); err == nil {
			if err = p.check(ctx); err == nil {
				err = s.checkRowReferences(ctx, c, p)
			}
			out.Notes = append(out.Notes, p.notes...)
			out.ModelName, out.Rows, out.Jobs = p.model.Name, p.sum.rows, p.sum.jobs
			out.Tokens, out.LargestTokens, out.Seconds = p.sum.tokens, p.sum.largest, p.sum.seconds
			out.Alignments = len(p.sum.proteins)
			if err == nil {
				out.AlignmentsAtHand, err = s.store.Runs.CountAlignments(ctx, c.in.Project, p.sum.hashes())
			}
		}
		if err != nil && pleat.CodeOf(err) != pleat.CodeInvalid {
			return out, err
		}
	}
	if err == nil {
		err = s.store.Runs.CheckBudget(ctx, c.in, runs.RunSpec{
			Model: out.ModelName, Expected: time.Duration(out.Seconds * float64(time.Second)),
		})
		if err != nil && pleat.CodeOf(err) != pleat.CodeLimited {
			return out, err
		}
	}
	out.Errors = append(out.Errors, fieldErrors(err)...)
	if out.Rows > out.QuotaRemaining {
		out.Errors = append(out.Errors, fieldErrors(pleat.ErrBatchQuota(used.Limit, used.Used, out.Rows))...)
	}
	out.Valid = len(out.Errors) == 0
	return out, nil
}

// listBatches is GET /v1/batches, for any user: the caller's own batches, newest first, in pages.
func (s *Server) listBatches(ctx context.Context, c *call) (api.List[api.Batch], error) {
	p, err := pageQuery(c.r, 50)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	f := batches.Filter{Limit: p.limit + 1, Before: p.before}
	if f.Creator, err = creatorQuery(c); err != nil {
		return api.List[api.Batch]{}, err
	}
	list, err := s.store.Batches.ListBatches(ctx, c.in, f)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	keep, err := s.store.People.Retention(ctx, c.in.Project)
	if err != nil {
		return api.List[api.Batch]{}, err
	}
	return listOf(p, list, func(b *pleat.Batch) string { return string(b.ID) }, func(b *pleat.Batch) api.Batch {
		out := wire.Batch(b, wire.ForOwner)
		out.ExpiresAt = wire.OptionalTime(people.Expiry(b.EndedAt, keep))
		return out
	}), nil
}

// batchFor is a batch as its readers see it.
func (s *Server) batchFor(ctx context.Context, b *pleat.Batch, to wire.Audience) (api.Batch, error) {
	out := wire.Batch(b, to)
	if b.EndedAt.IsZero() {
		return out, nil
	}
	keep, err := s.store.People.Retention(ctx, b.Owner)
	out.ExpiresAt = wire.OptionalTime(people.Expiry(b.EndedAt, keep))
	return out, err
}

// viewBatch is GET /v1/batches/{id}, for readers of the batch.
func (s *Server) viewBatch(ctx context.Context, c *call) (api.Batch, error) {
	b, to, err := s.readableBatch(ctx, c)
	if err != nil {
		return api.Batch{}, err
	}
	return s.batchFor(ctx, &b, to)
}

// readableBatch reads the batch in the path and checks that the caller may read it, as readableJob does.
func (s *Server) readableBatch(ctx context.Context, c *call) (pleat.Batch, wire.Audience, error) {
	id, err := c.uuid("id", pleat.ErrBatchNotFound)
	if err != nil {
		return pleat.Batch{}, 0, s.preferUnauthorized(ctx, c, err)
	}
	b, err := s.store.Batches.BatchHead(ctx, pleat.BatchID(id))
	if pleat.CodeOf(err) == pleat.CodeNotFound {
		err = s.preferUnauthorized(ctx, c, err)
	}
	if err != nil {
		return pleat.Batch{}, 0, err
	}
	to, err := s.audienceOf(ctx, c, owned{pleat.Source{Batch: b.ID}, b.Owner, b.Public, pleat.ErrBatchNotFound})
	if err != nil {
		return pleat.Batch{}, 0, err
	}
	return b, to, s.rowCounts.read(ctx, s.store, &b)
}

// ownedBatch returns the batch id of a path on which only the owner may act; the store checks the owner.
func ownedBatch(c *call) (pleat.BatchID, error) {
	id, err := c.uuid("id", pleat.ErrBatchNotFound)
	return pleat.BatchID(id), err
}

// cancelBatch is POST /v1/batches/{id}/cancel, for the owner: rows that have not ended are stopped. 409: it has ended.
func (s *Server) cancelBatch(ctx context.Context, c *call) (api.Batch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.Batch{}, err
	}
	if err := s.store.Batches.CancelBatch(ctx, c.reach(), id); err != nil {
		return api.Batch{}, err
	}
	b, err := s.store.Batches.Batch(ctx, id)
	if err != nil {
		return api.Batch{}, err
	}
	return s.batchFor(ctx, &b, wire.ForOwner)
}

// retryBatch is POST /v1/batches/{id}/retry-failed, for the owner: rows that failed or were stopped run again, with the
// same parameters and seeds, and count against the quota. 409: it has not ended, or no row is to be run again.
func (s *Server) retryBatch(ctx context.Context, c *call) (api.RetriedBatch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.RetriedBatch{}, err
	}
	n, err := s.store.Batches.RetryBatch(ctx, c.reach(), id)
	return api.RetriedBatch{BatchID: string(id), Rows: n}, s.withRowQuota(ctx, c, err)
}

// setBatchPublic is PATCH /v1/batches/{id}/public, for the owner, as setPublic is for a job.
func (s *Server) setBatchPublic(ctx context.Context, c *call, in *api.SetPublic) (api.BatchVisibility, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.BatchVisibility{}, err
	}
	if in.IsPublic == nil {
		return api.BatchVisibility{}, pleat.InvalidField("isPublic", " is required; it must be true or false")
	}
	err = s.store.Batches.SetBatchPublic(ctx, c.reach(), id, *in.IsPublic)
	return api.BatchVisibility{BatchID: string(id), IsPublic: *in.IsPublic}, err
}

// deleteBatch is DELETE /v1/batches/{id}, for the owner, in any state of the batch; rows in progress are stopped.
func (s *Server) deleteBatch(ctx context.Context, c *call) (api.DeletedBatch, error) {
	id, err := ownedBatch(c)
	if err != nil {
		return api.DeletedBatch{}, err
	}
	if err := s.store.Batches.DeleteBatch(ctx, c.reach(), id); err != nil {
		return api.DeletedBatch{}, err
	}
	s.removeDeleted(ctx)
	return api.DeletedBatch{BatchID: string(id), Deleted: true}, nil
}
