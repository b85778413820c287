package calvados

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat"

	"pleat"
	"pleat/internal/structure"
)

// Analysis holds what [Measure] computes from a trajectory. Slices over time have one value per frame; slices over
// sites (beads, or representative atoms of residues) have one value per site, in order.
type Analysis struct {
	TimesNs     []float64
	RMSDNm      []float64 // from the given structure, or the first frame where none is given
	RgNm        []float64 // mass-weighted radius of gyration of all atoms
	EndToEndNm  []float64 // first to last site of the first chain
	RMSFNm      []float64 // about the mean structure
	PC1Nm       []float64 // projection on the first principal component
	PC2Nm       []float64
	PCShare     [2]float64 // of the fluctuation that each component holds
	ByRMSDAndRg Landscape
	ByPC        Landscape
}

// maxPCAFrames bounds the number of frames from which principal components are computed. All frames are projected
// on them.
const maxPCAFrames = 2000

// Subject describes the molecule of a trajectory: any molecule in which some atoms represent its residues.
type Subject struct {
	Reference []structure.Vec // Å, of every site: what RMSD is from; nil: the first frame
	Sites     []int           // atoms that stand for a residue each, in order; nil: all
	Masses    []float64       // of every atom of the trajectory
	End       int             // the site that ends the first chain
	FramePs   float64         // time between frames; the first comes after as much
	Temp      float64         // K
}

// Analyse measures a trajectory of the system, see [Measure].
func Analyse(ctx context.Context, s *System, t *Trajectory) (*Analysis, error) {
	v := &Subject{Masses: s.Masses(), FramePs: float64(s.params.Every()) * s.params.Step, Temp: s.params.Temp}
	for i, b := range s.beads {
		if b.chain == 0 {
			v.End = i
		}
	}
	if s.params.Preset != SingleIDR {
		for _, p := range s.start {
			v.Reference = append(v.Reference, structure.Vec{p[0] * 10, p[1] * 10, p[2] * 10})
		}
	}
	return Measure(ctx, v, t)
}

// Measure analyses a trajectory. Superposition is least-squares over all sites with equal weight (see
// [structure.Superpose]); the mean structure for RMSF and principal components is refined in two rounds of
// superposition. It returns an error for a trajectory without frames, or with another number of atoms.
func Measure(ctx context.Context, s *Subject, t *Trajectory) (*Analysis, error) {
	if t.Frames() == 0 {
		return nil, pleat.Invalidf("the trajectory has no frames to analyse")
	}
	if t.Atoms() != len(s.Masses) {
		return nil, pleat.Invalidf("the trajectory is of %d atoms and the system of %d; they do not belong together",
			t.Atoms(), len(s.Masses))
	}
	a := &Analysis{}
	f := &frames{t, s.Sites}
	reference := s.Reference
	if reference == nil {
		first, err := t.Read(0, nil)
		if err != nil {
			return nil, err
		}
		reference = f.sitesOf(first, nil)
	}
	if err := a.series(ctx, f, s, reference); err != nil {
		return nil, err
	}
	mean, err := a.fluctuations(ctx, f, reference)
	if err != nil {
		return nil, err
	}
	if err := a.components(ctx, f, mean); err != nil {
		return nil, err
	}
	kT := gas * s.Temp
	a.ByRMSDAndRg = NewLandscape("RMSD (nm)", a.RMSDNm, "Radius of gyration (nm)", a.RgNm, kT)
	a.ByPC = NewLandscape("First principal component (nm)", a.PC1Nm, "Second principal component (nm)", a.PC2Nm, kT)
	return a, nil
}

// frames is a trajectory together with the sites that represent residues.
type frames struct {
	*Trajectory
	sites []int // nil: every atom
}

// sitesOf returns the sites of a frame. It uses dst as a buffer where the sites are a subset of the atoms.
func (f *frames) sitesOf(all, dst []structure.Vec) []structure.Vec {
	if f.sites == nil {
		return all
	}
	dst = dst[:0]
	for _, i := range f.sites {
		dst = append(dst, all[i])
	}
	return dst
}

// forEachFrame calls do with every step-th frame: its index, its sites and all of its atoms, in Å. Both slices are
// valid until the next call.
func (f *frames) forEachFrame(ctx context.Context, step int, do func(i int, x, all []structure.Vec)) error {
	var x, all []structure.Vec
	for i := 0; i < f.Frames(); i += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if all, err = f.Read(i, all); err != nil {
			return err
		}
		x = f.sitesOf(all, x)
		do(i, x, all)
	}
	return nil
}

// series computes the values over time: RMSD, radius of gyration and end-to-end distance.
func (a *Analysis) series(ctx context.Context, t *frames, s *Subject, reference []structure.Vec) error {
	return t.forEachFrame(ctx, 1, func(i int, x, all []structure.Vec) {
		a.TimesNs = append(a.TimesNs, math.Round(float64(i+1)*s.FramePs*1e6)/1e9)
		a.RMSDNm = append(a.RMSDNm, structure.RMSD(x, reference)/10)
		a.RgNm = append(a.RgNm, gyration(s.Masses, all)/10)
		a.EndToEndNm = append(a.EndToEndNm, structure.Distance(x[0], x[s.End])/10)
	})
}

// gyration returns the mass-weighted radius of gyration in the unit of x.
func gyration(masses []float64, x []structure.Vec) float64 {
	var mid structure.Vec
	total := 0.0
	for i, m := range masses {
		total += m
		for k := range mid {
			mid[k] += m * x[i][k]
		}
	}
	sum := 0.0
	for i, m := range masses {
		for k := range mid {
			d := x[i][k] - mid[k]/total
			sum += m * d * d
		}
	}
	return math.Sqrt(sum / total)
}

// fluctuations computes the mean structure, by two rounds of superposition, and each site's root mean square
// deviation from it.
func (a *Analysis) fluctuations(ctx context.Context, t *frames, reference []structure.Vec) ([]structure.Vec, error) {
	n, count := len(reference), float64(t.Frames())
	mean := reference
	for range 2 {
		next := make([]structure.Vec, n)
		target := mean
		err := t.forEachFrame(ctx, 1, func(_ int, x, _ []structure.Vec) {
			rot, trans, _ := structure.Superpose(x, target)
			for i := range x {
				p := structure.Apply(rot, trans, x[i])
				for k := range p {
					next[i][k] += p[k] / count
				}
			}
		})
		if err != nil {
			return nil, err
		}
		mean = next
	}
	a.RMSFNm = make([]float64, n)
	err := t.forEachFrame(ctx, 1, func(_ int, x, _ []structure.Vec) {
		rot, trans, _ := structure.Superpose(x, mean)
		for i := range x {
			d := structure.Distance(structure.Apply(rot, trans, x[i]), mean[i]) / 10
			a.RMSFNm[i] += d * d / count
		}
	})
	for i := range a.RMSFNm {
		a.RMSFNm[i] = math.Sqrt(a.RMSFNm[i])
	}
	return mean, err
}

// Statistic is the mean of a series with its standard deviation and its statistical error.
type Statistic struct {
	Mean, SD float64
	// Error is the standard error of the mean, estimated from blocks of frames, which accounts for the correlation
	// of successive frames. It is a lower bound where the series is shorter than its correlation time, and NaN for
	// fewer than 8 values.
	Error float64
}

// NewStatistic returns the statistic of a series; all fields are NaN for an empty one.
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
