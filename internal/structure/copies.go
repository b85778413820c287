package structure

import "math"

// Limits of a copy.
const (
	maxSamples = 512  // atoms that are compared
	minSamples = 8    // fewer do not tell
	sameShape  = 0.02 // Å between distances, which files round
	otherPlace = 1    // Å from an atom to its copy
)

// copies tells whether the second model of a file is the first one in another place. Such models are the copies of a
// molecule in a biological assembly; those of an ensemble differ in shape.
type copies struct {
	first map[atomKey]Vec // some atoms of the first model; nil: there is no second one
	pairs [][2]Vec        // atoms of the first model and their copies
}

// atomKey identifies an atom of a model.
type atomKey struct {
	chain   string // as rawChain.name
	residue residueKey
	name    string
}

// pair compares an atom of the second model with that of the first one, unless it has alternative locations.
func (b *builder) pair(key atomKey, pos func() (Vec, error)) {
	if b.copies.first == nil {
		b.sample()
	}
	p, sampled := b.copies.first[key]
	if !sampled {
		return
	}
	if q, err := pos(); err == nil {
		b.copies.pairs = append(b.copies.pairs, [2]Vec{p, q})
	}
	delete(b.copies.first, key)
}

// sample chooses atoms of the first model.
func (b *builder) sample() {
	b.copies.first = map[atomKey]Vec{}
	n, step := 0, b.atoms/maxSamples+1
	for _, c := range b.chains {
		for i := range c.residues {
			r := &c.residues[i]
			for k := range r.Atoms {
				n++
				if _, several := c.alternatives[i]; n%step == 0 && !several {
					b.copies.first[atomKey{c.name, residueKey{r.Seq, r.Auth, r.Ins}, r.Atoms[k].Name}] = r.Atoms[k].Pos
				}
			}
		}
	}
}

// found reports whether the second model is a copy.
func (c *copies) found() bool {
	n, moved := len(c.pairs), false
	for _, p := range c.pairs {
		moved = moved || Distance(p[0], p[1]) > otherPlace
		for _, k := range [...]int{0, n / 3, n * 2 / 3, n - 1} {
			q := c.pairs[k]
			if math.Abs(Distance(p[0], q[0])-Distance(p[1], q[1])) > sameShape {
				return false
			}
		}
	}
	return moved && n >= minSamples
}

// errCopy returns the error for a file whose second model is a copy.
func (b *builder) errCopy() *ParseError {
	return &ParseError{Format: b.in.format, Reason: "the second model is the first one in another place, as in a " +
		"biological assembly, and only the first is read; want all copies in one model, each with chains of its own, " +
		"as mmCIF files of assemblies have them"}
}
