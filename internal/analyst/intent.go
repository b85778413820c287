package analyst

import (
	"slices"
	"strings"
)

// intent is one kind of question: what it must speak of, what else it may speak of, and how it is answered. A question that
// speaks of anything else is not understood.
type intent struct {
	name  string
	needs string // alternatives by '|', each a list of concepts that must all be there
	takes string // concepts that may be there besides
	never string // what it does not put up with after all: alternatives as in needs
	loose bool   // answers for itself about chains and residues that do not exist
	about string // what it answers, for people
	reply func(*query) part

	need [][]string
	take map[string]bool
	no   [][]string
}

// where a question may point without changing what it asks.
const where = "chain @chain @chain2 protein rna dna nucleic "

var intents []*intent // filled by init: the answers about topics read it again

var table = []*intent{
	{name: "capability", needs: "capability", about: "what I can answer", reply: (*query).capability},
	{name: "overview", needs: "overview", takes: "chain protein oligomer rna dna nucleic", about: "a summary of the structure", reply: (*query).overview},
	{name: "chains", needs: "howmany chain|which chain|list chain|what chain|chain|oligomer|rna|dna|nucleic|howmany protein", takes: "protein rna dna nucleic oligomer", about: "chains and what they are", reply: (*query).chainList},
	{name: "identical", needs: "identical", takes: where + "sequence residue not oligomer", about: "whether chains have the same sequence", reply: (*query).identicalChains},
	{name: "length", needs: "howmany residue|howmany @residue|howlong|longest chain|shortest chain", takes: where + "@residue longest shortest modelled", about: "the length of chains", reply: (*query).length},
	{name: "atoms", needs: "howmany atom|howmany hydrogen|howmany heavy", takes: where + "atom heavy hydrogen not", about: "numbers of atoms", reply: (*query).atomCount},
	{name: "sequence", needs: "sequence", takes: where + "@residue", about: "the sequence of a chain", reply: (*query).sequence},
	{name: "identity", needs: "@residue|@residue overview|@residue what", takes: where, never: "howmany|where|not", loose: true, about: "which residue stands at a position", reply: (*query).identity},
	{name: "yes or no", needs: "@residue @resname|@residue @class", takes: where, never: "howmany|where|which|list|not", loose: true, about: "whether a residue is of a name or class", reply: (*query).identity},
	{name: "residues", loose: true, about: "which residues, and how many, have the properties asked for: name, class, chain, range, secondary structure, exposure, confidence, distance", reply: (*query).residuesWith},
	{name: "composition", needs: "composition|mostcommon|which absent", takes: where + "percent @residue sequence", about: "amino acid composition", reply: (*query).composition},
	{name: "charge", needs: "charge|pi|charge whichph", takes: where + "@ph @residue", never: "which|howmany|list|where|not", about: "net charge and isoelectric point", reply: (*query).charge},
	{name: "weight", needs: "weight", takes: where, about: "molecular weight", reply: (*query).weight},
	{name: "secondary structure", needs: "secondary|helix|strand|coil|turn|threeten|pihelix", takes: where + "percent secondary helix strand coil turn threeten pihelix @residue longest shortest nterm cterm not", never: "not @residue|@residue longest|@residue shortest|howmany turn helix", about: "secondary structure (helices, strands, of a residue or range)", reply: (*query).secondaryStructure},
	{name: "confidence", needs: "confidence|trust|doubt|sure|disorder|average confidence", takes: where + "percent confidence trust doubt sure disorder average predicted @residue @threshold not nterm cterm", never: "not @residue|@residue @threshold", about: "the model's confidence (pLDDT), of the whole or of a region", reply: (*query).confidence},
	{name: "aligned error", needs: "pae|domain", takes: where + "pae domain trust confidence doubt sure average score", about: "predicted aligned error and domains, where it was given", reply: (*query).alignedError},
	{name: "model scores", needs: "ptm|score", takes: where + "ptm score confidence interface sure", about: "pTM, ipTM and interface scores of a prediction", reply: (*query).modelScores},
	{name: "size", needs: "gyration|size|compact|endtoend|distance nterm cterm|distance terminus|around nterm cterm|distance residue", takes: where + "gyration size compact endtoend around distance nterm cterm terminus nm", about: "size: radius of gyration, longest dimension, end-to-end distance, compactness", reply: (*query).size},
	{name: "residue contacts", needs: "@residue contact|@residue around|@residue closest|@residue @radius|@residue hbond|@residue bridge|@residue bind", takes: where + "@residue2 contact around closest @radius hbond bridge bind distance", never: "@unbound", about: "what a residue touches", reply: (*query).residueContacts},
	{name: "distance", needs: "distance @residue|distance @ligand|distance ligand|closest @residue @residue2|distance @atom|@residue2 @atom|closest @chain2|closest chain|@ligand2|@residue @ligand around|@residue @ligand closest|@residue nterm around|@residue cterm around|@residue nterm distance|@residue cterm distance|distance chain|distance @chain", takes: where + "@residue @residue2 @ligand2 @atom atom closest ligand @ligand nm around nterm cterm contact", never: "howmany residue", about: "distances between residues, atoms, ligands or chains", reply: (*query).distance},
	{name: "interface", needs: "interface|@chain2 contact|@chain2 around|@chain2 bind|chain contact|@chain2 hbond|@chain2 bridge|@chain2 bound|chain hbond|chain bridge|@chain contact|@chain2 @radius", takes: where + "interface contact around bind bound hbond bridge size closest distance affinity @radius oligomer score", about: "the interface between two chains", reply: (*query).interfaces},
	{name: "interface area", needs: "@chain2 area|@chain2 surface buried|interface area|interface size|interface surface|chain surface buried", takes: where + "contact bind bound buried", about: "how much surface an interface buries", reply: (*query).interfaces},
	{name: "ligands", needs: "ligand|ion|water|bound|@ligand", takes: "chain protein ligand ion water bound @ligand absent", about: "which ligands, ions and waters there are", reply: (*query).ligandList},
	{name: "ligand surroundings", needs: "ligand contact|ligand around|ligand bind|ligand closest|ligand bound residue|ligand hbond|ligand bridge|ligand @radius|ligand pocket|ion contact|ion around|ion bind|ion closest|ion @radius|@ligand contact|@ligand around|@ligand bind|@ligand closest|@ligand hbond|@ligand bridge|@ligand @radius|@ligand pocket|@ligand bound residue|site|@ligand where|@ligand residue which|ligand residue which|ligand where|ligand interface|@ligand interface", takes: "chain protein ligand ion @ligand contact around bind bound closest hbond @radius pocket site interface distance bridge", about: "what surrounds a ligand", reply: (*query).ligandSurroundings},
	{name: "affinity", needs: "affinity|affinity bind|affinity ligand|affinity @ligand", takes: "chain protein predicted ligand @ligand bind bound score confidence", about: "the predicted affinity, where there is one", reply: (*query).affinity},
	{name: "pockets", needs: "pocket|volume pocket", takes: where + "longest volume around @residue ligand @ligand surface", about: "pockets and cavities, by geometry alone", reply: (*query).pocketList},
	{name: "disulfides", needs: "disulfide|@resname free|free", takes: where + "disulfide free @resname not bound between @residue distance bridge contact", never: "not @residue", about: "disulfides and free cysteines", reply: (*query).disulfides},
	{name: "salt bridges", needs: "bridge", takes: where + "contact", about: "salt bridges", reply: (*query).saltBridges},
	{name: "hydrogen bonds", needs: "hbond", takes: where + "contact hydrogen", about: "candidates of hydrogen bonds", reply: (*query).hydrogenBonds},
	{name: "termini", needs: "nterm|cterm|terminus", takes: where + "nterm cterm terminus", about: "the first and last residues", reply: (*query).termini},
	{name: "gaps", needs: "gap|absent residue|gap sequence", takes: where + "gap absent sequence @residue not coil nterm cterm number", loose: true, never: "not @residue", about: "gaps in the chains", reply: (*query).gapList},
	{name: "surface", needs: "buried|exposed|area|surface|surface @residue", takes: where + "percent buried exposed area surface @residue not", never: "not @residue|buried surface|buried exposed", about: "accessible surface, buried and exposed residues", reply: (*query).surface},
	{name: "hydrophobic patches", needs: "patch", takes: where + "patch surface", about: "hydrophobic patches on the surface", reply: (*query).patches},
	{name: "method", needs: "method|resolution|predicted", takes: where + "method resolution predicted not", about: "whether it is a prediction; method and resolution where given", reply: (*query).method},
	{name: "modified residues", needs: "modified", takes: where, about: "modified residues", reply: (*query).modified},
}

var chosenIntent *intent // the one of residues with properties: recognised by selection, not by concepts

func init() {
	intents = table
	for _, in := range intents {
		if in.name == "residues" {
			chosenIntent = in
			continue
		}
		in.take, in.need = set(in.takes), alternatives(in.needs)
		if in.never != "" {
			in.no = alternatives(in.never)
		}
		for _, c := range slices.Concat(in.need...) {
			in.take[c] = true
		}
	}
}

func alternatives(text string) (out [][]string) {
	for _, alt := range strings.Split(text, "|") {
		out = append(out, strings.Fields(alt))
	}
	return out
}

// understand finds how a query is answered; nil: something in it has no place.
func (q *query) understand() *intent {
	if q.chosen = q.selection(); q.chosen != nil {
		return chosenIntent
	}
	return match(q.has)
}

// match finds the intent that speaks of everything the query speaks of, and of the most by need; nil: the query is not understood.
func match(has map[string]bool) *intent {
	var best *intent
	score := 0
	for _, in := range intents {
		covered := true
		for _, alt := range in.no {
			covered = covered && slices.ContainsFunc(alt, func(c string) bool { return !has[c] })
		}
		for c := range has {
			covered = covered && (soft[c] || in.take[c])
		}
		if !covered {
			continue
		}
		for _, alt := range in.need {
			met, weight := true, 0
			for _, c := range alt {
				met = met && has[c]
				weight++
				if !soft[c] {
					weight += 2
				}
			}
			if met && weight > score {
				best, score = in, weight
			}
		}
	}
	return best
}

// outside gives, for the concepts with '!', what no structure of this kind can tell, and who could.
var outside = map[string]string{
	"!function":   "what the molecule does. Function is not in the coordinates; it takes experiments, or annotation by related proteins",
	"!catalysis":  "catalysis or mechanism. An active site is known from experiments, not from coordinates",
	"!safety":     "toxicity, allergenicity or immune responses. These take experiments",
	"!partner":    "partners or recognition by molecules that are not in this structure",
	"!mutation":   "what a mutation would do. The facts are of this one structure; effects of mutations take experiments or other models",
	"!stability":  "stability, melting or folding energies. A single structure does not hold them",
	"!lab":        "behaviour in the laboratory, such as solubility, expression or aggregation",
	"!origin":     "organism, gene, family or evolution. The coordinates do not say where the molecule comes from",
	"!medicine":   "medical matters. Nothing of them is in a structure",
	"!cell":       "where in a cell or body the molecule is",
	"!motion":     "motion or flexibility. This is one still structure; a dynamics run could tell more",
	"!literature": "who made, published or deposited it, or what has been written of it",
	"!design":     "recommendations or designs. I report what is computed, and do not advise",
	"!compare":    "other structures. I see this one alone",
	"!symmetry":   "this geometric or crystallographic property. It is not among the facts computed here",
}
