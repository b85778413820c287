package engines

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pleat/internal/antibody"
	"pleat/internal/structure"
)

// accuracy is how near a predicted variable domain, or a pair, is to the experiment. Distances are in Å.
type accuracy struct {
	lddt     float64 // of CA
	backbone float64 // RMSD of N, CA and C, all chains fitted at once
	// regions has the backbone RMSD of each region after the framework of its chain is fitted: "H framework", "CDR-H3".
	regions map[string]float64
	// predicted and true are, for each residue, the predicted RMSD and the distance that it predicts: the root mean
	// square over N, CA, C and CB after the whole chain is fitted.
	predicted, true []float64
	chi1            float64 // share of residues whose first chi is within 40°
}

// The experiments, both released after the data that IgFold was trained on, and what the package itself reaches on them
// with its functions alone, as another program measures it (gemmi and NumPy): lDDT of CA, backbone RMSD, and the
// correlation of the predicted RMSD with the truth.
var antibodies = map[string]struct {
	lddt, backbone, correlation float64
	regions                     map[string]float64
}{
	"9hzj": {.928, .85, .90, map[string]float64{
		"H framework": .44, "CDR-H1": 1.45, "CDR-H2": .32, "CDR-H3": 1.97,
	}},
	"8ee8": {.931, .78, .74, map[string]float64{
		"H framework": .38, "CDR-H1": .38, "CDR-H2": .35, "CDR-H3": 1.97,
		"L framework": .60, "CDR-L1": 1.35, "CDR-L2": 1.66, "CDR-L3": .91,
	}},
}

// TestRealEnginesIgFold folds antibodies with the released weights of IgFold over HTTP, and compares them with their
// experiments. The figures are those of the package, so that an upgrade which changes an answer is seen.
func TestRealEnginesIgFold(t *testing.T) {
	l := startTrained(t, "igfold")
	l.run("the runner's own tests", func(t *testing.T) { runnerTests(t, "igfold") })
	for name := range antibodies {
		l.run(name, func(t *testing.T) { l.antibody(t, name) })
	}
	l.run("single chains and pairs", l.variableDomains)
	l.run("cancel, and the same bytes again", func(t *testing.T) {
		id := l.mustCreate(proteins(nanobody(t)), `"modelName":"igfold"`, "")
		l.awaitStage(id, "trunk", 0)
		before := l.runner()
		l.cancel(id)
		var files [][]byte
		for range 2 {
			id := l.mustCreate(proteins(nanobody(t)), `"modelName":"igfold"`, "")
			l.completed(id)
			files = append(files, l.file(id, "cif"))
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Error("the same job gives other bytes")
		}
		if l.runner() != before {
			t.Error("the cancel cost the process")
		}
	})
}

// experiment reads a structure of the test's own.
func experiment(t *testing.T, name string) *structure.Structure {
	t.Helper()
	in, err := os.Open(filepath.Join("testdata", "antibodies", name+".pdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := structure.ReadPDB(in, structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// nanobody is the sequence of the single domain among the experiments.
func nanobody(t *testing.T) string { return structure.Letters(&experiment(t, "9hzj").Chains[0]) }

// proteins returns the sequences of a request.
func proteins(chains ...string) string {
	var out []string
	for _, c := range chains {
		out = append(out, fmt.Sprintf(`{"proteinChain":{"sequence":%q}}`, c))
	}
	return strings.Join(out, ",")
}

// antibody folds the chains of an experiment and checks how near the result is.
func (l *engineServer) antibody(t *testing.T, name string) {
	want, native := antibodies[name], experiment(t, name)
	var sequences []string
	for i := range native.Chains {
		c := &native.Chains[i]
		sequences = append(sequences, fmt.Sprintf(`{"proteinChain":{"sequence":%q,"chain_id":%q}}`,
			structure.Letters(c), c.ID))
	}
	id := l.mustCreate(strings.Join(sequences, ","), `"modelName":"igfold"`, "")
	run := l.completed(id).Run
	got := l.measure(t, id, native)
	t.Logf("%s trunk %.1f s |", got.row(name), run.Timings["trunk"])
	if run.MeanPLDDT != nil || run.PredictedRMSD == nil {
		t.Errorf("mean pLDDT %v, predicted RMSD %v", run.MeanPLDDT, run.PredictedRMSD)
	}
	if math.Abs(got.lddt-want.lddt) > .005 || math.Abs(got.backbone-want.backbone) > .03 {
		t.Errorf("lDDT %.3f, backbone RMSD %.2f; the package reaches %.3f and %.2f", got.lddt, got.backbone, want.lddt,
			want.backbone)
	}
	for region, w := range want.regions {
		if g := got.regions[region]; math.Abs(g-w) > .03 {
			t.Errorf("%s: RMSD %.2f Å; the package reaches %.2f", region, g, w)
		}
	}
	if r := correlation(got.predicted, got.true); math.Abs(r-want.correlation) > .02 {
		t.Errorf("correlation of predicted and true error %.2f; the package reaches %.2f", r, want.correlation)
	}
	if got.chi1 < .55 {
		t.Errorf("chi 1 of %.2f of the residues is right", got.chi1)
	}
}

// measure compares the structure of a job with an experiment of the same sequences.
func (l *engineServer) measure(t *testing.T, id string, native *structure.Structure) accuracy {
	t.Helper()
	model, err := structure.ReadCIF(bytes.NewReader(l.file(id, "cif")), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	out := accuracy{regions: map[string]float64{}, predicted: l.predictedRMSD(id, native.Chains)}
	var ca, nativeCA, all, nativeAll []structure.Vec
	right, chis := 0, 0
	for i := range native.Chains {
		mine, truth := &model.Chains[i], &native.Chains[i]
		if structure.Letters(mine) != structure.Letters(truth) {
			t.Fatalf("chain %s is another sequence", truth.ID)
		}
		a, b := backbone(mine, "N", "CA", "C"), backbone(truth, "N", "CA", "C")
		all, nativeAll = append(all, a...), append(nativeAll, b...)
		ca, nativeCA = append(ca, backbone(mine, "CA")...), append(nativeCA, backbone(truth, "CA")...)
		out.byRegion(truth, a, b)
		out.true = append(out.true, trueErrors(mine, truth)...)
		for k := range truth.Residues {
			if x, y, ok := firstChi(&mine.Residues[k], &truth.Residues[k]); ok {
				chis++
				if math.Abs(math.Remainder(x-y, 360)) < 40 {
					right++
				}
			}
		}
	}
	out.lddt, _ = structure.LDDT(ca, nativeCA)
	out.backbone = structure.RMSD(all, nativeAll)
	out.chi1 = float64(right) / float64(chis)
	return out
}

// predictedRMSD returns the values of metrics.json, chain after chain.
func (l *engineServer) predictedRMSD(id string, chains []structure.Chain) (out []float64) {
	l.T.Helper()
	var metrics struct {
		Predictions []struct {
			Residues map[string][]float64 `json:"predicted_rmsd"`
		} `json:"predictions"`
	}
	if err := json.Unmarshal(l.file(id, "metrics_json"), &metrics); err != nil {
		l.T.Fatal(err)
	}
	for _, chain := range chains {
		out = append(out, metrics.Predictions[0].Residues[chain.ID]...)
	}
	return out
}

// backbone returns the named atoms of each residue, residue after residue.
func backbone(c *structure.Chain, names ...string) (out []structure.Vec) {
	for i := range c.Residues {
		for _, name := range names {
			if a, ok := c.Residues[i].Atom(name); ok {
				out = append(out, a.Pos)
			}
		}
	}
	return out
}

// byRegion adds the RMSD of each region of a chain, with three atoms a residue.
func (a *accuracy) byRegion(c *structure.Chain, model, native []structure.Vec) {
	sequence := structure.Letters(c)
	d := antibody.Find(sequence)[0]
	members := map[string][]int{}
	for i := range sequence {
		name := c.ID + " framework"
		if r := d.Region(i-d.Start, antibody.IgFold); strings.HasPrefix(string(r), "CDR") {
			name = d.Kind.CDR(r)
		}
		members[name] = append(members[name], 3*i, 3*i+1, 3*i+2)
	}
	pick := func(from []structure.Vec, name string) (out []structure.Vec) {
		for _, i := range members[name] {
			out = append(out, from[i])
		}
		return out
	}
	frame := c.ID + " framework"
	rot, trans, _ := structure.Superpose(pick(model, frame), pick(native, frame))
	for name := range members {
		sum, truth := 0.0, pick(native, name)
		for i, p := range pick(model, name) {
			d := structure.Distance(structure.Apply(rot, trans, p), truth[i])
			sum += d * d
		}
		a.regions[name] = math.Sqrt(sum / float64(len(truth)))
	}
}

// trueErrors returns what a predicted RMSD predicts. Glycine has no CB: it counts three atoms, where the package places
// an ideal one.
func trueErrors(model, native *structure.Chain) (out []float64) {
	names := []string{"N", "CA", "C", "CB"}
	rot, trans, _ := structure.Superpose(backbone(model, names...), backbone(native, names...))
	for i := range native.Residues {
		sum, n := 0.0, 0.0
		for _, name := range names {
			a, okA := model.Residues[i].Atom(name)
			b, okB := native.Residues[i].Atom(name)
			if okA && okB {
				d := structure.Distance(structure.Apply(rot, trans, a.Pos), b.Pos)
				sum, n = sum+d*d, n+1
			}
		}
		out = append(out, math.Sqrt(sum/n))
	}
	return out
}

// firstChi returns the first chi of a residue, in degrees, in two structures.
func firstChi(a, b *structure.Residue) (x, y float64, ok bool) {
	gamma := map[string]string{"CYS": "SG", "SER": "OG", "THR": "OG1", "VAL": "CG1", "ILE": "CG1"}
	name := cmp.Or(gamma[a.Comp], "CG")
	chi := func(r *structure.Residue) (float64, bool) {
		var p []structure.Vec
		for _, n := range []string{"N", "CA", "CB", name} {
			if at, ok := r.Atom(n); ok {
				p = append(p, at.Pos)
			}
		}
		if len(p) < 4 {
			return 0, false
		}
		return dihedral(p[0], p[1], p[2], p[3]), true
	}
	x, okX := chi(a)
	y, okY := chi(b)
	return x, y, okX && okY
}

// dihedral returns the torsion angle of four points in degrees.
func dihedral(a, b, c, d structure.Vec) float64 {
	minus := func(p, q structure.Vec) structure.Vec { return structure.Vec{p[0] - q[0], p[1] - q[1], p[2] - q[2]} }
	dot := func(p, q structure.Vec) float64 { return p[0]*q[0] + p[1]*q[1] + p[2]*q[2] }
	cross := func(p, q structure.Vec) structure.Vec {
		return structure.Vec{p[1]*q[2] - p[2]*q[1], p[2]*q[0] - p[0]*q[2], p[0]*q[1] - p[1]*q[0]}
	}
	u, v, w := minus(b, a), minus(c, b), minus(d, c)
	m, n := cross(u, v), cross(v, w)
	return math.Atan2(dot(cross(m, n), v)/math.Sqrt(dot(v, v)), dot(m, n)) * 180 / math.Pi
}

// correlation returns Pearson's coefficient.
func correlation(x, y []float64) float64 {
	n, sx, sy, sxx, syy, sxy := float64(len(x)), 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range x {
		sx, sy, sxx, syy, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], syy+y[i]*y[i], sxy+x[i]*y[i]
	}
	return (n*sxy - sx*sy) / math.Sqrt((n*sxx-sx*sx)*(n*syy-sy*sy))
}

// row is a line of the table of docs/engines.md.
func (a *accuracy) row(name string) string {
	text := fmt.Sprintf("| %s | lDDT %.3f | backbone %.2f Å |", name, a.lddt, a.backbone)
	var regions []string
	for region := range a.regions {
		regions = append(regions, region)
	}
	slices.Sort(regions)
	for _, region := range regions {
		text += fmt.Sprintf(" %s %.2f |", region, a.regions[region])
	}
	return text + fmt.Sprintf(" chi 1 %.2f | correlation %.2f |", a.chi1, correlation(a.predicted, a.true))
}

// variableDomains folds what is not given as one domain a chain, and refuses what is no antibody.
func (l *engineServer) variableDomains(t *testing.T) {
	pair := experiment(t, "8ee8")
	heavy, light := structure.Letters(&pair.Chains[0]), structure.Letters(&pair.Chains[1])
	const params, linker = `"modelName":"igfold"`, "GGGGSGGGGSGGGGS"
	id := l.mustCreate(proteins("MA"+light+linker+heavy+"HHHHHH"), params, "")
	v := l.completed(id)
	if !hasNote(v.Run.Notes, "as the chains H and L") {
		t.Errorf("its notes are %q", v.Run.Notes)
	}
	model, err := structure.ReadCIF(bytes.NewReader(l.file(id, "cif")), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	// The heavy chain of the experiment lacks its first residue, so that the domain may begin with one of the linker.
	if len(model.Chains) != 2 || model.Chains[0].ID != "L" || model.Chains[1].ID != "H" ||
		!strings.HasSuffix(structure.Letters(&model.Chains[1]), heavy) {
		t.Errorf("the chains are %+v", l.chains(id))
	}
	sample, err := structure.ReadCIF(bytes.NewReader(l.named(id, "sample-1.cif")), structure.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if known := sample.Confidence(true); known.PLDDT != nil || known.Note == "" {
		t.Errorf("the confidence of a sample is read as pLDDT: %+v", known)
	}
	const ubiquitin = "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG"
	l.refused("no antibody", proteins(ubiquitin), params, "", "no variable domain of an antibody")
	l.refused("two heavy chains", proteins(heavy, heavy), params, "", "sequences[0] has one already")
	l.refused("a light chain that is empty", proteins(heavy, ""), params, "", "is empty")
	l.refused("an unknown residue", proteins(heavy[:20]+"X"+heavy[21:]), params, "", "residue 21")
}
