package format

import "pleat"

// attach makes a file of the library the alignment of a protein.
func attach(_ *pleat.Sequence, at string, f LibraryFile) error {
	return pleat.Invalidf("%s names the alignment %q; jobs have no alignments of their own yet", at, pleat.Clip(f.Name))
}
