package chem

// need is what an aromatic atom needs for a structure of single and double bonds.
type need int8

const (
	noDouble need = iota // it has no double bond in the system
	oneDouble
	unclear // toolkits differ
)

// checkAromatic returns an error if an aromatic system has no structure of single and double bonds, as c1cccc1, which
// lacks the hydrogen of an [nH] or an atom. Systems with an atom that is unclear are left to the engine, and so are
// those of more atoms than a component has: the time grows with their cube.
func checkAromatic(p *smilesParser) error {
	needs := make([]need, len(p.graph))
	near := make([][]int, len(p.graph)) // within aromatic systems
	for i := range p.bonds {
		if b := &p.bonds[i]; p.aromaticBond(b) {
			near[b.a], near[b.b] = append(near[b.a], b.b), append(near[b.b], b.a)
		}
	}
	for i := range p.graph {
		if p.graph[i].aromatic {
			needs[i] = p.need(i)
		}
	}
	seen := make([]bool, len(p.graph))
	for i := range p.graph {
		if !p.graph[i].aromatic || seen[i] {
			continue
		}
		system := reach(i, near, seen)
		if len(system) == 1 || len(system) > MaxAtoms {
			continue // its ring is not aromatic, or it is too large
		}
		if m := newMatching(system, near, needs); m != nil && !m.perfect() {
			return fault(p.graph[i].at, "the aromatic system has no structure of single and double bonds; a nitrogen "+
				"with a hydrogen is written [nH]")
		}
	}
	return nil
}

// reach returns the atoms of a system and marks them.
func reach(start int, near [][]int, seen []bool) []int {
	seen[start] = true
	out := []int{start}
	for at := 0; at < len(out); at++ {
		for _, k := range near[out[at]] {
			if !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

// need returns what an aromatic atom needs, by the rules of RDKit.
func (p *smilesParser) need(i int) need {
	v := &p.graph[i]
	for _, k := range v.bonds {
		if p.doubleInSystem(&p.bonds[k]) {
			return unclear
		}
	}
	sum, multiple := p.sigma(i)
	full, known := map[string]int{"C": 4, "N": 3, "O": 2, "S": 2}[p.atoms[i].Element]
	switch charge := v.charge; {
	case !known:
		return unclear
	case p.atoms[i].Element == "C" && charge > 0:
		full -= charge
	default:
		full += charge
	}
	if p.atoms[i].Element == "C" && !v.bracket && !multiple && sum == 2 {
		sum++ // its hydrogen
	}
	switch {
	case full == sum+1:
		return oneDouble
	case full == sum:
		return noDouble
	}
	return unclear
}

// matching looks for double bonds that give each atom of a graph one, by the algorithm of Edmonds (1965, Paths, trees,
// and flowers). Atoms are numbered from 0.
type matching struct {
	near  [][]int
	mate  []int // -1: none
	from  []int // in the tree: the atom before, two steps up
	base  []int // of the blossom that an atom is in
	used  []bool
	queue []int
}

// newMatching returns the graph of those atoms of a system that need a double bond; nil if one is unclear.
func newMatching(system []int, near [][]int, needs []need) *matching {
	number := map[int]int{}
	for _, i := range system {
		if needs[i] == unclear {
			return nil
		}
		if needs[i] == oneDouble {
			number[i] = len(number)
		}
	}
	m := &matching{near: make([][]int, len(number)), mate: make([]int, len(number))}
	for i, n := range number {
		m.mate[n] = -1
		for _, k := range near[i] {
			if needs[k] == oneDouble {
				m.near[n] = append(m.near[n], number[k])
			}
		}
	}
	return m
}

// perfect reports whether every atom gets a double bond.
func (m *matching) perfect() bool {
	if len(m.mate)%2 != 0 {
		return false
	}
	for i := range m.mate { // most are found at once
		for _, k := range m.near[i] {
			if m.mate[i] < 0 && m.mate[k] < 0 {
				m.mate[i], m.mate[k] = k, i
			}
		}
	}
	for i := range m.mate {
		if m.mate[i] < 0 && !m.augment(i) {
			return false
		}
	}
	return true
}

// augment finds a path that gives a free atom a mate, and changes the mates along it.
func (m *matching) augment(root int) bool {
	n := len(m.mate)
	m.used, m.from, m.base = make([]bool, n), make([]int, n), make([]int, n)
	for i := range n {
		m.from[i], m.base[i] = -1, i
	}
	m.used[root], m.queue = true, []int{root}
	for len(m.queue) > 0 {
		v := m.queue[0]
		m.queue = m.queue[1:]
		for _, to := range m.near[v] {
			switch {
			case m.base[v] == m.base[to] || m.mate[v] == to:
			case to == root || m.mate[to] >= 0 && m.from[m.mate[to]] >= 0:
				m.contract(v, to)
			case m.from[to] < 0:
				m.from[to] = v
				if m.mate[to] < 0 {
					m.flip(to)
					return true
				}
				m.used[m.mate[to]] = true
				m.queue = append(m.queue, m.mate[to])
			}
		}
	}
	return false
}

// flip changes the mates along the path that ends at an atom.
func (m *matching) flip(at int) {
	for at >= 0 {
		before := m.from[at]
		next := m.mate[before]
		m.mate[at], m.mate[before] = before, at
		at = next
	}
}

// contract makes one blossom of the odd cycle that an edge closes.
func (m *matching) contract(v, to int) {
	base := m.commonBase(v, to)
	in := make([]bool, len(m.mate))
	m.markPath(v, base, to, in)
	m.markPath(to, base, v, in)
	for i := range m.mate {
		if !in[m.base[i]] {
			continue
		}
		m.base[i] = base
		if !m.used[i] {
			m.used[i] = true
			m.queue = append(m.queue, i)
		}
	}
}

// commonBase returns the nearest atom of both paths to the root.
func (m *matching) commonBase(a, b int) int {
	on := make([]bool, len(m.mate))
	for {
		a = m.base[a]
		on[a] = true
		if m.mate[a] < 0 {
			break
		}
		a = m.from[m.mate[a]]
	}
	for {
		b = m.base[b]
		if on[b] {
			return b
		}
		b = m.from[m.mate[b]]
	}
}

// markPath marks the blossoms between an atom and the base, and sets the way back through them.
func (m *matching) markPath(v, base, child int, in []bool) {
	for m.base[v] != base {
		in[m.base[v]], in[m.base[m.mate[v]]] = true, true
		m.from[v] = child
		child = m.mate[v]
		v = m.from[child]
	}
}
