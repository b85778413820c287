package calvados

import "math"

// The two loops that nearly all time is spent in, and what they read. Each exists in
// Go, which defines the computation, and in AVX2 (kernel_amd64.s), which a test holds
// against it. AVX2 is three times as fast; without it the engine would be slower than OpenMM's vectorised CPU
// platform.

// quad is a bead or a force as the kernels read it: x, y, z in nm and the charge; the fourth value of a force has
// no meaning. For a pair of residue kinds it holds the Ashbaugh–Hatch parameters 24εσ⁶, 48εσ¹², the squared
// distance of the minimum, and λ.
type quad = [4]float64

// The table of e^(−κr): with five terms of the series about the nearest point its error is below 3e-16 at 0.15 M
// and 1e-12 at 5 M.
const (
	decayPoints = 128 // per nm
	decayReach  = 5.0 // nm, beyond any listed pair
)

// nowhere is the coordinate of the bead that pads the lists: beyond any cutoff.
const nowhere = 1e8

// newDecay tabulates e^(−κr) for κ in 1/nm.
func newDecay(kappa float64) []float64 {
	out := make([]float64, decayReach*decayPoints+2)
	for i := range out {
		out[i] = math.Exp(-kappa * float64(i) / decayPoints)
	}
	return out
}

// stick adds Ashbaugh–Hatch between i and its near partners js, whose number is a multiple of four. The loop has no
// branch: the sign bit of a difference selects the scale and masks pairs beyond the cutoff. About half the pairs
// are beyond it, in an order that a branch predictor cannot guess.
func stick(x, force []quad, i int, js []uint32, table *[32]quad) {
	force = force[:len(x)]
	if vector {
		stickAVX(&x[0], &force[0], &js[0], len(js), i, &table[0])
		return
	}
	xi, yi, zi := x[i][0], x[i][1], x[i][2]
	var fx, fy, fz float64
	for _, e := range js {
		j := e & beadMask
		p, t := &x[j], &table[e>>kindShift]
		dx, dy, dz := xi-p[0], yi-p[1], zi-p[2]
		r2 := dx*dx + dy*dy + dz*dz
		inv := 1 / r2
		i3 := inv * inv * inv
		scale := [2]float64{t[3], 1}
		w := inv * i3 * (t[1]*i3 - t[0]) * scale[math.Float64bits(r2-t[2])>>63]
		w = beneath(w, r2-cutAH*cutAH)
		dx, dy, dz = dx*w, dy*w, dz*w
		fx, fy, fz = fx+dx, fy+dy, fz+dz
		q := &force[j]
		q[0] -= dx
		q[1] -= dy
		q[2] -= dz
	}
	q := &force[i]
	q[0] += fx
	q[1] += fy
	q[2] += fz
}

// beneath returns w where d is below 0, else 0, without a branch.
func beneath(w, d float64) float64 {
	return math.Float64frombits(math.Float64bits(w) & uint64(int64(math.Float64bits(d))>>63))
}

// repel adds Debye–Hückel between i and its near charged partners js, whose number is a multiple of four.
func (f *field) repel(x, force []quad, i int, js []uint32) {
	force = force[:len(x)]
	kappa := f.s.kappa
	qa := f.s.coulombA * x[i][3]
	if vector {
		repelAVX(&x[0], &force[0], &js[0], len(js), i, &f.decay[0], -qa, kappa)
		return
	}
	xi, yi, zi := x[i][0], x[i][1], x[i][2]
	var fx, fy, fz float64
	for _, j := range js {
		p := &x[j]
		dx, dy, dz := xi-p[0], yi-p[1], zi-p[2]
		r2 := dx*dx + dy*dy + dz*dz
		r := math.Sqrt(r2)
		inv := 1 / r
		near := r
		if !(r < decayReach) { // what is no number is no index either
			near = decayReach
		}
		at := int(near*decayPoints + 0.5)
		u := kappa * (near - float64(at)*(1.0/decayPoints))
		e := f.decay[at] * (1 + u*(-1+u*(1.0/2+u*(-1.0/6+u*(1.0/24-u*(1.0/120))))))
		w := beneath(qa*p[3]*e*inv*inv*(inv+kappa), r2-cutDH*cutDH)
		dx, dy, dz = dx*w, dy*w, dz*w
		fx, fy, fz = fx+dx, fy+dy, fz+dz
		q := &force[j]
		q[0] -= dx
		q[1] -= dy
		q[2] -= dz
	}
	q := &force[i]
	q[0] += fx
	q[1] += fy
	q[2] += fz
}
