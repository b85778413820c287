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
	// first has one in step atoms of the first model by their names, and atoms counts all of them.
	first       map[string]sample
	step, atoms int
	// pairs are sampled atoms and their copies.
	pairs [][2]Vec
}

// sample is an atom of the first model.
type sample struct {
	number int
	pos    Vec
}

// due reports whether the next atom of the first model is one to add. It must be called once for each atom.
func (c *copies) due() bool {
	c.atoms++
	return c.atoms&(c.step-1) == 0
}

// add adds the last atom of the first model, by what names it in the file.
func (c *copies) add(name []byte, pos Vec) {
	if _, known := c.first[string(name)]; known {
		return
	}
	c.first[string(name)] = sample{c.atoms, pos}
	if len(c.first) <= maxSamples {
		return
	}
	c.step *= 2
	for name, s := range c.first {
		if s.number&(c.step-1) != 0 {
			delete(c.first, name)
		}
	}
}

// pair adds an atom of the second model.
func (c *copies) pair(name []byte, pos func() (Vec, bool)) {
	s, sampled := c.first[string(name)]
	if !sampled {
		return
	}
	if p, ok := pos(); ok {
		c.pairs = append(c.pairs, [2]Vec{s.pos, p})
	}
	delete(c.first, string(name))
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
