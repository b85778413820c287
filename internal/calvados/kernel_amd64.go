package calvados

import "golang.org/x/sys/cpu"

// vector reports whether the assembly kernels run; a test turns them off.
var vector = cpu.X86.HasAVX2 && cpu.X86.HasFMA

//go:noescape
func stickAVX(x, f *quad, js *uint32, n, i int, table *quad)

//go:noescape
func repelAVX(x, f *quad, js *uint32, n, i int, decay *float64, qa, kappa float64)
