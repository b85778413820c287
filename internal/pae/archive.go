package pae

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pleat"
	"pleat/internal/structure"
)

// maxPackedRows is MaxRows for an archive: a small one may hold large arrays.
const maxPackedRows = 6_000

// readArchive reads the PAE of an archive of NumPy: a ZIP file with an array in each file, called after the array.
func readArchive(raw []byte) (Errors, error) {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return Errors{}, pleat.Invalidf("the PAE file is no archive of NumPy: %s", pleat.Clip(err.Error()))
	}
	var found []*zip.File
	for _, f := range archive.File {
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok && slices.Contains(names, name) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		return Errors{}, pleat.Invalidf("the PAE file has no array that is called %s", strings.Join(names, ", "))
	case 1:
	default:
		return Errors{}, pleat.Invalidf("the PAE file has both %s and %s; it must have one PAE",
			pleat.Clip(found[0].Name), pleat.Clip(found[1].Name))
	}
	in, err := found[0].Open()
	if err != nil {
		return Errors{}, pleat.Invalidf("the PAE file cannot be unpacked: %s", pleat.Clip(err.Error()))
	}
	defer in.Close()
	m, err := readArray(bufio.NewReaderSize(in, 64<<10))
	if err == nil {
		err = checkUnit(m)
	}
	return Errors{Matrix: m}, err
}

// errArray is the error of an array that ends early or has no header.
var errArray = pleat.Invalidf("the PAE file has an array that is incomplete, or is none of NumPy")

// arrayHeader is the header of a file of NumPy.
//
// Source: NumPy Enhancement Proposal 1, A Simple File Format for NumPy Arrays.
var arrayHeader = regexp.MustCompile(
	`'descr': *'([^']*)'.*'fortran_order': *(True|False).*'shape': *\(([0-9, ]*)\)`)

// readArray reads a square of floating-point numbers from a file of NumPy (.npy).
func readArray(in io.Reader) (structure.Matrix, error) {
	header, err := readArrayHeader(in)
	if err != nil {
		return structure.Matrix{}, err
	}
	size, number := numberOf(header[1])
	if number == nil {
		return structure.Matrix{}, pleat.Invalidf("the PAE file has numbers of the type %s; it must have "+
			"floating-point numbers of 2, 4 or 8 bytes (<f2, <f4, <f8)", pleat.Clip(header[1]))
	}
	n, err := squareOf(header[3])
	if err != nil {
		return structure.Matrix{}, err
	}
	m := structure.Matrix{N: n, V: make([]float32, n*n)}
	row := make([]byte, n*size)
	for i := range n {
		if _, err := io.ReadFull(in, row); err != nil {
			return m, errArray
		}
		for j := range n {
			r, c := i, j
			if header[2] == "True" { // the array is stored by columns
				r, c = j, i
			}
			v := number(row[j*size:])
			if !inAngstrom.valid(v) {
				place := fmt.Sprintf("row %d, column %d", r+1, c+1)
				return m, inAngstrom.refuse(place, strconv.FormatFloat(float64(v), 'g', -1, 32))
			}
			m.V[r*n+c] = v
		}
	}
	if _, err := io.ReadFull(in, row[:1]); !errors.Is(err, io.EOF) { // its checksum is wrong, or it is longer
		return m, errArray
	}
	return m, nil
}

// readArrayHeader reads the header of a file of NumPy: its type of numbers, order and shape, from index 1.
func readArrayHeader(in io.Reader) ([]string, error) {
	var start [8]byte
	if _, err := io.ReadFull(in, start[:]); err != nil || string(start[:6]) != "\x93NUMPY" {
		return nil, errArray
	}
	length := make([]byte, 4)
	if start[6] == 1 {
		length = length[:2]
	}
	if _, err := io.ReadFull(in, length); err != nil {
		return nil, errArray
	}
	text := make([]byte, min(binary.LittleEndian.Uint32(append(length, 0, 0)[:4]), 64<<10))
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, errArray
	}
	header := arrayHeader.FindStringSubmatch(string(text))
	if header == nil {
		return nil, errArray
	}
	return header, nil
}

// squareOf returns the rows of an array with a shape such as (20, 20) or (1, 20, 20).
func squareOf(shape string) (int, error) {
	sides := strings.FieldsFunc(shape, func(r rune) bool { return r == ',' || r == ' ' })
	if len(sides) == 3 && sides[0] == "1" {
		sides = sides[1:]
	}
	if len(sides) != 2 || sides[0] != sides[1] {
		return 0, pleat.Invalidf("the PAE file has an array of the shape (%s); it must be a square", pleat.Clip(shape))
	}
	n, err := strconv.Atoi(sides[0])
	if err != nil || n < 1 || n > maxPackedRows {
		return 0, pleat.Invalidf("the PAE file has an array of %s rows; 1 to %d are allowed in an archive",
			pleat.Clip(sides[0]), maxPackedRows)
	}
	return n, nil
}

// numberOf returns the bytes of a number of a type, and what it is; nil: the type is not read.
func numberOf(descr string) (size int, number func(b []byte) float32) {
	switch descr {
	case "<f2":
		return 2, func(b []byte) float32 { return half(binary.LittleEndian.Uint16(b)) }
	case "<f4":
		return 4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case "<f8":
		return 8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
	}
	return 0, nil
}

// half returns a number of IEEE 754 with 16 bits.
func half(b uint16) float32 {
	sign, exponent, fraction := 1-2*float64(b>>15), int(b>>10&0x1f), float64(b&0x3ff)
	switch exponent {
	case 0:
		return float32(sign * math.Ldexp(fraction, -24))
	case 0x1f:
		if fraction == 0 {
			return float32(math.Inf(int(sign)))
		}
		return float32(math.NaN())
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}
