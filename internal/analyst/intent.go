package analyst

import "strings"

// intent is one kind of question: what it must speak of, what else it may speak of, and how it is answered. A question that
// speaks of anything else is not understood.
type intent struct {
	name  string
	needs string // alternatives by '|', each a list of concepts that must all be there
	takes string // concepts that may be there besides
	never string // soft concepts that it does not put up with after all
	loose bool   // answers for itself about chains and residues that do not exist
	about string // what it answers, for people
	reply func(*query) part

	need [][]string
	take map[string]bool
	no   map[string]bool
}

// where a question may point without changing what it asks.
const where = "chain @chain @chain2 protein rna dna nucleic "

var intents []*intent // filled by init: the answers about topics read it again

var table = []*intent{
	{name: "capability", needs: "capability", about: "what I can answer", reply: (*query).capability},
	{name: "overview", needs: "overview", takes: where + "oligomer average", about: "a summary of the structure", reply: (*query).overview},
	{name: "chains", needs: "howmany chain|which chain|list chain|what chain|chain|oligomer|rna|dna|nucleic|howmany protein", takes: "protein not bound rna dna nucleic oligomer", about: "chains and what they are", reply: (*query).chainList},
	{name: "identical", needs: "identical", takes: where + "sequence residue not oligomer", about: "whether chains have the same sequence", reply: (*query).identicalChains},
	{name: "length", needs: "howmany residue|howmany @residue|howlong|longest chain|shortest chain|average howlong", takes: where + "@residue average longest shortest", about: "the length of chains", reply: (*query).length},
	{name: "atoms", needs: "howmany atom|howmany hydrogen|howmany heavy", takes: where + "atom heavy hydrogen not", about: "numbers of atoms", reply: (*query).atomCount},
	{name: "sequence", needs: "sequence", takes: where + "@residue", about: "the sequence of a chain", reply: (*query).sequence},
	{name: "identity", needs: "@residue|@residue overview|@residue @resname|@residue @class|@residue what", takes: where + "@class", never: "howmany percent where", loose: true, about: "which residue stands at a position", reply: (*query).identity},
	{name: "composition", needs: "composition|@resname|howmany @resname @residue|percent @class @residue|howmany @class @residue|@class|mostcommon|which absent", takes: where + "@residue @class @resname composition absent sequence not longest", about: "amino acid composition", reply: (*query).composition},
	{name: "charge", needs: "charge|pi|charge whichph|@ph @class", takes: where + "charge pi @ph @class", about: "net charge and isoelectric point", reply: (*query).charge},
	{name: "weight", needs: "weight", takes: where, about: "molecular weight", reply: (*query).weight},
	{name: "secondary structure", needs: "secondary|helix|strand|coil|turn|threeten|pihelix", takes: where + "secondary helix strand coil turn threeten pihelix @residue longest shortest nterm cterm composition not @threshold", about: "secondary structure (helices, strands, of a residue or range)", reply: (*query).secondaryStructure},
	{name: "confidence", needs: "confidence|trust|doubt|sure|disorder|average confidence", takes: where + "confidence trust doubt sure disorder average predicted @residue @threshold longest shortest not nterm cterm score", about: "the model's confidence (pLDDT), of the whole or of a region", reply: (*query).confidence},
	{name: "aligned error", needs: "pae|domain", takes: where + "pae domain trust confidence doubt sure average score between longest shortest not", about: "predicted aligned error and domains, where it was given", reply: (*query).alignedError},
	{name: "model scores", needs: "ptm|score", takes: where + "ptm score confidence interface sure", about: "pTM, ipTM and interface scores of a prediction", reply: (*query).modelScores},
	{name: "size", needs: "gyration|size|compact|endtoend|distance nterm cterm|distance terminus|around nterm cterm|distance residue", takes: where + "gyration size compact endtoend around distance nterm cterm terminus longest nm not", about: "size: radius of gyration, longest dimension, end-to-end distance, compactness", reply: (*query).size},
	{name: "residue contacts", needs: "@residue contact|@residue around|@residue closest|@residue @radius|@residue hbond|@residue bridge|@residue bind", takes: where + "@residue2 contact around closest @radius hbond bridge bind distance @class", about: "what a residue touches", reply: (*query).residueContacts},
	{name: "distance", needs: "distance @residue|distance @ligand|distance ligand|closest @residue @residue2|distance @atom|@residue2 @atom|closest @chain2|closest chain|@ligand2|@residue @ligand around|@residue @ligand closest|@residue nterm around|@residue cterm around|@residue nterm distance|@residue cterm distance|distance chain|distance @chain", takes: where + "@residue @residue2 @ligand2 @atom atom closest ligand @ligand nm around nterm cterm contact", about: "distances between residues, atoms, ligands or chains", reply: (*query).distance},
	{name: "interface", needs: "interface|@chain2 contact|@chain2 around|@chain2 bind|chain contact|@chain2 hbond|@chain2 bridge|@chain2 bound|@chain2 buried|@chain2 area|chain hbond|chain bridge|@chain contact|@chain2 @radius", takes: where + "interface contact around bind bound hbond bridge area size score closest distance buried surface longest affinity @radius oligomer", about: "the interface between two chains", reply: (*query).interfaces},
	{name: "ligands", needs: "ligand|ion|water|bound|@ligand", takes: where + "ligand ion water bound @ligand not absent longest", about: "which ligands, ions and waters there are", reply: (*query).ligandList},
	{name: "ligand surroundings", needs: "ligand contact|ligand around|ligand bind|ligand closest|ligand bound residue|ligand hbond|ligand bridge|ligand @radius|ligand pocket|ion contact|ion around|ion bind|ion closest|ion @radius|@ligand contact|@ligand around|@ligand bind|@ligand closest|@ligand hbond|@ligand bridge|@ligand @radius|@ligand pocket|@ligand bound residue|site|@ligand where|@ligand residue which|ligand residue which|ligand where|ligand interface|@ligand interface", takes: where + "ligand ion @ligand contact around bind bound closest hbond @radius pocket site interface distance @class bridge buried", about: "what surrounds a ligand", reply: (*query).ligandSurroundings},
	{name: "affinity", needs: "affinity|affinity bind|affinity ligand|affinity @ligand", takes: where + "predicted ligand @ligand bind bound score confidence", about: "the predicted affinity, where there is one", reply: (*query).affinity},
	{name: "pockets", needs: "pocket|volume pocket", takes: where + "longest shortest volume around @residue ligand @ligand surface not size buried", about: "pockets and cavities, by geometry alone", reply: (*query).pocketList},
	{name: "disulfides", needs: "disulfide|@resname free|free", takes: where + "disulfide free @resname not bound between @residue distance bridge contact", about: "disulfides and free cysteines", reply: (*query).disulfides},
	{name: "salt bridges", needs: "bridge", takes: where + "@class contact closest longest not", about: "salt bridges", reply: (*query).saltBridges},
	{name: "hydrogen bonds", needs: "hbond", takes: where + "contact hydrogen not", about: "candidates of hydrogen bonds", reply: (*query).hydrogenBonds},
	{name: "termini", needs: "nterm|cterm|terminus", takes: where + "nterm cterm terminus sequence", about: "the first and last residues", reply: (*query).termini},
	{name: "gaps", needs: "gap|absent residue|gap sequence", takes: where + "gap absent sequence @residue not coil nterm cterm number", loose: true, about: "gaps in the chains", reply: (*query).gapList},
	{name: "surface", needs: "buried|exposed|area|surface|surface @residue", takes: where + "buried exposed area surface @residue not @resname", about: "accessible surface, buried and exposed residues", reply: (*query).surface},
	{name: "hydrophobic patches", needs: "patch|exposed @class|surface @class", takes: where + "patch exposed surface @class longest", about: "hydrophobic patches on the surface", reply: (*query).patches},
	{name: "method", needs: "method|resolution|predicted", takes: where + "method resolution predicted not", about: "whether it is a prediction; method and resolution where given", reply: (*query).method},
	{name: "modified residues", needs: "modified", takes: where + "not", about: "modified residues", reply: (*query).modified},
}

func init() {
	intents = table
	for _, in := range intents {
		in.take, in.no = set(in.takes), set(in.never)
		for _, alt := range strings.Split(in.needs, "|") {
			concepts := strings.Fields(alt)
			in.need = append(in.need, concepts)
			for _, c := range concepts {
				in.take[c] = true
			}
		}
	}
}

// match finds the intent that speaks of everything the query speaks of, and of the most by need; nil: the query is not understood.
func match(has map[string]bool) *intent {
	var best *intent
	score := 0
	for _, in := range intents {
		covered := true
		for c := range in.no {
			covered = covered && !has[c]
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
