package db

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// MicrosPerDay is a day of UTC, which has no leap seconds here.
const MicrosPerDay = 24 * 60 * 60 * 1_000_000

// ClockError is how far times of one moment may be apart that nodes have written. More means that a clock was set.
const ClockError = 10 * time.Second

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
