package structure

import (
	"regexp"
	"strconv"
	"strings"
)

// qaMetric is a local quality metric of a ModelCIF file that is a pLDDT or a predicted RMSD.
type qaMetric struct {
	rmsd  bool
	rank  int     // 0: of residues, which is preferred; 1: of all atoms; 2: by its name alone
	scale float64 // to 0 to 100
}

// qaKey is a value of a metric.
type qaKey struct {
	metric, asym string
	seq          int
}

// maxMetrics bounds the metrics of a file, and maxValues their values, as a multiple of Limits.Residues.
const maxMetrics, maxValues = 16, 4

// experiment reads a row of _exptl: the method of the experiment, of which there may be several.
func (c *cifReader) experiment(v [][]byte) error {
	if name := oneLine(v[0]); name != "" && len(c.build.method)+len(name) < c.build.in.lim.Line {
		if c.build.method != "" {
			name = c.build.method + "; " + name
		}
		c.build.method = name
	}
	return nil
}

// computed reads a row of a table that only models have.
func (c *cifReader) computed([][]byte) error {
	c.build.computed = true
	return nil
}

// metric reads a row of _ma_qa_metric. The types are those of the ModelCIF dictionary 1.4, which has none for a
// predicted RMSD: it is a distance of that name.
func (c *cifReader) metric(v [][]byte) error {
	c.build.computed = true
	if !strings.EqualFold(string(v[1]), "local") || len(c.metrics) >= maxMetrics {
		return nil
	}
	kind := strings.ToLower(string(v[2]))
	m := qaMetric{rank: 2, scale: 1}
	switch {
	case strings.HasPrefix(kind, "plddt all-atom"):
		m.rank = 1
	case strings.HasPrefix(kind, "plddt"):
		m.rank = 0
	case kind == "distance" && predictedRMSDName.Match(v[3]):
		m.rmsd, m.rank = true, 0
	case !strings.EqualFold(string(v[3]), "plddt"):
		return nil
	}
	if strings.Contains(kind, "[0,1]") {
		m.scale = 100
	}
	c.metrics[c.build.intern(v[0])] = m
	return nil
}

// localMetric reads a row of _ma_qa_metric_local: a value of a residue.
func (c *cifReader) localMetric(v [][]byte) error {
	if v[1] == nil || v[2] == nil || v[4] == nil {
		return nil // a value of a ligand, or none
	}
	if _, known := c.metrics[string(v[3])]; !known && len(c.metrics) > 0 {
		return nil // of another metric
	}
	model := string(v[0])
	if len(c.values) == 0 {
		c.valuesModel = model
		if c.build.atoms > 0 && c.model != "" {
			c.valuesModel = c.model
		}
	}
	if model != "" && model != c.valuesModel {
		return nil
	}
	seq, err := c.number("label_seq_id", v[2])
	if err != nil {
		return err
	}
	value, err := strconv.ParseFloat(string(v[4]), 64)
	if err != nil || !(value >= -1e6 && value <= 1e6) {
		return c.build.in.errorf("metric_value is %s, want a number", excerpt(v[4]))
	}
	key := qaKey{c.build.intern(v[3]), c.build.intern(v[1]), seq}
	if _, known := c.values[key]; known {
		return nil
	}
	if len(c.values) >= maxValues*c.build.in.lim.Residues {
		return c.build.in.limit("there are more values of quality metrics than allowed")
	}
	c.values[key] = value
	return nil
}

// predictedRMSDName matches the names under which models state their predicted RMSD.
var predictedRMSDName = regexp.MustCompile(`(?i)^(predicted rmsd|prmsd)$`)

// assignMetrics gives the residues the values of their pLDDT and predicted RMSD.
func (c *cifReader) assignMetrics() {
	c.assignMetric(false, func(r *Residue, v float64) { r.PLDDT = &v })
	c.assignMetric(true, func(r *Residue, v float64) {
		if v >= 0 {
			r.PredictedRMSD = &v
		}
	})
}

// assignMetric calls set with the residues and their values of the best metric of a kind.
func (c *cifReader) assignMetric(rmsd bool, set func(*Residue, float64)) {
	id, best := "", qaMetric{rank: maxMetrics}
	for k, m := range c.metrics {
		if m.rmsd == rmsd && (m.rank < best.rank || m.rank == best.rank && k < id) {
			id, best = k, m
		}
	}
	if best.rank == maxMetrics || len(c.values) == 0 || c.valuesModel != c.model && c.valuesModel != "" &&
		c.model != "" {
		return
	}
	for _, raw := range c.build.chains {
		for i := range raw.residues {
			r := &raw.residues[i]
			if v, ok := c.values[qaKey{id, raw.name, r.Seq}]; ok && r.Seq > 0 {
				set(r, v*best.scale)
				c.build.metrics = true
			}
		}
	}
}
