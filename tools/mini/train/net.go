package main

import (
	"math"
	"math/rand/v2"

	"pleat/internal/mini/local"
)

// learning are the settings of a training, next to the shape of the network. Fractions are from 0 to 1.
type learning struct {
	epochs              int     // passes over the lessons
	rate                float32 // initial learning rate; it falls along half a cosine
	batch               int     // lessons per step
	dropIn, dropHistory float64 // fractions of the input rows dropped: of the sequence, of the history
	dropHidden          float64 // fraction of the hidden units dropped
	blind               float64 // fraction of the lessons without any history
	substitute          float64 // fraction of the residues of the input that are replaced by likely substitutes
	decay               float32 // weight decay per step, times the learning rate
}

// teacher trains one network of the ensemble. It is sequential, so that the weights depend on nothing but its seed.
type teacher struct {
	shape  local.Shape
	l      learning
	net    local.Net
	grad   local.Net // of the current batch, summed
	m, v   local.Net // moments of Adam
	rng    *rand.Rand
	act    []float32 // activations of the hidden units
	back   []float32 // gradient of the hidden units
	out    []float32 // probabilities of the clusters, then their gradient
	rows   []int     // rows of the input matrix that the current lesson uses
	states []int     // state of each cluster
	step   float64   // steps of Adam so far
}

// newNet returns a network of zeros: gradients and moments have the shape of the network.
func newNet(s local.Shape) local.Net {
	return local.Net{
		In:      make([]float32, s.Rows()*s.Hidden),
		Bias:    make([]float32, s.Hidden),
		Out:     make([]float32, s.Hidden*s.K),
		OutBias: make([]float32, s.K),
	}
}

// parts returns the matrices and biases of a network; those at even places are matrices.
func parts(n *local.Net) [][]float32 { return [][]float32{n.In, n.Bias, n.Out, n.OutBias} }

// lesson is one residue to be predicted: residue i of a chain, whose residues have these clusters.
type lesson struct {
	c       *chain
	cluster []int8
	i       int
}

// train returns a network trained on the lessons. The same seed gives the same weights on one architecture. In each
// epoch the lessons come in a new order, and each is used with the probability that is the weight of its chain.
func train(s local.Shape, l learning, lessons []lesson, clusters []local.Cluster, seed uint64) local.Net {
	t := newTeacher(s, l, clusters, seed)
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
				if t.rng.Float64() < lessons[k].c.weight {
					t.learn(lessons[k])
				}
			}
			t.update(l.rate * float32(0.5+0.5*math.Cos(math.Pi*float64(done)/float64(total))))
			done++
		}
	}
	return t.net
}

// newTeacher returns a teacher whose network has random weights, except for those of the history: it starts without
// influence.
func newTeacher(s local.Shape, l learning, clusters []local.Cluster, seed uint64) *teacher {
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
	for i := range s.SequenceCount() * s.Hidden {
		t.net.In[i] = float32(t.rng.NormFloat64() * 0.1)
	}
	for i := range t.net.Out {
		t.net.Out[i] = float32(t.rng.NormFloat64() / math.Sqrt(float64(s.Hidden)))
	}
	return t
}

// learn adds the gradient of one lesson to that of the batch: the cross-entropy of the residue's cluster, given the
// sequence around it and the clusters before it.
func (t *teacher) learn(x lesson) {
	rows := t.input(x)
	t.forward(rows)
	t.out[x.cluster[x.i]]-- // gradient of the cross-entropy by the logits
	t.backward(rows)
}

// input returns the rows of the input matrix that a lesson uses, after substitution and dropout: those of the sequence
// around the residue, then those of the clusters before it. They are valid until the next call, which reuses their
// memory.
func (t *teacher) input(x lesson) []int {
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
	return kept
}

// forward computes the hidden units, which are rectified and then dropped at random, and the probabilities of the
// clusters. The input is sparse, so that only the rows in use are added.
func (t *teacher) forward(rows []int) {
	h, k := t.shape.Hidden, t.shape.K
	copy(t.act, t.net.Bias)
	for _, r := range rows {
		for j, w := range t.net.In[r*h:][:h] {
			t.act[j] += w
		}
	}
	copy(t.out, t.net.OutBias)
	scale := t.dropoutScale()
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
}

// dropoutScale is the factor that keeps the expected activation of a hidden unit the same with dropout.
func (t *teacher) dropoutScale() float32 { return float32(1 / (1 - t.l.dropHidden)) }

// backward adds the gradient of the weights, from that of the logits in t.out.
func (t *teacher) backward(rows []int) {
	h, k := t.shape.Hidden, t.shape.K
	for c := range t.out {
		t.grad.OutBias[c] += t.out[c]
	}
	scale := t.dropoutScale()
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
	for _, r := range rows {
		g := t.grad.In[r*h:][:h]
		for j, d := range t.back {
			g[j] += d
		}
	}
}

// softmax replaces logits by probabilities. It subtracts the largest logit first, so that no exponential overflows.
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

// update makes one step of Adam (Kingma and Ba, arXiv:1412.6980) with decoupled weight decay on the matrices, and sets
// the gradient to zero.
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
