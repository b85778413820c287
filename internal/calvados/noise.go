package calvados

import (
	"math"
	"math/bits"
)

// noise is a stream of Gaussian random numbers whose state is four words, so that a checkpoint can hold it.
//
// Sources: xoshiro256++ of Blackman and Vigna, ACM Trans. Math. Softw. 47, 36 (2021), seeded by splitmix64; the
// ziggurat of Marsaglia and Tsang, J. Stat. Softw. 5, 8 (2000), with 256 layers and, after Doornik (2005), separate
// bits for the layer and for the number.
type noise struct{ s [4]uint64 }

// newNoise returns the stream of a seed.
func newNoise(seed uint64) noise {
	var n noise
	for i := range n.s {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		n.s[i] = z ^ z>>31
	}
	return n
}

// bits returns the next 64 random bits of xoshiro256++.
func (n *noise) bits() uint64 {
	s0, s1, s2, s3 := n.s[0], n.s[1], n.s[2], n.s[3]
	out := bits.RotateLeft64(s0+s3, 23) + s0
	t := s1 << 17
	s2 ^= s0
	s3 ^= s1
	s1 ^= s2
	s0 ^= s3
	s2 ^= t
	n.s = [4]uint64{s0, s1, s2, bits.RotateLeft64(s3, 45)}
	return out
}

// uniform returns a number in (0, 1].
func (n *noise) uniform() float64 { return float64(n.bits()>>11+1) * 0x1p-53 }

const (
	// The ziggurat of 256 layers (Marsaglia and Tsang 2000), for the density e^(−x²/2).
	zigR = 3.6541528853610088   // where the tail begins
	zigV = 0.004928673233992336 // area of a layer
)

// zigX and zigF are the edges of the ziggurat's layers and the density at them.
var zigX, zigF [257]float64 // right edges of the layers, and the density there

func init() {
	f := func(x float64) float64 { return math.Exp(-x * x / 2) }
	zigX[0], zigX[1] = zigV/f(zigR), zigR
	for i := 2; i < 256; i++ {
		zigX[i] = math.Sqrt(-2 * math.Log(zigV/zigX[i-1]+f(zigX[i-1])))
	}
	for i := range zigF {
		zigF[i] = f(zigX[i])
	}
}

// gauss returns a number of the standard normal distribution.
func (n *noise) gauss() float64 {
	for {
		u := n.bits()
		i := u & 255
		z := float64(int64(u)>>11) * 0x1p-52 * zigX[i]
		if math.Abs(z) < zigX[i+1] {
			return z
		}
		if i == 0 {
			return math.Copysign(n.tail(), z)
		}
		if zigF[i]+n.uniform()*(zigF[i+1]-zigF[i]) < math.Exp(-z*z/2) {
			return z
		}
	}
}

// tail returns the magnitude of a number beyond the ziggurat's last layer.
func (n *noise) tail() float64 {
	for {
		x := -math.Log(n.uniform()) / zigR
		if y := -math.Log(n.uniform()); y+y >= x*x {
			return zigR + x
		}
	}
}
