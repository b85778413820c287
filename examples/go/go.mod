// A program outside of the module of Pleat, as a user of package api has one. The last line takes Pleat from this
// checkout. A program of yours names your checkout there: replace pleat => /path/to/pleat. Once Pleat is published under
// a path that scripts/module-path has set, «go get PATH/api@VERSION» replaces the last two lines.
module fold

go 1.26.0

require pleat v0.0.0

replace pleat => ../..
