package mini

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pleat/internal/mini/local"
)

// templateText gives, per residue, each side-chain atom beyond CB: its name, the three atoms from which it is
// placed (far, middle, bonded), bond length in Å, bond angle in degrees, and its torsion: a chi angle with an
// offset, or a constant. Lengths and angles are Engh and Huber's (Acta Cryst. A47, 392, 1991), rounded. Proline's
// ring is closed by its own function.
const templateText = `
C SG N CA CB 1.808 114.0 x1
D CG N CA CB 1.516 112.6 x1;OD1 CA CB CG 1.249 118.4 x2;OD2 CA CB CG 1.249 118.4 x2+180
E CG N CA CB 1.520 114.1 x1;CD CA CB CG 1.516 112.6 x2;OE1 CB CG CD 1.249 118.4 x3;OE2 CB CG CD 1.249 118.4 x3+180
F CG N CA CB 1.502 113.8 x1;CD1 CA CB CG 1.384 120.7 x2;CD2 CA CB CG 1.384 120.7 x2+180;CE1 CB CG CD1 1.382 120.7 180;CE2 CB CG CD2 1.382 120.7 180;CZ CG CD1 CE1 1.382 120.0 0
H CG N CA CB 1.497 113.8 x1;ND1 CA CB CG 1.378 122.7 x2;CD2 CA CB CG 1.354 131.2 x2+180;CE1 CB CG ND1 1.321 109.0 180;NE2 CB CG CD2 1.374 107.2 180
I CG1 N CA CB 1.530 110.4 x1;CG2 N CA CB 1.521 110.5 x1-122;CD1 CA CB CG1 1.513 113.8 x2
K CG N CA CB 1.520 114.1 x1;CD CA CB CG 1.520 111.3 x2;CE CB CG CD 1.520 111.3 x3;NZ CG CD CE 1.489 111.9 x4
L CG N CA CB 1.530 116.3 x1;CD1 CA CB CG 1.521 110.7 x2;CD2 CA CB CG 1.521 110.7 x2+122
M CG N CA CB 1.520 114.1 x1;SD CA CB CG 1.803 112.7 x2;CE CB CG SD 1.791 100.9 x3
N CG N CA CB 1.516 112.6 x1;OD1 CA CB CG 1.231 120.8 x2;ND2 CA CB CG 1.328 116.4 x2+180
Q CG N CA CB 1.520 114.1 x1;CD CA CB CG 1.516 112.6 x2;OE1 CB CG CD 1.231 120.8 x3;NE2 CB CG CD 1.328 116.4 x3+180
R CG N CA CB 1.520 114.1 x1;CD CA CB CG 1.520 111.3 x2;NE CB CG CD 1.460 112.0 x3;CZ CG CD NE 1.329 124.2 x4;NH1 CD NE CZ 1.326 120.0 0;NH2 CD NE CZ 1.326 120.0 180
S OG N CA CB 1.417 111.1 x1
T OG1 N CA CB 1.433 109.6 x1;CG2 N CA CB 1.521 110.5 x1-120
V CG1 N CA CB 1.521 110.5 x1;CG2 N CA CB 1.521 110.5 x1+122
W CG N CA CB 1.498 113.6 x1;CD1 CA CB CG 1.365 126.9 x2;CD2 CA CB CG 1.433 126.8 x2+180;NE1 CB CG CD1 1.374 110.2 180;CE2 CB CG CD2 1.409 107.2 180;CE3 CB CG CD2 1.398 133.9 0;CZ2 CG CD2 CE2 1.394 122.4 180;CZ3 CG CD2 CE3 1.382 118.6 180;CH2 CD2 CE2 CZ2 1.368 117.5 0
Y CG N CA CB 1.512 113.9 x1;CD1 CA CB CG 1.389 120.8 x2;CD2 CA CB CG 1.389 120.8 x2+180;CE1 CB CG CD1 1.382 121.2 180;CE2 CB CG CD2 1.382 121.2 180;CZ CG CD1 CE1 1.378 119.6 0;OH CD1 CE1 CZ 1.376 119.9 180`

// rotamerText gives chi angles in degrees and their frequency in percent: the common-atom values of the penultimate
// rotamer library (Lovell et al., Proteins 40, 389, 2000), checked against two independent transcriptions for most
// residues. Arginine and lysine are built from its staggered values one chi at a time, since few of their many
// rotamers are common.
const rotamerText = `
C 62 23;-177 26;-65 50
D 62 -10 10;62 30 9;-177 0 21;-177 65 6;-70 -15 51
E 62 180 -20 5;70 -80 0 2;-177 65 10 6;-177 180 0 24;-177 -80 -25 1;-65 85 0 6;-67 180 -10 33;-65 -65 -40 13
F 62 90 11;-177 80 33;-65 -85 44;-65 -30 9
H 62 -75 9;62 80 4;-177 -165 5;-177 -80 11;-177 60 16;-65 -70 29;-65 165 7;-65 80 13
I 62 100 1;62 170 13;-177 66 2;-177 165 8;-65 100 1;-65 170 60;-57 -60 15
L 62 80 1;-177 65 29;-172 145 2;-85 65 2;-65 175 59
M 62 180 75 2;62 180 -75 3;-177 65 75 5;-177 65 180 2;-177 180 75 7;-177 180 180 3;-177 180 -75 7;-67 180 75 17;-67 180 180 8;-67 180 -75 11;-65 -65 103 3;-65 -65 180 2;-65 -65 -70 19
N 62 -10 7;62 30 9;-174 -20 12;-177 30 15;-65 -20 39;-65 -75 8;-65 120 4
Q 62 180 20 4;70 -75 0 2;-177 65 -100 2;-177 65 60 9;-177 180 0 16;-65 85 0 3;-67 180 -25 35;-65 -65 -40 15;-65 -65 100 3
S 62 48;-177 22;-65 29
T 62 49;-175 7;-65 43
V 63 6;175 73;-60 20
W 62 -90 11;62 90 6;-177 -105 16;-177 90 18;-65 -90 5;-65 -5 8;-65 95 32
Y 62 90 13;-177 80 34;-65 -85 43;-65 -30 9`

// rotamer is one set of chi angles in degrees and its cost, −ln of its frequency.
type rotamer struct {
	chi  [4]float64
	cost float64
}

// part is one atom of a template. Parents count N, CA, C as 0..2 (C is never a parent), CB as 3, then the atoms of
// the template from 4.
type part struct {
	name    string
	element string
	from    [3]int
	bond    bond
	chi     int // 1..4, or 0 for a constant torsion
	offset  float64
}

// template is the side chain of one amino acid: atoms beyond CB, rotamers, and the number of chi angles.
type template struct {
	comp     string
	parts    []part
	rotamers []rotamer
	chis     int
}

// names are the component codes in the order of local.Letters.
var names = [20]string{"ALA", "CYS", "ASP", "GLU", "PHE", "GLY", "HIS", "ILE", "LYS", "LEU", "MET", "ASN", "PRO", "GLN",
	"ARG", "SER", "THR", "VAL", "TRP", "TYR"}

// templates are the side chains in the order of local.Letters.
var templates = parseTemplates()

// parseTemplates parses the two texts above. It panics on an error, because they are constants.
func parseTemplates() (out [20]template) {
	for a := range out {
		out[a].comp = names[a]
		out[a].rotamers = []rotamer{{}}
	}
	for line := range strings.Lines(strings.TrimSpace(templateText)) {
		t := &out[strings.IndexByte(local.Letters, line[0])]
		at := map[string]int{"N": 0, "CA": 1, "C": 2, "CB": 3}
		for i, s := range strings.Split(strings.TrimSpace(line[2:]), ";") {
			p := parsePart(strings.Fields(s), at)
			t.chis = max(t.chis, p.chi)
			t.parts = append(t.parts, p)
			at[p.name] = 4 + i
		}
	}
	for line := range strings.Lines(strings.TrimSpace(rotamerText)) {
		t := &out[strings.IndexByte(local.Letters, line[0])]
		t.rotamers = nil
		for _, s := range strings.Split(strings.TrimSpace(line[2:]), ";") {
			f := strings.Fields(s)
			var r rotamer
			for k := range len(f) - 1 {
				r.chi[k] = number(f[k])
			}
			r.cost = -math.Log(number(f[len(f)-1]) / 100)
			t.rotamers = append(t.rotamers, r)
		}
	}
	out[strings.IndexByte(local.Letters, 'K')].rotamers = staggered([]float64{180, 68, -68}, []float64{180, 65, -65})
	out[strings.IndexByte(local.Letters, 'R')].rotamers = staggered([]float64{180, 65, -65}, []float64{180, 85, -85})
	return out
}

// parsePart parses one atom; at maps the names placed so far to their indices.
func parsePart(f []string, at map[string]int) part {
	p := part{name: f[0], element: f[0][:1], bond: newBond(number(f[4]), number(f[5]))}
	for k := range 3 {
		i, ok := at[f[1+k]]
		if !ok {
			panic(fmt.Sprintf("mini: template atom %s stands before %s", f[0], f[1+k]))
		}
		p.from[k] = i
	}
	torsion := f[6]
	if strings.HasPrefix(torsion, "x") {
		p.chi = int(torsion[1] - '0')
		torsion = torsion[2:]
	}
	if torsion != "" {
		p.offset = number(torsion)
	}
	return p
}

// number parses a number of the texts above.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("mini: template number " + s)
	}
	return v
}

// staggered builds the rotamers of a long side chain. A gauche chi costs energy; two consecutive ones of opposite
// sign clash (syn-pentane) and are omitted.
func staggered(chi3, chi4 []float64) []rotamer {
	var out []rotamer
	for i, x1 := range []float64{-67, -177, 62} {
		for _, x2 := range []float64{180, 68, -68} {
			for k := range len(chi3) * len(chi4) {
				r := rotamer{
					chi:  [4]float64{x1, x2, chi3[k/len(chi4)], chi4[k%len(chi4)]},
					cost: [3]float64{0.5, 1.0, 2.1}[i],
				}
				if r.addGauche() {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// addGauche adds the cost of the gauche angles from chi 2 on. It returns false if two consecutive angles clash.
func (r *rotamer) addGauche() bool {
	for k := 1; k < 4; k++ {
		if math.Abs(r.chi[k]) >= 90 {
			continue
		}
		r.cost += 0.6
		if math.Abs(r.chi[k-1]) < 90 && r.chi[k]*r.chi[k-1] < 0 {
			return false
		}
	}
	return true
}
