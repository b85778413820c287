package engines

import (
	"fmt"
	"math"
	"path/filepath"

	"pleat"
	"pleat/internal/engine/runner"
)

// published is the mean pLDDT that the publisher of a model gives for a fold of one protein chain without an alignment.
type published struct {
	sequence string
	values   map[string]any // parameters that differ from the defaults of the service
	plddt    float64        // from 0 to 100
	// within is how far a fold here may differ. It is a choice of this project: no publisher gives one. Devices and
	// precisions differ, and a figure is a mean over atoms or over residues.
	within float64
	source string
}

// publishedFigures are the published figures by model. A model without an entry is one of which no publisher's figures
// for an example are known that can be repeated here: those with an alignment, of another version of the weights, or
// without their input cannot.
var publishedFigures = map[string]published{
	// The README folds this chain with esmfold_v1, prints the mean over the atoms, and says «88.3».
	"esm1b": {
		sequence: "MKTVRQERLKSIVRILERSKEPVSGAQLAEELSVSRQVIVQDIAYLRSLGYNIVATPRGYVLAGG",
		plddt:    88.3,
		within:   1.5,
		source:   "github.com/facebookresearch/esm, README.md, «ESMFold Structure Prediction»",
	},
	// The test folds chignolin (PDB entry 5AWL) as a single sequence with the first of the five models and 3 recycles:
	// «rank_001_alphafold2_ptm_model_1_seed_000 pLDDT=94.2».
	"monomer": {
		sequence: "YYDPETGTWY",
		values:   map[string]any{"recyclingSteps": 3.0, "numTrunkSamples": 1.0},
		plddt:    94.2,
		within:   2,
		source:   "github.com/sokrypton/ColabFold, tests/test_colabfold.py, test_single_sequence",
	},
}

// publishedFor returns the published figures of a model whose weights are known: each file that exists has the SHA-256
// of the manifest or of the record, as checkWeights has seen to. Otherwise it returns why nothing is compared.
func publishedFor(record *weightsRecord, m *runner.Manifest, model string) (p published, why string) {
	p, ok := publishedFigures[model]
	dir := filepath.Dir(record.path)
	switch {
	case !ok:
		return p, "no figures are known that the publisher gives for an example"
	case randomWeights(dir):
		return p, "the weights are random"
	}
	for _, w := range m.Weights {
		if exists(filepath.Join(dir, w.File)) && record.expected(w) != "" {
			return p, ""
		}
	}
	return p, "the SHA-256 of the weights is not known"
}

// compare returns a sentence on a fold of the example. It is an error if the mean pLDDT is not the published one.
func (p published) compare(got pleat.Output) (string, error) {
	v := meanPLDDT(got)
	if v == nil {
		return "", fmt.Errorf("the fold has no pLDDT; published is %.1f (%s)", p.plddt, p.source)
	}
	text := fmt.Sprintf("mean pLDDT %.1f; published is %.1f, and %.1f to %.1f is accepted (%s)",
		*v, p.plddt, p.plddt-p.within, p.plddt+p.within, p.source)
	if math.Abs(*v-p.plddt) > p.within {
		return "", fmt.Errorf("%s", text)
	}
	return text, nil
}
