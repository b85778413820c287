// A program outside of the module of Pleat, as a user of package api has one. In a program of yours, leave out the last
// line: the version of Pleat then comes from its repository.
module fold

go 1.26.0

require pleat v0.0.0

replace pleat => ../..
