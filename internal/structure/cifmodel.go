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
type globalMetric struct{ name, description, value string }

// globalMetrics returns the scores of the whole model that are known.
func (c *cifWriter) globalMetrics() []globalMetric {
	var out []globalMetric
	sum, n := 0.0, 0
	for _, v := range c.plddts() {
		sum += v.value
		n++
	}
	if n > 0 {
		out = append(out, globalMetric{
			"pLDDT", "Predicted lDDT, 0 to 100, mean over polymer residues",
			strconv.FormatFloat(sum/float64(n), 'f', 2, 64),
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
				score.name, score.description, strconv.FormatFloat(*score.value, 'f', 4, 64),
			})
		}
	}
	return out
}

// confidence writes the quality metrics of the model: definitions, scores of the whole, the pLDDT of each residue of a
// polymer, and the ipTM of pairs of chains. Their names and types are what viewers recognise.
func (c *cifWriter) confidence() {
	global, residues := c.globalMetrics(), c.plddts()
	if len(global) == 0 && len(residues) == 0 && len(c.m.PairIPTM) == 0 {
		return
	}
	c.loop("ma_qa_metric", "id", "mode", "name", "software_group_id", "type", "description")
	for i, m := range global {
		c.row(strconv.Itoa(i+1), "global", m.name, "1", m.name, m.description)
	}
	local := strconv.Itoa(len(global) + 1)
	if len(residues) > 0 {
		c.row(local, "local", "pLDDT", "1", "pLDDT", "Predicted lDDT, 0 to 100, per residue")
	}
	pair := strconv.Itoa(len(global) + 2)
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
	if len(residues) > 0 {
		c.localConfidence(local, residues)
	}
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

// residuePLDDT is the confidence of a residue, by its indices.
type residuePLDDT struct {
	chain, residue int
	value          float64
}

// plddts returns the confidence of the residues of polymers: the one of Meta or, where there is none, that of the file
// from which the structure was read.
func (c *cifWriter) plddts() (out []residuePLDDT) {
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		if !chain.Kind.Polymer() {
			continue
		}
		for j := range chain.Residues {
			switch own := chain.Residues[j].PLDDT; {
			case c.m.PLDDT != nil:
				out = append(out, residuePLDDT{i, j, c.m.PLDDT[i][j]})
			case own != nil && *own >= 0 && *own <= 100:
				out = append(out, residuePLDDT{i, j, *own})
			}
		}
	}
	return out
}

// localConfidence writes the confidence of residues, as the metric of an id.
func (c *cifWriter) localConfidence(metric string, residues []residuePLDDT) {
	c.loop("ma_qa_metric_local", "ordinal_id", "model_id", "label_asym_id", "label_seq_id", "label_comp_id",
		"metric_id", "metric_value")
	for k, v := range residues {
		r := &c.s.Chains[v.chain].Residues[v.residue]
		c.row(strconv.Itoa(k+1), "1", c.labels[v.chain], strconv.Itoa(r.Seq), r.Comp, metric,
			strconv.FormatFloat(v.value, 'f', 2, 64))
	}
	c.end()
}
