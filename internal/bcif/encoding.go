package bcif

import (
	"encoding/binary"
	"math"

	"github.com/tinylib/msgp/msgp"

	"pleat"
)

// encoding is one step of how a column is encoded. Its fields are those of all kinds.
type encoding struct {
	kind       string
	dataType   int // of ByteArray
	factor     float64
	min, max   float64
	steps      int // of IntervalQuantization
	origin     int64
	byteCount  int
	isUnsigned bool
	srcSize    int

	// StringArray has all strings as one text, where each begins and ends, and the strings of the rows.
	text                   []byte
	offsets                []byte
	offsetSteps, dataSteps []encoding
}

// readEncodings reads a list of encodings.
func readEncodings(b []byte) (out []encoding, rest []byte, err error) {
	rest, err = eachItem(b, func(b []byte) ([]byte, error) {
		if len(out) == maxEncodings {
			return b, pleat.Invalidf("it has more than %d encodings", maxEncodings)
		}
		var e encoding
		b, err := eachField(b, e.field)
		out = append(out, e)
		return b, err
	})
	return out, rest, err
}

// field reads a field of an encoding.
func (e *encoding) field(name string, b []byte) (rest []byte, err error) {
	switch name {
	case "kind":
		e.kind, rest, err = msgp.ReadStringBytes(b)
	case "type":
		e.dataType, rest, err = msgp.ReadIntBytes(b)
	case "factor":
		e.factor, rest, err = number(b)
	case "min":
		e.min, rest, err = number(b)
	case "max":
		e.max, rest, err = number(b)
	case "numSteps":
		e.steps, rest, err = msgp.ReadIntBytes(b)
	case "origin":
		e.origin, rest, err = msgp.ReadInt64Bytes(b)
	case "byteCount":
		e.byteCount, rest, err = msgp.ReadIntBytes(b)
	case "isUnsigned":
		e.isUnsigned, rest, err = msgp.ReadBoolBytes(b)
	case "srcSize":
		e.srcSize, rest, err = msgp.ReadIntBytes(b)
	case "stringData":
		e.text, rest, err = msgp.ReadStringZC(b)
	case "offsets":
		e.offsets, rest, err = msgp.ReadBytesZC(b)
	case "offsetEncoding":
		e.offsetSteps, rest, err = nested(b)
	case "dataEncoding":
		e.dataSteps, rest, err = nested(b)
	default:
		rest, err = msgp.Skip(b)
	}
	return rest, err
}

// nested reads the encodings within one of StringArray, which are of whole numbers.
func nested(b []byte) ([]encoding, []byte, error) {
	out, rest, err := readEncodings(b)
	for _, e := range out {
		if e.kind == "StringArray" {
			err = pleat.Invalidf("it has strings within strings")
		}
	}
	return out, rest, err
}

// number reads a number of any type.
func number(b []byte) (float64, []byte, error) {
	switch msgp.NextType(b) {
	case msgp.Float32Type:
		v, rest, err := msgp.ReadFloat32Bytes(b)
		return float64(v), rest, err
	case msgp.Float64Type:
		return msgp.ReadFloat64Bytes(b)
	}
	v, rest, err := msgp.ReadInt64Bytes(b)
	return float64(v), rest, err
}

// values are the decoded values of a column, of one of three kinds.
type values struct {
	ints   []int64
	floats []float64
	bits   int // of floats: 32 or 64

	// Strings are those of the rows, by their index; below 0 for an empty one. String k is in text from ends[k] to
	// ends[k+1].
	strings []int64
	text    []byte
	ends    []int64
}

// len returns the number of values.
func (v *values) len() int { return len(v.ints) + len(v.floats) + len(v.strings) }

// decode undoes encodings, of which the last was done last. Most bounds the values of each step.
func decode(data []byte, encodings []encoding, most int) (values, error) {
	if len(encodings) == 1 && encodings[0].kind == "StringArray" {
		return encodings[0].stringsOf(data, most)
	}
	var v values
	var err error
	for i := len(encodings) - 1; i >= 0 && err == nil; i-- {
		e := &encodings[i]
		switch first := i == len(encodings)-1; {
		case e.kind == "ByteArray" && first:
			v, err = e.numbers(data)
		case first:
			err = pleat.Invalidf("its last encoding is %q, not ByteArray", pleat.Clip(e.kind))
		case v.ints == nil:
			err = pleat.Invalidf("its encoding %q is not of whole numbers", pleat.Clip(e.kind))
		default:
			err = e.undo(&v, most)
		}
		if err == nil && v.len() > max(most, 0) && i == 0 {
			err = pleat.Invalidf("it has %d values; at most %d are expected", v.len(), most)
		}
	}
	if err == nil && len(encodings) == 0 {
		err = pleat.Invalidf("it has no encoding")
	}
	return v, err
}

// undo undoes an encoding of whole numbers.
func (e *encoding) undo(v *values, most int) (err error) {
	switch e.kind {
	case "FixedPoint":
		if !(e.factor > 0) || math.IsInf(e.factor, 0) {
			return pleat.Invalidf("its FixedPoint has the factor %v", e.factor)
		}
		v.toFloats(func(n float64) float64 { return n / e.factor })
	case "IntervalQuantization":
		step := (e.max - e.min) / float64(e.steps-1)
		if e.steps < 2 || math.IsNaN(step) || math.IsInf(step, 0) {
			return pleat.Invalidf("its IntervalQuantization has %d steps from %v to %v", e.steps, e.min, e.max)
		}
		v.toFloats(func(n float64) float64 { return e.min + n*step })
	case "Delta":
		sum := e.origin
		for i, n := range v.ints {
			sum += n
			v.ints[i] = sum
		}
	case "RunLength":
		v.ints, err = e.runs(v.ints, most)
	case "IntegerPacking":
		v.ints, err = e.unpacked(v.ints)
	default:
		err = pleat.Invalidf("its encoding %q is not known", pleat.Clip(e.kind))
	}
	return err
}

// toFloats makes floating-point numbers of whole numbers.
func (v *values) toFloats(f func(float64) float64) {
	v.floats, v.bits = make([]float64, len(v.ints)), 64
	for i, n := range v.ints {
		v.floats[i] = f(float64(n))
	}
	v.ints = nil
}

// runs undoes RunLength: pairs of a value and how often it is there.
func (e *encoding) runs(pairs []int64, most int) ([]int64, error) {
	if len(pairs)%2 != 0 || e.srcSize < 0 || e.srcSize > most {
		return nil, pleat.Invalidf("its RunLength has %d numbers for %d values; at most %d are expected", len(pairs),
			e.srcSize, most)
	}
	out := make([]int64, 0, e.srcSize)
	for i := 0; i < len(pairs); i += 2 {
		if n := pairs[i+1]; n < 0 || n > int64(e.srcSize-len(out)) {
			return nil, pleat.Invalidf("its RunLength has more than the %d values stated", e.srcSize)
		}
		for range pairs[i+1] {
			out = append(out, pairs[i])
		}
	}
	if len(out) != e.srcSize {
		return nil, pleat.Invalidf("its RunLength has %d of the %d values stated", len(out), e.srcSize)
	}
	return out, nil
}

// unpacked undoes IntegerPacking: a number that is the largest or smallest of its type is added to the next one.
func (e *encoding) unpacked(packed []int64) ([]int64, error) {
	highest, lowest := int64(math.MaxInt8), int64(math.MinInt8)
	switch {
	case e.byteCount == 2 && e.isUnsigned:
		highest, lowest = math.MaxUint16, -1
	case e.byteCount == 2:
		highest, lowest = math.MaxInt16, math.MinInt16
	case e.byteCount == 1 && e.isUnsigned:
		highest, lowest = math.MaxUint8, -1
	case e.byteCount != 1:
		return nil, pleat.Invalidf("its IntegerPacking has numbers of %d bytes; it must be 1 or 2", e.byteCount)
	}
	out := packed[:0] // never longer than what was read
	sum, open := int64(0), false
	for _, n := range packed {
		sum += n
		if open = n == highest || n == lowest; !open {
			out = append(out, sum)
			sum = 0
		}
	}
	if open || len(out) != e.srcSize {
		return nil, pleat.Invalidf("its IntegerPacking has %d of the %d values stated", len(out), e.srcSize)
	}
	return out, nil
}

// numbers undoes ByteArray: numbers of a type, in little-endian order.
func (e *encoding) numbers(data []byte) (values, error) {
	size := map[int]int{1: 1, 2: 2, 3: 4, 4: 1, 5: 2, 6: 4, 32: 4, 33: 8}[e.dataType]
	if size == 0 || len(data)%size != 0 {
		return values{}, pleat.Invalidf("its ByteArray has the type %d and %d bytes", e.dataType, len(data))
	}
	n := len(data) / size
	if n > maxValues {
		return values{}, pleat.Invalidf("its ByteArray has %d numbers; at most %d are allowed", n, maxValues)
	}
	if e.dataType >= 32 {
		v := values{floats: make([]float64, n), bits: 8 * size}
		for i := range n {
			v.floats[i] = e.float(data[i*size:])
		}
		return v, nil
	}
	v := values{ints: make([]int64, n)}
	for i := range n {
		v.ints[i] = e.integer(data[i*size:])
	}
	return v, nil
}

// float returns the floating-point number that b begins with.
func (e *encoding) float(b []byte) float64 {
	if e.dataType == 32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// integer returns the whole number that b begins with.
func (e *encoding) integer(b []byte) int64 {
	switch e.dataType {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 3:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 4:
		return int64(b[0])
	case 5:
		return int64(binary.LittleEndian.Uint16(b))
	}
	return int64(binary.LittleEndian.Uint32(b))
}

// stringsOf undoes StringArray: data are indices of strings, each of which is a part of a text.
func (e *encoding) stringsOf(data []byte, most int) (values, error) {
	indices, err := decode(data, e.dataSteps, most)
	if err != nil {
		return values{}, err
	}
	ends, err := decode(e.offsets, e.offsetSteps, most+1) // not more strings than rows
	if err != nil {
		return values{}, err
	}
	if indices.ints == nil && most > 0 || ends.ints == nil && len(e.offsets) > 0 {
		return values{}, pleat.Invalidf("its strings have indices or offsets that are no whole numbers")
	}
	v := values{strings: indices.ints, text: e.text, ends: ends.ints}
	if err := inBytes(v.ends, v.text); err != nil {
		return values{}, err
	}
	for _, k := range v.strings {
		if n := max(0, len(v.ends)-1); k >= int64(n) {
			return values{}, pleat.Invalidf("its strings have the index %d; there are %d", k, n)
		}
	}
	return v, nil
}
