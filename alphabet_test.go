package pleat

import "testing"

// The message names the meaning of letters of other alphabets; anything else is none of this one.
func TestNotALetter(t *testing.T) {
	for _, c := range []struct {
		kind EntityKind
		r    rune
		want string
	}{
		{Protein, '1', "'1' is not an amino acid"},
		{Protein, '>', "'>' stands for the header of a FASTA record; send its residues alone"},
		{RNA, '-', "'-' stands for a gap of an alignment; send the residues alone"},
		{DNA, ':', "':' stands for the end of a chain; send each chain as a sequence"},
		{Protein, 'b', "'b' stands for D or N"},
		{Protein, 'U', "'U' stands for selenocysteine (C is nearest)"},
		{Protein, 'X', "'X' stands for an unknown residue"},
		{Protein, 'А', "'А' (U+0410, a Cyrillic letter that looks like A) is not an amino acid"},
		{Protein, '\u00ad', "U+00AD (a soft hyphen) is not an amino acid"},
		{RNA, 'T', "'T' is not a nucleotide of RNA"},
		{DNA, 'B', "'B' is not a nucleotide of DNA"},
		{DNA, 'N', "'N' stands for an unknown residue"},
	} {
		if got := NotALetter(c.kind, c.r); got != c.want {
			t.Errorf("%s %q: %q; want %q", c.kind, c.r, got, c.want)
		}
	}
}
