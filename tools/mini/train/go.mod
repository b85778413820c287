// A module of its own, so that the tests of the program do not compile the trainer, which somebody runs by hand.
module pleat/tools/mini/train

go 1.26.0

require pleat v0.0.0

replace pleat => ../../..
