package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"pleat"
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

// mailTries is how many attempts a mail has before it fails for good.
const mailTries = 10

// MailTopic has news when a mail is to be sent.
func MailTopic() string { return QueueTopic(mailQueue) }

// newMail is a mail to be written.
type newMail struct {
	kind       pleat.MailKind
	owner      pleat.ProjectID // empty: none
	sourceKind string
	source     string
	run        pleat.RunID
}

// insertMail writes a mail to a user, and its task.
func (t *tx) insertMail(user pleat.UserID, m newMail) pleat.MailID {
	id := pleat.MailID(newID())
	t.send(`
		INSERT INTO mail (id, account_id, kind, source_kind, source_id, run_id, status, attempts, next_at, reason,
			created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, 'PENDING', 0, $7, '', $7, $7)`,
		id, user, m.kind, m.sourceKind, m.source, m.run, t.now)
	t.insertTask(pleat.Task{
		ID:       pleat.TaskID(id),
		Kind:     pleat.TaskMail,
		Queue:    mailQueue,
		Owner:    m.owner,
		Tenant:   string(user),
		MaxTries: mailTries,
	})
	return id
}

// mailRecipient is a user who is to be told of something, with what the user wants.
type mailRecipient struct {
	user   pleat.UserID // empty: nobody is told
	events int64        // bits; see mailBit
	today  int          // mails of today, at most mailsKeptPerDay
}

// wants reports whether a mail of a kind is to be written.
func (r *mailRecipient) wants(k pleat.MailKind) bool {
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

func scanMailRecipient(scan func(...any) error) (r mailRecipient, err error) {
	err = scan(&r.user, &r.events, &r.today)
	return r, err
}

// askMailRecipient reads who gets mails about the run that a condition on one parameter selects: its creator.
func (t *tx) askMailRecipient(where string, arg any, r *mailRecipient) {
	t.ask(mailRecipients("$2")+" AND s.account_id = (SELECT "+creatorSQL("run")+" FROM run WHERE "+where+")",
		[]any{arg, t.now - t.now%microsPerDay},
		func(scan func(...any) error) (err error) {
			*r, err = scanMailRecipient(scan)
			return err
		})
}

// mailRunEnd writes the mail about the end of a run to its creator, who may not want it. There is none about a run that
// somebody has stopped.
func (t *tx) mailRunEnd(to mailRecipient, r endedRun, state pleat.State) {
	kind := map[pleat.State]pleat.MailKind{
		pleat.StateCompleted: pleat.MailRunCompleted,
		pleat.StateFailed:    pleat.MailRunFailed,
	}[state]
	if to.wants(kind) {
		t.insertMail(to.user, newMail{
			kind:       kind,
			owner:      r.Owner,
			sourceKind: string(r.Source.Kind()),
			source:     r.Source.ID(),
			run:        r.Run,
		})
	}
}

// endedRun is a run about whose end a mail tells.
type endedRun struct {
	Run    pleat.RunID
	Source pleat.Source
	Owner  pleat.ProjectID
}

// mailBatchEnd writes the mail about the end of a batch, if its creator wants it.
func (t *tx) mailBatchEnd(b *pleat.Batch) error {
	rows, err := t.query(mailRecipients("$2")+" AND s.account_id = $1", b.CreatedBy(), dayBegins(t.today()))
	return t.mailAll(rows, err, newMail{
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
	LIMIT %[2]d`, pleat.Manager, maxMembers, disabledPerDay, pleat.MailEndpointDisabled)

// mailDisabled writes mails about an endpoint that the service has disabled in this transaction, to the managers of its
// project who want them. That of a single run tells nobody: its run does.
func (t *tx) mailDisabled(owner pleat.ProjectID, endpoint pleat.EndpointID) error {
	rows, err := t.query(managersToMail, owner, dayBegins(t.today()), endpoint, t.now)
	return t.mailAll(rows, err, newMail{
		kind:       pleat.MailEndpointDisabled,
		owner:      owner,
		sourceKind: sourceEndpoint,
		source:     string(endpoint),
	})
}

// mailAll writes a mail to each user of some rows of mailRecipients who wants it.
func (t *tx) mailAll(found rows, err error, m newMail) error {
	var to []mailRecipient
	err = forEachRow(found, err, func(scan func(...any) error) error {
		r, err := scanMailRecipient(scan)
		to = append(to, r)
		return err
	})
	for i := range to {
		if err == nil && to[i].wants(m.kind) {
			t.insertMail(to[i].user, m)
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
		err := s.write(ctx, "claim mail", func(t *tx) (err error) {
			m = nil
			c := newClaim(t, 0)
			c.forOne(worker, mailQueue, 1, ClaimFilter{})
			if err := t.wait(); err != nil || len(c.tasks) == 0 {
				return err
			}
			c.recordAttempts()
			m, err = t.outgoing(c.tasks[0].Task)
			return err
		})
		if m == nil || err != nil || m.ID != "" {
			return m, err
		}
	}
}

// outgoing reads the mail of a claimed task. It ends one that is not to be sent, for which it returns an empty one.
func (t *tx) outgoing(k pleat.Task) (*OutgoingMail, error) {
	m := &OutgoingMail{Task: k, ID: pleat.MailID(k.ID)}
	var r mailRow
	err := t.row(`
		SELECT m.account_id, m.kind, `+mailColumns+`
		FROM mail m
		JOIN mail_setting s ON s.account_id = m.account_id
		WHERE m.id = $1
		FOR UPDATE OF s`, []any{k.ID}, append([]any{&m.User, &m.Kind}, r.into()...)...)
	if errors.Is(err, sql.ErrNoRows) { // the user was deleted
		t.endTask(LeaseOf(&k), pleat.StateStopped, nil)
		return &OutgoingMail{}, t.wait()
	}
	if err != nil {
		return nil, err
	}
	why, err := t.readMail(m)
	if err != nil {
		return nil, err
	}
	r.on(t.today())
	if why == "" {
		why = r.refuses(m, t.now)
	}
	if why != "" {
		t.endTask(LeaseOf(&k), pleat.StateStopped, nil)
		t.send("UPDATE mail SET status = 'SKIPPED', reason = $1, next_at = 0, updated_at = $2 WHERE id = $3",
			why, t.now, m.ID)
		return &OutgoingMail{}, t.wait()
	}
	m.Address = r.address
	if m.Kind != pleat.MailConfirm {
		r.sent++
		m.day = r.day
		m.Last = r.sent == MailsPerDay
		err = t.storeMail(m.User, &r)
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
func (t *tx) readMail(m *OutgoingMail) (why string, err error) {
	var run pleat.Run
	var sourceKind pleat.SourceKind
	var source, url, counts, result, failure string
	var created, disabled, suspended, own, started, finished, queued, cancelled, rows, ended int64
	var batchCreated int64
	var role pleat.Role
	err = t.row(`
		SELECT m.source_kind, m.source_id, m.run_id, m.created_at, a.disabled_at,
			COALESCE((SELECT max(i.suspended) FROM account_identity i WHERE i.account_id = m.account_id), 0),
			COALESCE(p.id, ''), COALESCE(p.name, ''), COALESCE(p.own, 0), `+memberRole("p.id", "a.id")+`,
			COALESCE(j.name, w.name, b.name, ''), COALESCE(w.kind, ''),
			COALESCE(r.model, ''), COALESCE(r.state, ''), COALESCE(r.created_at, 0), COALESCE(r.started_at, 0),
			COALESCE(r.finished_at, 0), COALESCE(r.result, ''), COALESCE(r.failure, ''),
			COALESCE(b.cancelled, 0), COALESCE(b.row_count, 0), COALESCE(b.counts, ''), COALESCE(b.ended_at, 0),
			COALESCE(b.created_at, 0), COALESCE(e.url, ''), COALESCE(e.disabled_reason, ''),
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
		&sourceKind, &source, &run.ID, &created, &disabled, &suspended, &m.Owner, &m.Project, &own, &role,
		&m.Name, &m.Workflow, &run.Model, &run.State, &queued, &started, &finished, &result, &failure,
		&cancelled, &rows, &counts, &ended, &batchCreated, &url, &m.Reason,
		&m.Label, &m.UserName)
	if err != nil {
		return "", err
	}
	if own == 1 && m.Owner == m.User.OwnProject() {
		m.Project = ""
	}
	m.Source = pleat.SourceOf(sourceKind, source)
	needs := pleat.Viewer
	switch {
	case disabled != 0 || suspended != 0:
		return "the account was disabled", nil
	case created < t.now-mailAge.Microseconds():
		return "it could not be sent in time", nil
	case m.Kind == pleat.MailConfirm:
		return "", nil
	case m.Owner == "":
		return "what it is about was deleted", nil
	case m.Kind == pleat.MailBatchEnded && ended == 0:
		return "the batch runs again", nil
	case m.Kind == pleat.MailEndpointDisabled:
		needs, m.Endpoint = pleat.Manager, pleat.Origin(url)
	case m.Kind == pleat.MailBatchEnded:
		m.Batch = &pleat.Batch{
			ID:        m.Source.Batch,
			Cancelled: cancelled == 1,
			Rows:      int(rows),
			CreatedAt: fromMicros(batchCreated),
			EndedAt:   fromMicros(ended),
		}
		err = decodeJSON(counts, &m.Batch.Counts)
	default:
		run.CreatedAt, run.StartedAt, run.FinishedAt = fromMicros(queued), fromMicros(started), fromMicros(finished)
		err = errors.Join(decodeJSON(result, &run.Result), decodeJSON(failure, &run.Failure))
		m.Run = &run
	}
	if role < needs {
		return "you have no role any more in the project that allows to see it", err
	}
	return "", err
}

// MailOutcome is the outcome of one attempt at a mail. The mail was sent if OK is set, is tried again if NextAt is set,
// and has failed otherwise.
type MailOutcome struct {
	OK      bool
	NextAt  time.Time
	Reason  string // what went wrong
	Refused bool   // the server refuses the address for good
	// Aborted returns the task without counting an attempt: the sender stopped before it knew the outcome.
	Aborted bool
}

// FinishMail ends an attempt at a mail. After maxRefusals refusals in a row of its address, the user gets no more mails
// until the setting is changed. pleat.ErrLost: the lease is no longer held.
func (s *Store) FinishMail(ctx context.Context, m *OutgoingMail, o MailOutcome) error {
	return s.write(ctx, "finish mail", func(t *tx) error {
		l := LeaseOf(&m.Task)
		if _, err := t.renew(l); err != nil {
			return err
		}
		if err := t.countMail(m, &o); err != nil {
			return err
		}
		status, tried := pleat.MailPending, 1
		switch {
		case o.Aborted:
			tried, o.NextAt = 0, s.Now()
			t.requeue(l, OutcomeReleased, 0)
		case o.OK:
			status = pleat.MailSent
			t.endTask(l, pleat.StateCompleted, nil)
		case !o.NextAt.IsZero():
			if _, _, err := t.spendTry(l.Task); err != nil {
				return err
			}
			t.requeue(l, OutcomeFailed, time.Duration(toMicros(o.NextAt)-t.now)*time.Microsecond)
		default:
			status = pleat.MailFailed
			t.endTask(l, pleat.StateFailed, nil)
		}
		t.send(`
			UPDATE mail SET status = $1, attempts = attempts + $2, next_at = $3, reason = $4, updated_at = $5
			WHERE id = $6`,
			status, tried, toMicros(o.NextAt), o.Reason, t.now, m.ID)
		return nil
	})
}

// countMail takes an attempt that did not send its mail off the count of its day, and counts refusals of the address.
func (t *tx) countMail(m *OutgoingMail, o *MailOutcome) error {
	var r mailRow
	err := t.row("SELECT "+mailColumns+" FROM mail_setting s WHERE s.account_id = $1 FOR UPDATE", []any{m.User},
		r.into()...)
	if err != nil {
		return mapNoRows(err, nil) // the user was deleted
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
	return t.storeMail(m.User, &r)
}

// loseMail counts an attempt at a mail whose process died. The mail may have been sent.
func (t *tx) loseMail(id pleat.TaskID) error {
	_, err := t.exec("UPDATE mail SET attempts = attempts + 1, next_at = $1, updated_at = $1 WHERE id = $2", t.now, id)
	return err
}

// failMail ends a mail that has no tries left.
func (t *tx) failMail(id pleat.TaskID, reason string) error {
	_, err := t.exec("UPDATE mail SET status = 'FAILED', reason = $1, next_at = 0, updated_at = $2 WHERE id = $3",
		reason, t.now, id)
	return err
}
