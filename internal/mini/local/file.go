package local

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// header is the JSON part of a model's file: its shape, clusters and number of members.
type header struct {
	Shape    Shape     `json:"shape"`
	Clusters []Cluster `json:"clusters"`
	Nets     int       `json:"nets"`
}

// Encode writes the model: gzip of a JSON header, then each matrix row by row as one float32 scale and
// 8-bit weights.
func Encode(m *Model) ([]byte, error) {
	head, err := json.Marshal(header{m.Shape, m.Clusters, len(m.Nets)})
	if err != nil {
		return nil, fmt.Errorf("encode local model: %w", err)
	}
	var body bytes.Buffer
	_ = binary.Write(&body, binary.LittleEndian, uint32(len(head)))
	body.Write(head)
	for _, n := range m.Nets {
		pack(&body, n.In, m.Hidden)
		pack(&body, n.Bias, m.Hidden)
		pack(&body, n.Out, m.K)
		pack(&body, n.OutBias, m.K)
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("encode local model: %w", err)
	}
	if _, err := z.Write(body.Bytes()); err != nil {
		return nil, fmt.Errorf("encode local model: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("encode local model: %w", err)
	}
	return out.Bytes(), nil
}

// pack appends values as 8-bit weights, row by row, each row with its float32 scale.
func pack(w *bytes.Buffer, v []float32, row int) {
	for ; len(v) > 0; v = v[row:] {
		top := float32(0)
		for _, x := range v[:row] {
			top = max(top, float32(math.Abs(float64(x))))
		}
		_ = binary.Write(w, binary.LittleEndian, top/127)
		for _, x := range v[:row] {
			q := 0.0
			if top > 0 {
				q = math.Round(float64(x) * 127 / float64(top))
			}
			w.WriteByte(byte(int8(q)))
		}
	}
}

// Decode reads what Encode wrote. An error says that the data is truncated or not a model.
func Decode(data []byte) (*Model, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode local model: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(z, 16<<20))
	if err != nil {
		return nil, fmt.Errorf("decode local model: %w", err)
	}
	if len(body) < 4 || int(binary.LittleEndian.Uint32(body)) > len(body)-4 {
		return nil, fmt.Errorf("decode local model: the header is cut short")
	}
	size := int(binary.LittleEndian.Uint32(body))
	var h header
	if err := json.Unmarshal(body[4:4+size], &h); err != nil {
		return nil, fmt.Errorf("decode local model: %w", err)
	}
	body = body[4+size:]
	m := &Model{Shape: h.Shape, Clusters: h.Clusters}
	for range h.Nets {
		var n Net
		for _, part := range []struct {
			to        *[]float32
			rows, row int
		}{{&n.In, h.Shape.Rows(), h.Shape.Hidden}, {&n.Bias, 1, h.Shape.Hidden}, {&n.Out, h.Shape.Hidden, h.Shape.K},
			{&n.OutBias, 1, h.Shape.K}} {
			if len(body) < part.rows*(part.row+4) {
				return nil, fmt.Errorf("decode local model: the weights are cut short")
			}
			*part.to, body = unpack(body, part.rows, part.row)
		}
		m.Nets = append(m.Nets, n)
	}
	m.Init()
	return m, nil
}

// unpack reads rows of 8-bit weights that pack wrote, and returns them with the rest of b.
func unpack(b []byte, rows, row int) ([]float32, []byte) {
	v := make([]float32, 0, rows*row)
	for range rows {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(b))
		for _, q := range b[4 : 4+row] {
			v = append(v, float32(int8(q))*scale)
		}
		b = b[4+row:]
	}
	return v, b
}
