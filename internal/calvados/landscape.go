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

// Landscape is a free energy over two coordinates: −RT ln p, 0 in the most populated bin.
type Landscape struct {
	X      Axis `json:"x"`
	Y      Axis `json:"y"`
	Energy Grid `json:"energy_kj_mol"` // bin ix along x, iy along y at iy·X.Bins + ix
}

// Axis is a coordinate divided into equal bins.
type Axis struct {
	Label string  `json:"label"` // with the unit
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Bins  int     `json:"bins"`
}

// Grid holds energies in kJ/mol; +Inf, in JSON null, for bins that no frame visited.
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

// NewLandscape bins the points (x[i], y[i]) and returns −kT ln of each bin's fraction, kT in kJ/mol. Each side has
// about as many bins as the square root of the number of points, 5 to 50. The result shows what was sampled; it is
// the equilibrium only if the run was long. It panics where there are no points, or where x and y differ in length.
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

// axisOf returns an axis over the range of v, widened where all values are equal.
func axisOf(label string, v []float64, bins int) Axis {
	lo, hi := slices.Min(v), slices.Max(v)
	if hi-lo <= 1e-9*max(1, math.Abs(hi)) {
		lo, hi = lo-0.05, hi+0.05
	}
	return Axis{label, lo, hi, bins}
}

// bin returns the bin of v, clamped to the axis.
func (a Axis) bin(v float64) int {
	return max(0, min(int((v-a.Min)/(a.Max-a.Min)*float64(a.Bins)), a.Bins-1))
}

// components computes the two principal components of the fluctuation about the mean, in frames superposed on it,
// and each frame's projection on them in nm (of the whole molecule: the square root of the sum over sites).
func (a *Analysis) components(ctx context.Context, t *frames, mean []structure.Vec) error {
	step := (t.Frames() + maxPCAFrames - 1) / maxPCAFrames
	rows := (t.Frames() + step - 1) / step
	n := 3 * len(mean)
	x := mat.NewDense(rows, n, nil)
	err := t.forEachFrame(ctx, step, func(i int, frame, _ []structure.Vec) {
		displacement(x.RawRowView(i/step), frame, mean)
	})
	if err != nil {
		return err
	}
	axes, share, err := principal(ctx, x)
	if err != nil {
		return err
	}
	a.PCShare = share
	row := make([]float64, n)
	return t.forEachFrame(ctx, 1, func(_ int, frame, _ []structure.Vec) {
		displacement(row, frame, mean)
		var p [2]float64
		for i, v := range row {
			p[0] += v * axes[0][i]
			p[1] += v * axes[1][i]
		}
		a.PC1Nm, a.PC2Nm = append(a.PC1Nm, p[0]), append(a.PC2Nm, p[1])
	})
}

// displacement superposes a frame in Å on the mean and writes the differences in nm to row.
func displacement(row []float64, frame, mean []structure.Vec) {
	rot, trans, _ := structure.Superpose(frame, mean)
	for i := range frame {
		p := structure.Apply(rot, trans, frame[i])
		for k := range p {
			row[3*i+k] = (p[k] - mean[i][k]) / 10
		}
	}
}

// principal returns the two leading right singular vectors of x and the fraction of its sum of squares that each
// explains, by subspace iteration with a block of six. Where the singular values after the second are nearly equal,
// any mixture of their vectors serves equally well. The sign makes the largest element positive.
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

// orthonormal makes the rows orthonormal; a row within the span of earlier ones becomes zero.
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

// largest returns the index of the element with the largest absolute value.
func largest(v []float64) int {
	at := 0
	for i := range v {
		if math.Abs(v[i]) > math.Abs(v[at]) {
			at = i
		}
	}
	return at
}
