package calvados

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"pleat/internal/structure"
)

// Landscape is a free energy over two coordinates: −RT ln p, 0 in the most visited
// bin.
type Landscape struct {
	X      Axis `json:"x"`
	Y      Axis `json:"y"`
	Energy Grid `json:"energy_kj_mol"` // bin ix along x, iy along y at iy·X.Bins + ix
}

// Axis is a coordinate in equal bins.
type Axis struct {
	Label string  `json:"label"` // with the unit
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Bins  int     `json:"bins"`
}

// Grid is energies in kJ/mol; +Inf, in JSON null, where no frame fell.
type Grid []float64

// MarshalJSON writes +Inf as null.
func (g Grid) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(g))
	for i := range g {
		if !math.IsInf(g[i], 0) && !math.IsNaN(g[i]) {
			out[i] = &g[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as +Inf.
func (g *Grid) UnmarshalJSON(b []byte) error {
	var in []*float64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*g = make(Grid, len(in))
	for i, v := range in {
		if (*g)[i] = math.Inf(1); v != nil {
			(*g)[i] = *v
		}
	}
	return nil
}

// NewLandscape bins the points (x[i], y[i]), about as many bins to a side as the
// square root of their number, 5 to 50, and takes −kT ln of each bin's share. It says
// what was visited, not what is at equilibrium, unless the run was long. It panics
// where there are no points, or not as many of each.
func NewLandscape(xLabel string, x []float64, yLabel string, y []float64, kT float64) Landscape {
	if len(x) == 0 || len(x) != len(y) {
		panic("calvados: a landscape takes as many values along x as along y, and at least one")
	}
	bins := max(5, min(int(math.Sqrt(float64(len(x)))), 50))
	l := Landscape{X: axisOf(xLabel, x, bins), Y: axisOf(yLabel, y, bins), Energy: make(Grid, bins*bins)}
	for i := range x {
		l.Energy[l.Y.bin(y[i])*bins+l.X.bin(x[i])]++
	}
	most := slices.Max(l.Energy)
	for i, n := range l.Energy {
		l.Energy[i] = -kT * math.Log(n/most) // of no visits +Inf
		if n == most {
			l.Energy[i] = 0
		}
	}
	return l
}

func axisOf(label string, v []float64, bins int) Axis {
	lo, hi := slices.Min(v), slices.Max(v)
	if hi-lo <= 1e-9*max(1, math.Abs(hi)) {
		lo, hi = lo-0.05, hi+0.05
	}
	return Axis{label, lo, hi, bins}
}

func (a Axis) bin(v float64) int {
	return max(0, min(int((v-a.Min)/(a.Max-a.Min)*float64(a.Bins)), a.Bins-1))
}

// components finds the two directions of largest fluctuation about the mean, in
// frames superposed on it, and each frame's place along them in nm (of the whole
// molecule: the square root of the sum over beads).
func (a *Analysis) components(ctx context.Context, t *frames, mean []structure.Vec) error {
	step := (t.Frames() + maxPCAFrames - 1) / maxPCAFrames
	rows := (t.Frames() + step - 1) / step
	n := 3 * len(mean)
	x := mat.NewDense(rows, n, nil)
	err := t.each(ctx, step, func(i int, frame, _ []structure.Vec) { displacement(x.RawRowView(i/step), frame, mean) })
	if err != nil {
		return err
	}
	axes, share, err := principal(ctx, x)
	if err != nil {
		return err
	}
	a.PCShare = share
	row := make([]float64, n)
	return t.each(ctx, 1, func(_ int, frame, _ []structure.Vec) {
		displacement(row, frame, mean)
		var p [2]float64
		for i, v := range row {
			p[0] += v * axes[0][i]
			p[1] += v * axes[1][i]
		}
		a.PC1Nm, a.PC2Nm = append(a.PC1Nm, p[0]), append(a.PC2Nm, p[1])
	})
}

// displacement of a frame in Å, superposed on the mean, from it, in nm.
func displacement(row []float64, frame, mean []structure.Vec) {
	rot, trans, _ := structure.Superpose(frame, mean)
	for i := range frame {
		p := structure.Apply(rot, trans, frame[i])
		for k := range p {
			row[3*i+k] = (p[k] - mean[i][k]) / 10
		}
	}
}

// principal is the two leading right singular vectors of x and the share of its sum
// of squares that each holds, by subspace iteration with a block of six; where later
// values lie close, what mixes is alike in share and any mixture serves. The sign is
// such that the largest part is positive.
func principal(ctx context.Context, x *mat.Dense) (axes [2][]float64, share [2]float64, err error) {
	rows, n := x.Dims()
	total := 0.0
	for i := range rows {
		total += floats.Dot(x.RawRowView(i), x.RawRowView(i))
	}
	axes = [2][]float64{make([]float64, n), make([]float64, n)}
	if total == 0 {
		return axes, share, nil
	}
	const block = 6
	q := mat.NewDense(block, n, nil)
	r := newNoise(1)
	for i := range block * n {
		q.RawMatrix().Data[i] = r.gauss()
	}
	var y, z mat.Dense
	for round, before := 0, 0.0; ; round++ {
		if err := ctx.Err(); err != nil {
			return axes, share, err
		}
		orthonormal(q)
		y.Mul(x, q.T())
		sum := mat.Norm(&y, 2) * mat.Norm(&y, 2)
		if round == 200 || round > 4 && sum-before < 1e-10*sum {
			break
		}
		before = sum
		z.Mul(y.T(), x)
		q.Copy(&z)
	}
	small := mat.NewSymDense(block, nil)
	small.SymOuterK(1, y.T())
	var e mat.EigenSym
	if !e.Factorize(small, true) {
		return axes, share, errors.New("principal components: the eigenvalues were not found")
	}
	var v mat.Dense
	e.VectorsTo(&v)
	values := e.Values(nil)
	for k := range axes {
		c := block - 1 - k // ascending
		share[k] = max(0, values[c]) / total
		for j := range block {
			floats.AddScaled(axes[k], v.At(j, c), q.RawRowView(j))
		}
		if i := largest(axes[k]); axes[k][i] < 0 {
			floats.Scale(-1, axes[k])
		}
	}
	return axes, share, nil
}

// orthonormal makes the rows so; a row within the span of those before becomes zero.
func orthonormal(q *mat.Dense) {
	rows, _ := q.Dims()
	for i := range rows {
		row := q.RawRowView(i)
		was := floats.Norm(row, 2)
		for range 2 { // twice is enough
			for j := range i {
				floats.AddScaled(row, -floats.Dot(row, q.RawRowView(j)), q.RawRowView(j))
			}
		}
		if is := floats.Norm(row, 2); is > 1e-12*was {
			floats.Scale(1/is, row)
		} else {
			clear(row)
		}
	}
}

func largest(v []float64) int {
	at := 0
	for i := range v {
		if math.Abs(v[i]) > math.Abs(v[at]) {
			at = i
		}
	}
	return at
}
