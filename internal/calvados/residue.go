package calvados

import (
	"math"

	"pleat"
)

// Constants of the model: energies in kJ/mol, lengths in nm.
const (
	gas      = 8.3145e-3 // kJ/mol/K
	avogadro = 0.602214076
	// e²N_A/(4πε₀) in kJ·nm/mol, by the figures the model was fitted with
	coulomb    = 1.6021766 * 1.6021766 * 6.02214076 * 1000 / (4 * math.Pi * 8.854188)
	bondK      = 8033.0 // kJ/mol/nm²
	bondLength = 0.38
	epsilon    = 0.8368
	cutAH      = 2.0
	cutDH      = 4.0

	massN, massC = 2.0, 16.0 // what the ends of a chain weigh beyond their residues
)

// residue is a row of the model's parameter table.
type residue struct {
	letter byte
	name   string  // CCD code
	mass   float64 // u
	lambda [2]float64
	sigma  float64 // nm
	charge float64 // histidine: of the protonated form
}

// residues is the table of CALVADOS 2 (Tesei and Lindorff-Larsen 2022) and 3 (Cao et al. 2024); λ of CALVADOS 2
// comes first.
var residues = [20]residue{
	{'R', "ARG", 156.19, [2]float64{0.730762476752, 0.7407902764839954}, 0.656, +1},
	{'D', "ASP", 115.09, [2]float64{0.041604048061, 0.092587557536158}, 0.558, -1},
	{'N', "ASN", 114.10, [2]float64{0.425585900979, 0.3706962163690402}, 0.568, 0},
	{'E', "GLU", 129.11, [2]float64{0.000693546096, 0.000249590539426}, 0.592, -1},
	{'K', "LYS", 128.17, [2]float64{0.179021173899, 0.1380602542039267}, 0.636, +1},
	{'H', "HIS", 137.14, [2]float64{0.466366729056, 0.4087176216525476}, 0.608, +1},
	{'Q', "GLN", 128.13, [2]float64{0.393431855106, 0.3143449791669133}, 0.602, 0},
	{'S', "SER", 87.08, [2]float64{0.462541681161, 0.4473142572693176}, 0.518, 0},
	{'C', "CYS", 103.14, [2]float64{0.561543509914, 0.5922529084601322}, 0.548, 0},
	{'G', "GLY", 57.05, [2]float64{0.705884373367, 0.7538308115197386}, 0.450, 0},
	{'T', "THR", 101.11, [2]float64{0.371316297627, 0.2672387936544146}, 0.562, 0},
	{'A', "ALA", 71.07, [2]float64{0.274329796904, 0.3377244362031627}, 0.504, 0},
	{'M', "MET", 131.20, [2]float64{0.530848113434, 0.5170874160398543}, 0.618, 0},
	{'Y', "TYR", 163.18, [2]float64{0.977461144934, 0.950628687301107}, 0.646, 0},
	{'V', "VAL", 99.13, [2]float64{0.208376960817, 0.2936174211771383}, 0.586, 0},
	{'W', "TRP", 186.22, [2]float64{0.989376474037, 1.033450123574512}, 0.678, 0},
	{'L', "LEU", 113.16, [2]float64{0.644000500778, 0.5548615312993875}, 0.618, 0},
	{'I', "ILE", 113.16, [2]float64{0.542362361067, 0.5130398874425708}, 0.618, 0},
	{'P', "PRO", 97.12, [2]float64{0.359312657636, 0.3469777523519372}, 0.556, 0},
	{'F', "PHE", 147.18, [2]float64{0.867235898206, 0.8906449355499866}, 0.636, 0},
}

var (
	byLetter [256]int8
	byName   = map[string]byte{"MSE": 'M', "HID": 'H', "HIE": 'H', "HIP": 'H'}
)

func init() {
	for i := range byLetter {
		byLetter[i] = -1
	}
	for i, r := range residues {
		byLetter[r.letter] = int8(i)
		byName[r.name] = r.letter
	}
}

// bead is one residue in a system: mass in u, charge in e, sigma in nm.
type bead struct {
	kind   uint8 // row of residues
	chain  int32
	mass   float64
	charge float64
	sigma  float64
	lambda float64
}

// permittivity returns that of water relative to vacuum at temperature t in K (the fit that CALVADOS uses, from
// Akerlof and Oshry 1950).
func permittivity(t float64) float64 {
	return 5321/t + 233.76 - 0.9297*t + 1.417e-3*t*t - 8.292e-7*t*t*t
}

// screening returns A = e²N_A/(4πε₀ε_w) in kJ·nm/mol and the inverse Debye length
// κ in 1/nm at temp K and ionic mol/L.
func screening(temp, ionic float64) (a, kappa float64) {
	a = coulomb / permittivity(temp)
	bjerrum := a / (gas * temp)
	return a, math.Sqrt(8 * math.Pi * bjerrum * avogadro * ionic)
}

// chargeAt returns the charge in e of a residue in the middle of a chain at a pH.
func (r *residue) chargeAt(pH float64) float64 {
	if r.letter == 'H' {
		return 1 / (1 + math.Pow(10, pH-6))
	}
	return r.charge
}

// makeBeads converts the molecule's residues to beads, including the mass and charge of chain ends.
func makeBeads(p *Params, m *Molecule) ([]bead, error) {
	profile := 0
	if p.Residues == Calvados3 {
		profile = 1
	}
	var out []bead
	for c := range m.Chains {
		sites := m.Chains[c].Sites
		first := len(out)
		for i := range sites {
			k := byLetter[sites[i].Letter]
			if k < 0 {
				return nil, pleat.Invalidf("residue %d of chain %s is %q; the model knows the 20 standard amino acids",
					i+1, m.Chains[c].ID, sites[i].Letter)
			}
			r := &residues[k]
			out = append(out, bead{
				kind:   uint8(k),
				chain:  int32(c),
				mass:   r.mass,
				charge: r.chargeAt(p.PH),
				sigma:  r.sigma,
				lambda: r.lambda[profile],
			})
		}
		last := len(out) - 1
		out[first].mass += massN
		out[last].mass += massC
		if p.Termini != TerminiC && p.Termini != TerminiNone {
			out[first].charge++
		}
		if p.Termini != TerminiN && p.Termini != TerminiNone {
			out[last].charge--
		}
	}
	return out, nil
}
