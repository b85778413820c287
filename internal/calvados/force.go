package calvados

import "math"

// shard is a range of rows i whose forces are summed into one buffer. The number of shards and their rows depend on
// the beads and the lists alone, never on the number of threads, so that forces have the same bits on any number.
type shard struct {
	lo, hi                int
	bonds, contacts, weak [2]int // ranges of the system's lists whose i lies in the rows
	f                     []quad
}

// field computes the forces of a system. It is the working memory of one run and is not safe for concurrent use.
type field struct {
	s      *System
	lists  lists
	listed bool
	images bool // some static pair may need its nearest image
	shards []shard
	x      []quad // beads of the evaluation in progress, and one nowhere
	force  []quad
	decay  []float64
	cost   []float64
}

// shardCount returns the number of shards for n beads: one where a second thread costs more than it saves.
func shardCount(n int) int {
	switch {
	case n < 200:
		return 1
	case n < 800:
		return 4
	}
	return 16
}

// newField allocates the buffers for a system. Lists are built at the first evaluation.
func newField(s *System) *field {
	n := len(s.beads)
	f := &field{
		s:     s,
		x:     make([]quad, n+1),
		force: make([]quad, n+1),
		decay: newDecay(s.kappa),
		cost:  make([]float64, n),
	}
	for i := range s.beads {
		f.x[i][3] = s.beads[i].charge
	}
	f.x[n] = quad{nowhere, nowhere, nowhere, 0}
	f.shards = make([]shard, shardCount(n))
	for k := range f.shards {
		if f.shards[k].f = f.force; k > 0 {
			f.shards[k].f = make([]quad, n+1)
		}
	}
	return f
}

// load copies the positions x, and rebuilds the lists where beads have moved too far.
func (f *field) load(x []vec) {
	for i := range x {
		p := &f.x[i]
		p[0], p[1], p[2] = x[i][0], x[i][1], x[i][2]
	}
	if !f.listed || f.lists.moved(x) {
		f.relist(x)
	}
}

// relist builds the neighbour lists and the shards for x.
func (f *field) relist(x []vec) {
	f.lists.build(f.s, x)
	f.listed = true
	f.images = false
	lo, hi := x[0], x[0]
	for i := range x {
		for k := range 3 {
			lo[k], hi[k] = min(lo[k], x[i][k]), max(hi[k], x[i][k])
		}
	}
	for k := range 3 {
		f.images = f.images || hi[k]-lo[k] > f.s.params.Box/2-skin
	}
	f.divide()
}

// divide assigns rows of about equal cost to the shards.
func (f *field) divide() {
	n := len(f.cost)
	total := 0.0
	for i := range n {
		f.cost[i] = 2 + float64(len(f.lists.ah.partners(i))) + 1.7*float64(len(f.lists.dh.partners(i))) +
			2*float64(len(f.lists.farAH.partners(i))) + 4*float64(len(f.lists.farDH.partners(i)))
	}
	for _, b := range f.s.bonds {
		f.cost[b.i] += 2
	}
	for _, c := range f.s.contacts {
		f.cost[c.i]++
	}
	for _, c := range f.s.weak {
		f.cost[c.i] += 10
	}
	for _, c := range f.cost {
		total += c
	}
	row, sum := 0, 0.0
	var b, c, w int
	for k := range f.shards {
		sh := &f.shards[k]
		sh.lo = row
		sh.bonds[0], sh.contacts[0], sh.weak[0] = b, c, w
		for row < n && (k == len(f.shards)-1 || sum+f.cost[row]/2 < total*float64(k+1)/float64(len(f.shards))) {
			sum += f.cost[row]
			row++
		}
		sh.hi = row
		for b < len(f.s.bonds) && int(f.s.bonds[b].i) < row {
			b++
		}
		for c < len(f.s.contacts) && int(f.s.contacts[c].i) < row {
			c++
		}
		for w < len(f.s.weak) && int(f.s.weak[w].i) < row {
			w++
		}
		sh.bonds[1], sh.contacts[1], sh.weak[1] = b, c, w
	}
}

// forces computes the forces at x in kJ/mol/nm into f.force, in shards that the pool computes. Without a
// pool (nil), the caller computes them.
func (f *field) forces(x []vec, pool *workerPool) {
	f.load(x)
	if pool == nil {
		for k := range f.shards {
			f.shard(k)
		}
	} else {
		pool.run()
	}
	f.sum()
}

// sum adds the shards' forces, in their order, to those of the first, which is f.force. A shard touches no row
// before its first.
func (f *field) sum() {
	for k := 1; k < len(f.shards); k++ {
		from := f.shards[k].lo
		part, all := f.shards[k].f[from:], f.force[from:]
		for i := range part {
			p, a := &part[i], &all[i]
			a[0] += p[0]
			a[1] += p[1]
			a[2] += p[2]
		}
	}
}

// shard computes the forces of one shard.
func (f *field) shard(k int) {
	sh := &f.shards[k]
	from := sh.lo
	if k == 0 {
		from = 0
	}
	clear(sh.f[from:])
	s, x, l := f.s, f.x, &f.lists
	for i := sh.lo; i < sh.hi; i++ {
		if js := l.ah.partners(i); len(js) > 0 {
			stick(x, sh.f, i, js, &s.hot[s.beads[i].kind])
		}
		if js := l.dh.partners(i); len(js) > 0 {
			f.repel(x, sh.f, i, js)
		}
		if js := l.farAH.partners(i); len(js) > 0 {
			f.stickFar(sh.f, i, js)
		}
		if js := l.farDH.partners(i); len(js) > 0 {
			f.repelFar(sh.f, i, js)
		}
	}
	f.bonded(sh.f, s.bonds[sh.bonds[0]:sh.bonds[1]])
	f.restrained(sh.f, s.contacts[sh.contacts[0]:sh.contacts[1]])
	f.addWeakContacts(sh.f, s.weak[sh.weak[0]:sh.weak[1]])
}

// difference returns x_i − x_j of the nearest image, in nm, and its square.
func (f *field) difference(i, j int) (dx, dy, dz, r2 float64) {
	p, q := &f.x[i], &f.x[j]
	dx, dy, dz = p[0]-q[0], p[1]-q[1], p[2]-q[2]
	if f.images {
		box := f.s.params.Box
		dx, dy, dz = nearest(dx, box), nearest(dy, box), nearest(dz, box)
	}
	return dx, dy, dz, dx*dx + dy*dy + dz*dz
}

// push adds w·(dx,dy,dz) to the force on i and subtracts it from that on j.
func push(force []quad, i, j int, w, dx, dy, dz float64) {
	a, b := &force[i], &force[j]
	a[0] += w * dx
	a[1] += w * dy
	a[2] += w * dz
	b[0] -= w * dx
	b[1] -= w * dy
	b[2] -= w * dz
}

// ahForce returns the Ashbaugh–Hatch force divided by the distance, without cutoff.
func (t *sticky) ahForce(r2 float64) float64 {
	inv := 1 / r2
	i3 := inv * inv * inv
	w := inv * i3 * (t.c12*i3 - t.c6)
	if r2 >= t.min2 {
		w *= t.lambda
	}
	return w
}

// dhForce returns the Debye–Hückel force divided by the distance, per unit charge product and without cutoff.
func (s *System) dhForce(r2 float64) float64 {
	r := math.Sqrt(r2)
	return s.coulombA * math.Exp(-s.kappa*r) * (1/r + s.kappa) / r2
}

// stickFar adds Ashbaugh–Hatch between i and its far partners js.
func (f *field) stickFar(force []quad, i int, js []uint32) {
	t := &f.s.table[f.s.beads[i].kind]
	for _, e := range js {
		j := int(e & beadMask)
		if dx, dy, dz, r2 := f.difference(i, j); r2 < cutAH*cutAH {
			push(force, i, j, t[e>>kindShift].ahForce(r2), dx, dy, dz)
		}
	}
}

// repelFar adds Debye–Hückel between i and its far charged partners js.
func (f *field) repelFar(force []quad, i int, js []uint32) {
	for _, e := range js {
		j := int(e)
		if dx, dy, dz, r2 := f.difference(i, j); r2 < cutDH*cutDH {
			push(force, i, j, f.x[i][3]*f.x[j][3]*f.s.dhForce(r2), dx, dy, dz)
		}
	}
}

// bonded adds the harmonic bonds.
func (f *field) bonded(force []quad, bonds []bond) {
	for k := range bonds {
		b := &bonds[k]
		dx, dy, dz, r2 := f.difference(int(b.i), int(b.j))
		push(force, int(b.i), int(b.j), bondK*(b.r0/math.Sqrt(r2)-1), dx, dy, dz)
	}
}

// restrained adds the Gō restraints.
func (f *field) restrained(force []quad, contacts []contact) {
	for k := range contacts {
		c := &contacts[k]
		dx, dy, dz, r2 := f.difference(int(c.i), int(c.j))
		inv := 1 / r2
		i2 := inv * inv
		push(force, int(c.i), int(c.j), i2*i2*i2*(c.c12*inv-c.c10), dx, dy, dz)
	}
}

// addWeakContacts adds the scaled ordinary terms of restrained pairs.
func (f *field) addWeakContacts(force []quad, pairs []weakContact) {
	for k := range pairs {
		c := &pairs[k]
		i, j := int(c.i), int(c.j)
		dx, dy, dz, r2 := f.difference(i, j)
		w := f.s.table[f.s.beads[i].kind][f.s.beads[j].kind].ahForce(r2)
		if q := f.x[i][3] * f.x[j][3]; q != 0 {
			w += q * f.s.dhForce(r2)
		}
		push(force, i, j, c.b*w, dx, dy, dz)
	}
}
