package engine

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pleat"
)

// ManifestFile is the name of a runner's manifest in its folder.
const ManifestFile = "manifest.json"

const maxManifest = 1 << 20

// Manifest is what a runner's folder says of itself, docs/runner-protocol.md.
type Manifest struct {
	Dir string `json:"-"` // absolute

	Engine   string            `json:"engine"`
	Version  string            `json:"version"`
	Protocol int               `json:"protocol"`
	Argv     []string          `json:"argv"`
	Env      map[string]string `json:"env"`
	Venv     string            `json:"venv"`
	Python   []string          `json:"python"` // oldest and newest
	Device   string            `json:"device"` // cpu, cuda, any
	Stages   []string          `json:"stages"`
	Warm     *bool             `json:"warm"`

	IdleTTL     float64 `json:"idle_ttl_s"`
	LoadTimeout float64 `json:"load_timeout_s"`
	JobTimeout  float64 `json:"job_timeout_s"`
	StageTime   float64 `json:"stage_timeout_s"`
	Silence     float64 `json:"heartbeat_timeout_s"`
	CancelTime  float64 `json:"cancel_s"`
	RecycleJobs int     `json:"recycle_jobs"`
	RecycleRSS  float64 `json:"recycle_rss_gb"`

	Weights   []WeightFile    `json:"weights"`
	Citations []ManifestCite  `json:"citations"`
	Models    []ManifestModel `json:"models"`
	manifestScope
}

// manifestScope is what a model may have of its own or share with the engine's other models.
type manifestScope struct {
	Entities  []pleat.EntityKind       `json:"entities"`
	Features  []pleat.Feature          `json:"features"`
	MinTokens int                      `json:"min_tokens"`
	MaxTokens int                      `json:"max_tokens"`
	Memory    *manifestMemory          `json:"mem_model"`
	Speed     *manifestSpeed           `json:"speed_model"`
	Params    map[string]manifestParam `json:"params_schema"`
}

type manifestMemory struct {
	BaseGB   float64 `json:"base_gb"`
	PerToken float64 `json:"per_token"`
	Square   float64 `json:"per_token2"`
}

type manifestSpeed struct {
	Base     float64 `json:"base_s"`
	PerToken float64 `json:"per_token"`
	Square   float64 `json:"per_token2"`
}

type manifestParam struct {
	Type    pleat.ParamType `json:"type"`
	Default any             `json:"default"`
	Min     *float64        `json:"minimum"`
	Max     *float64        `json:"maximum"`
	Enum    []string        `json:"enum"`
	Doc     string          `json:"description"`
}

// ManifestCite is one BibTeX entry.
type ManifestCite struct {
	Key    string `json:"key"`
	BibTeX string `json:"bibtex"`
}

// ManifestModel is one model of an engine.
type ManifestModel struct {
	Name       string         `json:"name"`
	Kind       pleat.TaskKind `json:"kind"` // absent: fold
	Title      string         `json:"title"`
	WeightSet  string         `json:"weight_set"`
	Method     string         `json:"method"`
	Licence    string         `json:"licence"`
	Confidence string         `json:"confidence"`
	Notice     string         `json:"notice"`
	Citations  []ManifestCite `json:"citations"`
	manifestScope
}

// WeightFile is one file of weights, and where it comes from.
type WeightFile struct {
	File    string `json:"file"` // below the weights folder
	URL     string `json:"url"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Licence string `json:"licence"`
}

// ReadManifest reads and checks the manifest of a runner's folder.
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
	m := &Manifest{Dir: dir}
	if err := m.parse(raw); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(filepath.Base(dir), ManifestFile), err)
	}
	return m, nil
}

func (m *Manifest) parse(raw []byte) error {
	if len(raw) > maxManifest {
		return fmt.Errorf("it has more than %d bytes", maxManifest)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("there is more after the object")
	}
	for _, d := range []struct {
		v   *float64
		def float64
	}{{&m.IdleTTL, 900}, {&m.LoadTimeout, 600}, {&m.JobTimeout, 86400}, {&m.StageTime, 1800}, {&m.Silence, 60}, {&m.CancelTime, 10}} {
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if m.RecycleJobs == 0 {
		m.RecycleJobs = 500
	}
	for i := range m.Models {
		m.Models[i].inherit(&m.manifestScope)
	}
	return m.check()
}

func (c *ManifestModel) inherit(from *manifestScope) {
	if c.Kind == "" {
		c.Kind = pleat.TaskFold
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
	engineName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	modelName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	pythonName = regexp.MustCompile(`^3\.[0-9]{1,2}$`)
)

var allFeatures = []pleat.Feature{pleat.FeatureAffinity, pleat.FeatureMSA, pleat.FeatureTemplates, pleat.FeatureConstraints, pleat.FeatureModifications,
	pleat.FeatureCyclic, pleat.FeatureComplex, pleat.FeatureUnknown}

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
	case len(m.Python) != 0 && (len(m.Python) != 2 || !pythonName.MatchString(m.Python[0]) || !pythonName.MatchString(m.Python[1])):
		return errors.New(`python must be the oldest and the newest version, such as ["3.10", "3.12"]`)
	case len(m.Models) == 0:
		return errors.New("models is empty")
	case min(m.IdleTTL, m.LoadTimeout, m.JobTimeout, m.StageTime, m.Silence, m.CancelTime, m.RecycleRSS, float64(m.RecycleJobs)) < 0:
		return errors.New("a bound is negative")
	}
	for i := range m.Models {
		if err := m.Models[i].check(); err != nil {
			return fmt.Errorf("models[%d] %w", i, err)
		}
	}
	for i, w := range m.Weights {
		u, err := url.Parse(w.URL)
		sum, bad := hex.DecodeString(w.SHA256)
		switch {
		case !local(w.File):
			return fmt.Errorf("weights[%d].file is %q; it must be a path below the weights folder", i, pleat.Clip(w.File))
		case w.URL != "" && (err != nil || u.Scheme != "https" || u.Host == ""):
			return fmt.Errorf("weights[%d].url is %q; it must be an https address", i, pleat.Clip(w.URL))
		case w.SHA256 != "" && (bad != nil || len(sum) != 32):
			return fmt.Errorf("weights[%d].sha256 is no SHA-256 in hexadecimal digits", i)
		case w.Bytes < 0:
			return fmt.Errorf("weights[%d].bytes is negative", i)
		}
	}
	return nil
}

func (c *ManifestModel) check() error {
	switch {
	case !modelName.MatchString(c.Name):
		return fmt.Errorf("has the name %q; it must be letters, digits, '.', '_' and '-'", pleat.Clip(c.Name))
	case c.Kind != pleat.TaskFold && c.Kind != pleat.TaskQnA && c.Kind != pleat.TaskMD:
		return fmt.Errorf("has the kind %q; it must be fold, qna or md", pleat.Clip(string(c.Kind)))
	case c.Title == "" || c.Licence == "":
		return errors.New("needs a title and a licence")
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
	}
	_, err := c.params()
	return err
}

// params are the model's parameters in the interface's order.
func (c *ManifestModel) params() ([]pleat.ParamSpec, error) {
	var out []pleat.ParamSpec
	known := pleat.KnownParams()
	for _, k := range known {
		p, ok := c.Params[k.Name]
		if !ok {
			continue
		}
		if p.Type != k.Type {
			return nil, fmt.Errorf("has the parameter %s of type %q; it is %q", k.Name, pleat.Clip(string(p.Type)), k.Type)
		}
		s := pleat.ParamSpec{Name: k.Name, Type: p.Type, Default: p.Default, Min: p.Min, Max: p.Max, Values: p.Enum, Doc: p.Doc}
		if err := s.CheckDefault(); err != nil {
			return nil, fmt.Errorf("has a default that it would refuse: %w", err)
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

// models are the manifest's, as they run on a kind of device.
func (m *Manifest) models(device string, room int64) []pleat.Model {
	var out []pleat.Model
	for i := range m.Models {
		c := &m.Models[i]
		v := pleat.Model{
			Name: c.Name, Kind: c.Kind, Title: c.Title, Engine: m.Engine, Version: m.Version, WeightSet: c.WeightSet, Method: c.Method, Licence: c.Licence,
			Device: device, Entities: c.Entities, Features: c.Features, MinTokens: c.MinTokens, MaxTokens: c.MaxTokens, Confidence: c.Confidence, Notice: c.Notice, Room: room,
		}
		v.Params, _ = c.params() // checked when it was read
		if c.Memory != nil {
			v.Memory = pleat.MemoryModel{Base: c.Memory.BaseGB * 1e9, Linear: c.Memory.PerToken, Square: c.Memory.Square}
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

func (m *Manifest) warm() bool { return m.Warm == nil || *m.Warm }

// stage is what a progress message may name; anything else counts as its own word, clipped.
func (m *Manifest) stage(name string) string {
	if slices.Contains([]string{"prepare", "trunk", "diffusion", "confidence", "affinity", "write"}, name) || slices.Contains(m.Stages, name) {
		return name
	}
	return oneLine(name, 40)
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// Manifests reads every runner of a folder, by the folder's name. One that cannot be read is an error under its name.
func Manifests(dir string) (map[string]*Manifest, map[string]error) {
	found, wrong := map[string]*Manifest{}, map[string]error{}
	paths, _ := filepath.Glob(filepath.Join(dir, "*", ManifestFile)) // the pattern is well formed unless the folder's name is odd
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(name, ".") {
			continue
		}
		m, err := ReadManifest(filepath.Dir(path))
		if err != nil {
			wrong[name] = err
			continue
		}
		found[name] = m
	}
	return found, wrong
}
