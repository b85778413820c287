package facts

import (
	"cmp"
	"math"

	"pleat/internal/structure"
)

// groups are the charged groups of a side chain: the charge in e that it has at every pH, and the dissociation constant
// of one acid and of one base; 0: there is none.
type groups struct {
	fixed      int
	acid, base float64
}

// sideChains are the groups of the standard amino acids: Bjellqvist et al., Electrophoresis 14, 1023 (1993) and 15, 529
// (1994), as ProtParam uses them.
var sideChains = map[byte]groups{
	'D': {acid: 4.05}, 'E': {acid: 4.45}, 'C': {acid: 9.0}, 'Y': {acid: 10.0},
	'K': {base: 10.0}, 'R': {base: 12.0}, 'H': {base: 5.98},
}

// modifiedGroups are the groups of modified residues. The second constants of phosphates are those of Bienkiewicz and
// Lumb, J. Biomol. NMR 15, 203 (1999), as pyMBE gives them (Bienkiewicz1999.json); CALVADOS has 6.01 for SEP, by which
// its charge at pH 7 is 0.01 e less. Their first proton is off above pH 2. A sulfate, a sulfonate and a quaternary
// amine have one charge at every pH. The others have amides, ethers and thioethers in place of their parent's groups,
// or none, and so no charge; so do caps. Selenocysteine: Huber and Criddle, Arch. Biochem. Biophys. 122, 164 (1967).
var modifiedGroups = map[string]groups{
	"SEP": {fixed: -1, acid: 5.96}, "TPO": {fixed: -1, acid: 6.30}, "PTR": {fixed: -1, acid: 5.96},
	"TYS": {fixed: -1}, "OCS": {fixed: -1}, "M3L": {fixed: 1}, "SEC": {acid: 5.24},
	"ALY": {}, "CIR": {}, "CME": {}, "SCY": {}, "YCM": {}, "SMC": {}, "CAS": {}, "HYP": {}, "PCA": {}, "FME": {},
	"MHO": {}, "SAC": {}, "AIB": {}, "MEN": {}, "MVA": {}, "MLE": {}, "NLE": {}, "TRQ": {},
}

// sameGroups are the components with the groups of their parents: selenomethionine and D-amino acids. nearGroups have
// about the same; no constants are known of them, and answers say that they count as their parents.
var (
	sameGroups = map[string]bool{
		"MSE": true, "DAL": true, "DAR": true, "DSG": true, "DAS": true, "DCY": true, "DGN": true, "DGL": true,
		"DHI": true, "DIL": true, "DLE": true, "DLY": true, "MED": true, "DPN": true, "DPR": true, "DSN": true,
		"DTH": true, "DTR": true, "DTY": true, "DVA": true,
	}
	nearGroups = map[string]bool{"MLY": true, "MLZ": true, "AGM": true, "HIC": true, "BHD": true}
	// amides are the amino acids that are no amine at the beginning of a chain.
	amides = map[string]bool{"PCA": true, "FME": true, "SAC": true}
)

// firsts and lasts are the dissociation constants of chain ends by residue, firstPK and lastPK those at other residues.
// Their source is that of sideChains.
var (
	firsts = map[byte]float64{'A': 7.59, 'M': 7.0, 'S': 6.93, 'P': 8.36, 'T': 6.82, 'V': 7.44, 'E': 7.7}
	lasts  = map[byte]float64{'D': 4.55, 'E': 4.75}
)

const firstPK, lastPK = 7.5, 3.55

// Canonical returns the component code of a residue, see structure.CanonicalComponent. Names of protonation states are
// codes of other residues in the Chemical Component Dictionary (HIP is a phosphohistidine): they stay as they are if
// the residue has more heavy atoms of an element than the standard one, and than the oxygen of an end.
func (s *Site) Canonical() string {
	code := structure.CanonicalComponent(s.Kind, s.Ref.Name)
	if code == s.Ref.Name {
		return code
	}
	count := composition{"O": -1}
	for i := range s.Residue.Atoms {
		a := &s.Residue.Atoms[i]
		if count[a.Element]++; a.Heavy() && known(a.Element) && count[a.Element] > compositions[code][a.Element] {
			return s.Ref.Name
		}
	}
	return code
}

// Modified reports whether a residue of a polymer is not one of the standard components, also where it is unknown.
func (s *Site) Modified() bool {
	std, ok := structure.Component(s.Kind, s.Letter)
	return !ok || s.Letter == structure.Unknown || std != s.Canonical()
}

// parent returns the letter of the standard residue whose groups a residue of a protein has; 0: it has others.
func (s *Site) parent() byte {
	if s.Kind == structure.Protein && (!s.Modified() || sameGroups[s.Ref.Name]) {
		return s.Letter
	}
	return 0
}

// Titration says where the charge of a residue comes from.
type Titration string

// The sources of a charge.
const (
	ByStandard Titration = "standard" // the residue is a standard one, or has the same groups
	ByItself   Titration = "itself"   // a modified residue whose groups are known
	ByParent   Titration = "parent"   // a modified residue that counts as its parent
	LeftOut    Titration = "left out" // nothing is known of its charge
)

// groups returns the charged groups of a residue's side chain, and how they are known.
func (s *Site) groups() (groups, Titration) {
	if g, ok := modifiedGroups[s.Canonical()]; ok || structure.Cap(s.Ref.Name) != "" {
		return g, ByItself
	}
	switch letter := s.parent(); {
	case letter == 'B' || letter == 'Z' || letter == 'O':
		return groups{}, LeftOut
	case letter != 0:
		return sideChains[letter], ByStandard
	case nearGroups[s.Ref.Name]:
		return sideChains[s.Letter], ByParent
	}
	return groups{}, LeftOut
}

// Titration returns where the charge of a protein residue comes from.
func (s *Site) Titration() Titration {
	_, how := s.groups()
	return how
}

// LikeParent reports whether a protein residue has the groups of the standard residue of its letter, or about those.
func (s *Site) LikeParent() bool { return s.parent() != 0 || nearGroups[s.Ref.Name] }

// Charge returns the whole charge in e of a side chain at pH 7: its groups are charged or not.
func (s *Site) Charge() int {
	g, _ := s.groups()
	q := g.fixed
	if g.acid > 0 && g.acid < 7 {
		q--
	}
	if g.base > 7 {
		q++
	}
	return q
}

// negative and positive return the charge in e of an acid and of a base, by Henderson–Hasselbalch.
func negative(pK, pH float64) float64 { return -1 / (1 + math.Pow(10, pK-pH)) }
func positive(pK, pH float64) float64 { return 1 / (1 + math.Pow(10, pH-pK)) }

// ChargeAt returns the net charge of a protein in e. Its ends are free unless it is circular or they are bonded. A
// cysteine in a disulfide has no charge.
func (x *Index) ChargeAt(r Polymer, pH float64) (q float64) {
	for i := r.Lo; i < r.Hi; i++ {
		s := &x.Sites[i]
		if s.Bonded {
			continue
		}
		g, _ := s.groups()
		q += float64(g.fixed)
		if g.acid > 0 {
			q += negative(g.acid, pH)
		}
		if g.base > 0 {
			q += positive(g.base, pH)
		}
	}
	amine, acid := x.ends(r)
	if amine {
		q += positive(cmp.Or(firsts[x.Sites[r.Lo].Letter], firstPK), pH)
	}
	if acid {
		q += negative(cmp.Or(lasts[x.Sites[r.Hi-1].Letter], lastPK), pH)
	}
	return q
}

// ends reports which ends of a protein are free: the amine of the first residue and the acid of the last one.
func (x *Index) ends(r Polymer) (amine, acid bool) {
	if x.Circular(r) {
		return false, false
	}
	first, last := x.Sites[r.Lo].Ref.Name, x.Sites[r.Hi-1].Ref.Name
	amine = structure.Cap(first) != "C" && !amides[first] && len(x.bondedTo(r.Lo, "N")) == 0
	acid = structure.Cap(last) != "N" && len(x.bondedTo(r.Hi-1, "C")) == 0
	return amine, acid
}

// shortestBond is the distance in Å below which two atoms are not bonded but overlap.
const shortestBond = 1.1

// bondedTo returns the other sites that an atom of an end of a protein is bonded to, as their distance tells: molecules
// that are no residue of a chain, as files list caps (ACE, NH2), and residues of polymers, as in depsipeptides and in
// the conjugates of ubiquitin. There is none where molecules overlap, or where several atoms are near.
func (x *Index) bondedTo(site int, atom string) (out []int) {
	if x.crowded != "" {
		return nil // neighbours must not be searched for
	}
	var near []int
	for _, p := range x.AtomsOf([]int{site}, atom) {
		near = x.grid.Near(near[:0], x.Points[p], structure.BondLimit)
		for _, q := range near {
			o := int(x.Owner[q])
			switch kind := x.Sites[o].Kind; {
			case o == site, kind != structure.Ligand && !kind.Polymer():
			case x.Atoms[q].Element == x.Atoms[p].Element && kind.Polymer(),
				structure.Distance(x.Points[p], x.Points[q]) < shortestBond:
				return nil // copies of molecules overlap
			default:
				out = append(out, o)
			}
		}
	}
	if len(out) > 1 {
		return nil
	}
	return out
}

// isoelectric returns the pH at which the net charge is zero, and false where it is at none between 0 and 14. The
// charge falls with pH, so bisection finds it.
func (x *Index) isoelectric(r Polymer) (float64, bool) {
	lo, hi := 0.0, 14.0
	if x.ChargeAt(r, lo) <= 0 || x.ChargeAt(r, hi) >= 0 {
		return 0, false
	}
	for range 40 {
		if mid := (lo + hi) / 2; x.ChargeAt(r, mid) > 0 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2, true
}
