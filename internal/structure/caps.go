package structure

import "slices"

// maxCaps is how many caps of one chain are looked for elsewhere than next to its ends.
const maxCaps = 16

// placeCaps moves caps that a file lists elsewhere, such as behind the chain with the ligands, next to the residues
// that they are bonded to.
func (c *rawChain) placeCaps() {
	looked := 0
	for i := 0; i < len(c.residues) && looked < maxCaps; i++ {
		link := caps[c.residues[i].Comp]
		if link == "" || c.besideBond(i, link) {
			continue
		}
		looked++
		if at := c.capped(i, link); at >= 0 {
			c.moveCap(i, at, link)
			i-- // another residue is at its place
		}
	}
}

// besideBond reports whether the residue next to a cap is the one that it is bonded to.
func (c *rawChain) besideBond(i int, link string) bool {
	if link == "C" {
		return i+1 < len(c.residues) && bondLength(Protein, &c.residues[i], &c.residues[i+1]) <= linkLimit
	}
	return i > 0 && bondLength(Protein, &c.residues[i-1], &c.residues[i]) <= linkLimit
}

// capped returns the place of the only residue that a cap is bonded to by its atom link; -1: there is none, or several.
func (c *rawChain) capped(i int, link string) int {
	at, other := -1, map[string]string{"C": "N", "N": "C"}[link]
	p, ok := c.residues[i].point(link)
	for j := range c.residues {
		q, has := c.residues[j].point(other)
		if d := Distance(p, q); j == i || !ok || !has || !(d >= minLink && d <= BondLimit) {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = j
	}
	return at
}

// moveCap moves the cap at place i before the residue at place to, or behind it if its N links it.
func (c *rawChain) moveCap(i, to int, link string) {
	moved, segment := c.residues[i], c.segment[to]
	c.residues, c.segment = slices.Delete(c.residues, i, i+1), slices.Delete(c.segment, i, i+1)
	if i < to {
		to--
	}
	if link == "N" {
		to++
	}
	c.residues, c.segment = slices.Insert(c.residues, to, moved), slices.Insert(c.segment, to, segment)
}
