package main

import (
	"math"
	"math/rand/v2"

	"pleat/internal/mini/local"
)

// learning holds what the shape of the network leaves open.
type learning struct {
	epochs              int
	rate                float32
	batch               int
	dropIn, dropHistory float64
	dropHidden          float64
	blind               float64 // share of the lessons without any history
	substitute          float64 // share of the residues seen that are put in place by a likely substitute
	decay               float32
}

// teacher trains one member; it is sequential, so that the weights depend on nothing but its seed.
type teacher struct {
	shape  local.Shape
	l      learning
	net    local.Net
	grad   local.Net
	m, v   local.Net
	rng    *rand.Rand
	act    []float32
	back   []float32
	out    []float32
	rows   []int
	states []int
	step   float64
}

func newNet(s local.Shape) local.Net {
	return local.Net{
		In:      make([]float32, s.Rows()*s.Hidden),
		Bias:    make([]float32, s.Hidden),
		Out:     make([]float32, s.Hidden*s.K),
		OutBias: make([]float32, s.K),
	}
}

func parts(n *local.Net) [][]float32 { return [][]float32{n.In, n.Bias, n.Out, n.OutBias} }

type lesson struct {
	c       *chain
	cluster []int8
	i       int
}

func train(s local.Shape, l learning, lessons []lesson, clusters []local.Cluster, seed uint64) local.Net {
	t := &teacher{
		shape: s,
		l:     l,
		net:   newNet(s),
		grad:  newNet(s),
		m:     newNet(s),
		v:     newNet(s),
		rng:   rand.New(rand.NewPCG(seed, 11)),
		act:   make([]float32, s.Hidden),
		back:  make([]float32, s.Hidden),
		out:   make([]float32, s.K),
	}
	for _, c := range clusters {
		t.states = append(t.states, c.State)
	}
	// What came before starts without a say.
	for i := range (s.SequenceCount()) * s.Hidden {
		t.net.In[i] = float32(t.rng.NormFloat64() * 0.1)
	}
	for i := range t.net.Out {
		t.net.Out[i] = float32(t.rng.NormFloat64() / math.Sqrt(float64(s.Hidden)))
	}
	order := make([]int, len(lessons))
	for i := range order {
		order[i] = i
	}
	total := l.epochs * len(order) / l.batch
	done := 0
	for range l.epochs {
		t.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for at := 0; at+l.batch <= len(order); at += l.batch {
			for _, k := range order[at : at+l.batch] {
				// A chain's weight is how often it is looked at.
				if t.rng.Float64() < lessons[k].c.weight {
					t.learn(lessons[k])
				}
			}
			// A rate falling along half a cosine.
			t.update(l.rate * float32(0.5+0.5*math.Cos(math.Pi*float64(done)/float64(total))))
			done++
		}
	}
	return t.net
}

// learn adds one lesson's gradient of the cross-entropy.
func (t *teacher) learn(x lesson) {
	h, k := t.shape.Hidden, t.shape.K
	t.rows = t.shape.SequenceRows(t.rows[:0], x.c.aa, x.i)
	for o := range t.rows[:len(t.rows)-1] {
		if sym := t.rows[o] % 21; sym != local.Outside && t.rng.Float64() < t.l.substitute {
			t.rows[o] += substitute(t.rng, sym) - sym
		}
	}
	split := len(t.rows)
	t.rows = t.shape.HistoryRows(t.rows, x.cluster, x.i, t.states)
	kept := t.rows[:0]
	if t.rng.Float64() < t.l.blind {
		t.rows = t.rows[:split]
	}
	for i, r := range t.rows {
		drop := t.l.dropIn
		if i >= split {
			drop = t.l.dropHistory
		}
		if t.rng.Float64() >= drop {
			kept = append(kept, r)
		}
	}
	copy(t.act, t.net.Bias)
	for _, r := range kept {
		for j, w := range t.net.In[r*h:][:h] {
			t.act[j] += w
		}
	}
	copy(t.out, t.net.OutBias)
	scale := float32(1 / (1 - t.l.dropHidden))
	for j, v := range t.act {
		if v <= 0 || t.rng.Float64() < t.l.dropHidden {
			t.act[j] = 0
			continue
		}
		t.act[j] = v * scale
		for c, w := range t.net.Out[j*k:][:k] {
			t.out[c] += t.act[j] * w
		}
	}
	softmax(t.out)
	t.out[x.cluster[x.i]]--
	for c := range t.out {
		t.grad.OutBias[c] += t.out[c]
	}
	for j, v := range t.act {
		t.back[j] = 0
		if v == 0 {
			continue
		}
		w, g := t.net.Out[j*k:][:k], t.grad.Out[j*k:][:k]
		s := float32(0)
		for c, d := range t.out {
			s += d * w[c]
			g[c] += d * v
		}
		t.back[j] = s * scale
		t.grad.Bias[j] += t.back[j]
	}
	for _, r := range kept {
		g := t.grad.In[r*h:][:h]
		for j, d := range t.back {
			g[j] += d
		}
	}
}

func softmax(x []float32) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	sum := float32(0)
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v - top)))
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

// update is one step of Adam (Kingma and Ba 2015) with decoupled weight decay on the matrices.
func (t *teacher) update(rate float32) {
	t.step++
	const b1, b2 = 0.9, 0.999
	c1, c2 := float32(1-math.Pow(b1, t.step)), float32(1-math.Pow(b2, t.step))
	ms, vs, gs := parts(&t.m), parts(&t.v), parts(&t.grad)
	inv := 1 / float32(t.l.batch)
	for p, w := range parts(&t.net) {
		m, v, g := ms[p], vs[p], gs[p]
		decay := float32(0)
		if p == 0 || p == 2 {
			decay = rate * t.l.decay
		}
		for i := range w {
			d := g[i] * inv
			g[i] = 0
			m[i] = b1*m[i] + (1-b1)*d
			v[i] = b2*v[i] + (1-b2)*d*d
			w[i] -= rate*(m[i]/c1)/(float32(math.Sqrt(float64(v[i]/c2)))+1e-8) + decay*w[i]
		}
	}
}
