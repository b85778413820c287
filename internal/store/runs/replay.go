package runs

import (
	"encoding/json"
	"errors"

	"pleat"
	"pleat/internal/store/db"
	"pleat/internal/store/people"
)

// KeyedCall is a call that may have an idempotency key. Each user has keys of their own.
type KeyedCall struct {
	Creator pleat.UserID
	owner   pleat.ProjectID
	Key     string // empty: none
	digest  string // of the request, and of the project unless it is the user's own
}

// NewKeyedCall returns a call for a project.
func NewKeyedCall(creator pleat.UserID, owner pleat.ProjectID, key, digest string) KeyedCall {
	if owner != creator.OwnProject() {
		digest += " " + string(owner)
	}
	return KeyedCall{creator, owner, key, digest}
}

// EarlierCall is the call that has an idempotency key.
type EarlierCall struct {
	none           bool // this call has claimed the key
	digest, Answer string
}

// ErrReplayed rolls a call back that repeats an earlier one, so that it costs no quota.
var ErrReplayed = &pleat.Error{Code: pleat.CodeConflict, Message: "the request was answered before"}

// Replayed reports whether a call has ended with [ErrReplayed], which its caller does not see.
func Replayed(err error) (bool, error) {
	if errors.Is(err, ErrReplayed) {
		return true, nil
	}
	return false, err
}

// Admit reads whether a credential lets the creator of a call create work in its project, what askRest asks, and the
// earlier call that has the key. It returns the refusal; [ErrReplayed]: there was an earlier call, whose result it has
// read into result.
func (c KeyedCall) Admit(t *db.Tx, by people.Credential, result any, askRest func()) error {
	var access people.Access
	people.AskAccess(t, by, c.Creator, c.owner, &access)
	var earlier EarlierCall
	askReplay(t, c, &earlier)
	askRest()
	if err := t.Wait(); err != nil {
		return err
	}
	if err := access.Err(); err != nil {
		return err
	}
	if c.Key != "" && !earlier.none {
		return earlier.Replay(c, result)
	}
	return nil
}

// askReplay claims the idempotency key of a call, if it has one, or reads the call that has the key. A key older than a
// day is free again. The INSERT makes a concurrent call wait until this one has committed.
func askReplay(t *db.Tx, c KeyedCall, e *EarlierCall) {
	if c.Key == "" {
		return
	}
	t.Send("DELETE FROM idempotency WHERE account_id = $1 AND key = $2 AND created_at < $3",
		c.Creator, c.Key, KeysSince(t.Now))
	t.Ask(`
		INSERT INTO idempotency (account_id, key, digest, answer, created_at)
		VALUES ($1, $2, $3, '', $4)
		ON CONFLICT (account_id, key) DO NOTHING
		RETURNING key`,
		[]any{c.Creator, c.Key, c.digest, t.Now},
		func(scan func(...any) error) error {
			e.none = true
			return scan(new(string))
		})
	t.Ask("SELECT digest, answer FROM idempotency WHERE account_id = $1 AND key = $2", []any{c.Creator, c.Key},
		e.Scan)
}

// Scan reads the call that has the key.
func (e *EarlierCall) Scan(scan func(...any) error) error {
	return scan(&e.digest, &e.Answer)
}

// Replay reads the result of the earlier call into c, and returns [ErrReplayed]. CodeConflict: it was another request
// than this one.
func (e *EarlierCall) Replay(call KeyedCall, c any) error {
	if e.digest != call.digest {
		return pleat.Errorf(pleat.CodeConflict,
			"the Idempotency-Key was used with another request; use a new key for a new job")
	}
	if err := json.Unmarshal([]byte(e.Answer), c); err != nil {
		return err
	}
	return ErrReplayed
}

// KeepAnswer stores the result of a call for those that repeat it, if it has an idempotency key.
func KeepAnswer(t *db.Tx, c KeyedCall, answer any) {
	if c.Key == "" {
		return
	}
	t.Send("UPDATE idempotency SET answer = $1 WHERE account_id = $2 AND key = $3", db.EncodeJSON(answer), c.Creator,
		c.Key)
}

// KeysSince is the time in microseconds since which an idempotency key must have been used to hold now. It holds for a
// day.
func KeysSince(now int64) int64 { return now - db.MicrosPerDay }

// AnsweredCall reads the call of the user $1 that has the idempotency key $2, used since $3, if it was answered.
const AnsweredCall = `
	SELECT digest, answer FROM idempotency
	WHERE account_id = $1 AND key = $2 AND created_at >= $3 AND answer <> ''`
