package antibody

// Scheme is a way to number the residues of variable domains, or to divide them into regions.
type Scheme string

// The schemes. Chothia is the scheme of Al-Lazikani, Lesk and Chothia (1997), with 82A to 82C in heavy chains; it is
// not Martin's variant of it. Chothia and Kabat are for antibodies alone.
const (
	IMGT    Scheme = "imgt"
	Chothia Scheme = "chothia"
	Kabat   Scheme = "kabat"
	AHo     Scheme = "aho"
)

// IgFold divides domains as the IgFold package does: the regions are those of Chothia.
const IgFold = Chothia

// Schemes lists the schemes that number residues.
var Schemes = []Scheme{IMGT, Chothia, Kabat, AHo}

// Region is a framework region (FR) or a complementarity-determining region (CDR).
type Region string

// Regions lists the regions of a variable domain in their order.
var Regions = []Region{"FR1", "CDR1", "FR2", "CDR2", "FR3", "CDR3", "FR4"}

// imgtEnds are the last positions of the regions in the IMGT scheme.
var imgtEnds = [7]int{26, 38, 55, 65, 104, 117, columns}

// cdrs are the first and the last positions of the CDRs in the Chothia and the Kabat scheme.
type cdrs [3][2]int

var (
	lightCDRs   = cdrs{{24, 34}, {50, 56}, {89, 97}} // of both definitions
	chothiaCDRs = cdrs{{26, 32}, {52, 56}, {95, 102}}
	kabatCDRs   = cdrs{{31, 35}, {50, 65}, {95, 102}}
	imgtCDRs    = cdrs{{27, 38}, {56, 65}, {105, 117}}
)

// Region returns the region of residue Start+i by the definition of a scheme: Chothia is 26 to 32, 52 to 56 and 95 to
// 102 of heavy chains, Kabat 31 to 35B, 50 to 65 and 95 to 102; both are 24 to 34, 50 to 56 and 89 to 97 of light
// chains. It is empty outside the domain, for AHo, which defines none, and for Chothia and Kabat in T-cell receptors.
func (d *Domain) Region(i int, def Scheme) Region {
	if p := d.position(i, def); p.number != 0 && def != AHo {
		return regionOf(d.Kind, def, p.number)
	}
	return ""
}

// regionOf returns the region of a number of a scheme.
func regionOf(k Kind, def Scheme, number int) Region {
	bounds := &imgtCDRs
	switch {
	case def == IMGT:
	case k.Light():
		bounds = &lightCDRs
	case def == Chothia:
		bounds = &chothiaCDRs
	default:
		bounds = &kabatCDRs
	}
	for k, b := range bounds {
		switch {
		case number < b[0]:
			return Regions[2*k]
		case number <= b[1]:
			return Regions[2*k+1]
		}
	}
	return Regions[len(Regions)-1]
}

// Number returns the number of residue Start+i, such as 52A. It is empty outside the domain, and for Chothia and Kabat
// in T-cell receptors, which these schemes do not define.
func (d *Domain) Number(i int, s Scheme) string { return d.position(i, s).String() }

func (d *Domain) position(i int, s Scheme) position {
	if i < 0 || i >= len(d.positions) {
		return position{}
	}
	if s == IMGT {
		return d.positions[i]
	}
	first := i
	for _, b := range blocksOf(d.Kind, s) {
		if n := d.positions[i].number; n < b.first || n > b.last {
			continue
		}
		for first > 0 && d.positions[first-1].number >= b.first {
			first--
		}
		end := i + 1
		for end < len(d.positions) && d.positions[end].number <= b.last {
			end++
		}
		return b.positions(d.positions[first:end], first == 0, end == len(d.positions))[i-first]
	}
	return position{}
}

// blocksOf returns how a scheme numbers a kind of domain; none: the scheme does not define it.
func blocksOf(k Kind, s Scheme) []block {
	switch {
	case s == AHo:
		return ahoBlocks[k]
	case s == Chothia && k == Heavy:
		return chothiaHeavy
	case s == Chothia && k.Light():
		return chothiaLight
	case s == Kabat && k == Heavy:
		return kabatHeavy
	case s == Kabat && k.Light():
		return kabatLight
	}
	return nil
}
