package mails

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
	"pleat/internal/store/tasks"
)

const (
	// MailsPerDay bounds the mails that are sent to a user on a day, in UTC. Those that ask to confirm do not count.
	MailsPerDay = 100
	// mailsKeptPerDay bounds the mails that are written on a day: of those that are too many, a user sees some.
	mailsKeptPerDay = MailsPerDay + ListedMails
	// disabledPerDay bounds those of them about endpoints: who manages a project can have its endpoints disabled again
	// and again, but leaves the others room for what they wait for.
	disabledPerDay = 20
	// maxRefusals is after how many permanent refusals in a row an address gets no more mails.
	maxRefusals = 3
	// mailAge is after which time a mail is not worth sending.
	mailAge = 4 * 24 * time.Hour

	mailQueue = string(pleat.TaskMail)
	// sourceEndpoint is the source_kind of a mail about an endpoint.
	sourceEndpoint = "endpoint"
)

// Topic has news when a mail is to be sent.
func Topic() string { return tasks.QueueTopic(mailQueue) }

// newMail is a mail to be written.
type newMail struct {
	kind       pleat.MailKind
	owner      pleat.ProjectID // empty: none
	sourceKind string
	source     string
	run        pleat.RunID
}

// insertMail writes a mail to a user, and its task.
func insertMail(t *db.Tx, user pleat.UserID, m newMail) pleat.MailID {
	id := pleat.MailID(db.NewID())
	t.Send(`
		INSERT INTO mail (id, account_id, kind, source_kind, source_id, run_id, status, attempts, next_at, reason,
			created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'PENDING', 0, $7, '', $7, $7)`,
		id, user, m.kind, m.sourceKind, m.source, m.run, t.Now)
	tasks.Insert(t, pleat.Task{
		ID:     pleat.TaskID(id),
		Kind:   pleat.TaskMail,
		Queue:  mailQueue,
		Owner:  m.owner,
		Tenant: string(user),
	})
	return id
}

// Recipient is a user who is to be told of something, with what the user wants.
type Recipient struct {
	user   pleat.UserID // empty: nobody is told
	events int64        // bits; see mailBit
	today  int          // mails of today, at most mailsKeptPerDay
}

// wants reports whether a mail of a kind is to be written.
func (r *Recipient) wants(k pleat.MailKind) bool {
	return r.user != "" && r.events&mailBit(k) != 0 && r.today < mailsKeptPerDay
}

// mailRecipients selects, of the row s of mail_setting, what scanMailRecipient reads, of users who get mails. The
// parameter is the beginning of today.
func mailRecipients(param string) string {
	return `
		SELECT s.account_id, s.events, (
			SELECT count(*) FROM (
				SELECT 1 FROM mail m WHERE m.account_id = s.account_id AND m.created_at >= ` + param + fmt.Sprintf(`
				LIMIT %d) AS page_today)
		FROM mail_setting s
		WHERE s.confirmed_at <> 0 AND s.events <> 0 AND s.off_reason = ''`, mailsKeptPerDay)
}

func scanMailRecipient(scan func(...any) error) (r Recipient, err error) {
	err = scan(&r.user, &r.events, &r.today)
	return r, err
}

// AskRecipient reads who gets mails about the run that a condition on one parameter selects: its creator.
func AskRecipient(t *db.Tx, where string, arg any, r *Recipient) {
	t.Ask(mailRecipients("$2")+" AND s.account_id = (SELECT "+people.CreatorSQL("run")+" FROM run WHERE "+where+")",
		[]any{arg, db.DayBegins(t.Today())},
		func(scan func(...any) error) (err error) {
			*r, err = scanMailRecipient(scan)
			return err
		})
}

// RunEnded writes the mail about the end of a run to its creator, who may not want it. There is none about a run that
// somebody has stopped.
func RunEnded(t *db.Tx, to Recipient, r EndedRun, state pleat.State) {
	kind := map[pleat.State]pleat.MailKind{
		pleat.StateCompleted: pleat.MailRunCompleted,
		pleat.StateFailed:    pleat.MailRunFailed,
	}[state]
	if to.wants(kind) {
		insertMail(t, to.user, newMail{
			kind:       kind,
			owner:      r.Owner,
			sourceKind: string(r.Source.Kind()),
			source:     r.Source.ID(),
			run:        r.Run,
		})
	}
}

// EndedRun is a run about whose end a mail tells.
type EndedRun struct {
	Run    pleat.RunID
	Source pleat.Source
	Owner  pleat.ProjectID
}

// BatchEnded writes the mail about the end of a batch, if its creator wants it.
func BatchEnded(t *db.Tx, b *pleat.Batch) error {
	rows, err := t.Query(mailRecipients("$2")+" AND s.account_id = $1", b.CreatedBy(), db.DayBegins(t.Today()))
	return mailAll(t, rows, err, newMail{
		kind:       pleat.MailBatchEnded,
		owner:      b.Owner,
		sourceKind: string(pleat.SourceBatch),
		source:     string(b.ID),
	})
}

// managersToMail selects, as mailRecipients does, the managers of the project $1, of whom a group may make more than a
// project has members. It begins with them, since many other users get mails. None comes if the transaction of $4 has
// not disabled the endpoint $3.
var managersToMail = mailRecipients("$2") + fmt.Sprintf(`
		AND s.account_id IN (
			SELECT m.account_id FROM project_member m WHERE m.project_id = $1 AND m.role = %[1]d
			UNION
			SELECT u.account_id FROM project_group g
			JOIN account_group u ON u.name = g.name
			WHERE g.project_id = $1 AND g.role = %[1]d)
		AND EXISTS (SELECT 1 FROM endpoint e WHERE e.id = $3 AND e.active = 0 AND e.updated_at = $4)
		AND %[3]d > (
			SELECT count(*) FROM mail d
			WHERE d.account_id = s.account_id AND d.created_at >= $2 AND d.kind = '%[4]s')
	ORDER BY s.account_id
	LIMIT %[2]d`, pleat.Manager, people.MaxMembers, disabledPerDay, pleat.MailEndpointDisabled)

// EndpointDisabled writes mails about an endpoint that the service has disabled in this transaction, to the managers of
// its project who want them. That of a single run tells nobody: its run does.
func EndpointDisabled(t *db.Tx, owner pleat.ProjectID, endpoint pleat.EndpointID) error {
	rows, err := t.Query(managersToMail, owner, db.DayBegins(t.Today()), endpoint, t.Now)
	return mailAll(t, rows, err, newMail{
		kind:       pleat.MailEndpointDisabled,
		owner:      owner,
		sourceKind: sourceEndpoint,
		source:     string(endpoint),
	})
}

// mailAll writes a mail to each user of some rows of mailRecipients who wants it.
func mailAll(t *db.Tx, found db.Rows, err error, m newMail) error {
	to, err := db.ListOf(found, err, scanMailRecipient)
	for i := range to {
		if err == nil && to[i].wants(m.kind) {
			insertMail(t, to[i].user, m)
		}
	}
	return err
}

// OutgoingMail is a claimed mail with what it says.
type OutgoingMail struct {
	Task     pleat.Task
	ID       pleat.MailID
	User     pleat.UserID
	UserName string
	Kind     pleat.MailKind
	Address  string
	Source   pleat.Source // zero: the mail is about an endpoint or an address
	Name     string       // of the job, the workflow or the batch
	Project  string       // name of the project; empty: the user's own
	Owner    pleat.ProjectID
	Run      *pleat.Run     // that has ended, with its model, times, failure and result; nil: the mail is about none
	Workflow pleat.TaskKind // of the run; empty: it is a fold
	Batch    *pleat.Batch   // that has ended
	Endpoint string         // scheme, host and port
	Label    string         // name of the endpoint; empty: it is the project's default one
	Reason   string         // why the endpoint was disabled
	Last     bool           // no more mails are sent to the user today

	day int64 // on which it was counted
}

// NextMail leases the next mail to a worker, reads what it says, and counts it. It ends mails that are not to be sent
// any more: their user has lost the role in the project or the account, does not want them, or has had enough today.
// nil: there is no mail to send.
func (s *Store) NextMail(ctx context.Context, worker pleat.WorkerID) (*OutgoingMail, error) {
	for {
		var m *OutgoingMail
		err := s.db.Write(ctx, "claim mail", func(t *db.Tx) (err error) {
			m = nil
			c := tasks.NewClaim(t, 0)
			c.ForOne(worker, mailQueue, 1, tasks.ClaimFilter{})
			if err := t.Wait(); err != nil || len(c.Tasks) == 0 {
				return err
			}
			c.RecordAttempts()
			m, err = outgoing(t, c.Tasks[0].Task)
			return err
		})
		if m == nil || err != nil || m.ID != "" {
			return m, err
		}
	}
}

// outgoing reads the mail of a claimed task. It ends one that is not to be sent, for which it returns an empty one.
func outgoing(t *db.Tx, k pleat.Task) (*OutgoingMail, error) {
	m := &OutgoingMail{Task: k, ID: pleat.MailID(k.ID)}
	var r mailRow
	err := t.Row(`
		SELECT m.account_id, m.kind, `+mailColumns+`
		FROM mail m
		JOIN mail_setting s ON s.account_id = m.account_id
		WHERE m.id = $1
		FOR UPDATE OF s`, []any{k.ID}, append([]any{&m.User, &m.Kind}, r.scanTargets()...)...)
	if errors.Is(err, sql.ErrNoRows) { // the user was deleted
		tasks.End(t, tasks.LeaseOf(&k), pleat.StateStopped, nil)
		return &OutgoingMail{}, t.Wait()
	}
	if err != nil {
		return nil, err
	}
	why, err := readMail(t, m)
	if err != nil {
		return nil, err
	}
	r.on(t.Today())
	if why == "" {
		why = r.refuses(m, t.Now)
	}
	if why != "" {
		tasks.End(t, tasks.LeaseOf(&k), pleat.StateStopped, nil)
		t.Send("UPDATE mail SET status = 'SKIPPED', reason = $1, next_at = 0, updated_at = $2 WHERE id = $3",
			why, t.Now, m.ID)
		return &OutgoingMail{}, t.Wait()
	}
	m.Address = r.address
	if m.Kind != pleat.MailConfirm {
		r.sent++
		m.day = r.day
		m.Last = r.sent == MailsPerDay
		err = storeMail(t, m.User, &r)
	}
	return m, err
}

// refuses returns why the settings of its user keep a mail from being sent at a time; empty: they do not.
func (r *mailRow) refuses(m *OutgoingMail, now int64) string {
	switch {
	case m.Kind == pleat.MailConfirm && r.confirm != string(m.ID):
		return "another address or a later mail has replaced it"
	case m.Kind == pleat.MailConfirm && r.expires <= now:
		return "its link has expired"
	case m.Kind == pleat.MailConfirm:
		return ""
	case r.confirmed == 0:
		return "the address is not confirmed"
	case r.off != "":
		return r.off
	case r.events&mailBit(m.Kind) == 0:
		return "mails about this were turned off"
	case r.sent >= MailsPerDay:
		return fmt.Sprintf("%d mails were sent on this day (UTC), the maximum", MailsPerDay)
	}
	return ""
}

// readMail reads what a mail says, and returns why it is not to be sent; empty: it is.
func readMail(t *db.Tx, m *OutgoingMail) (why string, err error) {
	var run pleat.Run
	var sourceKind pleat.SourceKind
	var source, origin, counts, result, failure string
	var created, disabled, suspended, personal, cancelled, rows, ended int64
	var batchCreated int64
	var role pleat.Role
	err = t.Row(`
		SELECT m.source_kind, m.source_id, m.run_id, m.created_at, a.disabled_at,
			COALESCE((SELECT max(i.suspended) FROM account_identity i WHERE i.account_id = m.account_id), 0),
			COALESCE(p.id, ''), COALESCE(p.name, ''), COALESCE(p.own, 0), `+people.MemberRole("p.id", "a.id")+`,
			COALESCE(j.name, w.name, b.name, ''), COALESCE(w.kind, ''),
			COALESCE(r.model, ''), COALESCE(r.state, ''), COALESCE(r.created_at, 0), COALESCE(r.started_at, 0),
			COALESCE(r.finished_at, 0), COALESCE(r.result, ''), COALESCE(r.failure, ''),
			COALESCE(b.cancelled, 0), COALESCE(b.row_count, 0), COALESCE(b.counts, ''), COALESCE(b.ended_at, 0),
			COALESCE(b.created_at, 0), COALESCE(e.origin, ''), COALESCE(e.disabled_reason, ''),
			COALESCE(e.name, ''), a.name
		FROM mail m
		JOIN account a ON a.id = m.account_id
		LEFT JOIN job j ON m.source_kind = 'fold_job' AND j.id = m.source_id AND j.deleted_at = 0
		LEFT JOIN workflow w ON m.source_kind = 'workflow' AND w.id = m.source_id AND w.deleted_at = 0
		LEFT JOIN batch b ON m.source_kind = 'batch' AND b.id = m.source_id AND b.deleted_at = 0
		LEFT JOIN endpoint e ON m.source_kind = 'endpoint' AND e.id = m.source_id
		LEFT JOIN run r ON r.id = m.run_id
		LEFT JOIN project p
			ON p.id = COALESCE(j.project_id, w.project_id, b.project_id, e.project_id) AND p.deleted_at = 0
		WHERE m.id = $1`, []any{m.ID},
		&sourceKind, &source, &run.ID, &created, &disabled, &suspended, &m.Owner, &m.Project, &personal, &role,
		&m.Name, &m.Workflow, &run.Model, &run.State, db.ScanTime(&run.CreatedAt), db.ScanTime(&run.StartedAt),
		db.ScanTime(&run.FinishedAt), &result, &failure,
		&cancelled, &rows, &counts, &ended, &batchCreated, &origin, &m.Reason,
		&m.Label, &m.UserName)
	if err != nil {
		return "", err
	}
	if personal == 1 && m.Owner == m.User.OwnProject() {
		m.Project = ""
	}
	m.Source = pleat.SourceOf(sourceKind, source)
	needs := pleat.Viewer
	switch {
	case disabled != 0 || suspended != 0:
		return "the account was disabled", nil
	case created < t.Now-mailAge.Microseconds():
		return "it could not be sent in time", nil
	case m.Kind == pleat.MailConfirm:
		return "", nil
	case m.Owner == "":
		return "what it is about was deleted", nil
	case m.Kind == pleat.MailBatchEnded && ended == 0:
		return "the batch runs again", nil
	case m.Kind == pleat.MailEndpointDisabled:
		needs, m.Endpoint = pleat.Manager, pleat.Origin(origin)
	case m.Kind == pleat.MailBatchEnded:
		m.Batch = &pleat.Batch{
			ID:        m.Source.Batch,
			Cancelled: cancelled == 1,
			Rows:      int(rows),
			CreatedAt: db.FromMicros(batchCreated),
			EndedAt:   db.FromMicros(ended),
		}
		err = db.DecodeJSON(counts, &m.Batch.Counts)
	default:
		err = errors.Join(db.DecodeJSON(result, &run.Result), db.DecodeJSON(failure, &run.Failure))
		m.Run = &run
	}
	if role < needs {
		return "you have no role any more in the project that allows to see it", err
	}
	return "", err
}

// Outcome is the outcome of one attempt at a mail. The mail was sent if OK is set, is tried again if NextAt is set,
// and has failed otherwise.
type Outcome struct {
	OK      bool
	NextAt  time.Time
	Reason  string // what went wrong
	Refused bool   // the server refuses the address for good
	// Aborted returns the task without counting an attempt: the sender stopped before it knew the outcome.
	Aborted bool
}

// FinishMail ends an attempt at a mail. After maxRefusals refusals in a row of its address, the user gets no more mails
// until the setting is changed. [pleat.ErrLost]: the lease is no longer held.
func (s *Store) FinishMail(ctx context.Context, m *OutgoingMail, o Outcome) error {
	return s.db.Write(ctx, "finish mail", func(t *db.Tx) error {
		l := tasks.LeaseOf(&m.Task)
		if _, err := tasks.Renew(t, l); err != nil {
			return err
		}
		if err := countMail(t, m, &o); err != nil {
			return err
		}
		status, tried := pleat.MailPending, 1
		switch {
		case o.Aborted:
			tried, o.NextAt = 0, s.db.Now()
			tasks.Requeue(t, l, tasks.OutcomeReleased, 0)
		case o.OK:
			status = pleat.MailSent
			tasks.End(t, l, pleat.StateCompleted, nil)
		case !o.NextAt.IsZero():
			if _, _, err := tasks.SpendTry(t, l.Task); err != nil {
				return err
			}
			tasks.Requeue(t, l, tasks.OutcomeFailed, time.Duration(db.ToMicros(o.NextAt)-t.Now)*time.Microsecond)
		default:
			status = pleat.MailFailed
			tasks.End(t, l, pleat.StateFailed, nil)
		}
		t.Send(`
			UPDATE mail SET status = $1, attempts = attempts + $2, next_at = $3, reason = $4, updated_at = $5
			WHERE id = $6`,
			status, tried, db.ToMicros(o.NextAt), o.Reason, t.Now, m.ID)
		return nil
	})
}

// countMail takes an attempt that did not send its mail off the count of its day, and counts refusals of the address.
func countMail(t *db.Tx, m *OutgoingMail, o *Outcome) error {
	var r mailRow
	err := t.Row("SELECT "+mailColumns+" FROM mail_setting s WHERE s.account_id = $1 FOR UPDATE", []any{m.User},
		r.scanTargets()...)
	if err != nil {
		return db.MapNoRows(err, nil) // the user was deleted
	}
	if !o.OK && m.Kind != pleat.MailConfirm && r.day == m.day && r.sent > 0 {
		r.sent--
	}
	switch {
	case r.address != m.Address: // it was changed meanwhile
	case o.OK:
		r.refusals = 0
	case o.Refused:
		if r.refusals++; r.refusals >= maxRefusals && r.off == "" {
			r.off = fmt.Sprintf("mail servers refused %s %d times in a row; check it, and save it again", r.address,
				r.refusals)
		}
	}
	return storeMail(t, m.User, &r)
}

// CountLost counts an attempt at a mail whose process died. The mail may have been sent.
func CountLost(t *db.Tx, id pleat.TaskID) error {
	_, err := t.Exec("UPDATE mail SET attempts = attempts + 1, next_at = $1, updated_at = $1 WHERE id = $2", t.Now, id)
	return err
}

// Fail ends a mail that has no tries left.
func Fail(t *db.Tx, id pleat.TaskID, reason string) error {
	_, err := t.Exec("UPDATE mail SET status = 'FAILED', reason = $1, next_at = 0, updated_at = $2 WHERE id = $3",
		reason, t.Now, id)
	return err
}
