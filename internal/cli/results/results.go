// Package results is the folder into which commands write the files of runs, and the log of a folder of several.
//
// It must not ask a server for anything but the files.
package results
