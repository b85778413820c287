package submit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"

	"pleat"
	"pleat/internal/batch"
	"pleat/internal/store/batches"
)

const (
	// MaxBatchText bounds the text of a request for a batch, in bytes.
	MaxBatchText = 64 << 20
	// maxBatchLetters bounds the sequences of all rows of a batch, copies counted: each row is stored whole, and a
	// short request can describe many long ones.
	maxBatchLetters = 100_000_000
	// maxDomainLetters bounds them for a model of variable domains: finding the domains takes about 6 s a million.
	maxDomainLetters = 1_500_000
	// modificationLetters is what a modification counts as, since a row has its own copy of each.
	modificationLetters = 50
	// maxBatchInput bounds the inputs of the different rows of a batch, in bytes of JSON: constraints, modifications
	// and names are stored with each row, too.
	maxBatchInput = 200_000_000
)

// BatchRequest is a request for a batch.
type BatchRequest struct {
	// Spec is the batch as it was decoded; its Params.Values are nil if the request has no parameters.
	Spec      batch.Spec
	DecodeErr error   // the faults that decoding has found; nil: none
	Content   Content // the rows in a file of another program
	HasJobs   bool    // the request has a list of jobs, which may be empty
	Webhooks  json.RawMessage
	Public    bool
	Fresh     bool // the rows are computed even if earlier runs have the results
}

// NewBatch is a batch whose rows were checked.
type NewBatch struct {
	batches.NewBatch
	Notes []string // on the file that the rows were read from, and on the model
	Sum   BatchSum
}

// BatchSum is what the valid rows of a batch come to. Rows that compute the same share a job.
type BatchSum struct {
	Rows, Jobs int
	Largest    int   // tokens of the largest structure
	Tokens     int64 // of all rows
	Seconds    float64
	bytes      int                   // of the inputs of the different rows
	proteins   map[[32]byte]struct{} // that need an alignment
}

// Proteins returns the SHA-256, in hexadecimal digits, of the proteins that need an alignment.
func (m *BatchSum) Proteins() []string {
	out := make([]string, 0, len(m.proteins))
	for sum := range m.proteins {
		out = append(out, hex.EncodeToString(sum[:]))
	}
	return out
}

// Batch checks a batch, all of its rows and the files that they name. An error with CodeInvalid is [pleat.Errors] with
// the first faults. If those are faults of rows, it also returns the batch, with the sum of the valid rows that were
// checked; nil if the rows were not checked.
func (r *Resolver) Batch(ctx context.Context, by Caller, q BatchRequest) (*NewBatch, error) {
	p, err := r.prepareBatch(ctx, by, &q)
	if err != nil {
		return nil, err
	}
	if err = p.check(ctx); err == nil {
		err = r.checkRowReferences(ctx, by, p)
	}
	out := &NewBatch{Notes: p.notes, Sum: p.sum}
	out.NewBatch = by.newBatch(pleat.Batch{
		Owner:   by.In.Project,
		Creator: by.In.User,
		Name:    p.spec.Name,
		Kind:    p.spec.Kind,
		Model:   p.model.Name,
		Public:  q.Public,
		Rows:    p.spec.Count(),
	}, p.rows(ctx, q.Fresh))
	out.EachRow, out.NewBatch.Subs = p.hooks.EachRow, p.hooks.Subscriptions
	return out, err
}

// newBatch returns a batch of the caller's for the store.
func (c Caller) newBatch(b pleat.Batch, rows iter.Seq2[batches.NewRow, error]) batches.NewBatch {
	return batches.NewBatch{
		By:      c.Credential,
		Key:     c.Once.Key,
		Digest:  c.Once.Digest,
		Batch:   b,
		Rows:    rows,
		Request: c.Request,
		Trace:   c.Trace,
	}
}

// preparedBatch is a batch whose kind has been checked, but not its rows.
type preparedBatch struct {
	spec       batch.Spec
	model      pleat.Model
	hooks      batchWebhooks
	sum        BatchSum
	alignments rowAlignments
	templates  []rowTemplate // the different ones that rows name
	components []batch.Row   // the first row of each set of components with files
	notes      []string      // on the file of another program that the rows were read from, and on the model
	digests    [][32]byte    // what each row computes, once check has accepted all
}

// prepareBatch checks a batch without its rows. An error of the request is pleat.Errors.
func (r *Resolver) prepareBatch(ctx context.Context, by Caller, q *BatchRequest) (*preparedBatch, error) {
	p := preparedBatch{spec: q.Spec}
	var faults pleat.Errors
	if err := faults.Add(q.DecodeErr); err != nil {
		return nil, err
	}
	if err := faults.Add(r.readContent(ctx, by, q, &p)); err != nil {
		return nil, err
	}
	if len(faults) == 0 {
		if err := faults.Add(p.spec.Check()); err != nil {
			return nil, err
		}
	}
	var err error
	p.hooks, err = r.batchWebhooks(ctx, by.In.Project, q.Webhooks)
	if err := faults.Add(err); err != nil {
		return nil, err
	}
	p.model, err = r.requestedModel(ctx, by.In.Project, q.Spec.Params)
	if err := faults.Add(err); err != nil {
		return nil, err
	}
	return &p, faults.Err()
}

// check validates all rows and adds them up. The error, a pleat.Errors, has the first of the faults.
func (p *preparedBatch) check(ctx context.Context) error {
	if err := p.checkLetters(ctx); err != nil {
		return err
	}
	var faults pleat.Errors
	repeated, separately := 0, false
	p.sum = BatchSum{proteins: map[[32]byte]struct{}{}}
	p.alignments = rowAlignments{fields: map[rowAlignment]string{}, searched: map[pleat.WorkflowID]batch.Row{}}
	seen := map[[32]byte]struct{}{}
	for row := range p.spec.Rows() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := row.Relocate(p.validate(&row, p.model)); err != nil {
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
		p.addNotes(row.Notes())
		if row.Job.FoldsSeparately(p.model) && !separately {
			separately = true
			p.notes = append(p.notes, separateNote(p.model))
		}
		if err := p.count(&row, seen); err != nil {
			_ = faults.Add(err) // a fault of the request
			return faults
		}
	}
	return faults.Err()
}

// maxRowNotes bounds the notes on rows, and the notes before them.
const maxRowNotes = 100

// addNotes adds the notes on a row, each once: rows share what the request has once.
func (p *preparedBatch) addNotes(notes []string) {
	for _, n := range notes {
		switch {
		case len(p.notes) > maxRowNotes || slices.Contains(p.notes, n):
		case len(p.notes) == maxRowNotes:
			p.notes = append(p.notes, "only the first notes are shown")
		default:
			p.notes = append(p.notes, n)
		}
	}
}

// count adds a valid row to the sum. seen has the digests of the rows before.
func (p *preparedBatch) count(row *batch.Row, seen map[[32]byte]struct{}) error {
	p.sum.Rows++
	p.sum.Tokens += int64(row.Job.Tokens(p.model.Limits))
	d, size := rowDigest(&row.Job)
	p.digests = append(p.digests, d)
	if _, twice := seen[d]; twice {
		return nil
	}
	seen[d] = struct{}{}
	if p.sum.bytes += size; p.sum.bytes > maxBatchInput {
		return pleat.InvalidField(row.Path, ": the different rows up to this one have inputs of more than %d bytes; "+
			"split the batch", maxBatchInput)
	}
	p.sum.Jobs++
	p.sum.Largest = max(p.sum.Largest, row.Job.Largest(p.model))
	p.sum.Seconds += row.Job.Seconds(p.model)
	if p.model.AlignmentUse(row.Job.Params, row.Job.Sequences) != pleat.SearchedAlignments {
		return nil
	}
	for i := range row.Job.Sequences {
		if q := &row.Job.Sequences[i]; q.Kind == pleat.Protein && q.MSA == (pleat.FileRef{}) {
			p.sum.proteins[sha256.Sum256([]byte(q.Text))] = struct{}{}
		}
	}
	return nil
}

// checkLetters refuses a batch whose rows are too long together, before any of them is checked.
func (p *preparedBatch) checkLetters(ctx context.Context) error {
	total, most := 0, maxBatchLetters
	if p.model.Limits.VariableDomains {
		most = maxDomainLetters
	}
	for row := range p.spec.Rows() {
		for i := range row.Job.Sequences {
			q := &row.Job.Sequences[i]
			size := len(q.Text) + modificationLetters*len(q.Modifications)
			total += size * min(max(q.Count, 1), pleat.MaxChains)
		}
		if total > most {
			return pleat.Errors{pleat.InvalidField(row.Path, ": the rows up to this one have more than %d letters of "+
				"sequences, copies counted; split the batch", most)}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// validate checks a row against a model, which is that of the batch, and completes its job.
func (p *preparedBatch) validate(row *batch.Row, m pleat.Model) error {
	if name := row.Job.Params.Model; name != "" && name != p.model.Name {
		return pleat.InvalidField("params.modelName", " is %q; all rows of a batch have one model, here %q",
			pleat.Clip(name), p.model.Name)
	}
	row.Job.Params.Model = p.model.Name
	if len(row.Job.Constraints.Webhooks) > 0 {
		return pleat.InvalidField("constraints.webhooks", " is not for the rows of a batch; webhooks with rows: true "+
			"gives each row an event")
	}
	return row.Job.Validate(m)
}

// rowDigest identifies what a row computes, without its name. Size is that of its input, in bytes of JSON.
func rowDigest(j *pleat.Job) (digest [32]byte, size int) {
	b, err := json.Marshal(struct {
		Sequences   []pleat.Sequence
		Params      pleat.Params
		Constraints pleat.Constraints
	}{j.Sequences, j.Params, j.Constraints})
	if err != nil {
		panic("submit: digest of a row: " + err.Error()) // our own types: cannot fail but by a bug
	}
	return sha256.Sum256(b), len(b) + len(j.Name)
}

// rows yields the rows for the store, after check has accepted them. Fresh rows are computed even if there is a cached
// result.
func (p *preparedBatch) rows(ctx context.Context, fresh bool) iter.Seq2[batches.NewRow, error] {
	m := p.model
	m.Limits.VariableDomains = false // check has found the domains, which takes long
	return func(yield func(batches.NewRow, error) bool) {
		for row := range p.spec.Rows() {
			err := cmp.Or(ctx.Err(), p.validate(&row, m))
			if !yield(newRow(row.CustomID, &row.Job, p.model, fresh, p.digests[row.Number-1]), err) || err != nil {
				return
			}
		}
	}
}

// newRow returns a validated job as a row of a batch.
func newRow(customID string, job *pleat.Job, m pleat.Model, fresh bool, digest [32]byte) batches.NewRow {
	return batches.NewRow{
		CustomID: customID,
		Digest:   digest,
		Input: batches.RowInput{
			Name:        job.Name,
			Sequences:   job.Sequences,
			Constraints: job.Constraints,
			Complex:     job.Complex,
			Run:         foldRun(job, m, fresh),
		},
	}
}
