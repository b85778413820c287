package calvados

import (
	"context"
	"math"

	"pleat"
)

// Dynamics is a system in motion. It is not safe for concurrent use; [Dynamics.Close] ends its threads.
//
// The integrator is the middle scheme of Langevin dynamics in its leap-frog form: kick, half drift, friction and
// noise, half drift (Zhang, Liu, Yan, Tuckerman and Liu, J. Phys. Chem. A 123, 6056 (2019)), which OpenMM calls
// LangevinMiddleIntegrator. Velocities are those of half steps, whose mean kinetic energy is correct where that of
// whole steps is not. At friction 0 it is leap-frog at constant energy.
type Dynamics struct {
	s     *System
	field *field
	pool  *workerPool
	noise noise
	step  int64
	x, v  []vec
	xi    []vec // Gaussian numbers of the step in progress
	kick  []float64
	heat  []float64
	keep  float64 // part of the velocity that friction leaves
}

// NewDynamics returns the system at its start positions, at rest.
func NewDynamics(s *System) *Dynamics {
	n := len(s.beads)
	d := &Dynamics{
		s:     s,
		field: newField(s),
		noise: newNoise(s.params.Seed),
		x:     append([]vec(nil), s.start...),
		v:     make([]vec, n),
		xi:    make([]vec, n),
	}
	dt := s.params.Step
	d.keep = math.Exp(-s.params.Friction * dt)
	kT := gas * s.params.Temp
	for i := range s.beads {
		d.kick = append(d.kick, dt/s.beads[i].mass)
		d.heat = append(d.heat, math.Sqrt((1-d.keep*d.keep)*kT/s.beads[i].mass))
	}
	shards := len(d.field.shards)
	if threads := min(s.params.workers(), shards); threads > 1 {
		d.pool = newWorkerPool(threads, shards+1, func(k int) {
			if k == 0 {
				d.draw()
			} else {
				d.field.shard(k - 1)
			}
		})
	}
	return d
}

// Close ends the threads. The dynamics cannot be used afterwards.
func (d *Dynamics) Close() {
	if d.pool != nil {
		d.pool.close()
		d.pool = nil
	}
}

// draw fills xi for one step. It runs concurrently with the forces, which do not need it.
func (d *Dynamics) draw() {
	if d.s.params.Friction == 0 {
		return
	}
	for i := range d.xi {
		d.xi[i] = vec{d.noise.gauss(), d.noise.gauss(), d.noise.gauss()}
	}
}

// Heat draws velocities from the Maxwell distribution at the system's temperature.
func (d *Dynamics) Heat() {
	kT := gas * d.s.params.Temp
	for i := range d.v {
		w := math.Sqrt(kT / d.s.beads[i].mass)
		d.v[i] = vec{w * d.noise.gauss(), w * d.noise.gauss(), w * d.noise.gauss()}
	}
}

// Advance integrates n steps.
func (d *Dynamics) Advance(n int) {
	half := d.s.params.Step / 2
	for range n {
		if d.pool == nil {
			d.draw()
		}
		d.field.forces(d.x, d.pool)
		force := d.field.force[:len(d.x)]
		v, xi, kick, heat := d.v[:len(d.x)], d.xi[:len(d.x)], d.kick[:len(d.x)], d.heat[:len(d.x)]
		for i := range d.x {
			p, w, f, g := &d.x[i], &v[i], &force[i], &xi[i]
			for k := range 3 {
				u := w[k] + kick[i]*f[k]
				p[k] += half * u
				u = d.keep*u + heat[i]*g[k]
				p[k] += half * u
				w[k] = u
			}
		}
		d.step++
	}
}

// Positions returns the positions of the beads in nm, which may lie outside the box. The slice changes with the
// next step.
func (d *Dynamics) Positions() [][3]float64 { return d.x }

// Energy returns the potential energy of the current positions.
func (d *Dynamics) Energy() Energy { return d.field.energy(d.x) }

// Kinetic returns the kinetic energy in kJ/mol of the velocities at the last half step.
func (d *Dynamics) Kinetic() float64 {
	sum := 0.0
	for i, v := range d.v {
		sum += d.s.beads[i].mass * (v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	}
	return sum / 2
}

// Temperature returns the temperature in K of the kinetic energy, over 3N degrees of freedom.
func (d *Dynamics) Temperature() float64 {
	return 2 * d.Kinetic() / (3 * float64(len(d.v)) * gas)
}

// finite returns an error that names a residue whose position is not finite or too far away.
func (d *Dynamics) finite() error {
	for i, p := range d.x {
		if !(math.Abs(p[0])+math.Abs(p[1])+math.Abs(p[2]) < 1e7) {
			return pleat.Errorf(pleat.CodeInternal,
				"the run became unstable before step %d: residue %s left for infinity", d.step, d.s.site(i))
		}
	}
	return nil
}

// Minimise moves the beads downhill until the root mean square force is below 10 kJ/mol/nm, or for at most 5,000
// steps, which is sufficient to start from. It stops early when ctx ends.
//
// Source: FIRE, Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006), with a bounded step length so that overlapping
// beads separate gently.
func (d *Dynamics) Minimise(ctx context.Context) error {
	const (
		tolerance = 10.0
		steps     = 5000
		longest   = 0.02 // nm in one step
		first     = 0.002
		most      = 0.02 // ps
	)
	n := len(d.x)
	v := make([]vec, n)
	dt, alpha, since := first, 0.1, 0
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.field.forces(d.x, nil)
		force := d.field.force[:n]
		var power, ff, vv float64
		for i := range force {
			for k := range 3 {
				power += force[i][k] * v[i][k]
				ff += force[i][k] * force[i][k]
				vv += v[i][k] * v[i][k]
			}
		}
		if ff <= tolerance*tolerance*3*float64(n) {
			break
		}
		if !(power > 0) {
			clear(v)
			dt, alpha, since = max(dt*0.5, 1e-6), 0.1, 0
			vv = 0
		} else if since++; since > 5 {
			dt, alpha = min(dt*1.1, most), alpha*0.99
		}
		mix := alpha * math.Sqrt(vv/ff)
		for i := range v {
			long := 0.0
			for k := range 3 {
				v[i][k] = (1-alpha)*v[i][k] + mix*force[i][k] + dt*force[i][k]/d.s.beads[i].mass
				long += v[i][k] * v[i][k]
			}
			move := dt
			if long = math.Sqrt(long) * dt; long > longest {
				move *= longest / long
			}
			for k := range 3 {
				d.x[i][k] += move * v[i][k]
			}
		}
	}
	d.field.listed = false
	return d.finite()
}
