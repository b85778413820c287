package plot

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"pgregory.net/rapid"
)

func mustSVG(t testing.TB, f *Figure) string {
	t.Helper()
	b, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mustPNG(t testing.TB, f *Figure) image.Image {
	t.Helper()
	b, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func must(t testing.TB) func(f *Figure, err error) *Figure {
	return func(f *Figure, err error) *Figure {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

type svgDoc struct {
	Role  string `xml:"role,attr"`
	Title string `xml:"title"`
	Desc  string `xml:"desc"`
}

// textsOf are all texts of a document, in their order.
func textsOf(t testing.TB, svg string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	var out []string
	inText := false
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("SVG is not XML: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			inText = tok.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				out = append(out, string(tok))
			}
		}
	}
}

var levelText = regexp.MustCompile(
	`<text x="([-0-9.e+]+)" y="([-0-9.e+]+)" transform="scale\(1, -1\)"\s+style="([^"]*)">([^<]*)</text>`)

type box struct {
	text                     string
	left, right, top, bottom float64
}

// boxes are the places of the level texts, as the fonts of the package measure them.
func boxes(t testing.TB, svg string) []box {
	t.Helper()
	var out []box
	for _, m := range levelText.FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		y, _ := strconv.ParseFloat(m[2], 64)
		size, err := strconv.ParseFloat(regexp.MustCompile(`font-size:([0-9.]+)px`).FindStringSubmatch(m[3])[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		weight := regular
		if strings.Contains(m[3], "bold") {
			weight = bold
		}
		shown := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(m[4])
		width := textWidth(shown, vg.Length(size), weight).Points()
		if x == 0 || strings.HasPrefix(m[1], "-") {
			continue // a turned text: its place is in the group around it
		}
		out = append(out, box{m[4], x, x + width, y - 0.72*size, y + 0.05*size})
	}
	return out
}

// Every figure of the gallery: the document is well formed and says what it is, both forms have the size promised, no
// letter touches another, and nothing comes near the edge.
func TestFigures(t *testing.T) {
	for _, s := range gallery() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f := must(t)(s.make())
			svg, img := mustSVG(t, f), f.bitmap()
			var doc svgDoc
			if err := xml.Unmarshal([]byte(svg), &doc); err != nil {
				t.Fatalf("SVG is not XML: %v", err)
			}
			if doc.Role != "img" || doc.Title == "" || doc.Desc != f.Description() ||
				!strings.HasSuffix(doc.Desc, ".") {
				t.Errorf("role %q, title %q, desc %q", doc.Role, doc.Title, doc.Desc)
			}
			pix, ok := img.(*image.RGBA)
			if !ok {
				t.Fatalf("the bitmap is %T, want RGBA", img)
			}
			w, h := f.Size()
			if got := img.Bounds(); got != image.Rect(0, 0, w, h) {
				t.Errorf("the bitmap is %v, want %d × %d", got, w, h)
			}
			const margin = 6 * pixelsPerPoint
			for y := range h {
				row := pix.Pix[y*pix.Stride : y*pix.Stride+4*w]
				if y >= margin && y < h-margin {
					row = append(slices.Clone(row[:4*margin]), row[4*(w-margin):]...)
				}
				if bytes.Count(row, []byte{0xFF}) != len(row) {
					t.Fatalf("ink within %d pixels of the edge, in line %d of %d: something is cut or nearly so",
						margin, y, h)
				}
			}
			bs := boxes(t, svg)
			if len(bs) < 4 {
				t.Fatalf("only %d level texts found", len(bs))
			}
			for i, a := range bs {
				for _, b := range bs[:i] {
					if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
						t.Errorf("%q and %q overlap: %+v %+v", a.text, b.text, a, b)
					}
				}
			}
		})
	}
}

func TestDeterministic(t *testing.T) {
	once := func() map[string][32]byte {
		out := map[string][32]byte{}
		for _, s := range gallery() {
			if !slices.Contains([]string{"plddt-trimer", "pae-trimer", "coverage-trimer", "rg-5000"}, s.name) {
				continue
			}
			f := must(t)(s.make())
			out[s.name+".svg"] = sha256.Sum256([]byte(mustSVG(t, f)))
			out[s.name+" drawn"] = sha256.Sum256(f.bitmap().(*image.RGBA).Pix)
			if s.name == "plddt-trimer" {
				img, err := f.PNG()
				if err != nil {
					t.Fatal(err)
				}
				out[s.name+".png"] = sha256.Sum256(img)
			}
		}
		return out
	}
	first := once()
	if len(first) != 9 {
		t.Fatalf("%d hashes, want 9", len(first))
	}
	if diff := cmp.Diff(first, once()); diff != "" {
		t.Errorf("the same input gave other bytes:\n%s", diff)
	}
}

func TestFromSeveralGoroutines(t *testing.T) {
	f := must(t)(PLDDT(Labels{}, []Profile{{"A", []float64{10, 60, 80, 95}}, {"B", []float64{50}}}))
	want := mustSVG(t, f)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if got, err := f.SVG(); err != nil || string(got) != want {
				t.Errorf("another document, or %v", err)
			}
			if _, err := f.PNG(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestWords(t *testing.T) {
	two := []Profile{
		{"Receptor", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, {"Peptide", []float64{11, 12, 13, 14, 15, 16}},
	}
	grid := Axis{"RMSD (nm)", 0, 1, 2}
	for _, c := range []struct {
		name string
		f    *Figure
		want []string
	}{
		{"pLDDT", must(t)(PLDDT(Labels{"My fold", "measured"}, two)),
			[]string{"My fold", "measured", "Residue", "pLDDT (0–100)", "Receptor", "Peptide", "Very high (> 90)",
				"Confident (70–90)", "Low (50–70)", "Very low (< 50)", "50", "70", "90", "100"}},
		{"PAE", must(t)(PAE(Labels{}, chainsOf(two), func(i, j int) float64 { return 1 })),
			[]string{"Predicted aligned error (PAE)", "Scored residue", "Aligned residue",
				"Expected position error (Å)", "Receptor", "Peptide", "30"}},
		{"coverage", must(t)(Coverage(Labels{}, chainsOf(two), []Block{
			{Name: "paired", Rows: []Row{{1, strings.Repeat("A", 16)}}},
			{Name: "unpaired", Rows: []Row{{0.5, "AAAAAAAAAA------"}}},
		})),
			[]string{"Alignment coverage", "Residue", "Sequences", "Sequence identity to query", "paired", "unpaired",
				"Receptor", "1.0"}},
		{"RMSD", must(t)(RMSD(Labels{}, []float64{0, 1}, []float64{0, 2})),
			[]string{"Time (ns)", "RMSD (nm)", "mean 1 nm"}},
		{"Rg", must(t)(Rg(Labels{}, []float64{0, 1}, []float64{1.25, 1.75})),
			[]string{"Time (ns)", "Rg (nm)", "mean 1.5 nm"}},
		{"predicted RMSD", must(t)(PredictedRMSD(Labels{}, two)),
			[]string{"Predicted RMSD per residue (low is good)", "Predicted RMSD (Å)", "Up to 0.5 Å", "1.5–2.5 Å",
				"Above 2.5 Å", "Peptide"}},
		{"RMSF", must(t)(RMSF(Labels{}, two)), []string{"Residue", "RMSF (nm)", "Peptide"}},
		{"energy", must(t)(FreeEnergy(Labels{}, grid, Axis{"Rg (nm)", 1, 2, 2}, []float64{0, 1, 2, math.Inf(1)})),
			[]string{"Free-energy landscape", "RMSD (nm)", "Rg (nm)", "Free energy (kJ/mol)", "not visited"}},
	} {
		got := textsOf(t, mustSVG(t, c.f))
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: no text %q in %q", c.name, w, got)
			}
		}
	}
}

func TestBandsOfConfidence(t *testing.T) {
	f := must(t)(PLDDT(Labels{}, []Profile{{"A", []float64{95, 20}}}))
	svg, img := mustSVG(t, f), mustPNG(t, f)
	if w, h := f.Size(); img.Bounds() != image.Rect(0, 0, w, h) {
		t.Errorf("PNG is %v, want %d × %d", img.Bounds(), w, h)
	}
	seen := map[color.RGBA]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			seen[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	for _, hex := range []string{"0053D6", "65CBF3", "FFDB13", "FF7D45"} {
		if !strings.Contains(svg, "#"+hex) {
			t.Errorf("SVG has no band in #%s", hex)
		}
		v, _ := strconv.ParseUint(hex, 16, 32)
		if n := seen[rgb(uint32(v))]; n < 1000 {
			t.Errorf("PNG has %d pixels in #%s, want a strip", n, hex)
		}
	}
}

// cellColour is the colour in the middle of a cell of an n × n map that fills area.
func cellColour(img image.Image, area image.Rectangle, n, col, row int) color.RGBA {
	x := area.Min.X + (2*col+1)*area.Dx()/(2*n)
	y := area.Min.Y + (2*row+1)*area.Dy()/(2*n)
	return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
}

func near(a, b color.RGBA) bool {
	d := func(x, y uint8) bool { return math.Abs(float64(x)-float64(y)) <= 3 }
	return d(a.R, b.R) && d(a.G, b.G) && d(a.B, b.B)
}

// embedded decodes the first picture inside an SVG.
func embedded(t testing.TB, svg string) image.Image {
	t.Helper()
	m := regexp.MustCompile(`xlink:href="data:image/png;base64,([^"]+)"`).FindStringSubmatch(svg)
	if m == nil {
		t.Fatal("no picture in the SVG")
	}
	raw, err := base64.StdEncoding.DecodeString(m[1])
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func TestCellsOfPAE(t *testing.T) {
	for _, n := range []int{1, 3, 512} {
		at := func(i, j int) float64 { return 31.75 * float64(i*n+j) / float64(n*n) } // no two cells alike, no symmetry
		f := must(t)(PAE(Labels{}, []Chain{{"A", n}}, at))
		img, inside := f.bitmap(), embedded(t, mustSVG(t, f))
		left := int(leftMargin(residueTicks(n))) * pixelsPerPoint
		top := int(headerHeight(Labels{})) * pixelsPerPoint
		area := image.Rect(left, top, left+int(paeSide)*pixelsPerPoint, top+int(paeSide)*pixelsPerPoint)
		for _, c := range [][2]int{{0, 0}, {0, n - 1}, {n - 1, 0}, {n / 2, n / 3}} {
			i, j := c[0], c[1]
			if n == 512 && (i == 0 || j == 0 || i == n-1 || j == n-1) {
				continue // under the frame
			}
			want := greens.colour(at(i, j) / 31.75)
			if got := cellColour(img, area, n, j, i); !near(got, want) {
				t.Errorf("%d residues: PNG cell aligned %d, scored %d is %v, want %v", n, i, j, got, want)
			}
			if got := cellColour(inside, inside.Bounds(), n, j, i); !near(got, want) {
				t.Errorf("%d residues: SVG cell aligned %d, scored %d is %v, want %v", n, i, j, got, want)
			}
		}
	}
}

// Noise is the worst that a PAE can be: nothing in it can be packed.
func TestLargePAE(t *testing.T) {
	const n = 1500
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]float64, n*n)
	for i := range noise {
		noise[i] = r.Float64() * 31
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	f := must(t)(PAE(Labels{}, []Chain{{"A", n}}, func(i, j int) float64 { return noise[i*n+j] }))
	svg := mustSVG(t, f)
	f.bitmap()
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	t.Logf("%d residues of noise: %v, SVG %d bytes, %d MB allocated", n, took, len(svg),
		(after.TotalAlloc-before.TotalAlloc)>>20)
	if len(svg) > 300_000 {
		t.Errorf("SVG has %d bytes, want at most 300,000", len(svg))
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 200 {
		t.Errorf("%d MB allocated, want at most 200", got)
	}
	small := must(t)(PAE(Labels{}, []Chain{{"A", 512}}, func(i, j int) float64 { return noise[i*n+j] }))
	if got := len(mustSVG(t, small)); got > 300_000 {
		t.Errorf("at 512 residues, one pixel each, the SVG has %d bytes, want at most 300,000", got)
	}
}

func BenchmarkPAE1500(b *testing.B) {
	chains := []Chain{{"A", 1500}}
	at := fakePAE(chains)
	b.ReportAllocs()
	for b.Loop() {
		f := must(b)(PAE(Labels{}, chains, at))
		mustSVG(b, f)
		mustPNG(b, f)
	}
}

func TestCoverageCountsAndSorts(t *testing.T) {
	rows := []Row{{0.2, "AA--"}, {1, "AAAA"}, {0.6, "-.AA"}}
	d, err := newDepth(4, []Block{{Rows: rows}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{2, 2, 2, 2}, d.count); diff != "" {
		t.Error(diff)
	}
	img := d.exact(4, 3)
	for row, r := range []Row{rows[1], rows[2], rows[0]} {
		for col := range 4 {
			want := white
			if r.Aligned[col] == 'A' {
				want = depths.colour(math.Round(r.Identity*14) / 14)
			}
			if got := color.RGBAModel.Convert(img.At(col, row)).(color.RGBA); got != want {
				t.Errorf("row %d, column %d is %v, want %v", row, col, got, want)
			}
		}
	}
	if rows[0].Identity != 0.2 {
		t.Error("the caller's rows were reordered")
	}
}

// A block that stands for a part of the residues has gaps at the others.
func TestCoverageOfOneChain(t *testing.T) {
	part, err := newDepth(4, []Block{{Rows: []Row{{1, "AC"}, {0.5, "-C"}}, Start: 2, Span: 2}})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := newDepth(4, []Block{{Rows: []Row{{1, "--AC"}, {0.5, "---C"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 0, 1, 2}, part.count); diff != "" {
		t.Error(diff)
	}
	for row := range 2 {
		for col := range 4 {
			if a, b := part.exact(4, 2).At(col, row), whole.exact(4, 2).At(col, row); a != b {
				t.Errorf("row %d, column %d is %v, want %v", row, col, a, b)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ok := Axis{"x (nm)", 0, 1, 2}
	one := []Chain{{"A", 2}}
	pae := func(v float64) error {
		_, err := PAE(Labels{}, one, func(i, j int) float64 { return v })
		return err
	}
	second := func(_ *Figure, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(Scatter(Labels{}, ok, ok, nil, "a", "b")), `plot: Scatter has 0 points; 1 to 20000 are allowed`},
		{second(Scatter(Labels{}, ok, ok, []Point{{X: nan}}, "a", "b")),
			`plot: Scatter: point 1 is NaN, 0; it must have two numbers`},
		{second(Bars(Labels{}, nil, 5)), `plot: Bars has 0 bars of at most 5; 1 to 60 bars are allowed`},
		{second(Bars(Labels{}, []Bar{{"a", 6}}, 5)), `plot: Bars: a is 6; it must be from 0 to 5`},
		{second(PLDDT(Labels{}, nil)), `plot: pLDDT has no chains; at least one is required`},
		{second(PLDDT(Labels{}, []Profile{{"A", nil}})),
			`plot: pLDDT: chain 1 ("A") has 0 residues; at least one is required`},
		{second(PLDDT(Labels{}, []Profile{{"A", []float64{1}}, {"B", []float64{3, nan}}})),
			`plot: pLDDT: chain 2 ("B"), residue 2 is NaN; it must be a number from 0 to 100`},
		{second(PLDDT(Labels{}, []Profile{{"A", []float64{101}}})),
			`plot: pLDDT: chain 1 ("A"), residue 1 is 101; it must be a number from 0 to 100`},
		{second(PredictedRMSD(Labels{}, []Profile{{"A", []float64{-1}}})),
			`plot: predicted RMSD: chain 1 ("A"), residue 1 is -1; it must be a number from 0 to 1e9`},
		{second(PLDDT(Labels{}, make([]Profile, MaxChains+1))), `plot: pLDDT has 513 chains; at most 512 are allowed`},
		{second(PLDDT(Labels{}, []Profile{{"A", make([]float64, MaxResidues+1)}})),
			`plot: pLDDT has more than 20000 residues at chain 1 ("A")`},
		{pae(nan), `plot: PAE: aligned residue 1, scored residue 1 is NaN; it must be a number of Å from 0 to 1e9`},
		{pae(-1), `plot: PAE: aligned residue 1, scored residue 1 is -1; it must be a number of Å from 0 to 1e9`},
		{pae(inf), `plot: PAE: aligned residue 1, scored residue 1 is +Inf; it must be a number of Å from 0 to 1e9`},
		{second(PAE(Labels{}, []Chain{{"A", math.MaxInt}, {"B", math.MaxInt}}, nil)),
			`plot: PAE has more than 20000 residues at chain 1 ("A")`},
		{second(PAE(Labels{}, []Chain{{"A", -3}}, nil)),
			`plot: PAE: chain 1 ("A") has -3 residues; at least one is required`},
		{second(Coverage(Labels{}, one, nil)), `plot: coverage has no rows; at least the query is required`},
		{second(Coverage(Labels{}, one, []Block{{}, {Name: "x"}})),
			`plot: coverage has no rows; at least the query is required`},
		{second(Coverage(Labels{}, one, []Block{{Name: "x", Rows: []Row{{1, "AAA"}}}})),
			`plot: coverage: block 1 ("x"), row 1 has 3 letters; the chains have 2 residues`},
		{second(Coverage(Labels{}, one, []Block{{
			Name:  "x",
			Rows:  []Row{{1, "AA"}},
			Start: 1,
			Span:  1,
		}})), `plot: coverage: block 1 ("x"), row 1 has 2 letters; the block has 1 residues`},
		{second(Coverage(Labels{}, one, []Block{{
			Name:  "x",
			Rows:  []Row{{1, "AA"}},
			Start: 1,
			Span:  2,
		}})), `plot: coverage: block 1 ("x") stands for residues 2 to 3; the chains have 1 to 2`},
		{second(Coverage(Labels{}, one, []Block{{
			Name:  "x",
			Rows:  []Row{{1, "A"}},
			Start: -1,
			Span:  1,
		}})), `plot: coverage: block 1 ("x") stands for residues 0 to 0; the chains have 1 to 2`},
		{second(Coverage(Labels{}, one, []Block{{Name: "x", Rows: []Row{{nan, "AA"}}}})),
			`plot: coverage: block 1 ("x"), row 1 has identity NaN; it must be a number from 0 to 1`},
		{second(RMSD(Labels{}, nil, nil)), `plot: RMSD has no frames; at least one is required`},
		{second(RMSD(Labels{}, []float64{1}, nil)),
			`plot: RMSD has 1 times and 0 values; the numbers must be equal`},
		{second(RMSD(Labels{}, []float64{1, 0}, []float64{1, 1})),
			`plot: RMSD: the time of frame 2 is 0; times must not fall and be at most 1e9 ns`},
		{second(RMSD(Labels{}, []float64{nan}, []float64{1})),
			`plot: RMSD: the time of frame 1 is NaN; times must not fall and be at most 1e9 ns`},
		{second(RMSD(Labels{}, []float64{1}, []float64{nan})),
			`plot: RMSD: frame 1 is NaN; it must be a number from 0 to 1e9`},
		{second(RMSF(Labels{}, []Profile{{"A", []float64{inf}}})),
			`plot: RMSF: chain 1 ("A"), residue 1 is +Inf; it must be a number from 0 to 1e9`},
		{second(FreeEnergy(Labels{}, ok, Axis{"y", 0, 1, 0}, nil)),
			`plot: free energy: axis y has 0 bins; 1 to 4096 are allowed`},
		{second(FreeEnergy(Labels{}, Axis{"x", 1, 1, 2}, ok, nil)),
			`plot: free energy: axis x runs from 1 to 1; both ends must be at most 1e9, the first the lower`},
		{second(FreeEnergy(Labels{}, Axis{"x", nan, 1, 2}, ok, nil)),
			`plot: free energy: axis x runs from NaN to 1; both ends must be at most 1e9, the first the lower`},
		{second(FreeEnergy(Labels{}, ok, Axis{"", 0, 1, 2}, nil)), `plot: free energy: axis y has no label`},
		{second(FreeEnergy(Labels{}, ok, ok, []float64{1})),
			`plot: free energy has 1 values; the axes have 2 × 2 bins`},
		{second(FreeEnergy(Labels{}, ok, ok, []float64{1, nan, 1, 1})),
			`plot: free energy: bin 2 along x, 1 along y is NaN; it must be a number of kJ/mol of at most 1e9, or +Inf where never visited`},
		{second(FreeEnergy(Labels{}, ok, ok, []float64{inf, inf, inf, inf})),
			`plot: free energy: none of the 4 bins was visited`},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", c.err, c.want)
		}
	}
}

// Any text and any numbers in range give a document that is XML.
func TestAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		number := rapid.Float64Range(0, maxValue)
		l := Labels{text.Draw(t, "title"), text.Draw(t, "subtitle")}
		profiles := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Profile {
			return Profile{text.Draw(t, "name"), rapid.SliceOfN(number, 1, 20).Draw(t, "values")}
		}), 1, 8).Draw(t, "chains")
		values := rapid.SliceOfN(number, 1, 20).Draw(t, "series")
		times := slices.Sorted(
			slices.Values(rapid.SliceOfN(rapid.Float64Range(-maxValue, maxValue), len(values), len(values)).Draw(t,
				"times")))
		lo := rapid.Float64Range(-maxValue, maxValue).Draw(t, "lo")
		hi := rapid.Float64Range(-maxValue, maxValue).Filter(func(v float64) bool { return v-lo > 2 }).Draw(t, "hi")
		draw := rapid.SampledFrom([]func() (*Figure, error){
			func() (*Figure, error) { return RMSF(l, profiles) },
			func() (*Figure, error) { return RMSD(l, times, values) },
			func() (*Figure, error) { return Rg(l, times, values) },
			func() (*Figure, error) { return PAE(l, []Chain{{"A", 2}}, func(i, j int) float64 { return values[0] }) },
			func() (*Figure, error) {
				return FreeEnergy(l, Axis{"x", lo, hi, len(values)}, Axis{"y", 0, 1, 1}, values)
			},
		}).Draw(t, "plot")
		f, err := draw()
		if err != nil {
			t.Fatal(err)
		}
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(svg, new(svgDoc)); err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Fatalf("a coordinate is no number in %s", svg)
		}
	})
}

func TestThinKeepsTheExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 300).Draw(t, "values")
		times := make([]float64, len(values))
		for i := range times {
			times[i] = float64(i)
		}
		ts, vs := thin(times, values, 40)
		if len(ts) > 40 && len(values) > 40 || len(ts) != len(vs) || !slices.IsSorted(ts) {
			t.Fatalf("%d points, %d values", len(ts), len(vs))
		}
		for i := range ts {
			if values[int(ts[i])] != vs[i] {
				t.Fatalf("point %d was moved", i)
			}
		}
		if slices.Max(vs) != slices.Max(values) || slices.Min(vs) != slices.Min(values) || ts[0] != 0 ||
			ts[len(ts)-1] != float64(len(values)-1) {
			t.Fatal("an extreme or an end is missing")
		}
	})
}

// A long line drawn in stretches is the line drawn at once: no gap and no blot where two stretches join.
func TestLongLine(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pts := make([]vg.Point, 3*stretchPoints+7)
	for i := range pts {
		pts[i] = vg.Point{X: 5 + vg.Length(i)*1.5, Y: 10 + 80*vg.Length(r.Float64())}
	}
	size := vg.Point{X: pts[len(pts)-1].X + 5, Y: 100}
	draw := func(stroke func(*pen)) *image.RGBA {
		c := vgimg.NewWith(vgimg.UseWH(size.X, size.Y), vgimg.UseDPI(72*pixelsPerPoint),
			vgimg.UseBackgroundColor(white))
		stroke(&pen{Canvas: c, width: size.X, height: size.Y, bitmap: c.Image()})
		return c.Image().(*image.RGBA)
	}
	got := draw(func(p *pen) { p.line(1.1, ink, nil, pts...) })
	want := draw(func(p *pen) {
		var path vg.Path
		path.Move(pts[0])
		for _, pt := range pts[1:] {
			path.Line(pt)
		}
		p.SetLineWidth(1.1)
		p.SetColor(ink)
		p.Stroke(path)
	})
	most, inked := 0, 0
	for i := range got.Pix {
		most = max(most, max(int(got.Pix[i]), int(want.Pix[i]))-min(int(got.Pix[i]), int(want.Pix[i])))
		if want.Pix[i] < 128 {
			inked++
		}
	}
	if most > 96 || inked < 1000 {
		t.Errorf("the two differ by up to %d of 255; %d values are dark", most, inked)
	}
}
