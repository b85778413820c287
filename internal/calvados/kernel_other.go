//go:build !amd64

package calvados

var vector = false

func stickAVX(x, f *quad, js *uint32, n, i int, table *quad) { panic("calvados: no AVX2") }

func repelAVX(x, f *quad, js *uint32, n, i int, decay *float64, qa, kappa float64) {
	panic("calvados: no AVX2")
}
