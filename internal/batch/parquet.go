package batch

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"pleat"
)

const (
	// rowGroup is how many rows are held in memory before they are written.
	rowGroup = 10_000
	// columnsKey is the key of the file's metadata under which the columns of scores are described as JSON.
	columnsKey = "pleat.columns"
)

// parquetTable writes Apache Parquet.
type parquetTable struct {
	w       *parquet.GenericWriter[any]
	columns []pleat.ScoreColumn
	row     parquet.Row
	rows    int
}

// NewParquet returns a writer of Apache Parquet. Texts are strings, row is an integer and scores are doubles. A value
// that a row lacks is null. The metadata of the file has the unit of each score, and whether its higher values are
// better.
func NewParquet(w io.Writer, columns []pleat.ScoreColumn) TableWriter {
	type described struct {
		Name           string `json:"name"`
		Unit           string `json:"unit"`
		HigherIsBetter bool   `json:"higherIsBetter"`
	}
	about := []described{}
	for _, c := range columns {
		about = append(about, described{c.Name, c.Unit, c.HigherBetter})
	}
	text, err := json.Marshal(about)
	if err != nil {
		panic("batch: columns of a table: " + err.Error()) // our own types: cannot fail but by a bug
	}
	return &parquetTable{
		w: parquet.NewGenericWriter[any](w, tableSchema(columns), parquet.Compression(&parquet.Snappy),
			parquet.KeyValueMetadata(columnsKey, string(text)), parquet.CreatedBy("pleat", pleat.Version, "")),
		columns: columns,
	}
}

// tableSchema describes the columns in their order. A schema is made of a struct, since a parquet.Group sorts its
// fields.
func tableSchema(columns []pleat.ScoreColumn) *parquet.Schema {
	var fields []reflect.StructField
	add := func(name string, columnType reflect.Type) {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("F", len(fields)),
			Type: columnType,
			Tag:  reflect.StructTag("parquet:" + strconv.Quote(name)),
		})
	}
	text, optional := reflect.TypeFor[string](), reflect.TypeFor[*string]()
	add("row", reflect.TypeFor[int32]())
	add("customId", text)
	add("jobId", optional)
	add("name", text)
	add("status", text)
	for _, c := range columns {
		add(c.Name, reflect.TypeFor[*float64]())
	}
	add("error", optional)
	return parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
}

// Write adds a row.
func (t *parquetTable) Write(r pleat.BatchRow) error {
	t.row = t.row[:0]
	required := func(v parquet.Value) { t.row = append(t.row, v.Level(0, 0, len(t.row))) }
	optional := func(v parquet.Value, present bool) {
		if present {
			t.row = append(t.row, v.Level(0, 1, len(t.row)))
		} else {
			t.row = append(t.row, parquet.NullValue().Level(0, 0, len(t.row)))
		}
	}
	text := func(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }
	required(parquet.Int32Value(int32(r.Number)))
	required(text(r.CustomID))
	optional(text(string(r.Job)), r.Job != "")
	required(text(r.Name))
	required(text(string(r.State)))
	for _, c := range t.columns {
		v := r.Score(c.Name)
		if v == nil {
			optional(parquet.Value{}, false)
		} else {
			optional(parquet.DoubleValue(*v), true)
		}
	}
	optional(text(failure(&r)), r.Failure != nil)
	if _, err := t.w.WriteRows([]parquet.Row{t.row}); err != nil {
		return err
	}
	if t.rows++; t.rows%rowGroup == 0 {
		return t.w.Flush()
	}
	return nil
}

// Close writes the rest and the footer.
func (t *parquetTable) Close() error { return t.w.Close() }
