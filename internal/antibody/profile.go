package antibody

import (
	_ "embed" // for profiles.txt
	"math"
	"strconv"
	"strings"
	"sync"
)

// profilesFile holds how often each amino acid stands at each of the 128 positions of the IMGT scheme, for each kind of
// domain. tools/antibody/profiles.py says how it is made: the sequences are of the Protein Data Bank.
//
//go:embed profiles.txt
var profilesFile string

// columns is the number of positions of the IMGT scheme.
const columns = 128

// letters are the amino acids in the order of a profile's scores. Their frequencies in proteins at large are those of
// Robinson and Robinson (PNAS 88, 8880, 1991), as BLAST has them.
const letters = "ACDEFGHIKLMNPQRSTVWY"

var background = [len(letters)]float64{
	.0780, .0192, .0536, .0630, .0386, .0738, .0220, .0514, .0574, .0902,
	.0224, .0449, .0520, .0426, .0513, .0712, .0584, .0644, .0133, .0322,
}

// unknown is the index of every letter that stands for no single amino acid; other is that of what is no letter.
const (
	unknown = len(letters)
	other   = unknown + 1
)

// Scores are in hundredths of a natural logarithm of odds.
const (
	scale = 100
	never = -1 << 40
)

// Costs of gaps and ends. A missing residue costs what its rarity says, within bounds. Additional residues are cheap in
// the middle of a CDR, where the IMGT scheme has them, and dear in a framework.
const (
	dearestGap     = 9 * scale
	dearestLoopGap = 4 * scale
	loopOpen       = 2 * scale
	loopExtend     = scale / 5
	frameOpen      = 13 * scale
	frameExtend    = 2 * scale
	endResidue     = 6 * scale // for each residue that an end of a domain leaves out
	endMost        = 3         // of these count
)

// weightOthers and weightBackground are how many sequences the average of all kinds and the frequencies in proteins at
// large are worth where a kind has few sequences.
const (
	weightOthers     = 3
	weightBackground = 2
)

// profile is what a kind of domain looks like. Columns count from 1, as in the IMGT scheme.
type profile struct {
	kind     Kind
	match    [other + 1][columns + 1]int // by residue, then column
	gap      [columns + 1]int            // the cost of a column without a residue
	open     [columns + 1]int            // the cost of a residue that is added behind a column
	extend   [columns + 1]int
	enter    [columns + 1]int // the cost of a domain that begins at a column
	leave    [columns + 1]int // the cost of a domain that ends with a column
	occupied [columns + 1]float64
}

// counts are the lines of profiles.txt for a kind.
type counts struct {
	kind      Kind
	sequences float64
	residues  [columns + 1][len(letters)]float64
	gaps      [columns + 1]float64
}

// profiles reads the embedded table once. It is part of the program, so an error in it is a panic.
var profiles = sync.OnceValue(func() []*profile {
	all := readCounts(profilesFile)
	var pooled [columns + 1][len(letters)]float64
	for _, c := range all {
		for j := 1; j <= columns; j++ {
			total := sum(c.residues[j][:])
			for a, n := range c.residues[j] {
				pooled[j][a] += (n + background[a]) / (total + 1) / float64(len(all))
			}
		}
	}
	out := make([]*profile, len(all))
	for i, c := range all {
		out[i] = newProfile(c, &pooled)
	}
	return out
})

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// readCounts reads the table: a line of a kind and the number of its sequences, then a line for each position, with
// each amino acid and its count; a hyphen counts sequences that go around the position.
func readCounts(text string) (out []*counts) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if !isDigit(words[0][0]) {
			out = append(out, &counts{kind: Kind(words[0]), sequences: readCount(words[1])})
			continue
		}
		c, column := out[len(out)-1], int(readCount(words[0]))
		for _, w := range words[1:] {
			if n := readCount(w[1:]); w[0] == '-' {
				c.gaps[column] = n
			} else {
				c.residues[column][strings.IndexByte(letters, w[0])] = n
			}
		}
	}
	return out
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func readCount(s string) float64 {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic("antibody: embedded table: " + err.Error())
	}
	return float64(n)
}

func newProfile(c *counts, pooled *[columns + 1][len(letters)]float64) *profile {
	p := &profile{kind: c.kind}
	for j := 1; j <= columns; j++ {
		total := sum(c.residues[j][:])
		p.occupied[j] = total / c.sequences
		absent := (c.gaps[j] + .02) / (total + c.gaps[j] + 1)
		for a, n := range c.residues[j] {
			likely := (n + weightOthers*pooled[j][a] + weightBackground*background[a]) /
				(total + weightOthers + weightBackground)
			p.match[a][j] = round(math.Log(likely/background[a]) + math.Log(1-absent))
		}
		p.match[unknown][j], p.match[other][j] = round(math.Log(1-absent)), -20*scale
		if total == 0 {
			for a := range p.match {
				p.match[a][j] = never
			}
		}
		most := dearestGap
		if inLoop(j) {
			most = dearestLoopGap
		}
		p.gap[j] = min(round(-math.Log(absent)), most)
		p.open[j], p.extend[j] = insertion(j)
	}
	before, behind := 0., 0.
	for j := 1; j <= columns; j++ {
		k := columns + 1 - j
		p.enter[j] = round(min(before, endMost) * endResidue / scale)
		p.leave[k] = round(min(behind, endMost) * endResidue / scale)
		before, behind = before+p.occupied[j], behind+p.occupied[k]
	}
	return p
}

func round(x float64) int { return int(math.Round(x * scale)) }

// loops are the CDRs of the IMGT scheme: the first and the last column, and the last column before additional residues.
var loops = [3]struct{ first, last, middle int }{{27, 38, 32}, {56, 65, 60}, {105, 117, 111}}

func inLoop(column int) bool {
	for _, l := range loops {
		if l.first <= column && column <= l.last {
			return true
		}
	}
	return false
}

// insertion returns what residues cost that are added behind a column. In a CDR they have one place.
func insertion(column int) (open, extend int) {
	for _, l := range loops {
		switch {
		case column == l.middle:
			return loopOpen, loopExtend
		case l.first-1 <= column && column <= l.last:
			return -never, -never
		}
	}
	return frameOpen, frameExtend
}

// codes holds the index of the scores of each byte.
var codes = func() (t [256]uint8) {
	for c := range t {
		t[c] = uint8(other)
		upper := byte(c) &^ 0x20
		if 'A' <= upper && upper <= 'Z' {
			t[c] = uint8(unknown)
			if k := strings.IndexByte(letters, upper); k >= 0 {
				t[c] = uint8(k)
			}
		}
	}
	return t
}()

func encode(sequence string) []uint8 {
	out := make([]uint8, len(sequence))
	for i := range len(sequence) {
		out[i] = codes[sequence[i]]
	}
	return out
}
