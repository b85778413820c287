package report

import (
	"context"
	"encoding/csv"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"pleat"
	"pleat/internal/calvados"
	"pleat/internal/facts"
	"pleat/internal/flow"
	"pleat/internal/plot"
	"pleat/internal/structure"
)

// Trajectory is an analysed trajectory of a simulation. The analysis is the same for every engine: see
// calvados.Measure.
type Trajectory struct {
	Analysis *calvados.Analysis
	Profiles []plot.Profile // RMSF in nm, by chain
	Frames   int
}

// MeasureTrajectory analyses the trajectory (DCD in Å, size bytes) of a simulation whose atoms are those of the
// topology. It stops when ctx ends. An error says what is wrong with the trajectory.
func MeasureTrajectory(
	ctx context.Context, w *pleat.MDInput, topology *structure.Structure, dcd io.ReaderAt, size int64,
) (*Trajectory, error) {
	subject, chains := measured(topology, w)
	t, err := calvados.OpenTrajectory(dcd, size)
	if err != nil {
		return nil, err
	}
	a, err := calvados.Measure(ctx, subject, t)
	if err != nil {
		return nil, err
	}
	return &Trajectory{Analysis: a, Profiles: Profiles(a.RMSFNm, chains), Frames: t.Frames()}, nil
}

// Profiles splits the values of all sites by chain; the lengths of the chains add up to the number of values.
func Profiles(values []float64, chains []plot.Chain) []plot.Profile {
	var out []plot.Profile
	next := 0
	for _, c := range chains {
		out = append(out, plot.Profile{Name: c.Name, Values: values[next : next+c.Length]})
		next += c.Length
	}
	return out
}

// measured returns what to measure of a topology, and the number of sites of each chain. The alpha carbon represents
// its residue, C1' in a nucleic acid. If there is no such atom, every atom is a site. The end-to-end distance is that
// of the first chain.
func measured(topology *structure.Structure, in *pleat.MDInput) (*calvados.Subject, []plot.Chain) {
	s := &calvados.Subject{FramePs: in.StepNs * 1000, Temp: in.Temp}
	var chains []plot.Chain
	var all []structure.Vec
	for _, c := range topology.Chains {
		before := len(s.Sites)
		for i := range c.Residues {
			centre, ok := c.Residues[i].Centre()
			for _, a := range c.Residues[i].Atoms {
				if ok && c.Kind.Polymer() && a.Pos == centre {
					s.Sites, s.Reference, ok = append(s.Sites, len(all)), append(s.Reference, a.Pos), false
				}
				all = append(all, a.Pos)
				s.Masses = append(s.Masses, structure.Mass(a.Element))
			}
		}
		if n := len(s.Sites) - before; n > 0 {
			chains = append(chains, plot.Chain{Name: c.ID, Length: n})
		}
	}
	if s.Sites == nil {
		s.Reference, s.End = all, len(all)-1
		return s, []plot.Chain{{Name: "", Length: len(all)}}
	}
	s.End = chains[0].Length - 1
	return s, chains
}

// DynamicsMetrics returns the metrics of an analysis as the row of a workflow has them: lengths in nm, energies in
// kJ/mol. The caller adds temperature, time and counts.
func DynamicsMetrics(a *calvados.Analysis) flow.Metrics {
	pca := landscape(a.ByPC, "free_energy_pca")
	m := flow.Metrics{
		RMSD:      series(a.RMSDNm, "rmsd"),
		RMSF:      series(a.RMSFNm, "rmsf"),
		Rg:        series(a.RgNm, "radius_of_gyration"),
		EndToEnd:  series(a.EndToEndNm, ""),
		Landscape: landscape(a.ByRMSDAndRg, "free_energy"),
		PCA:       &pca,
	}
	m.RMSF.Error = nil // residues are no time series, for which the error of the mean is defined
	return m
}

// series returns the statistics of values in nm: mean, standard deviation, error of the mean and extremes. figure is
// the name of their figure; empty: there is none.
func series(v []float64, figure string) flow.Series {
	s := calvados.NewStatistic(v)
	out := flow.Series{
		Unit: "nm",
		Mean: rounded5(s.Mean),
		SD:   rounded5(s.SD),
		Min:  rounded5(slices.Min(v)),
		Max:  rounded5(slices.Max(v)),
	}
	if !math.IsNaN(s.Error) {
		out.Error = new(rounded5(s.Error))
	}
	if figure != "" {
		out.Plot = figure + ".svg"
	}
	return out
}

// rounded5 keeps the significant digits of a length in nm. A value that is not finite becomes 0.
func rounded5(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return facts.Round(v, 5)
}

// landscape returns the summary of a free-energy landscape: its lowest bin, its highest energy in kJ/mol, and the
// visited fraction of bins.
func landscape(l calvados.Landscape, figure string) flow.LandscapeSummary {
	out := flow.LandscapeSummary{Unit: "kJ/mol", X: l.X.Label, Y: l.Y.Label, Plot: figure + ".svg"}
	visited, lowest := 0, math.Inf(1)
	for i, e := range l.Energy {
		if math.IsInf(e, 0) || math.IsNaN(e) {
			continue
		}
		visited++
		out.Highest = max(out.Highest, rounded5(e))
		if e < lowest {
			lowest = e
			out.MinX, out.MinY = binCentre(l.X, i%l.X.Bins), binCentre(l.Y, i/l.X.Bins)
		}
	}
	out.Visited = rounded5(float64(visited) / float64(len(l.Energy)))
	return out
}

// binCentre returns the value at the centre of a bin of an axis.
func binCentre(a calvados.Axis, bin int) float64 {
	return rounded5(a.Min + (float64(bin)+0.5)*(a.Max-a.Min)/float64(a.Bins))
}

// roundedLengths rounds a series of lengths in nm.
func roundedLengths(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = rounded5(x)
	}
	return out
}

// MeanTemperature returns the mean kinetic temperature over the frames, in K, from a table of energies (CSV). It is 0
// if there is no such table or column.
func MeanTemperature(path string) float64 {
	in, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer in.Close()
	rows := csv.NewReader(in)
	rows.ReuseRecord = true
	total, n, column := 0.0, 0, -1
	for {
		rec, err := rows.Read()
		if err != nil {
			break
		}
		if column < 0 {
			if column = slices.Index(rec, "temperature_k"); column < 0 {
				return 0
			}
			continue
		}
		if v, err := strconv.ParseFloat(rec[column], 64); err == nil {
			total += v
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return facts.Round(total/float64(n), 2)
}
