//go:build !amd64

package calvados

// vector reports whether the assembly kernels run; a test turns them off.
var vector = false

// These stand for the loops in kernel_amd64.s. They are never called, because vector is false here.
func stickAVX(x, f *quad, js *uint32, n, i int, table *quad) { panic("calvados: no AVX2") }

func repelAVX(x, f *quad, js *uint32, n, i int, decay *float64, qa, kappa float64) {
	panic("calvados: no AVX2")
}
