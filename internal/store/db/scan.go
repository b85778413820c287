package db

import (
	"database/sql"
	"fmt"
	"time"
)

// numberColumn reads a column of whole numbers.
type numberColumn func(int64)

// Scan passes on the number, as [sql.Scanner] demands.
func (c numberColumn) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a column of whole numbers has a value of the type %T", value)
	}
	c(n)
	return nil
}

// ScanTime reads a column of [ToMicros].
func ScanTime(t *time.Time) sql.Scanner { return numberColumn(func(n int64) { *t = FromMicros(n) }) }

// ScanDuration reads a column of microseconds.
func ScanDuration(d *time.Duration) sql.Scanner {
	return numberColumn(func(n int64) { *d = time.Duration(n) * time.Microsecond })
}

// ScanBool reads a column of [BoolToInt].
func ScanBool(b *bool) sql.Scanner { return numberColumn(func(n int64) { *b = n == 1 }) }
