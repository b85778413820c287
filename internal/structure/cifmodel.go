package structure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// model writes the categories that ModelCIF requires of a computed model: software, targets, model list and protocol,
// and the confidence if there is any.
func (c *cifWriter) model() {
	date := ""
	if !c.m.Date.IsZero() {
		date = c.m.Date.UTC().Format("2006-01-02")
	}
	c.citations()
	items := []string{"pdbx_ordinal", "name", "version", "type", "classification", "description", "date"}
	row := []string{"1", c.m.software(), oneLine(c.m.Version), "program", "other", "Structure prediction", date}
	if len(c.m.Citations) > 0 {
		items, row = append(items, "citation_id"), append(row, "1")
	}
	c.loop("software", items...)
	c.row(row...)
	c.end()
	c.loop("ma_software_group", "ordinal_id", "group_id", "software_id")
	c.row("1", "1", "1")
	c.end()
	c.targets()
	name := cmp.Or(oneLine(c.m.Model), c.m.software())
	c.loop("ma_model_list", "ordinal_id", "model_id", "model_group_id", "model_name", "model_group_name", "data_id",
		"model_type")
	c.row("1", "1", "1", name, name, strconv.Itoa(len(c.first)+1), "Ab initio model")
	c.end()
	c.loop("ma_protocol_step", "ordinal_id", "protocol_id", "step_id", "method_type", "step_name", "software_group_id",
		"input_data_group_id", "output_data_group_id")
	c.row("1", "1", "1", "modeling", "Structure prediction", "1", "1", "2")
	c.end()
	c.confidence()
}

// citations writes the papers of the program and their authors.
func (c *cifWriter) citations() {
	all := c.m.Citations
	if len(all) == 0 {
		return
	}
	c.loop("citation", "id", "title", "journal_abbrev", "journal_volume", "page_first", "page_last", "year",
		"pdbx_database_id_DOI")
	for i := range all {
		p := &all[i]
		c.row(strconv.Itoa(i+1), oneLine(p.Title), oneLine(p.Journal), oneLine(p.Volume), oneLine(p.FirstPage),
			oneLine(p.LastPage), oneLine(p.Year), oneLine(p.DOI))
	}
	c.end()
	c.loop("citation_author", "citation_id", "name", "ordinal")
	ordinal := 0
	for i := range all {
		for _, name := range all[i].Authors {
			ordinal++
			c.row(strconv.Itoa(i+1), oneLine(name), strconv.Itoa(ordinal))
		}
	}
	c.end()
}

// targets writes the modelled molecules and the data items: one for each molecule, one for the coordinates.
func (c *cifWriter) targets() {
	c.loop("ma_data", "id", "name", "content_type", "content_type_other_details")
	for k, i := range c.first {
		name := cmp.Or(oneLine(c.s.Chains[i].Name), fmt.Sprintf("molecule %d", c.entity[i]))
		c.row(strconv.Itoa(k+1), name, "target", "\x00.")
	}
	model := strconv.Itoa(len(c.first) + 1)
	c.row(model, "model", "model coordinates", "\x00.")
	c.end()
	c.loop("ma_data_group", "ordinal_id", "group_id", "data_id")
	for k := range c.first {
		c.row(strconv.Itoa(k+1), "1", strconv.Itoa(k+1))
	}
	c.row(model, "2", model)
	c.end()
	c.loop("ma_target_entity", "entity_id", "data_id", "origin")
	for k, i := range c.first {
		c.row(strconv.Itoa(c.entity[i]), strconv.Itoa(k+1), "designed")
	}
	c.end()
	c.loop("ma_target_entity_instance", "asym_id", "entity_id", "details")
	for i, l := range c.labels {
		c.row(l, strconv.Itoa(c.entity[i]), "")
	}
	c.end()
}

// globalMetric is a score of the whole model (ma_qa_metric, mode global).
type globalMetric struct{ name, kind, description, value string }

// globalMetrics returns the scores of the whole model that are known.
func (c *cifWriter) globalMetrics() []globalMetric {
	var out []globalMetric
	for _, m := range c.localMetrics() {
		sum := 0.0
		for _, v := range m.values {
			sum += v.value
		}
		out = append(out, globalMetric{
			m.name, m.kind, m.description + ", mean over polymer residues",
			strconv.FormatFloat(sum/float64(len(m.values)), 'f', 2, 64),
		})
	}
	for _, score := range []struct {
		name, description string
		value             *float64
	}{
		{"pTM", "Predicted TM-score, 0 to 1", c.m.PTM},
		{"ipTM", "Interface predicted TM-score, 0 to 1", c.m.IPTM},
	} {
		if score.value != nil {
			out = append(out, globalMetric{
				score.name, score.name, score.description, strconv.FormatFloat(*score.value, 'f', 4, 64),
			})
		}
	}
	return out
}

// confidence writes the quality metrics of the model: definitions, scores of the whole, the pLDDT and predicted RMSD of
// each residue of a polymer, and the ipTM of pairs of chains. Their names and types are what viewers recognise.
func (c *cifWriter) confidence() {
	global, locals := c.globalMetrics(), c.localMetrics()
	if len(global) == 0 && len(locals) == 0 && len(c.m.PairIPTM) == 0 {
		return
	}
	c.loop("ma_qa_metric", "id", "mode", "name", "software_group_id", "type", "description")
	for i, m := range global {
		c.row(strconv.Itoa(i+1), "global", m.name, "1", m.kind, m.description)
	}
	for i, m := range locals {
		c.row(strconv.Itoa(len(global)+i+1), "local", m.name, "1", m.kind, m.description+", per residue")
	}
	pair := strconv.Itoa(len(global) + len(locals) + 1)
	if len(c.m.PairIPTM) > 0 {
		c.row(pair, "per-feature-pair", "ipTM", "1", "ipTM", "Interface predicted TM-score of two chains, 0 to 1")
	}
	c.end()
	if len(global) > 0 {
		c.loop("ma_qa_metric_global", "ordinal_id", "model_id", "metric_id", "metric_value")
		for i, m := range global {
			c.row(strconv.Itoa(i+1), "1", strconv.Itoa(i+1), m.value)
		}
		c.end()
	}
	c.localConfidence(len(global)+1, locals)
	c.pairConfidence(pair)
}

// pairConfidence writes the ipTM of pairs of chains, as the metric of an id. A chain that is in a pair is a feature,
// which ModelCIF has since version 1.4.7.
func (c *cifWriter) pairConfidence(metric string) {
	if len(c.m.PairIPTM) == 0 {
		return
	}
	var chains []int
	for _, p := range c.m.PairIPTM {
		chains = append(chains, p.A, p.B)
	}
	slices.Sort(chains)
	chains = slices.Compact(chains)
	feature := map[int]string{}
	c.loop("ma_feature_list", "feature_id", "feature_type", "entity_type")
	for k, i := range chains {
		feature[i] = strconv.Itoa(k + 1)
		kind := "non-polymer"
		if c.s.Chains[i].Kind.Polymer() {
			kind = "polymer"
		}
		c.row(feature[i], "entity instance", kind)
	}
	c.end()
	c.loop("ma_entity_instance_feature", "ordinal_id", "feature_id", "label_asym_id")
	for k, i := range chains {
		c.row(strconv.Itoa(k+1), feature[i], c.labels[i])
	}
	c.end()
	c.loop("ma_qa_metric_feature_pairwise", "ordinal_id", "model_id", "feature_id_1", "feature_id_2", "metric_id",
		"metric_value")
	for k, p := range c.m.PairIPTM {
		c.row(strconv.Itoa(k+1), "1", feature[p.A], feature[p.B], metric, strconv.FormatFloat(p.IPTM, 'f', 4, 64))
	}
	c.end()
}

// localMetric is a measure of the residues of polymers (ma_qa_metric, mode local). It has values.
type localMetric struct {
	name, kind, description string
	values                  []residueValue
}

// residueValue is the value of a residue, by its indices.
type residueValue struct {
	chain, residue int
	value          float64
}

// localMetrics returns the measures of residues that are known. The dictionary has no type of its own for a predicted
// RMSD, which is a distance.
func (c *cifWriter) localMetrics() []localMetric {
	all := []localMetric{{
		"pLDDT", "pLDDT", "Predicted lDDT, 0 to 100",
		c.residueValues(c.m.PLDDT, 100, func(r *Residue) *float64 { return r.PLDDT }),
	}, {
		"predicted RMSD", "distance", "Predicted RMSD in Angstrom, lower is better",
		c.residueValues(c.m.PredictedRMSD, MaxPredictedRMSD, func(r *Residue) *float64 { return r.PredictedRMSD }),
	}}
	return slices.DeleteFunc(all, func(m localMetric) bool { return len(m.values) == 0 })
}

// residueValues returns the values of the residues of polymers: those of Meta or, where there are none, those from 0 to
// a limit of the file from which the structure was read.
func (c *cifWriter) residueValues(of [][]float64, limit float64, own func(*Residue) *float64) (out []residueValue) {
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		if !chain.Kind.Polymer() {
			continue
		}
		for j := range chain.Residues {
			switch v := own(&chain.Residues[j]); {
			case of != nil:
				out = append(out, residueValue{i, j, of[i][j]})
			case v != nil && *v >= 0 && *v <= limit:
				out = append(out, residueValue{i, j, *v})
			}
		}
	}
	return out
}

// localConfidence writes the values of residues, as the metrics from an id on.
func (c *cifWriter) localConfidence(first int, metrics []localMetric) {
	if len(metrics) == 0 {
		return
	}
	c.loop("ma_qa_metric_local", "ordinal_id", "model_id", "label_asym_id", "label_seq_id", "label_comp_id",
		"metric_id", "metric_value")
	n := 0
	for i, m := range metrics {
		for _, v := range m.values {
			n++
			r := &c.s.Chains[v.chain].Residues[v.residue]
			c.row(strconv.Itoa(n), "1", c.labels[v.chain], strconv.Itoa(r.Seq), r.Comp, strconv.Itoa(first+i),
				strconv.FormatFloat(v.value, 'f', 2, 64))
		}
	}
	c.end()
}
