package report

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image/color"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pleat"
	"pleat/internal/facts"
	"pleat/internal/plot"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// ViewOptions is what a View says besides the coordinates.
type ViewOptions struct {
	Source  string    // where the viewer reads the structure: a file beside the script, or an address
	PLDDT   bool      // the structure is a prediction
	Written time.Time // of the result; zero: not stated
}

// View shows a structure in another program: coloured by pLDDT in the bands of the AlphaFold database, by predicted
// RMSD in those of plot.RMSDBands where the model gives this instead, or by chain where there is neither, with a name
// for each chain, ligands as sticks and the residues that touch another chain. It needs a session without other
// structures.
//
// The scripts have no text of a user or an engine: names are reduced to letters, digits and underscores (words.Slug),
// and a chain whose id is more than four letters and digits is not named in them. The state for Mol* is JSON.
type View struct {
	ViewOptions
	title  string
	format string // of the source: mmcif or pdb
	chains []viewedChain
	scale  *viewScale       // nil: coloured by chain
	bands  [][]residueRange // by the bands of the scale: polymers in this band
	inB    bool             // the B-factors of the structure are in these bands too
	touch  []residueRange   // residues of polymers that are in contact with another chain
}

// viewedChain is a chain that scripts show.
type viewedChain struct {
	id, name string
	ligand   bool
}

// residueRange is a range of residues of a chain, by their numbers.
type residueRange struct {
	chain    string
	from, to int
}

// safeSource matches what a script may contain as the name or the address of a structure.
var safeSource = regexp.MustCompile(`^[]A-Za-z0-9._~:/?&=%+@[-]+$`)

// scriptChain matches the ids of chains that scripts name: those that a job can have.
var scriptChain = regexp.MustCompile(`^[A-Za-z0-9]{1,4}$`)

// NewView prepares the view of a structure. An error is that of ctx, or says that the source has characters that a
// script cannot have.
func NewView(ctx context.Context, s *structure.Structure, o ViewOptions) (*View, error) {
	if !safeSource.MatchString(o.Source) {
		return nil, pleat.Invalidf("the address of the structure, %s, has characters that a script cannot have",
			pleat.Clip(o.Source))
	}
	v := &View{ViewOptions: o, title: s.Title, format: "mmcif"}
	if from, _, _ := strings.Cut(o.Source, "?"); path.Ext(from) == ".pdb" {
		v.format = "pdb"
	}
	for i := range s.Chains {
		c := &s.Chains[i]
		if c.Kind != structure.Water {
			v.chains = append(v.chains, viewedChain{c.ID, c.Name, !c.Kind.Polymer()})
		}
	}
	if o.PLDDT {
		v.colour(s)
	}
	contacts, _, err := facts.ChainContacts(ctx, s) // a structure without contacts has no interface to show
	if err != nil {
		return nil, err
	}
	touching := map[facts.ResidueAt]bool{}
	for _, c := range contacts {
		touching[c.A], touching[c.B] = true, true
	}
	v.touch = stretches(s, func(chain, residue int) bool {
		return touching[facts.ResidueAt{Chain: chain, Residue: residue}]
	})
	return v, nil
}

// viewScale is a measure of residues by whose bands a structure is coloured.
type viewScale struct {
	name, legend string
	bands        []plot.Band
	rounded      float64 // by how much a B-factor that repeats the measure with fewer decimals may differ from it
}

// The scales of pLDDT and predicted RMSD.
var (
	plddtScale = viewScale{
		"plddt", "pLDDT in the bands of the AlphaFold database: above 90, 70, 50, and below.", plot.Bands, 0.51,
	}
	rmsdScale = viewScale{
		"predicted_rmsd", "Predicted RMSD in Angstrom, low values being good: up to 0.5, 1, 1.5, 2.5, and above.",
		plot.RMSDBands, 0.006,
	}
)

// band returns the index of the band of a value: it exceeds the lower limit of the band.
func (s *viewScale) band(v float64) int {
	best := slices.IndexFunc(s.bands, func(b plot.Band) bool { return b.Low == 0 })
	for k, b := range s.bands {
		if v > b.Low && b.Low > s.bands[best].Low {
			best = k
		}
	}
	return best
}

// colour finds the residues of polymers in each band of pLDDT or else of the predicted RMSD, and whether the B-factors
// are in the same ones. Without either, the view is coloured by chain.
func (v *View) colour(s *structure.Structure) {
	values := s.Confidence(true).PLDDT
	v.scale = &plddtScale
	if values == nil {
		values, v.scale = s.PredictedRMSD(), &rmsdScale
	}
	if values == nil {
		v.scale = nil
		return
	}
	v.inB = true
	v.bands = make([][]residueRange, len(v.scale.bands))
	for k := range v.bands {
		v.bands[k] = stretches(s, func(chain, residue int) bool {
			x := values[chain][residue]
			if math.IsNaN(x) || v.scale.band(x) != k {
				return false
			}
			for _, a := range s.Chains[chain].Residues[residue].Atoms {
				v.inB = v.inB && (v.scale.band(a.B) == k || math.Abs(a.B-x) < v.scale.rounded)
			}
			return true
		})
	}
}

// stretches joins the residues of polymers that are chosen to ranges of consecutive numbers. Numbers below 1, which
// predictions do not have, are left out: scripts would read their sign as that of a range.
func stretches(s *structure.Structure, chosen func(chain, residue int) bool) []residueRange {
	var out []residueRange
	for i := range s.Chains {
		c := &s.Chains[i]
		if !c.Kind.Polymer() {
			continue
		}
		for j := range c.Residues {
			n := c.Residues[j].Auth
			if n < 1 || !chosen(i, j) {
				continue
			}
			if last := len(out) - 1; last >= 0 && out[last].chain == c.ID && out[last].to == n-1 {
				out[last].to = n
			} else {
				out = append(out, residueRange{c.ID, n, n})
			}
		}
	}
	return out
}

// maxRanges is how many ranges of residues one line of a script has.
const maxRanges = 40

// lines calls fn for the stretches of each chain that a script can name, as ranges such as 3-7 and 9, at most maxRanges
// at a time.
func lines(list []residueRange, fn func(chain string, ranges []string)) {
	for len(list) > 0 {
		chain, n := list[0].chain, 1
		for n < min(len(list), maxRanges) && list[n].chain == chain {
			n++
		}
		var ranges []string
		for _, s := range list[:n] {
			text := strconv.Itoa(s.from)
			if s.to > s.from {
				text += "-" + strconv.Itoa(s.to)
			}
			ranges = append(ranges, text)
		}
		if scriptChain.MatchString(chain) {
			fn(chain, ranges)
		}
		list = list[n:]
	}
}

// nameOf returns the name of a chain in scripts, such as chain_A or chain_A_insulin, and false if it has none.
func (c viewedChain) nameOf() (string, bool) {
	name := "chain_" + c.id
	if label := strings.ReplaceAll(words.Slug(c.name, 40), "-", "_"); label != "" {
		name += "_" + label
	}
	return name, scriptChain.MatchString(c.id)
}

// webColour returns a colour as #rrggbb.
func webColour(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// ChimeraX returns a command file (.cxc) for UCSF ChimeraX.
func (v *View) ChimeraX() []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Shows a predicted structure in UCSF ChimeraX. Open it in a new session.")
	line(`open "%s" format %s`, v.Source, v.format)
	line("hide atoms")
	line("show cartoons")
	line("color bychain")
	if v.scale != nil {
		line("# %s", v.scale.legend)
		for k, list := range v.bands {
			lines(list, func(chain string, ranges []string) {
				line("color /%s:%s %s", chain, strings.Join(ranges, ","), webColour(v.scale.bands[k].Colour))
			})
		}
	}
	for _, c := range v.chains {
		name, ok := c.nameOf()
		if !ok {
			continue
		}
		line("name %s /%s", name, c.id)
		if c.ligand {
			line("show /%s atoms", c.id)
			line("style /%s stick", c.id)
			line("color /%s byhetero", c.id)
		}
	}
	if len(v.touch) > 0 {
		line("# Residues of which a heavy atom is within %g Å of another chain.", facts.ContactDistance)
		lines(v.touch, func(chain string, ranges []string) {
			line("show /%s:%s atoms", chain, strings.Join(ranges, ","))
			line("style /%s:%s stick", chain, strings.Join(ranges, ","))
		})
	}
	line("view")
	return b.Bytes()
}

// PyMOL returns a script (.pml) for PyMOL.
func (v *View) PyMOL() []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Shows a predicted structure in PyMOL. Open it in a new session.")
	line("load %s, fold, format=%s", v.Source, strings.TrimPrefix(v.format, "mm"))
	line("hide everything, fold")
	line("show cartoon, fold")
	if v.scale == nil || !v.inB { // this script colours by B-factor
		line("util.cbc fold")
	} else {
		line("# %s", v.scale.legend)
		byLow := func(a, b plot.Band) int { return cmp.Compare(a.Low, b.Low) }
		for _, band := range slices.SortedFunc(slices.Values(v.scale.bands), byLow) { // each colours those above again
			name := fmt.Sprintf("%s_%g", v.scale.name, band.Low)
			line("set_color %s, [%d, %d, %d]", name, band.Colour.R, band.Colour.G, band.Colour.B)
			if band.Low == 0 {
				line("color %s, fold", name)
			} else {
				line("color %s, fold and b > %g", name, band.Low)
			}
		}
	}
	for _, c := range v.chains {
		name, ok := c.nameOf()
		if !ok {
			continue
		}
		line("select %s, fold and chain %s", name, c.id)
		if c.ligand {
			line("show sticks, %s", name)
			line("util.cnc %s", name)
		}
	}
	if len(v.touch) > 0 {
		line("# Residues of which a heavy atom is within %g Å of another chain.", facts.ContactDistance)
		line("select interface, none")
		lines(v.touch, func(chain string, ranges []string) {
			line("select interface, interface or (fold and chain %s and resi %s)", chain, strings.Join(ranges, "+"))
		})
		line("show sticks, interface")
	}
	line("deselect")
	line("orient fold")
	return b.Bytes()
}

// ViewFormats are the endings of the scripts that Script writes.
var ViewFormats = []string{"cxc", "pml", "mvsj"}

// Script returns the view in one of ViewFormats, for ChimeraX, PyMOL and Mol*.
func (v *View) Script(ending string) ([]byte, error) {
	switch ending {
	case "cxc":
		return v.ChimeraX(), nil
	case "pml":
		return v.PyMOL(), nil
	}
	return v.MolViewSpec()
}

// scripts writes the scripts of the structures among files into the folder, with the names of the files as their
// sources. They are for archives alone and no artifacts: anybody who has a structure can request them. A structure that
// cannot be read, and a name that is taken, have none. The state of a single structure is index.mvsj, with which an
// archive is one of MolViewSpec (.mvsx).
func (d *folder) scripts(files []pleat.File) ([]pleat.File, error) {
	taken, structures := map[string]bool{}, 0
	for _, f := range files {
		taken[f.Name] = true
		if f.Kind == pleat.ArtifactCIF {
			structures++
		}
	}
	var out []pleat.File
	for _, f := range files {
		if f.Kind != pleat.ArtifactCIF {
			continue
		}
		v, ok, err := viewOfFile(f)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, ending := range ViewFormats {
			name := strings.TrimSuffix(f.Name, path.Ext(f.Name)) + "." + ending
			if ending == "mvsj" && structures == 1 {
				name = "index.mvsj"
			}
			if taken[name] {
				continue
			}
			text, err := v.Script(ending)
			if err != nil {
				return nil, err
			}
			script := pleat.File{Name: name, Path: filepath.Join(d.dir, name)}
			if err := WriteFile(script.Path, content(text)); err != nil {
				return nil, err
			}
			out = append(out, script)
		}
	}
	return out, nil
}

// viewOfFile returns the view of a structure of the service, and false if it cannot be read or shown, as an engine's
// own file.
func viewOfFile(f pleat.File) (v *View, ok bool, err error) {
	in, err := os.Open(f.Path)
	if err != nil {
		return nil, false, err
	}
	defer in.Close()
	read, unreadable := structure.Read(in, structure.Limits{})
	if unreadable != nil {
		return nil, false, nil //nolint:nilerr // an engine's own file
	}
	v, refused := NewView(context.Background(), read, ViewOptions{Source: f.Name, PLDDT: true}) // never cancelled
	return v, refused == nil, nil
}
