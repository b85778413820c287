package store

import (
	"encoding/json"

	"pleat"
)

// keyedCall is a call that may have an idempotency key. Each user has keys of their own.
type keyedCall struct {
	creator pleat.UserID
	key     string // empty: none
	digest  string // of the request, and of the project unless it is the user's own
}

// keyed returns a call for a project.
func keyed(creator pleat.UserID, owner pleat.ProjectID, key, digest string) keyedCall {
	if owner != creator.OwnProject() {
		digest += " " + string(owner)
	}
	return keyedCall{creator, key, digest}
}

// earlierCall is the call that has an idempotency key.
type earlierCall struct {
	none           bool // this call has claimed the key
	digest, answer string
}

// askReplay claims the idempotency key of a call, if it has one, or reads the call that has the key. A key older than a
// day is free again. The INSERT makes a concurrent call wait until this one has committed.
func (t *tx) askReplay(c keyedCall, e *earlierCall) {
	if c.key == "" {
		return
	}
	t.send("DELETE FROM idempotency WHERE account_id = $1 AND key = $2 AND created_at < $3",
		c.creator, c.key, keysSince(t.now))
	t.ask(`
		INSERT INTO idempotency (account_id, key, digest, answer, created_at)
		VALUES ($1, $2, $3, '', $4)
		ON CONFLICT (account_id, key) DO NOTHING
		RETURNING key`,
		[]any{c.creator, c.key, c.digest, t.now},
		func(scan func(...any) error) error {
			e.none = true
			return scan(new(string))
		})
	t.ask("SELECT digest, answer FROM idempotency WHERE account_id = $1 AND key = $2", []any{c.creator, c.key},
		e.scan)
}

// scan reads the call that has the key.
func (e *earlierCall) scan(scan func(...any) error) error {
	return scan(&e.digest, &e.answer)
}

// replay reads the result of the earlier call into c, and returns errReplayed. CodeConflict: it was another request
// than this one.
func (e *earlierCall) replay(call keyedCall, c any) error {
	if e.digest != call.digest {
		return pleat.Errorf(pleat.CodeConflict,
			"the Idempotency-Key was used with another request; use a new key for a new job")
	}
	if err := json.Unmarshal([]byte(e.answer), c); err != nil {
		return err
	}
	return errReplayed
}

// keepAnswer stores the result of a call for those that repeat it, if it has an idempotency key.
func (t *tx) keepAnswer(c keyedCall, answer any) {
	if c.key == "" {
		return
	}
	t.send("UPDATE idempotency SET answer = $1 WHERE account_id = $2 AND key = $3", encodeJSON(answer), c.creator,
		c.key)
}

// keysSince is the time in microseconds since which an idempotency key must have been used to hold now. It holds for a
// day.
func keysSince(now int64) int64 { return now - microsPerDay }

// answeredCall reads the call of the user $1 that has the idempotency key $2, used since $3, if it was answered.
const answeredCall = `
	SELECT digest, answer FROM idempotency
	WHERE account_id = $1 AND key = $2 AND created_at >= $3 AND answer <> ''`
