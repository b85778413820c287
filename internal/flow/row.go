package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"

	"pleat"
	"pleat/api"
)

// answerRow is the result of a question, section 5.1 of docs/interface.md.
type answerRow struct {
	Question     string `json:"question"`
	Answer       string `json:"answer"`
	TargetSource string `json:"targetSource"`
	TargetRef    string `json:"targetRef"`
	FileName     string `json:"fileName"`
	Image        string `json:"image"`
	JobYAMLPath  string `json:"job_yaml_path"`
}

// AnswerRow writes the row of an answered question. Engine is the name and version of what answered: engines in the
// process run in no container, so that is what stands for the image. Metadata is the path, on the worker, of the file
// that describes the run.
func AnswerRow(q *pleat.QnAInput, answer, engine, metadata string) (json.RawMessage, error) {
	return encode(answerRow{
		Question:     q.Question,
		Answer:       answer,
		TargetSource: q.Source,
		TargetRef:    q.Reference,
		FileName:     path.Base(q.File),
		Image:        "pleat " + engine,
		JobYAMLPath:  metadata,
	})
}

// PublicRow returns the row of an answered question without what is private of its targetRef, and that of a comparison
// without what is private of its structures; other rows unchanged.
func PublicRow(row json.RawMessage) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(row, &all); err != nil {
		return row, err
	}
	if all["structures"] != nil {
		return publicComparison(row)
	}
	if all["targetRef"] == nil {
		return row, nil
	}
	var reference string
	if err := json.Unmarshal(all["targetRef"], &reference); err != nil {
		return nil, fmt.Errorf("read row: %w", err)
	}
	var err error
	if all["targetRef"], err = encode(PublicReference(reference)); err != nil {
		return nil, err
	}
	return encode(all)
}

// RowFile is one file in the row of a simulation. The stored URL is empty; [WithURLs] sets it for each reader.
type RowFile struct {
	Path      string  `json:"path"`
	SizeBytes int64   `json:"sizeBytes"`
	URL       *string `json:"url"`
}

// dynamicsRow is the row of a simulation, result_raw_json of docs/interface.md.
type dynamicsRow struct {
	Artifacts   []RowFile       `json:"artifacts"`
	Metrics     json.RawMessage `json:"metrics"`
	MetricsJSON *string         `json:"metricsJson"`
}

// MetricsFile is the name of the file to which metricsJson links.
const MetricsFile = "metrics.json"

// DynamicsRow returns the row of a simulation.
func DynamicsRow(files []RowFile, metrics Metrics) (json.RawMessage, error) {
	m, err := encode(metrics)
	if err != nil {
		return nil, err
	}
	return MeasuredRow(files, m)
}

// MeasuredRow writes the row of a simulation that another program has measured. metrics is an object with those fields
// of [Metrics] that the program gives; further fields are kept.
func MeasuredRow(files []RowFile, metrics json.RawMessage) (json.RawMessage, error) {
	return encode(dynamicsRow{Artifacts: files, Metrics: metrics})
}

// WithURLs fills the links of a row: of each artifact, and metricsJson. link returns the URL of the file of a name, or
// an empty string. A row without artifacts (a question's) is returned unchanged.
func WithURLs(row json.RawMessage, link func(name string) string) (json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(row, &all); err != nil || all["artifacts"] == nil {
		return row, err
	}
	var files []RowFile
	if err := json.Unmarshal(all["artifacts"], &files); err != nil {
		return nil, fmt.Errorf("read row: %w", err)
	}
	var err error
	for i := range files {
		f := &files[i]
		u := link(f.Path)
		if u == "" {
			continue
		}
		f.URL = &u
		if f.Path == MetricsFile {
			if all["metricsJson"], err = encode(u); err != nil {
				return nil, err
			}
		}
	}
	if all["artifacts"], err = encode(files); err != nil {
		return nil, err
	}
	return encode(all)
}

// EventMetrics returns what an event says of a result: the measurements of a simulation, or the counts of a design with
// the best scores of its final set; nil if there are none.
func EventMetrics(row json.RawMessage) json.RawMessage {
	var parts struct {
		Metrics map[string]json.RawMessage `json:"metrics"`
		Best    json.RawMessage            `json:"best"`
	}
	if json.Unmarshal(row, &parts) != nil || parts.Metrics == nil {
		return nil
	}
	if parts.Best != nil {
		parts.Metrics["best"] = parts.Best
	}
	out, err := encode(parts.Metrics)
	if err != nil {
		return nil
	}
	return out
}

// Metrics are the measurements of a simulation under the names of the row and the catalogue. Lengths are in nm,
// energies in kJ/mol; Frames counts the frames that were measured, Restraints the pairs that hold the fold.
type Metrics struct {
	RMSD         Series            `json:"rmsd"`
	RMSF         Series            `json:"rmsf"`
	Rg           Series            `json:"radius_of_gyration"`
	EndToEnd     Series            `json:"end_to_end"`
	Landscape    LandscapeSummary  `json:"free_energy_landscape"`
	PCA          *LandscapeSummary `json:"principal_components,omitempty"`
	Temperature  float64           `json:"mean_temperature"` // K
	SimulatedNs  float64           `json:"simulated_ns"`
	Frames       int64             `json:"frames"`
	Steps        int64             `json:"steps"`
	Residues     int               `json:"residues"`
	Restraints   int               `json:"restraints"`
	StepsPerSec  float64           `json:"steps_per_second"`
	ResumedSteps int64             `json:"resumed_from_step"`
}

// Series summarises values in one unit. Error is the standard error of the mean, nil if the series is too short.
type Series struct {
	Unit  string   `json:"unit"`
	Mean  float64  `json:"mean"`
	SD    float64  `json:"sd"`
	Error *float64 `json:"error"`
	Min   float64  `json:"min"`
	Max   float64  `json:"max"`
	Plot  string   `json:"plot,omitempty"` // path of its figure among the artifacts
}

// LandscapeSummary is a free-energy landscape without its grid, which is in metrics.json.
type LandscapeSummary struct {
	Unit    string  `json:"unit"`
	X       string  `json:"x"`
	Y       string  `json:"y"`
	MinX    float64 `json:"minimum_x"` // centre of the lowest bin
	MinY    float64 `json:"minimum_y"`
	Visited float64 `json:"visited"` // fraction of bins, 0 to 1
	Highest float64 `json:"highest"` // energy of the least visited bin
	Plot    string  `json:"plot,omitempty"`
}

// encode encodes a value as JSON without HTML escapes and without a final newline.
func encode(v any) (json.RawMessage, error) {
	b, err := api.Encode(v)
	return bytes.TrimSpace(b), err
}
