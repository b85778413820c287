package calvados

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"pleat/internal/structure"
)

// The names of a run's files in its folder.
const (
	TopologyFile   = "topology.pdb"   // the beads as CA atoms, where they start
	TrajectoryFile = "trajectory.dcd" // positions in Å, chains whole
	EnergyFile     = "energies.csv"   // a row per frame; units in the names
	CheckpointFile = "checkpoint.bin"
)

// energyHeader is the first row of EnergyFile.
const energyHeader = "time_ns,bond_kj_mol,ashbaugh_hatch_kj_mol,debye_hueckel_kj_mol,restraint_kj_mol," +
	"potential_kj_mol,kinetic_kj_mol,temperature_k\n"

// Hooks are the callbacks of a run. Each may be nil; [Run] calls them from its own goroutine and waits for them.
type Hooks struct {
	// Progress receives the number of steps done and the total, about every 5 ms.
	Progress func(done, total int64)
	// CheckpointEvery is the number of steps between checkpoints; 0: a hundredth of
	// the run, but at least 20 frames or 10,000 steps.
	CheckpointEvery int64
	// CheckpointWithin bounds, in seconds, the expected time between checkpoints, by StepTime; 0: no bound.
	CheckpointWithin float64
	// Saved is called after a durable checkpoint of this step. It may call Pack. An error from it ends the run.
	Saved func(step int64) error
}

// Result describes a finished run.
type Result struct {
	Steps   int64
	Frames  int64
	Resumed int64 // the step it was continued from; 0: from the start
}

// Run simulates the system into the folder dir, which must exist: it minimises, heats to a Maxwell distribution,
// and then runs LengthNs of dynamics with a frame every SaveNs, the first after SaveNs. Where the folder holds a
// checkpoint of the same system, the run continues from it with the same bits as an uninterrupted run; data written
// after the checkpoint is cut off. The trajectory is the same on any number of threads, on processors of one type.
//
// When ctx ends, Run stops within about 20 ms, leaves a checkpoint and returns ctx's error. Where a system becomes
// unstable, the error names the residue.
func Run(ctx context.Context, s *System, dir string, h Hooks) (Result, error) {
	d := NewDynamics(s)
	defer d.Close()
	r := &runner{d: d, s: s, dir: dir, hooks: h}
	from, err := loadCheckpoint(dir, s)
	if err != nil {
		return Result{}, err
	}
	if from == nil {
		if err := d.Minimise(ctx); err != nil {
			return Result{}, err
		}
		d.Heat()
	} else {
		d.restore(from)
	}
	if err := r.open(from); err != nil {
		return Result{}, err
	}
	resumed := d.step
	err = r.loop(ctx)
	err = errors.Join(err, r.close())
	return Result{Steps: d.step, Frames: r.frames, Resumed: resumed}, err
}

// runner is the state of one Run: its open files and how much of them the next checkpoint covers.
type runner struct {
	d          *Dynamics
	s          *System
	dir        string
	hooks      Hooks
	trajectory *os.File
	energies   *os.File
	frames     int64
	energyLen  int64
	saved      int64 // step of the last checkpoint
	buf        []byte
}

// open creates the run's files, or truncates them to the lengths that the checkpoint records.
func (r *runner) open(from *checkpoint) error {
	var top bytes.Buffer
	if err := structure.WritePDB(&top, r.s.Structure(r.s.start), structure.Meta{
		Software: "pleat calvados", Model: string(r.s.params.Residues),
	}); err != nil {
		return fmt.Errorf("write topology: %w", err)
	}
	if err := writeDurable(filepath.Join(r.dir, TopologyFile), top.Bytes()); err != nil {
		return fmt.Errorf("write topology: %w", err)
	}
	var err error
	if r.trajectory, err = os.OpenFile(filepath.Join(r.dir, TrajectoryFile), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("open trajectory: %w", err)
	}
	if r.energies, err = os.OpenFile(filepath.Join(r.dir, EnergyFile), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return errors.Join(fmt.Errorf("open energies: %w", err), r.trajectory.Close())
	}
	if from != nil {
		r.frames, r.energyLen, r.saved = from.frames, from.energy, from.step
	} else {
		r.energyLen = int64(len(energyHeader))
	}
	err = errors.Join(
		r.trajectory.Truncate(dcdStart+r.frames*frameBytes(r.s.Len())),
		r.energies.Truncate(r.energyLen),
		r.head(),
	)
	if from == nil {
		_, e := r.energies.WriteAt([]byte(energyHeader), 0)
		err = errors.Join(err, e)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("prepare trajectory: %w", err), r.trajectory.Close(), r.energies.Close())
	}
	return nil
}

// head writes the trajectory's header with the current number of frames.
func (r *runner) head() error {
	p := &r.s.params
	_, err := r.trajectory.WriteAt(dcdHead(r.s.Len(), r.frames, p.Every(), p.Step), 0)
	return err
}

// close completes the header, syncs and closes the files.
func (r *runner) close() error {
	err := errors.Join(r.head(), r.trajectory.Sync(), r.energies.Sync(), r.trajectory.Close(), r.energies.Close())
	if err != nil {
		return fmt.Errorf("close trajectory: %w", err)
	}
	return nil
}

// loop integrates up to the last step, and writes frames and checkpoints when they are due.
func (r *runner) loop(ctx context.Context) error {
	total, every, save := r.s.params.Steps(), r.s.params.Every(), r.checkpointSteps()
	burst := int64(max(1, 16_000/r.s.Len())) // about 5 ms
	for r.d.step < total {
		if err := ctx.Err(); err != nil {
			if r.d.step > r.saved {
				return errors.Join(err, r.saveCheckpoint())
			}
			return err
		}
		n := min(burst, total-r.d.step, every-r.d.step%every, save-r.d.step%save)
		r.d.Advance(int(n))
		if r.d.step%every == 0 {
			if err := r.frame(); err != nil {
				return err
			}
		}
		if r.d.step%save == 0 && r.d.step < total {
			if err := r.checkpoint(); err != nil {
				return err
			}
		}
		if r.hooks.Progress != nil {
			r.hooks.Progress(r.d.step, total)
		}
	}
	if err := r.d.finite(); err != nil {
		return err
	}
	return r.checkpoint()
}

// checkpointSteps returns the number of steps between checkpoints.
func (r *runner) checkpointSteps() int64 {
	p := &r.s.params
	save := r.hooks.CheckpointEvery
	if save <= 0 {
		save = max(p.Steps()/100, min(20*p.Every(), 10_000))
	}
	if within := r.hooks.CheckpointWithin; within > 0 {
		save = min(save, max(1, int64(within/StepTime(r.s.Len()))))
	}
	return save
}

// frame writes the current positions to the trajectory and one row to the energies.
func (r *runner) frame() error {
	if err := r.d.finite(); err != nil {
		return err
	}
	r.buf = appendFrame(r.buf[:0], r.s.unwrapped(r.d.x), r.s.params.Box)
	if _, err := r.trajectory.WriteAt(r.buf, dcdStart+r.frames*frameBytes(r.s.Len())); err != nil {
		return fmt.Errorf("write frame %d: %w", r.frames, err)
	}
	e, kinetic := r.d.Energy(), r.d.Kinetic()
	row := r.buf[:0]
	time := math.Round(float64(r.d.step)*r.s.params.Step*1e6) / 1e9
	for k, v := range []float64{time, e.Bond, e.AshbaughHatch, e.DebyeHuckel, e.Restraint, e.Total(), kinetic,
		r.d.Temperature()} {
		if k > 0 {
			row = append(row, ',')
		}
		row = strconv.AppendFloat(row, v, 'g', 9, 64)
	}
	row = append(row, '\n')
	if _, err := r.energies.WriteAt(row, r.energyLen); err != nil {
		return fmt.Errorf("write energies: %w", err)
	}
	r.frames++
	r.energyLen += int64(len(row))
	return nil
}

// checkpoint saves a checkpoint and calls the hook Saved.
func (r *runner) checkpoint() error {
	if err := r.saveCheckpoint(); err != nil || r.hooks.Saved == nil {
		return err
	}
	return r.hooks.Saved(r.d.step)
}

// saveCheckpoint syncs the written data and then writes the checkpoint that refers to it.
func (r *runner) saveCheckpoint() error {
	if err := r.d.finite(); err != nil {
		return err
	}
	if err := errors.Join(r.head(), r.trajectory.Sync(), r.energies.Sync()); err != nil {
		return fmt.Errorf("write trajectory: %w", err)
	}
	if err := writeDurable(filepath.Join(r.dir, CheckpointFile),
		r.d.checkpoint(r.frames, r.energyLen).encode()); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	r.saved = r.d.step
	return nil
}

// unwrapped returns x with every chain in one piece: the first with its centre in the box, the others at the nearest
// image.
func (s *System) unwrapped(x []vec) []vec {
	box := s.params.Box
	out := append([]vec(nil), x...)
	var first vec
	for from := 0; from < len(out); {
		to := from
		var mid vec
		for to < len(out) && s.beads[to].chain == s.beads[from].chain {
			for k := range 3 {
				mid[k] += out[to][k]
			}
			to++
		}
		for k := range 3 {
			mid[k] /= float64(to - from)
			shift := box * math.Floor(mid[k]/box)
			if from > 0 {
				shift = box * math.RoundToEven((mid[k]-first[k])/box)
			} else {
				first[k] = mid[k] - shift
			}
			for i := from; i < to; i++ {
				out[i][k] -= shift
			}
		}
		from = to
	}
	return out
}

// Structure returns the system as files show it: each bead is the CA of its residue, at x in nm, with pLDDT as
// B-factor. Chains keep their one-letter ids; where one has a longer id, all get new letters in order, because PDB
// holds only one.
func (s *System) Structure(x [][3]float64) *structure.Structure {
	s.checkLen(x)
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	m := s.molecule
	fresh := false
	for i := range m.Chains {
		fresh = fresh || len(m.Chains[i].ID) != 1
	}
	out := &structure.Structure{Title: "Coarse-grained dynamics, one bead per residue"}
	i := 0
	for c := range m.Chains {
		chain := structure.Chain{ID: m.Chains[c].ID, Kind: structure.Protein, Entity: c + 1}
		if fresh && c < len(letters) {
			chain.ID = letters[c : c+1]
		}
		for k, site := range m.Chains[c].Sites {
			chain.Residues = append(chain.Residues, structure.Residue{
				Comp: residues[s.beads[i].kind].name,
				Seq:  k + 1,
				Auth: site.Number,
				Ins:  site.Ins,
				Atoms: []structure.Atom{
					{Name: "CA", Element: "C", Pos: structure.Vec{x[i][0] * 10, x[i][1] * 10, x[i][2] * 10},
						B: site.PLDDT, Occupancy: 1},
				},
			})
			i++
		}
		out.Chains = append(out.Chains, chain)
	}
	return out
}
