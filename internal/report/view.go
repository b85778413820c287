package report

import (
	"bytes"
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

// View shows a structure in another program: coloured by confidence in the bands of the AlphaFold database, or by chain
// where there is none, with a name for each chain, ligands as sticks and the residues that touch another chain. It
// needs a session without other structures.
//
// The scripts have no text of a user or an engine: names are reduced to letters, digits and underscores (words.Slug),
// and a chain whose id is more than four letters and digits is not named in them. The state for Mol* is JSON.
type View struct {
	ViewOptions
	title  string
	format string // of the source: mmcif or pdb
	chains []viewedChain
	bands  [][]residueRange // by plot.Bands: polymers in this band; nil: coloured by chain
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
		v.bands, v.inB = bandsOf(s)
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

// bandsOf returns the residues of polymers in each of plot.Bands, and whether their B-factors are in the same ones; nil
// if no confidence is known.
func bandsOf(s *structure.Structure) (out [][]residueRange, inB bool) {
	plddt := s.Confidence(true).PLDDT
	if plddt == nil {
		return nil, false
	}
	inB = true
	band := func(v float64) int {
		return max(0, slices.IndexFunc(plot.Bands, func(b plot.Band) bool { return v > b.Low || b.Low == 0 }))
	}
	out = make([][]residueRange, len(plot.Bands))
	for k := range out {
		out[k] = stretches(s, func(chain, residue int) bool {
			v := plddt[chain][residue]
			if math.IsNaN(v) || band(v) != k {
				return false
			}
			for _, a := range s.Chains[chain].Residues[residue].Atoms {
				inB = inB && (band(a.B) == k || math.Abs(a.B-v) < roundedB)
			}
			return true
		})
	}
	return out, inB
}

// roundedB is how much a B-factor may differ from the pLDDT that it repeats, with fewer decimals.
const roundedB = 0.51

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
	if v.bands != nil {
		line("# pLDDT in the bands of the AlphaFold database: above 90, 70, 50, and below.")
		for k, list := range v.bands {
			lines(list, func(chain string, ranges []string) {
				line("color /%s:%s %s", chain, strings.Join(ranges, ","), webColour(plot.Bands[k].Colour))
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
	if v.bands == nil || !v.inB { // this script colours by B-factor
		line("util.cbc fold")
	} else {
		line("# pLDDT in the bands of the AlphaFold database: above 90, 70, 50, and below.")
		for _, band := range slices.Backward(plot.Bands) { // each colours those above its limit again
			name := fmt.Sprintf("plddt_%g", band.Low)
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
