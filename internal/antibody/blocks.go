package antibody

import "slices"

// A block is a stretch of IMGT positions that a scheme numbers by one rule. Where a loop is given, the number of
// residues decides, else each position has a number of its own, by the shifts.
type block struct {
	first, last int // IMGT positions
	loop        *loop
	shifts      []shift
}

// A shift numbers the IMGT positions from a first one to the end of the block, or to the next shift: up from a number,
// or, if they are additional ones in the scheme, all with that number and letters.
type shift struct {
	first, number int
	additional    bool
}

// A loop is a range of numbers with one place for additional residues and an order in which numbers are left out. With
// fewer residues than that order allows, the shifts of the block number them.
type loop struct {
	first, last int
	insert      int
	missing     []int
	// open: a domain that begins in the loop has the numbers from its first IMGT position on, which is the number.
	open bool
}

// positions numbers the residues of a block. begins and ends tell whether the domain begins or ends with them.
func (b *block) positions(imgt []position, begins, ends bool) []position {
	begins, ends = begins && imgt[0].number > b.first, ends && imgt[len(imgt)-1].number < b.last
	l := b.loop
	switch {
	case l == nil:
		return b.shifted(imgt)
	case l.open:
		from := imgt[0].number
		if n := len(imgt); !ends && from <= l.insert && n >= l.last+1-from-len(l.missing) {
			return l.numbers(from, n)
		}
		return b.shifted(imgt)
	case begins || ends:
		if b.shifts != nil {
			return b.shifted(imgt)
		}
		all := l.numbers(l.first, max(len(imgt), l.last+1-l.first))
		if begins {
			return all[len(all)-len(imgt):]
		}
		return all[:len(imgt)]
	case len(imgt) < l.last+1-l.first-len(l.missing):
		return b.shifted(imgt)
	}
	return l.numbers(l.first, len(imgt))
}

// numbers returns n numbers of the loop, from a number on.
func (l *loop) numbers(from, n int) []position {
	out := make([]position, 0, n)
	lacking := max(0, l.last+1-from-n)
	for k := from; k <= l.last; k++ {
		if slices.Contains(l.missing[:min(lacking, len(l.missing))], k) {
			continue
		}
		out = append(out, position{k, 0})
		if k == l.insert {
			for extra := 1; extra <= n-(l.last+1-from); extra++ {
				out = append(out, position{k, extra})
			}
		}
	}
	return out
}

func (b *block) shifted(imgt []position) []position {
	out := make([]position, len(imgt))
	for i, p := range imgt {
		s := b.shifts[0]
		for _, later := range b.shifts {
			if later.first <= p.number {
				s = later
			}
		}
		out[i].number = s.number
		if !s.additional {
			out[i].number += p.number - s.first
		}
		if s.additional || p.insertion > 0 {
			out[i].insertion = 1
			if i > 0 && out[i-1].number == out[i].number {
				out[i].insertion += out[i-1].insertion
			}
		}
	}
	return out
}

// straight returns a block whose positions have the numbers from a number on.
func straight(first, last, number int) block {
	return block{first: first, last: last, shifts: []shift{{first: first, number: number}}}
}

// around returns the numbers of a range in the order from a number outwards: 63, 62, 64, 61, 65.
func around(middle, first, last int) (out []int) {
	out = []int{middle}
	for k := 1; middle-k >= first || middle+k <= last; k++ {
		if middle-k >= first {
			out = append(out, middle-k)
		}
		if middle+k <= last {
			out = append(out, middle+k)
		}
	}
	return out
}

// The numbers that are left out in CDR3, in this order.
var (
	missingH3 = []int{100, 99, 98, 97, 96, 95, 101, 102, 94, 93}
	missingL3 = []int{95, 94, 93, 92, 91, 96, 97, 90, 89}
)

// Blocks of the schemes of Chothia and Kabat, in heavy and in light chains.
var (
	heavyStart = block{
		first:  1,
		last:   10,
		loop:   &loop{first: 1, last: 9, insert: 6, open: true},
		shifts: []shift{{first: 1, number: 1}, {first: 10, number: 9, additional: true}},
	}
	heavyCDR2 = block{first: 55, last: 65, loop: &loop{50, 57, 52, []int{52, 51, 50, 53, 54, 55, 56, 57}, false}}
	heavyFR3  = block{first: 66, last: 104, shifts: []shift{
		{66, 58, false}, {73, 64, true}, {74, 65, false}, {92, 82, true}, {95, 83, false},
	}}
	heavyCDR3 = block{first: 105, last: 117, loop: &loop{93, 102, 100, missingH3, false}}

	lightCDR2 = block{
		first:  57,
		last:   67,
		loop:   &loop{first: 51, last: 54, insert: 52},
		shifts: []shift{{57, 51, false}, {58, 51, true}, {65, 52, false}},
	}
	lightFR3  = []shift{{68, 55, false}, {73, 59, true}, {74, 60, false}, {81, 66, true}, {83, 67, false}}
	lightCDR3 = block{first: 105, last: 117, loop: &loop{89, 97, 95, missingL3, false}}

	chothiaHeavy = []block{
		heavyStart, straight(11, 23, 10),
		{first: 24, last: 38, loop: &loop{23, 33, 31, []int{31, 30, 29, 28, 27, 26, 25, 24, 23, 32, 33}, false}},
		straight(39, 54, 34), heavyCDR2, heavyFR3, heavyCDR3, straight(118, columns, 103),
	}
	kabatHeavy = []block{
		heavyStart, straight(11, 23, 10),
		{
			first: 24,
			last:  40,
			loop:  &loop{23, 35, 35, []int{35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23}, false},
		},
		straight(41, 54, 36), heavyCDR2, heavyFR3, heavyCDR3, straight(118, columns, 103),
	}
	chothiaLight = []block{
		straight(1, 23, 1),
		{first: 24, last: 40, loop: &loop{24, 34, 30, []int{31, 32, 33, 34, 30, 29, 28, 27, 26, 25, 24}, false}},
		straight(41, 56, 35), lightCDR2,
		{first: 68, last: 104, loop: &loop{55, 88, 68, []int{68}, false}, shifts: lightFR3},
		lightCDR3, straight(118, columns, 98),
	}
	kabatLight = []block{
		straight(1, 23, 1),
		{first: 24, last: 40, loop: &loop{24, 34, 27, []int{28, 29, 30, 31, 32, 33, 34, 27, 26, 25, 24}, false}},
		straight(41, 56, 35), lightCDR2, {first: 68, last: 104, shifts: lightFR3}, lightCDR3,
		straight(118, columns, 98),
	}
)

// ahoBlocks are those of the scheme of Honegger and Plückthun (J. Mol. Biol. 309, 657, 2001). Where the scheme leaves
// open which numbers a short CDR1 leaves out, the order is that of the ANARCI program.
var ahoBlocks = map[Kind][]block{
	Heavy:  ahoFor(28, 36, 35, 37, 34, 38, 27, 33, 39, 32, 40, 29),
	Kappa:  ahoFor(28, 27, 36, 35, 37, 34, 38, 33, 39, 32, 40, 29),
	Lambda: ahoFor(28, 36, 35, 37, 34, 38, 27, 29, 33, 39, 32, 40),
	Alpha:  ahoFor(28, 36, 35, 37, 34, 38, 33, 39, 27, 32, 40, 29),
	Beta:   ahoFor(28, 36, 35, 37, 34, 38, 33, 39, 27, 32, 40, 29),
	Gamma:  ahoFor(28, 36, 35, 37, 34, 38, 27, 33, 39, 32, 40, 29),
	Delta:  ahoFor(28, 36, 35, 37, 34, 38, 27, 33, 39, 32, 40, 29),
}

func ahoFor(missing ...int) []block {
	first := loop{first: 25, last: 42, insert: 36, missing: append(missing, 26, 30, 25, 31, 41, 42)}
	second := loop{first: 58, last: 77, insert: 63, missing: around(63, 58, 77)}
	third := loop{first: 107, last: 138, insert: 123, missing: []int{123}}
	for k := 1; k <= 15; k++ {
		third.missing = append(third.missing, 123+k, 123-k)
	}
	third.missing = append(third.missing, 107)
	return []block{
		{
			first:  1,
			last:   10,
			loop:   &loop{first: 1, last: 10, insert: 8, missing: []int{8}, open: true},
			shifts: []shift{{first: 1, number: 1}},
		},
		straight(11, 24, 11),
		{first: 25, last: 40, loop: &first},
		straight(41, 55, 43),
		{first: 56, last: 75, loop: &second},
		{first: 76, last: 91, loop: &loop{78, 93, 85, ahoFR3, false}},
		straight(92, 104, 94),
		{first: 105, last: 117, loop: &third},
		straight(118, columns, 139),
	}
}

// ahoFR3 are the numbers that are left out between 78 and 93.
var ahoFR3 = []int{86, 85, 87, 84, 88, 83, 89, 82, 90, 81, 91, 80, 92, 79, 93, 78}
