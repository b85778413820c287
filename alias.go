package pleat

// Engines in the wild lend their names to keys. This table is the only place that knows: a word is accepted wherever
// its canonical key stands, and it is stored with the run, since it names the rows that the run makes.
var aliasTable = map[string]struct {
	destination Destination
	target      string // workflow name and subscription target_type
	task        string // task type of the workflow's task
}{
	"qna":         {DestQnA, "qna_v1", "inference_qna"},
	"evolla":      {DestQnA, "evolla_v1", "inference_qna"},
	"md":          {DestMD, "md", "inference_md"},
	"openmm":      {DestMD, "calvados_openmm_v1", "inference_calvados_openmm"},
	"custom_http": {DestCustom, "custom_http", ""},
}

// Words lists the keys under which destinations may be named, canonical ones first.
func Aliases() []string { return []string{"qna", "md", "custom_http", "evolla", "openmm"} }

// Spellings lists the keys that stand for the same destination as word, itself included.
func AliasesOf(word string) []string {
	var out []string
	for _, w := range Aliases() {
		if aliasTable[w].destination == aliasTable[word].destination {
			out = append(out, w)
		}
	}
	return out
}
