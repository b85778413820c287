package chem

import "fmt"

// checkChemistry returns an error for a molecule that cannot be and that RDKit, with which the engines read molecules,
// refuses: an atom with more bonds than its element and charge take, an aromatic atom outside of a ring, and an
// aromatic system without an arrangement of double bonds. Atoms about which toolkits differ are left to the engine.
func checkChemistry(p *smilesParser) error {
	findRings(p)
	for i := range p.graph {
		v := &p.graph[i]
		if v.aromatic && !p.cyclic(i) {
			return fault(v.at, "%s in small letters is aromatic, but in no ring", p.atoms[i].Element)
		}
		n, _ := p.sigma(i)
		switch most := p.mostBonds(i); {
		case n > most:
			return fault(v.at, "%s has %d bonds, hydrogens counted; it takes at most %d", p.ion(i), n, most)
		case n == 4 && most == withDouble["N"] && !v.aromatic:
			return fault(v.at, "N has 4 bonds, hydrogens counted; without a charge it takes 3, or 5 as in CN(=O)=O")
		}
	}
	return checkAromatic(p)
}

// cyclic reports whether an atom is in a ring.
func (p *smilesParser) cyclic(i int) bool {
	for _, k := range p.graph[i].bonds {
		if p.bonds[k].cyclic {
			return true
		}
	}
	return false
}

// aromaticBond reports whether a bond is one of an aromatic system.
func (p *smilesParser) aromaticBond(b *bond) bool {
	both := p.graph[b.a].aromatic && p.graph[b.b].aromatic
	return both && b.cyclic && (b.order == unspecified || b.order == aromaticOrder)
}

// doubleInSystem reports whether a bond between two aromatic atoms is written as a double one; readers take it for
// aromatic.
func (p *smilesParser) doubleInSystem(b *bond) bool {
	return b.order == 2 && p.graph[b.a].aromatic && p.graph[b.b].aromatic
}

// sigma returns the sum of the orders of an atom's bonds, those of aromatic systems as 1, with its stated hydrogens,
// and whether one of its other bonds is a multiple one.
func (p *smilesParser) sigma(i int) (sum int, multiple bool) {
	sum = p.graph[i].hydrogens
	for _, k := range p.graph[i].bonds {
		switch b := &p.bonds[k]; {
		case b.order == dative:
		case p.aromaticBond(b) || b.order == unspecified || b.order == aromaticOrder:
			sum++
		default:
			sum += int(b.order)
			multiple = multiple || b.order > 1
		}
	}
	return sum, multiple
}

// valences are the most bonds of atoms, with their charge: the largest valences of RDKit's table of the elements, where
// a charged atom is as the neutral one with as many electrons.
var valences = map[string]int{
	"H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 7, "S": 6, "Cl": 1, "Se": 6, "Br": 1,
	"B-": 4, "C-": 3, "C+": 3, "N-": 2, "N+": 4, "O-": 1, "O+": 3,
}

// nonMetals are the elements whose bonds are counted.
var nonMetals = map[string]bool{
	"H": true, "B": true, "C": true, "N": true, "O": true, "F": true, "Si": true, "P": true, "S": true, "Cl": true,
	"Se": true, "Br": true, "I": true,
}

// mostBonds returns the most bonds that an atom takes. Readers write a nitro group, an azide or a perchlorate with
// double bonds with charges, and a bond with a metal as a dative one.
func (p *smilesParser) mostBonds(i int) int {
	const any = 100
	most, known := valences[p.ion(i)]
	if !known {
		return any
	}
	for _, k := range p.graph[i].bonds {
		b := &p.bonds[k]
		other := p.atoms[b.a+b.b-i].Element
		if !nonMetals[other] || p.graph[i].aromatic && (b.order == 3 || p.doubleInSystem(b)) {
			return any
		}
		if b.order >= 2 && b.order <= 3 && (other == "O" || other == "N") {
			most = max(most, withDouble[p.ion(i)])
		}
	}
	return most
}

// ion returns the element of an atom, and its charge as a sign and a number other than 1: N, N+, Fe+2.
func (p *smilesParser) ion(i int) string {
	text := p.atoms[i].Element
	switch charge := p.graph[i].charge; {
	case charge == 1:
		text += "+"
	case charge == -1:
		text += "-"
	case charge != 0:
		text += fmt.Sprintf("%+d", charge)
	}
	return text
}

// withDouble are the most bonds of atoms with a double or triple bond to oxygen or nitrogen.
var withDouble = map[string]int{"N": 5, "Cl": 7, "Br": 7}

// findRings marks the bonds that are part of a ring: those that are no bridges (Tarjan 1974). It keeps its own stack,
// for chains of thousands of atoms.
func findRings(p *smilesParser) {
	order, low := make([]int, len(p.graph)), make([]int, len(p.graph))
	type visit struct{ atom, by, next int }
	count := 0
	for start := range p.graph {
		if order[start] != 0 {
			continue
		}
		count++
		order[start], low[start] = count, count
		stack := []visit{{start, -1, 0}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(p.graph[top.atom].bonds) {
				stack = stack[:len(stack)-1]
				if top.by >= 0 {
					b := &p.bonds[top.by]
					before := b.a + b.b - top.atom
					low[before] = min(low[before], low[top.atom])
					b.cyclic = low[top.atom] <= order[before]
				}
				continue
			}
			k := p.graph[top.atom].bonds[top.next]
			top.next++
			if k == top.by {
				continue
			}
			other := p.bonds[k].a + p.bonds[k].b - top.atom
			if order[other] != 0 {
				low[top.atom] = min(low[top.atom], order[other])
				p.bonds[k].cyclic = true
				continue
			}
			count++
			order[other], low[other] = count, count
			stack = append(stack, visit{other, k, 0})
		}
	}
}
