package antibody

import (
	"slices"
	"testing"
)

// TestBlocks numbers every stretch of every block, also where a domain begins or ends there, and with residues that are
// additional to the block's own: each gets a number, and no two the same.
func TestBlocks(t *testing.T) {
	for _, scheme := range []Scheme{Chothia, Kabat, AHo} {
		for _, kind := range []Kind{Heavy, Kappa, Lambda, Alpha, Beta, Gamma, Delta} {
			for _, b := range blocksOf(kind, scheme) {
				for from := b.first; from <= b.last; from++ {
					for to := from; to <= b.last; to++ {
						checkBlock(t, &b, from, to)
					}
				}
			}
		}
	}
}

func checkBlock(t *testing.T, b *block, from, to int) {
	t.Helper()
	var imgt []position
	for n := from; n <= to; n++ {
		imgt = append(imgt, position{n, 0})
	}
	for range 3 {
		for cut := range 4 {
			got := b.positions(imgt, cut&1 > 0, cut&2 > 0)
			compact := slices.Compact(slices.SortedFunc(slices.Values(got), func(p, q position) int {
				return 100*(p.number-q.number) + p.insertion - q.insertion
			}))
			if len(got) != len(imgt) || len(compact) != len(imgt) || slices.Contains(got, position{}) {
				t.Errorf("%v, cut %d, have the numbers %v", imgt, cut, got)
			}
		}
		imgt = append(imgt, position{to, imgt[len(imgt)-1].insertion + 1})
	}
}
