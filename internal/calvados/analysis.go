package calvados

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat"

	"pleat"
	"pleat/internal/structure"
)

// Analysis is what is measured on a trajectory. Slices over time have one value per
// frame, those over beads one per bead in order.
type Analysis struct {
	TimesNs     []float64
	RMSDNm      []float64 // from the given structure, or the first frame of a disordered chain
	RgNm        []float64 // mass-weighted radius of gyration of all chains together
	EndToEndNm  []float64 // first to last bead of the first chain
	RMSFNm      []float64 // about the mean structure
	PC1Nm       []float64 // projection on the first principal component
	PC2Nm       []float64
	PCShare     [2]float64 // of the fluctuation that each component holds
	ByRMSDAndRg Landscape
	ByPC        Landscape
}

// maxPCAFrames bounds the frames that the principal components are found from; all
// frames are then projected on them.
const maxPCAFrames = 2000

// Analyse measures a trajectory of the system. Superposition is least-squares over
// all beads with equal weight (see structure.Superpose); the mean structure for RMSF
// and principal components is superposed on until it stands, two rounds. A
// trajectory without frames, or of another number of beads, is refused.
func Analyse(ctx context.Context, s *System, t *Trajectory) (*Analysis, error) {
	if t.Frames() == 0 {
		return nil, pleat.Invalidf("the trajectory has no frames to analyse")
	}
	if t.Atoms() != s.Len() {
		return nil, pleat.Invalidf("the trajectory is of %d beads and the system of %d; they do not belong together", t.Atoms(), s.Len())
	}
	a := &Analysis{}
	reference := make([]structure.Vec, s.Len())
	for i, p := range s.start {
		reference[i] = structure.Vec{p[0] * 10, p[1] * 10, p[2] * 10}
	}
	if s.params.Preset == SingleIDR {
		var err error
		if reference, err = t.Read(0, nil); err != nil {
			return nil, err
		}
	}
	if err := a.series(ctx, t, s, reference); err != nil {
		return nil, err
	}
	mean, err := a.fluctuations(ctx, t, reference)
	if err != nil {
		return nil, err
	}
	if err := a.components(ctx, t, mean); err != nil {
		return nil, err
	}
	kT := gas * s.params.Temp
	a.ByRMSDAndRg = NewLandscape("RMSD (nm)", a.RMSDNm, "Radius of gyration (nm)", a.RgNm, kT)
	a.ByPC = NewLandscape("First principal component (nm)", a.PC1Nm, "Second principal component (nm)", a.PC2Nm, kT)
	return a, nil
}

// eachFrame reads every step-th frame of a trajectory in turn; x holds until the next.
func eachFrame(ctx context.Context, t *Trajectory, step int, f func(i int, x []structure.Vec)) error {
	var x []structure.Vec
	for i := 0; i < t.Frames(); i += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if x, err = t.Read(i, x); err != nil {
			return err
		}
		f(i, x)
	}
	return nil
}

func (a *Analysis) series(ctx context.Context, t *Trajectory, s *System, reference []structure.Vec) error {
	last := 0
	for last+1 < s.Len() && s.beads[last+1].chain == 0 {
		last++
	}
	return eachFrame(ctx, t, 1, func(i int, x []structure.Vec) {
		a.TimesNs = append(a.TimesNs, math.Round(float64(i+1)*float64(s.params.Every())*s.params.Step*1e6)/1e9)
		a.RMSDNm = append(a.RMSDNm, structure.RMSD(x, reference)/10)
		a.RgNm = append(a.RgNm, s.gyration(x)/10)
		a.EndToEndNm = append(a.EndToEndNm, structure.Distance(x[0], x[last])/10)
	})
}

// gyration is the mass-weighted radius of gyration in the units of x.
func (s *System) gyration(x []structure.Vec) float64 {
	var mid structure.Vec
	for i := range x {
		for k := range mid {
			mid[k] += s.beads[i].mass * x[i][k] / s.totalMass
		}
	}
	sum := 0.0
	for i := range x {
		for k := range mid {
			d := x[i][k] - mid[k]
			sum += s.beads[i].mass * d * d
		}
	}
	return math.Sqrt(sum / s.totalMass)
}

// fluctuations finds the mean structure, superposed on itself, and each bead's root
// mean square deviation from it.
func (a *Analysis) fluctuations(ctx context.Context, t *Trajectory, reference []structure.Vec) ([]structure.Vec, error) {
	n, frames := len(reference), float64(t.Frames())
	mean := reference
	for range 2 {
		next := make([]structure.Vec, n)
		target := mean
		err := eachFrame(ctx, t, 1, func(_ int, x []structure.Vec) {
			rot, trans, _ := structure.Superpose(x, target)
			for i := range x {
				p := structure.Apply(rot, trans, x[i])
				for k := range p {
					next[i][k] += p[k] / frames
				}
			}
		})
		if err != nil {
			return nil, err
		}
		mean = next
	}
	a.RMSFNm = make([]float64, n)
	err := eachFrame(ctx, t, 1, func(_ int, x []structure.Vec) {
		rot, trans, _ := structure.Superpose(x, mean)
		for i := range x {
			d := structure.Distance(structure.Apply(rot, trans, x[i]), mean[i]) / 10
			a.RMSFNm[i] += d * d / frames
		}
	})
	for i := range a.RMSFNm {
		a.RMSFNm[i] = math.Sqrt(a.RMSFNm[i])
	}
	return mean, err
}

// Statistic is the mean of a series and how well it is known.
type Statistic struct {
	Mean, SD float64
	// Error is the standard error of the mean from blocks of frames, which allows for
	// frames that are alike because they follow one another. It is a lower bound where
	// the series is no longer than its memory; NaN for fewer than 8 values.
	Error float64
}

// NewStatistic of a series; of none, all NaN.
//
// Source: Flyvbjerg and Petersen, J. Chem. Phys. 91, 461 (1989).
func NewStatistic(values []float64) Statistic {
	if len(values) == 0 {
		return Statistic{math.NaN(), math.NaN(), math.NaN()}
	}
	out := Statistic{Mean: stat.Mean(values, nil), Error: math.NaN()}
	if len(values) > 1 {
		out.SD = stat.StdDev(values, nil)
	}
	blocks := append([]float64(nil), values...)
	for len(blocks) >= 8 {
		if e := stat.StdErr(stat.StdDev(blocks, nil), float64(len(blocks))); !(e <= out.Error) {
			out.Error = e
		}
		for i := range len(blocks) / 2 {
			blocks[i] = (blocks[2*i] + blocks[2*i+1]) / 2
		}
		blocks = blocks[:len(blocks)/2]
	}
	return out
}
