package format

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"pleat"
	"pleat/internal/words"
)

// byteOrderMark begins files of Windows editors.
const byteOrderMark = "\ufeff"

// Decode returns the text of a file: UTF-8, or UTF-16 with a byte order mark, as Excel writes «Unicode text». Any other
// file is an error that says what it is, or where it is not text; it continues a sentence about the file.
func Decode(data []byte) (string, error) {
	if order := utf16Order(data); order != nil {
		return decodeUTF16(data[2:], order)
	}
	text := string(data)
	if what := notText(text); what != "" {
		return "", pleat.Invalidf("%s", what)
	}
	for at, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text[at:]); n == 1 {
			line, column := words.LineAndColumn(data, at)
			return "", pleat.Invalidf("is not text in UTF-8 (line %d, column %d); save it as UTF-8", line, column)
		}
	}
	return text, nil
}

// utf16Order returns the byte order that the mark at the beginning of a UTF-16 text states; nil: it has none.
func utf16Order(data []byte) binary.ByteOrder {
	switch {
	case len(data) < 2:
	case data[0] == 0xff && data[1] == 0xfe:
		return binary.LittleEndian
	case data[0] == 0xfe && data[1] == 0xff:
		return binary.BigEndian
	}
	return nil
}

// decodeUTF16 returns a UTF-16 text without its byte order mark.
func decodeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	if len(data)%2 != 0 {
		return "", pleat.Invalidf("is UTF-16 text that ends in half a character; save it as UTF-8")
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units)), nil
}

// notTextKinds are kinds of file that people take for text, by their first bytes as a program that expects text may
// have converted them: every byte that is not UTF-8 became U+FFFD.
var notTextKinds = []struct{ start, what string }{
	{"PK\x03\x04", "is a ZIP archive, such as an .xlsx workbook of Excel or a .docx document; save the sheet as CSV, " +
		"or unpack the archive"},
	{"\x1f\x8b", "is compressed with gzip; unpack it"},
	{"\x1f\ufffd", "is compressed with gzip; unpack it"},
	{"\xd0\xcf\x11\xe0", "is an .xls workbook or a .doc document of Microsoft Office; save the sheet as CSV"},
	{"\ufffd\ufffd\x11\ufffd", "is an .xls workbook or a .doc document of Microsoft Office; save the sheet as CSV"},
	{"%PDF-", "is a PDF; copy its text"},
	{`{\rtf`, "is rich text (RTF); save it as plain text"},
	{"\ufffd\ufffd", "is UTF-16 text, such as «Unicode text» of Excel; save it as UTF-8"},
	{"\xff\xfe", "is UTF-16 text, such as «Unicode text» of Excel; save it as UTF-8"},
	{"\xfe\xff", "is UTF-16 text, such as «Unicode text» of Excel; save it as UTF-8"},
}

// notText says what a file is that is no text; empty: nothing speaks against text.
func notText(text string) string {
	for _, kind := range notTextKinds {
		if strings.HasPrefix(text, kind.start) {
			return kind.what
		}
	}
	start := strings.ToLower(strings.TrimSpace(text[:min(len(text), 64)]))
	for _, page := range []string{"<!doctype html", "<html"} {
		if strings.HasPrefix(start, page) {
			return "is a page in HTML; download the file itself"
		}
	}
	if at := strings.IndexByte(text, 0); at == 0 || at == 1 {
		return "is UTF-16 text without a byte order mark, or no text; save it as UTF-8"
	}
	return ""
}

// plainText returns a text with line feeds alone as ends of lines, and without the byte order marks that begin lines
// where files were joined.
func plainText(text string) string {
	text = strings.TrimPrefix(text, byteOrderMark)
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	return strings.ReplaceAll(text, "\n"+byteOrderMark, "\n")
}
