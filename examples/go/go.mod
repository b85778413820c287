// A program outside of the module of Pleat, as a user of package api has one. The last line takes Pleat from this
// checkout. A program of yours takes it from your checkout in the same way; or, once Pleat is published under a path that
// scripts/module-path has set, needs neither of the two last lines but «go get PATH/api@VERSION».
module fold

go 1.26.0

require pleat v0.0.0

replace pleat => ../..
