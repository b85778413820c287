// A module of its own, so that the tests of the program do not compile the benchmark, which somebody runs by hand.
module pleat/tools/calvados/bench

go 1.26.0

require pleat v0.0.0

require (
	golang.org/x/sys v0.49.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace pleat => ../../..
