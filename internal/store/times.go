package store

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// microsPerDay is a day of UTC, which has no leap seconds here.
const microsPerDay = 24 * 60 * 60 * 1_000_000

// fromMicros reads a column that holds a time in microseconds since 1970 UTC. The value 0 is the zero time.
func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// toMicros is the inverse of fromMicros. It drops what is finer than a microsecond.
func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// newID returns a UUID of version 7. Ids of one process sort by the time they were made, so lists page by id.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// idAt returns an id that sorts after those made before a time in µs, and before those made after its millisecond.
func idAt(micros int64) string {
	ms := micros / 1000
	return fmt.Sprintf("%08x-%04x-7000-8000-000000000000", ms>>16, ms&0xffff)
}

// dayOf is the day of UTC of a time in microseconds, counted since 1970.
func dayOf(micros int64) int64 { return micros / microsPerDay }

// dayBegins is when a day that dayOf has counted begins, in microseconds.
func dayBegins(day int64) int64 { return day * microsPerDay }

// today is the day of UTC of the transaction.
func (t *tx) today() int64 { return dayOf(t.now) }

// nextDay is the UTC midnight that ends the day of a time in microseconds.
func nextDay(micros int64) time.Time { return fromMicros(dayBegins(dayOf(micros) + 1)) }
