// Package facts computes what the coordinates of one structure show: chains and their composition, secondary
// structure, contacts, interfaces, surface, pockets, ligands and their surroundings, and the confidence of a
// prediction in each of its parts.
//
// It owns the digest of facts (Digest, Facts), its residue-level view (Index), and how both are written in
// sentences. It must not read files, keep state, interpret questions, or claim anything that needs an experiment
// (function, affinity, effects of mutations).
package facts

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"pleat"
	"pleat/internal/structure"
	"pleat/internal/words"
)

// Bounds of a digest. They limit lists only; the counts next to them are complete.
const (
	maxList     = 200     // entries of one list
	maxNear     = 80      // residues around one ligand, or on one side of an interface
	maxGeometry = 400_000 // heavy atoms beyond which contacts, surface and pockets are left out

	maxSiteAtoms = 2000 // heavy atoms of one residue or ligand
)

// Distances in Å. Heavy atoms only, since most structures carry no hydrogens.
const (
	ContactDistance = 4.5 // two residues touch
	hbondCut        = 3.5 // a donor and an acceptor may share a hydrogen
	bridgeCut       = 4.0 // carboxylate O to side-chain N, Barlow and Thornton, J. Mol. Biol. 168, 867 (1983)
	sulfurLow       = 1.8
	sulfurBond      = 2.5
	sulfurMaybe     = 3.0
)

// Extra is additional knowledge about a structure. The zero value contains none.
type Extra struct {
	Source    string            // name of the structure, such as a file name; may be empty
	Predicted bool              // a model made it, so that its B-factors are pLDDT unless PLDDT is given
	Model     string            // which model
	PLDDT     [][]float64       // 0 to 100, by chain and residue of the structure
	PAE       structure.Matrix  // one row per polymer residue, or per residue and heavy atom of a ligand
	Scores    *pleat.Prediction // what the model says of its prediction; nil: not known
	Method    string            // experiment, when known: X-RAY DIFFRACTION
	Resolved  float64           // resolution in Å; 0: not known
}

// ResidueRef identifies one residue, ligand or ion as PDB files do.
type ResidueRef struct {
	Chain  string `json:"chain"`
	Number int    `json:"number"`
	Ins    string `json:"insertion_code,omitempty"`
	Name   string `json:"name"` // component code: ASP
}

// String returns the residue as sentences name it: LYS 48 (chain A).
func (r ResidueRef) String() string {
	return fmt.Sprintf("%s (chain %s)", r.Short(), r.Chain)
}

// Short returns LYS 48, without the chain.
func (r ResidueRef) Short() string { return fmt.Sprintf("%s %d%s", r.Name, r.Number, r.Ins) }

// AtomPair is two atoms of different residues and the distance between them in Å.
type AtomPair struct {
	A ResidueRef `json:"a"`
	// AtomA and AtomB are atom names such as OD1.
	AtomA string     `json:"atom_a"`
	B     ResidueRef `json:"b"`
	AtomB string     `json:"atom_b"`
	// Distance is between the two atoms.
	Distance float64 `json:"distance_A"`
}

// String names both atoms with their residues, and their distance in Å.
func (p AtomPair) String() string {
	return fmt.Sprintf("%s %s – %s %s %s", p.A, p.AtomA, p.B, p.AtomB, Angstrom(p.Distance))
}

// Facts is the digest of one structure in plain numbers. Lists are bounded; the counts next to them are not.
// Lengths are in Å. It encodes as JSON; facts decoded from JSON have no Index, which questions about single
// residues need.
type Facts struct {
	Source     string  `json:"source,omitempty"`
	Title      string  `json:"title,omitempty"`
	Method     string  `json:"method,omitempty"`
	Resolution float64 `json:"resolution_A,omitempty"`
	// Predicted reports that a model made the structure: Extra has its scores, or the file says so.
	Predicted bool   `json:"predicted"`
	Model     string `json:"model,omitempty"`
	// PTM and IPTM are the model's own scores, 0 to 1; nil where it gave none.
	PTM  *float64 `json:"ptm,omitempty"`
	IPTM *float64 `json:"iptm,omitempty"`
	// Residues, Atoms, HeavyAtoms and Waters are counts of the whole structure.
	Residues   int      `json:"residues"` // of polymers
	Atoms      int      `json:"atoms"`    // every atom of the file's first model
	HeavyAtoms int      `json:"heavy_atoms"`
	Waters     int      `json:"waters"`
	Chains     []Chain  `json:"chains"` // polymers, in file order
	Ligands    []Ligand `json:"ligands,omitempty"`
	// Confidence is over all residues whose pLDDT is known; nil where none is.
	Confidence *Confidence `json:"confidence,omitempty"`
	// PredictedRMSD is what some models give in place of pLDDT; nil where it is not known.
	PredictedRMSD *PredictedRMSD `json:"predicted_rmsd,omitempty"`
	PAE           *PAE           `json:"pae,omitempty"`
	// Verdict rates the whole prediction; nil where Predicted is false. Meaning is what the model calls confidence.
	Verdict *Verdict `json:"verdict,omitempty"`
	Meaning string   `json:"confidence_means,omitempty"`
	Shape   Shape    `json:"shape"`
	// Interfaces are those of chains that have their atoms, see Need.
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Disulfides, MaybeSS and FreeCys describe all cysteines of proteins that have an SG.
	Disulfides []AtomPair   `json:"disulfides,omitempty"`         // S–S 1.8 to 2.5 Å
	MaybeSS    []AtomPair   `json:"close_sulfur_pairs,omitempty"` // up to 3.0 Å
	FreeCys    []ResidueRef `json:"free_cysteines,omitempty"`
	Bridges    []AtomPair   `json:"salt_bridges,omitempty"`
	// BridgeN and HBonds are nil where the atoms that they need are not there, see Need.
	BridgeN  *int            `json:"salt_bridge_count"`
	HBonds   *int            `json:"hydrogen_bond_candidates"` // between residues not next to each other
	Pockets  []Pocket        `json:"pockets,omitempty"`        // by geometry alone
	Patches  []Patch         `json:"hydrophobic_patches,omitempty"`
	Affinity *pleat.Affinity `json:"affinity,omitempty"`
	// Notes are whole sentences for the reader: what was left out, and why.
	Notes []string `json:"notes,omitempty"`
	// Renamed is the note that says which chains and residues the file calls otherwise; empty: none.
	Renamed string `json:"-"`

	index *Index
}

// Digest computes the facts of a structure. A fact that cannot be computed is omitted, with a note where a reader could
// expect it; the only error is that of ctx, once it ends. A nil structure has no chains. The structure must not change
// while the facts are in use.
//
// Contacts, surface and pockets are omitted for structures with more than 400,000 heavy atoms, and for those whose
// atoms lie so close together that every atom has thousands of neighbours: no molecule is packed like that, and the
// work would be quadratic. Facts whose atoms are not there are nil or absent; notes say so, and Index.Lacks tells why.
// Residues without atoms are not counted, but where the structure is one of structure.ReadWhole, they tell how many
// residues are missing.
func Digest(ctx context.Context, s *structure.Structure, extra Extra) (*Facts, error) {
	if s == nil {
		s = &structure.Structure{}
	}
	s, absent := present(s)
	x := newIndex(s)
	x.absent = absent
	f := &Facts{
		Source:     extra.Source,
		Title:      s.Title,
		Method:     cmp.Or(extra.Method, s.Method),
		Resolution: extra.Resolved,
		Model:      extra.Model,
		Atoms:      s.Atoms(),
		HeavyAtoms: x.heavy,
		Waters:     x.waters,
		index:      x,
	}
	if s := extra.Scores; s != nil {
		f.PTM, f.IPTM, f.Affinity, f.Meaning = s.PTM, s.IPTM, s.Affinity, s.Confidence
	}
	known := extra.Predicted || extra.Scores != nil || extra.PLDDT != nil || extra.PAE.N > 0
	f.Predicted = known || s.Origin == structure.Prediction
	if err := x.assignStates(ctx); err != nil {
		return nil, err
	}
	f.Notes = append(f.Notes, x.assignConfidence(extra.PLDDT, known)...)
	for _, p := range x.Polymers {
		f.Residues += p.Hi - p.Lo
	}
	if err := f.measureSize(ctx); err != nil {
		return nil, err
	}
	if err := f.measure(ctx); err != nil {
		return nil, err
	}
	f.noteLacks()
	if f.Renamed = renamed(s); f.Renamed != "" {
		f.Notes = append(f.Notes, f.Renamed)
	}
	for _, p := range x.Polymers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.Chains = append(f.Chains, x.chainFacts(p))
	}
	if divided := f.Divided(); divided != "" {
		f.Notes = append(f.Notes, divided)
	}
	f.Confidence, f.PredictedRMSD = x.confidence(0, len(x.Sites)), x.predictedRMSD(0, len(x.Sites))
	if extra.PAE.N > 0 {
		f.readPAE(extra.PAE)
	}
	f.scoreInterfaces(extra.PAE)
	f.rate(extra.Scores)
	return f, ctx.Err()
}

// Divided says which chains the periodic box of the file divides; empty: none.
func (f *Facts) Divided() string {
	var ids []string
	for i := range f.Chains {
		if f.Chains[i].AcrossBox {
			ids = append(ids, f.Chains[i].ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("The periodic box of the file divides chain %s: atoms that are bonded are on opposite sides "+
		"of it. Sizes, distances, contacts and surface are those of the pieces; make molecules "+
		"whole first (for example with gmx trjconv -pbc whole).", words.Join(ids, maxNames))
}

// renamed says which polymers the file calls by one name, and which have numbers of their own.
func renamed(s *structure.Structure) string {
	var names, counted, sentences []string
	ids := map[string][]string{} // of polymers, by the name in the file
	for i := range s.Chains {
		c := &s.Chains[i]
		name := cmp.Or(c.FileID, c.ID)
		if !c.Kind.Polymer() {
			continue
		}
		if ids[name] = append(ids[name], c.ID); len(ids[name]) == 2 {
			names = append(names, name)
		}
		if c.Counted {
			counted = append(counted, c.ID)
		}
	}
	for _, name := range Head(names, maxNames) {
		sentences = append(sentences, fmt.Sprintf("The file calls %d polymers %s; here they are %s, in its order.",
			len(ids[name]), name, words.Join(ids[name], maxNames)))
	}
	if len(counted) > 0 {
		sentences = append(sentences, fmt.Sprintf("The numbers in the file do not tell the residues of %s %s apart; "+
			"here they are counted from 1.", words.Plural(len(counted), "chain", "chains"),
			words.Join(counted, maxNames)))
	}
	return strings.Join(sentences, " ")
}

// Round rounds to n decimals, so that the digest stays short.
func Round(x float64, n int) float64 {
	p := math.Pow10(n)
	return math.Round(x*p) / p
}

// Index returns the residue-level view, or nil where the facts were decoded from JSON.
func (f *Facts) Index() *Index { return f.index }
