package structure

import (
	"fmt"
	"strconv"
)

// model writes the categories that ModelCIF requires of a computed model: software, targets, model list and protocol,
// and the confidence if there is any.
func (c *cifWriter) model() {
	date := ""
	if !c.m.Date.IsZero() {
		date = c.m.Date.UTC().Format("2006-01-02")
	}
	c.loop("software", "pdbx_ordinal", "name", "version", "type", "classification", "description", "date")
	c.row("1", c.m.software(), oneLine(c.m.Version), "program", "other", "Structure prediction", date)
	c.end()
	c.loop("ma_software_group", "ordinal_id", "group_id", "software_id")
	c.row("1", "1", "1")
	c.end()
	c.targets()
	name := oneLine(c.m.Model)
	if name == "" {
		name = c.m.software()
	}
	c.loop("ma_model_list", "ordinal_id", "model_id", "model_group_id", "model_name", "model_group_name", "data_id",
		"model_type")
	c.row("1", "1", "1", name, name, strconv.Itoa(c.targetCount()+1), "Ab initio model")
	c.end()
	c.loop("ma_protocol_step", "ordinal_id", "protocol_id", "step_id", "method_type", "step_name", "software_group_id",
		"input_data_group_id", "output_data_group_id")
	c.row("1", "1", "1", "modeling", "Structure prediction", "1", "1", "2")
	c.end()
	if c.m.PLDDT != nil {
		c.confidence()
	}
}

// targetCount returns the number of entities.
func (c *cifWriter) targetCount() int {
	n := map[int]bool{}
	for _, e := range c.entity {
		n[e] = true
	}
	return len(n)
}

// targets writes the modelled molecules and the data items: one for each molecule, one for the coordinates.
func (c *cifWriter) targets() {
	var order, first []int
	seen := map[int]bool{}
	for i, e := range c.entity {
		if !seen[e] {
			seen[e] = true
			order, first = append(order, e), append(first, i)
		}
	}
	c.loop("ma_data", "id", "name", "content_type", "content_type_other_details")
	for k, e := range order {
		name := oneLine(c.s.Chains[first[k]].Name)
		if name == "" {
			name = fmt.Sprintf("molecule %d", e)
		}
		c.row(strconv.Itoa(k+1), name, "target", "\x00.")
	}
	c.row(strconv.Itoa(len(order)+1), "model", "model coordinates", "\x00.")
	c.end()
	c.loop("ma_data_group", "ordinal_id", "group_id", "data_id")
	for k := range order {
		c.row(strconv.Itoa(k+1), "1", strconv.Itoa(k+1))
	}
	c.row(strconv.Itoa(len(order)+1), "2", strconv.Itoa(len(order)+1))
	c.end()
	c.loop("ma_target_entity", "entity_id", "data_id", "origin")
	for k, e := range order {
		c.row(strconv.Itoa(e), strconv.Itoa(k+1), "designed")
	}
	c.end()
	c.loop("ma_target_entity_instance", "asym_id", "entity_id", "details")
	for i, l := range c.labels {
		c.row(l, strconv.Itoa(c.entity[i]), "")
	}
	c.end()
}

// confidence writes pLDDT from 0 to 100 (ma_qa_metric): the mean over all polymer residues, and one value per residue.
// Viewers colour by it.
func (c *cifWriter) confidence() {
	c.loop("ma_qa_metric", "id", "mode", "name", "software_group_id", "type", "description")
	c.row("1", "global", "pLDDT", "1", "pLDDT", "Predicted lDDT, 0 to 100, mean over polymer residues")
	c.row("2", "local", "pLDDT", "1", "pLDDT", "Predicted lDDT, 0 to 100, per residue")
	c.end()
	sum, n := 0.0, 0
	for i, chain := range c.m.PLDDT {
		if c.s.Chains[i].Kind.Polymer() {
			for _, v := range chain {
				sum += v
				n++
			}
		}
	}
	if n == 0 {
		return
	}
	c.loop("ma_qa_metric_global", "ordinal_id", "model_id", "metric_id", "metric_value")
	c.row("1", "1", "1", strconv.FormatFloat(sum/float64(n), 'f', 2, 64))
	c.end()
	c.loop("ma_qa_metric_local", "ordinal_id", "model_id", "label_asym_id", "label_seq_id", "label_comp_id",
		"metric_id", "metric_value")
	ordinal := 0
	for i := range c.s.Chains {
		chain := &c.s.Chains[i]
		if !chain.Kind.Polymer() {
			continue
		}
		for j := range chain.Residues {
			ordinal++
			r := &chain.Residues[j]
			c.row(strconv.Itoa(ordinal), "1", c.labels[i], strconv.Itoa(r.Seq), r.Comp, "2",
				strconv.FormatFloat(c.m.PLDDT[i][j], 'f', 2, 64))
		}
	}
	c.end()
}
