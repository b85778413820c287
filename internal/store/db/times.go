package db

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// MicrosPerDay is a day of UTC, which has no leap seconds here.
const MicrosPerDay = 24 * 60 * 60 * 1_000_000

// ClockError is how far times of one moment may be apart that nodes have written. More means that a clock was set.
const ClockError = 10 * time.Second

// Ahead selects rows with times that cannot be yet, since a clock was ahead when they were written, and says how they
// are brought back.
type Ahead struct {
	Table  string
	Where  string // a condition, in which $1 stands for Latest
	Latest int64  // the last time that can be, in microseconds
	Set    string // the columns that change, where $2 is now
}

// PendingAhead selects the rows of a table, of deliveries or mails, that changed after late and wait for an attempt.
// They changed now, and keep their delays.
func PendingAhead(table string, late int64) Ahead {
	return Ahead{
		Table:  table,
		Where:  "status = 'PENDING' AND updated_at > $1",
		Latest: late,
		Set:    "next_at = CASE WHEN next_at > updated_at THEN $2 + next_at - updated_at ELSE $2 END, updated_at = $2",
	}
}

// FindAhead returns which of a list selects rows, in the order of the list. It only reads.
func (s *DB) FindAhead(ctx context.Context, list []Ahead) ([]int, error) {
	var parts []string
	var args []any
	for i, a := range list {
		where := strings.ReplaceAll(a.Where, "$1", fmt.Sprintf("$%d", i+1))
		parts = append(parts, fmt.Sprintf("SELECT %d WHERE EXISTS (SELECT 1 FROM %s WHERE %s)", i, a.Table, where))
		args = append(args, a.Latest)
	}
	return ColumnOf[int](s.Read(ctx, strings.Join(parts, " UNION ALL ")+" ORDER BY 1", args...))
}

// BringBack changes the rows that a selects.
func (t *Tx) BringBack(a Ahead) {
	t.Send("UPDATE "+a.Table+" SET "+a.Set+" WHERE "+a.Where, a.Latest, t.Now)
}

// FromMicros reads a column that holds a time in microseconds since 1970 UTC. The value 0 is the zero time.
func FromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// ToMicros is the inverse of [FromMicros]. It drops what is finer than a microsecond.
func ToMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// NewID returns a UUID of version 7. Ids of one process sort by the time they were made, so lists page by id.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// IDAt returns an id that sorts after those made before a time in µs, and before those made after its millisecond.
func IDAt(micros int64) string {
	ms := micros / 1000
	return fmt.Sprintf("%08x-%04x-7000-8000-000000000000", ms>>16, ms&0xffff)
}

// DayOf is the day of UTC of a time in microseconds, counted since 1970.
func DayOf(micros int64) int64 { return micros / MicrosPerDay }

// DayBegins is when a day that [DayOf] has counted begins, in microseconds.
func DayBegins(day int64) int64 { return day * MicrosPerDay }

// Today is the day of UTC of the transaction.
func (t *Tx) Today() int64 { return DayOf(t.Now) }

// NextDay is the UTC midnight that ends the day of a time in microseconds.
func NextDay(micros int64) time.Time { return FromMicros(DayBegins(DayOf(micros) + 1)) }
