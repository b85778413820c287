package flow

import (
	"encoding/json"
	"fmt"
	"strings"

	"pleat"
)

// Field is one output of a task: its path in result_raw_json, such as metrics.rmsd.mean, and its type.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// The types of outputs.
const (
	typeFloat   = "key/float"
	typeInteger = "key/integer"
	typeString  = "key/string"
	typeFile    = "key/file"
)

// MaxDesigns is the largest number of designs in a catalogue.
const MaxDesigns = 1000

const (
	// The task types besides those of catalogued, and the largest payload in bytes that a catalogue is made for.
	taskDesign   = "pipeline_run_design_v1"
	taskBoltzGen = "pipeline_run_boltzgen_v1"
	taskQnA      = "inference_qna"
	maxDescribe  = 64 << 10
)

// catalogued are the task types that have a catalogue; a misspelt type gets the nearest of them as a hint.
var catalogued = []string{"inference_md", "inference_calvados_openmm", taskDesign, taskBoltzGen}

// Catalogue returns the outputs of a task type for a payload. Questions have no catalogue: their answer is text.
func Catalogue(taskType string, payload json.RawMessage) ([]Field, error) {
	switch taskType {
	case "inference_md", "inference_calvados_openmm":
		return dynamicsOutputs(), nil
	case taskDesign, taskBoltzGen:
		return designOutputs(payload)
	case taskQnA:
		return nil, pleat.InvalidField("workflowTaskTypeId", " %s has no catalogue of outputs: its answer is one text",
			taskQnA)
	case "":
		return nil, pleat.InvalidField("workflowTaskTypeId", " is required; it may be %s", strings.Join(catalogued,
			", "))
	}
	if n := pleat.Nearest(taskType, catalogued); n != "" {
		return nil, pleat.InvalidField("workflowTaskTypeId", " is %q; did you mean %q?", pleat.Clip(taskType), n)
	}
	return nil, pleat.InvalidField("workflowTaskTypeId", " is %q; there are catalogues for %s", pleat.Clip(taskType),
		strings.Join(catalogued, ", "))
}

// DynamicsFiles are the paths of the files of a simulation in its catalogue.
var DynamicsFiles = []string{"topology.pdb", "trajectory.dcd", "energies.csv", MetricsFile, "config.json",
	"results.zip"}

// dynamicsOutputs returns the outputs of a simulation: the metrics of its row, and its files.
func dynamicsOutputs() []Field {
	var out []Field
	for _, s := range []string{"rmsd", "rmsf", "radius_of_gyration", "end_to_end"} {
		for _, v := range []string{"mean", "sd", "error", "min", "max"} {
			out = append(out, Field{"metrics." + s + "." + v, typeFloat})
		}
		if s != "end_to_end" {
			out = append(out, Field{"metrics." + s + ".plot", typeFile})
		}
	}
	for _, v := range []string{"minimum_x", "minimum_y", "visited", "highest"} {
		out = append(out, Field{"metrics.free_energy_landscape." + v, typeFloat})
	}
	out = append(out, Field{"metrics.free_energy_landscape.plot", typeFile})
	for _, v := range []string{"mean_temperature", "simulated_ns", "steps_per_second"} {
		out = append(out, Field{"metrics." + v, typeFloat})
	}
	for _, v := range []string{"frames", "steps", "residues", "restraints"} {
		out = append(out, Field{"metrics." + v, typeInteger})
	}
	out = append(out, Field{"metricsJson", typeFile})
	for _, f := range DynamicsFiles {
		out = append(out, Field{"artifacts[" + f + "]", typeFile})
	}
	return out
}

// designOutput returns the type of a column as an output; empty: it is none.
func designOutput(c *DesignColumn) string {
	switch c.Type {
	case columnNumber:
		return typeFloat
	case columnInteger:
		return typeInteger
	case columnText, columnFlag:
		return typeString
	case "object":
		return typeFile
	}
	return ""
}

// designOutputs returns the fields of each design that the payload asks for by budget or numDesigns, 1 to MaxDesigns.
func designOutputs(payload json.RawMessage) ([]Field, error) {
	if len(payload) > maxDescribe {
		return nil, pleat.InvalidField("inputPayload", " has %d bytes; at most %d are allowed", len(payload),
			maxDescribe)
	}
	f := open(settingsOf(payload), "inputPayload")
	name := "budget"
	if f.raw(name) == nil {
		name = "numDesigns"
	}
	n := f.number(name, 0)
	if f.raw(name) == nil {
		f.fail(f.pathOf("budget"), " or inputPayload.numDesigns is required; it says how many designs there are")
	} else if n != float64(int(n)) || n < 1 || n > MaxDesigns {
		f.fail(f.pathOf(name), " is %v; it must be a whole number from 1 to %d", n, MaxDesigns)
	}
	if err := f.faults.Err(); err != nil {
		return nil, err
	}
	out := make([]Field, 0, int(n)*len(designColumns))
	for i := range int(n) {
		for k := range designColumns {
			if kind := designOutput(&designColumns[k]); kind != "" && !designColumns[k].Optional {
				out = append(out, Field{fmt.Sprintf("designs[%d].%s", i, designColumns[k].Name), kind})
			}
		}
	}
	return out, nil
}
