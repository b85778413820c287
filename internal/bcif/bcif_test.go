package bcif

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tinylib/msgp/msgp"

	"pleat"
	"pleat/internal/structure"
)

// Files of two other writers have the atoms and the texts of the CIF file that they were written from, see
// testdata/write.py.
func TestText(t *testing.T) {
	source, err := os.ReadFile("testdata/small.cif")
	if err != nil {
		t.Fatal(err)
	}
	want, err := structure.ReadCIF(bytes.NewReader(source), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"molstar", "biotite", "biotite-plain"} {
		raw, err := os.ReadFile("testdata/" + name + ".bcif")
		if err != nil {
			t.Fatal(err)
		}
		if !Is(raw) || Is(source) {
			t.Errorf("%s is not recognised", name)
		}
		text, err := Text(raw, 1<<20)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := structure.ReadCIF(bytes.NewReader(text), structure.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// packed returns a file of one category of so many rows, with one column x of data with encodings.
func packed(rows int, data []byte, encodings ...map[string]any) []byte {
	out, err := msgp.AppendIntf(nil, map[string]any{"version": "0.3.0", "encoder": "test", "dataBlocks": []any{
		map[string]any{"header": "X", "categories": []any{
			map[string]any{"name": "_a", "rowCount": rows, "columns": []any{
				map[string]any{"name": "x", "mask": nil, "data": map[string]any{"data": data, "encoding": list(encodings)}},
			}},
		}},
	}})
	if err != nil {
		panic(err)
	}
	return out
}

// list returns encodings as a list of MessagePack.
func list(encodings []map[string]any) []any {
	out := []any{}
	for _, e := range encodings {
		out = append(out, e)
	}
	return out
}

// Each encoding is undone as the specification has it; what it cannot mean is refused.
func TestEncodings(t *testing.T) {
	type m = map[string]any
	bytesOf := func(kind int) m { return m{"kind": "ByteArray", "type": kind} }
	packing := func(size, count int, unsigned bool) m {
		return m{"kind": "IntegerPacking", "byteCount": size, "srcSize": count, "isUnsigned": unsigned}
	}
	texts := func(text string, offsets ...byte) m {
		return m{"kind": "StringArray", "stringData": text, "offsets": offsets, "offsetEncoding": list([]m{bytesOf(4)}),
			"dataEncoding": list([]m{bytesOf(1)})}
	}
	for _, c := range []struct {
		rows      int
		data      []byte
		encodings []m
		want      string
	}{
		{2, []byte{1, 255}, []m{bytesOf(1)}, "1|-1"},
		{2, []byte{1, 255}, []m{bytesOf(4)}, "1|255"},
		{1, []byte{1, 255}, []m{bytesOf(2)}, "-255"},
		{1, []byte{1, 255}, []m{bytesOf(5)}, "65281"},
		{1, []byte{1, 0, 0, 255}, []m{bytesOf(3)}, "-16777215"},
		{1, []byte{1, 0, 0, 255}, []m{bytesOf(6)}, "4278190081"},
		{1, []byte{0xcd, 0xcc, 0xcc, 0x3d}, []m{bytesOf(32)}, "0.1"},
		{1, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, []m{bytesOf(33)}, "1.5"},
		{1, []byte{255}, []m{m{"kind": "FixedPoint", "factor": 1000}, bytesOf(1)}, "-0.001"},
		{2, []byte{0, 2}, []m{m{"kind": "IntervalQuantization", "min": -1, "max": 1.5, "numSteps": 6}, bytesOf(1)}, "-1|0"},
		{3, []byte{0, 1, 1}, []m{m{"kind": "Delta", "origin": 1000}, bytesOf(1)}, "1000|1001|1002"},
		{3, []byte{7, 2, 8, 1}, []m{m{"kind": "RunLength", "srcSize": 3}, bytesOf(1)}, "7|7|8"},
		{3, []byte{127, 1, 128, 255, 5}, []m{packing(1, 3, false), bytesOf(1)}, "128|-129|5"},
		{2, []byte{255, 255, 1, 5}, []m{packing(1, 2, true), bytesOf(4)}, "511|5"},
		{3, []byte{1, 0, 255}, []m{texts("aβc", 0, 1, 3)}, "'βc'|a|''"}, // 255 is -1: none
		{3, []byte{0, 1, 2}, []m{texts("loop_xx y.", 0, 6, 9, 10)}, "'loop_x'|'x y'|'.'"},

		{2, []byte{1}, []m{bytesOf(1)}, "the column _a.x cannot be read: it has 1 values for 2 rows"},
		{1, []byte{1, 2}, []m{bytesOf(1)}, "it has 2 values; at most 1 are expected"},
		{1, []byte{1}, []m{bytesOf(2)}, "its ByteArray has the type 2 and 1 bytes"},
		{1, []byte{1}, []m{bytesOf(9)}, "its ByteArray has the type 9 and 1 bytes"},
		{1, []byte{1}, nil, "it has no encoding"},
		{1, []byte{1}, []m{m{"kind": "Zip"}, bytesOf(1)}, `its encoding "Zip" is not known`},
		{1, []byte{1}, []m{m{"kind": "Delta"}}, `its last encoding is "Delta", not ByteArray`},
		{1, []byte{1}, []m{m{"kind": "FixedPoint"}, bytesOf(1)}, "its FixedPoint has the factor 0"},
		{1, []byte{0, 0, 0, 0}, []m{m{"kind": "Delta"}, bytesOf(32)}, `its encoding "Delta" is not of whole numbers`},
		{1, []byte{1}, []m{m{"kind": "IntervalQuantization", "numSteps": 1}, bytesOf(1)},
			"its IntervalQuantization has 1 steps from 0 to 0"},
		{2, []byte{7, 3}, []m{m{"kind": "RunLength", "srcSize": 2}, bytesOf(1)},
			"its RunLength has more than the 2 values stated"},
		{2, []byte{7, 1}, []m{m{"kind": "RunLength", "srcSize": 2}, bytesOf(1)},
			"its RunLength has 1 of the 2 values stated"},
		{1, []byte{7, 1}, []m{m{"kind": "RunLength", "srcSize": 1 << 40}, bytesOf(1)},
			"its RunLength has 2 numbers for 1099511627776 values; at mos"},
		{1, []byte{127}, []m{packing(1, 1, false), bytesOf(1)}, "its IntegerPacking has 0 of the 1 values stated"},
		{1, []byte{127}, []m{packing(4, 1, false), bytesOf(1)}, "its IntegerPacking has numbers of 4 bytes"},
		{1, []byte{1}, []m{texts("ab", 0, 1)}, "its strings have the index 1; there are 1"},
		{1, []byte{0}, []m{texts("ab", 0, 3)}, "its strings have an offset of 3; offsets ascend and lie in"},
		{1, []byte{0}, []m{texts("abc", 2, 1)}, "its strings have an offset of 1; offsets ascend and lie in"},
		{2, []byte{0, 1}, []m{texts("𝔸b", 0, 2, 3)}, "'𝔸'|b"},
		{1, []byte{0}, []m{texts("𝔸b", 0, 1)}, "its strings have an offset of 1; offsets ascend and lie in"},
		{1, []byte{0}, []m{texts("a\r;b", 0, 4)}, "the text has a line that begins with a semicolon"},
		{1, []byte{0}, []m{texts("a\n;b", 0, 4)}, "the text has a line that begins with a semicolon"},
		{1 << 30, nil, []m{bytesOf(1)}, "the category _a has 1073741824 rows; at most 524288 are allowed"},
	} {
		text, err := Text(packed(c.rows, c.data, c.encodings...), 1<<20)
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v of %v\n got %v\nwant %s", c.encodings, c.data, err, c.want)
			}
			continue
		}
		rows, _ := strings.CutPrefix(string(text), "data_X\n#\nloop_\n_a.x\n")
		if got := strings.TrimSuffix(strings.ReplaceAll(rows, " \n", "|"), "|#\n"); got != c.want {
			t.Errorf("%v of %v\n got %s\nwant %s", c.encodings, c.data, got, c.want)
		}
	}
}

// What does not fit, is cut off or is none of these files is refused.
func TestRefusals(t *testing.T) {
	raw, err := os.ReadFile("testdata/molstar.bcif")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		raw  []byte
		most int
		want string
	}{
		{raw, 100, "as CIF text it has more than the 100 bytes allowed"},
		{raw[:len(raw)-1], 1 << 20, "it is no complete BinaryCIF file: msgp: too few bytes left to read object"},
		{append(raw[:len(raw):len(raw)], 0), 1 << 20, "it is no complete BinaryCIF file: it has 1 dataBlocks, and 1 " +
			"bytes behind them"},
		{[]byte("\x81\xa1x\x01"), 1 << 20, "it is no complete BinaryCIF file: it has 0 dataBlocks, and 0 bytes behind " +
			"them"},
		{nil, 1 << 20, "it is no complete BinaryCIF file: msgp: too few bytes left to read object"},
	} {
		if _, err := Text(c.raw, c.most); pleat.CodeOf(err) != pleat.CodeInvalid || err.Error() != c.want {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

// Whatever a file holds, its text is one that is read, or it is refused with a sentence.
func FuzzText(f *testing.F) {
	for _, name := range []string{"molstar", "biotite", "biotite-plain"} {
		raw, err := os.ReadFile("testdata/" + name + ".bcif")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add(packed(3, []byte{0, 1, 2}, map[string]any{"kind": "ByteArray", "type": 1}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := Text(raw, 1<<20)
		if err != nil {
			if pleat.CodeOf(err) != pleat.CodeInvalid || err.Error() == "" {
				t.Errorf("%v", err)
			}
			return
		}
		if _, err := structure.ReadCIF(bytes.NewReader(text), structure.Limits{}); err != nil {
			var bad *structure.ParseError
			if !errors.As(err, &bad) || strings.Contains(err.Error(), "ends within a row") {
				t.Errorf("%v in %q", err, text)
			}
		}
	})
}
