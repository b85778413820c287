package format

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pleat"
	"pleat/internal/chem"
)

// can is what a format holds of a job.
type can struct {
	names, chains, labels, smiles, cyclic, affinity, bonds, near, seed bool

	mods, forms bool // modified residues: any, or only those whose parent is known
}

// anyJob draws a valid job that a format can hold whole.
func anyJob(t *rapid.T, c can) pleat.Job {
	name := rapid.StringMatching(`[A-Za-z0-9]([A-Za-z0-9 "'\\:#<>&é{}-]{0,20}[A-Za-z0-9])?`)
	j := pleat.Job{Name: "given"}
	if c.names {
		j.Name = name.Draw(t, "name")
	}
	free := strings.Fields("A B C D Q Z AA AB ZZ NO ON") // words that YAML 1.1 reads as something else among them
	pick := func() string {
		if !c.chains || rapid.Bool().Draw(t, "unnamed") {
			return ""
		}
		i := rapid.IntRange(0, len(free)-1).Draw(t, "chain")
		id := free[i]
		free = slices.Delete(free, i, i+1)
		return id
	}
	kinds := []pleat.EntityKind{pleat.Protein, pleat.RNA, pleat.DNA, pleat.Ligand}
	for range rapid.IntRange(1, 4).Draw(t, "items") {
		q := pleat.Sequence{
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), ChainID: pick(),
			Count: rapid.IntRange(1, 3).Draw(t, "count"),
		}
		if c.labels && rapid.Bool().Draw(t, "labelled") {
			q.Label = name.Draw(t, "label")
		}
		if q.Kind == pleat.Ligand {
			anyLigand(t, &q, c)
		} else {
			anyPolymer(t, &q, c)
		}
		j.Sequences = append(j.Sequences, q)
	}
	oneAffinity(&j)
	if c.seed {
		j.Params = j.Params.With("seed", rapid.SampledFrom([]string{"0", "7", "4294967295"}).Draw(t, "seed"))
	}
	if err := j.Validate(everything); err != nil {
		t.Fatalf("the draw is no job: %v", err)
	}
	anyConstraints(t, &j, c)
	if err := j.Validate(everything); err != nil {
		t.Fatalf("the draw is no job: %v", err)
	}
	return j
}

func anyLigand(t *rapid.T, q *pleat.Sequence, c can) {
	q.CCD = !c.smiles || rapid.Bool().Draw(t, "ccd")
	q.Text = rapid.SampledFrom([]string{
		"C", "N[C@@H](Cc1ccc(O)cc1)C(=O)O", `C/C=C\C`, "[Na+].[Cl-]", "c1cc[nH]c1",
	}).Draw(t, "smiles")
	if q.CCD {
		q.Text = rapid.SampledFrom([]string{"ATP", "MG", "NO", "0E5", "004", "1PE", "A1BCD"}).Draw(t, "code")
	}
	if c.affinity && q.Count == 1 && rapid.Bool().Draw(t, "affinity") {
		q.PropertyType = "affinity"
	}
}

func anyPolymer(t *rapid.T, q *pleat.Sequence, c can) {
	q.Text = rapid.StringOfN(rapid.SampledFrom([]rune(pleat.Letters(q.Kind))), 1, 200, -1).Draw(t, "sequence")
	q.Cyclic = c.cyclic && rapid.Bool().Draw(t, "cyclic")
	codes, letter := []string{"SEP", "NO", "2E1"}, "S"
	if q.Kind != pleat.Protein {
		codes[0], letter = "5MC", "C"
	}
	if c.forms {
		codes = codes[:1]
	}
	for i := 1; (c.mods || c.forms) && i <= len(q.Text); i += rapid.IntRange(1, 100).Draw(t, "step") {
		q.Modifications = append(q.Modifications, pleat.Modification{
			Residue: i, CCD: rapid.SampledFrom(codes).Draw(t, "ccd"),
		})
		q.Text = q.Text[:i-1] + letter + q.Text[i:] // of which the first code is a form
	}
}

func anyConstraints(t *rapid.T, j *pleat.Job, c can) {
	var all []pleat.ResidueRef
	for _, q := range j.Sequences {
		for _, chain := range q.Chains {
			all = append(all, pleat.ResidueRef{Chain: chain, Residue: 1})
			if q.Polymer() {
				all = append(all, pleat.ResidueRef{Chain: chain, Residue: len(q.Text)})
			}
		}
	}
	residue := rapid.SampledFrom(all)
	atoms := allAtoms(j, all)
	for range rapid.IntRange(0, 2).Draw(t, "bonds") {
		if c.bonds && len(atoms) > 1 {
			two := rapid.Permutation(atoms).Draw(t, "atoms")
			j.Constraints.Bond = append(j.Constraints.Bond, pleat.Bond{Atom1: two[0], Atom2: two[1]})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "near") {
		if !c.near {
			continue
		}
		a, b := residue.Draw(t, "a"), residue.Draw(t, "b")
		j.Constraints.Pocket = append(j.Constraints.Pocket, pleat.Pocket{
			Binder: pleat.ChainRef{Chain: a.Chain}, Contacts: []pleat.ResidueRef{a, b},
		})
		if a == b {
			continue
		}
		j.Constraints.Contact = append(j.Constraints.Contact, pleat.Contact{
			ChainA:   a.Chain,
			ResidueA: a.Residue,
			ChainB:   b.Chain,
			ResidueB: b.Residue,
			Distance: rapid.SampledFrom([]float64{0, 4, 6.5, 20}).Draw(t, "distance"),
		})
	}
}

// allAtoms returns an atom of each residue, of modified residues as far as the dictionary has their names. Atoms of a
// SMILES have no names.
func allAtoms(j *pleat.Job, residues []pleat.ResidueRef) (out []pleat.AtomRef) {
	for _, r := range residues {
		i := slices.IndexFunc(j.Sequences, func(q pleat.Sequence) bool { return slices.Contains(q.Chains, r.Chain) })
		q := &j.Sequences[i]
		if q.Kind == pleat.Ligand && !q.CCD {
			continue
		}
		code := q.Text
		if q.Polymer() {
			code = chem.ResidueCode(string(q.Kind), q.Text[r.Residue-1])
		}
		for _, m := range q.Modifications {
			if m.Residue == r.Residue {
				code = m.CCD
			}
		}
		name := "NO"
		if e, _ := chem.LookUp(code); e.Atoms != nil {
			stays := func(a chem.Atom) bool { return !a.Leaving }
			name = e.Atoms[slices.IndexFunc(e.Atoms, stays)].Name
		}
		ref := pleat.AtomRef{Chain: r.Chain, Residue: r.Residue, Atom: name}
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// oneAffinity leaves the affinity of ligands that a job can ask for: those that occur once in a job with a protein.
func oneAffinity(j *pleat.Job) {
	protein := slices.ContainsFunc(j.Sequences, func(q pleat.Sequence) bool { return q.Kind == pleat.Protein })
	for i := range j.Sequences {
		q := &j.Sequences[i]
		same := 0
		for _, o := range j.Sequences {
			if o.Kind == q.Kind && o.CCD == q.CCD && strings.EqualFold(o.Text, q.Text) {
				same++
			}
		}
		if !protein || same > 1 || strings.Contains(q.Text, ".") {
			q.PropertyType = ""
		}
	}
}

// chainwise is a job as its chains: how they are shared among items is the format's own matter.
func chainwise(j pleat.Job) any {
	chains := map[string]pleat.Sequence{}
	for _, q := range j.Sequences {
		for _, c := range q.Chains {
			one := q
			one.Chains, one.ChainID, one.Count = nil, "", 1
			if len(one.Modifications) == 0 {
				one.Modifications = nil
			}
			chains[c] = one
		}
	}
	seed, _ := j.Params.Seed()
	return []any{j.Name, chains, seed, j.Constraints}
}

// dropped are the notes that say no more than that a format names no model and no job.
func dropped(all []string) []string {
	return slices.DeleteFunc(all, func(n string) bool {
		return strings.HasPrefix(n, "params.modelName") || strings.HasPrefix(n, "name ") ||
			strings.HasSuffix(n, "may refuse the file")
	})
}

// A job that a format can hold comes back as it was, and nothing is said to be lost.
func TestRoundTrips(t *testing.T) {
	for as, c := range map[Name]can{
		FASTA:      {chains: true, labels: true, smiles: true, forms: true},
		Server:     {names: true, mods: true, seed: true},
		AlphaFold3: {names: true, chains: true, labels: true, mods: true, smiles: true, bonds: true, seed: true},
		Boltz:      {chains: true, mods: true, smiles: true, cyclic: true, affinity: true, bonds: true, near: true},
	} {
		t.Run(string(as), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				j := anyJob(t, c)
				f, err := Export(&j, as)
				if err != nil {
					t.Fatal(err)
				}
				if lost := dropped(f.Notes); len(lost) > 0 {
					t.Fatalf("lost: %q", lost)
				}
				got, err := Import(string(f.Text), "", Options{Name: "given"})
				if err != nil {
					t.Fatalf("%v\n%s", err, f.Text)
				}
				if got.Format != as || len(got.Jobs) != 1 {
					t.Fatalf("read as %s, %d jobs\n%s", got.Format, len(got.Jobs), f.Text)
				}
				if diff := cmp.Diff(chainwise(j), chainwise(got.Jobs[0])); diff != "" {
					t.Fatalf("%s\n%s", diff, f.Text)
				}
				for _, n := range got.Notes { // an item may be split, nothing more
					if !strings.Contains(n, "became items of their own") &&
						!strings.Contains(n, "codes in parentheses became modified residues") {
						t.Fatalf("note %q\n%s", n, f.Text)
					}
				}
			})
		})
	}
}

// fuzz holds a reader to its promises: it ends soon, refuses with a sentence or gives jobs that are valid, and what it
// gave can be written and read again.
func fuzz(f *testing.F, as Name, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		began := time.Now()
		got, err := Import(text, as, Options{
			Name:  "x",
			Model: "m",
			Rows:  len(text)%2 == 1,
			Files: aligned,
		})
		if took := time.Since(began); took > 30*time.Second {
			t.Fatalf("reading %d bytes took %s", len(text), took)
		}
		if err != nil {
			if len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\n\r\x00\x1b") {
				t.Fatalf("%q is not one short sentence", err)
			}
			return
		}
		if len(got.Jobs) == 0 || got.Notes == nil || len(got.IDs) != len(got.Jobs) {
			t.Fatal("neither a job nor a refusal")
		}
		seen := map[string]bool{}
		for _, id := range got.IDs {
			if id != "" && (seen[id] || pleat.CheckName("id", id) != nil) {
				t.Fatalf("the id %q is none, or not the only one", id)
			}
			seen[id] = true
		}
		for _, j := range got.Jobs {
			if err := j.Validate(everything); err != nil {
				t.Fatalf("the job is not valid: %v", err)
			}
			for _, to := range []Name{FASTA, AlphaFold3, Boltz} {
				file, err := Export(&j, to)
				if err != nil {
					t.Fatalf("%s: %v", to, err)
				}
				back, err := Import(string(file.Text), to, Options{})
				if err != nil && pleat.CodeOf(err) != pleat.CodeTooLarge {
					t.Fatalf("%s: what was written cannot be read: %v\n%s", to, err, file.Text)
				}
				if err == nil && len(back.Jobs) != 1 {
					t.Fatalf("%s: %d jobs", to, len(back.Jobs))
				}
			}
		}
	})
}

func FuzzFASTA(f *testing.F) {
	fuzz(f, FASTA, ">x\nMKT\n", ">A|protein|empty\nMKT*\n>L|smiles\nC1CC1\n>Z|ccd\nATP\n", ">c\nMKT:GGG:ACGU\n>d\nMKT",
		">protein|name=a\nRKDES(MSE)EES(SEP)GG\n>B|smiles\nCC(\n=O)O acid\n",
		">x, score=1, seed=2\nMKT/GGG\n>T=0.1, sample=1, score=2\nMKV/GGA\n", ">g\n  1 mktay iakqr\n 11 gg\n",
		">G|glycan\nNAG(4-1 NAG)(6-1 FUC)", ">glycan|x\nMan(a1-3)[Man(a1-6)]Man(b1-4)GlcNAc(b1-",
		"MKT")
}
func FuzzServer(f *testing.F) {
	fuzz(f, Server, serverFile, "[]", `{"sequences": [{"ion": {"ion": "MG", "count": 2}}]}`,
		onServer(glycanAt(8, "NAG(NAG(BMA(MAN)(MAN)))")))
}
func FuzzAlphaFold3(f *testing.F) {
	fuzz(f, AlphaFold3, af3File, "{}", `{"dialect": "alphafold3", "version": 4, "userCCDPath": "own.cif",
		"sequences": [{"ligand": {"id": "B", "ccdCodes": ["LIG-1", "MYMOD"]}}]}`)
}
func FuzzBoltz(f *testing.F) {
	fuzz(f, Boltz, boltzFile, "sequences: [{protein: {id: A, sequence: MKT}}]", "a: &a [*a, *a]", "[[[[", "? ? ? ?",
		"- - - -\n- -")
}
func FuzzProtenix(f *testing.F) {
	fuzz(f, Protenix, protenixFile, "[]", `{"sequences": [{"ligand": {"ligand": "CCD_NAG_NAG", "count": 2}}]}`)
}
func FuzzOpenFold3(f *testing.F) {
	fuzz(f, OpenFold3, openFoldText, `{"queries": {"": {"chains": []}}}`, "{}")
}
func FuzzColabFold(f *testing.F) {
	fuzz(f, ColabFold, "id,sequence\nx,MKT:GGG\n", "sequence\tid\ta3mpath\nMKT\tx\t\n", "id,sequence\n\"a\nb\",\"M\nK\"",
		"sep=;\nid;sequence\nx;MKT AAA\n")
}
func FuzzProteinfold(f *testing.F) {
	fuzz(f, Proteinfold, "id,fasta\nx,T1024.fasta\n", "sequence,fasta\nx,pair.fa\ny,bad.fasta")
}
func FuzzGuess(f *testing.F) {
	fuzz(f, "", ">x\nMKT", serverFile, af3File, boltzFile, protenixFile, openFoldText, "id,sequence\nx,MKT\n",
		"id,fasta\nx,T1024.fasta\n")
}
