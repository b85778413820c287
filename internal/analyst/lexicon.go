package analyst

import (
	"slices"
	"strings"
)

// A concept is what a word or phrase stands for in the grammar. The empty concept is a word that carries no meaning of its
// own; one that starts with '!' is a matter that no structure can tell (see outside).

// soft concepts only ask or point; every intent puts up with them.
var soft = set("ask howmany which where what howlong list structure residue protein or of has between it number unit & all @residue2")

// vocabulary lists concepts with the phrases that stand for them. A phrase matches word by word, plural s aside, the longest
// phrase first.
var vocabulary = []struct{ concept, phrases string }{
	{"", `drop, drops, dip, dips, a, an, the, this, that, these, some, any, such, various, certain, particular, in, on, at, to,
		for, from, into, onto, by, with, via, about, as, so, then, if, whether, among, amongst, along, within, inside, across,
		throughout, upon, here, there, now, also, too, even, still, please, could, would, can, may, might, should, will,
		shall, must, you, your, i, me, my, we, us, our, thanks, thank, hello, hi, hey, dear, kindly, ok, okay, well, do, does,
		did, done, be, been, being, was, were, am, want, like, need, wonder, wondering, know, think, say, see, look, looking,
		help, try, like to know, interested, curious, make, makes, made, build, built, consist, consists, comprise, comprises,
		comprising, consisting, include, includes, including, included, contain, contains, containing, containe, feature,
		features, involve, involved, involving, occur, occurs, appear, appears, happen, take, takes, taken, adopt, adopts,
		sit, sits, sitting, lie, lies, lying, located, belong, belongs, fall, falls, found, find, get, got, run, runs, go,
		goes, come, comes, start, starts, end, ends, begin, begins, remain, turn out, seem, seems, call, called, named, stand,
		participate, take part, engaged, engage, exactly, precisely, approximately, roughly, about how, around about,
		currently, actually, really, briefly, simply, basically, altogether, overall, total, in total, together, respectively,
		maybe, perhaps, probably, very, quite, mostly, mainly, predominantly, largely, primarily, bit, little, either, itself,
		themselves, using, used, use, based, given, according, regard, regarding, concerning, respect, terms, kind, kinds,
		sort, type, types, value, values, amount, figure, info, information, detail, details, fact, facts, question, answer,
		compute, computed, calculate, calculated, calculation, determine, estimate, estimated, work out, reported, report,
		measure, measured, identify, identified, predict, specify, whole, entire, full, individual, possible, potential,
		present, exist, exists, existing, available, seen, visible, observed, form, forms, forming, formed, particularly,
		especially, side, part, parts, portion, region, regions, stretch, stretches, segment, segments, area of, place,
		places, spot, spots, location, position of, positions of, element, elements, character, nature, file, pdb,
		coordinates, entry, input, data, its, it's, his, her, and so on, etc, relative, go through, but, however, amino,
		equal, equals, unit of, units, quantity, level, levels, feel, how, way, something, anything, someone, people, good,
		fine, nice, real, physical, general, generally, typical, crystallographer, crystallographers, place in space, in
		place, anywhere, somewhere, first of all, hand, deal, sense, case, look up, spell, spelled, reading, read, solvent,
		sentence, sentences, words, paragraph, pretty, sitting at, taking, taking only, considering only, consider only, looking only at, focusing only on, considering, consider, looking at,
		look at, focusing on, focus on, restricted to, limited to, limiting, all in all, at all, side by side, oppositely
		charged residues, oppositely charged, among them, through, such as, as a, anything else, part of, make up, makes up,
		making up, together make up`},
	{"&", `and, ",", plus, as well as, along with, together with, and also`},
	{"ask", `is, are, tell, tell me, can you, could you, explain, name, do you, why not`},
	{"or", `or, "/"`},
	{"of", `of, out of`},
	{"has", `has, have, having, had, possess, possesses, carry, carries, bear, bears, harbour, harbor, hold, holds`},
	{"between", `between, from`},
	{"it", `it, its, that one, the same one`},
	{"all", `every, all, everything, complete list, every one`},
	{"howmany", `count only, count just, how many, number of, count, counts, total number, how much, the number, quantify, tally`},
	{"which", `which, whose, who`},
	{"where", `where, whereabouts, positions, at which positions, at what positions`},
	{"what", `what, identity, identify, what is, what are`},
	{"howlong", `how long, length, lengths, lengthwise, chain length, sequence length, size in residues, long`},
	{"list", `list, show, give, display, enumerate, output, print, provide, write, write out, point out, point me, mention, return, share`},
	{"percent", `percent, percentage, fraction, proportion, share of, ratio, per cent, what part`},
	{"structure", `structure, structures, model, molecule, fold, system, assembly, conformation, 3d structure, three dimensional structure, folded`},
	{"protein", `protein, proteins, polypeptide, polypeptides, peptide, peptides, complex, polymer, polymers, macromolecule, biopolymer`},
	{"residue", `only residues, residue, residues, side chain, side chains, sidechain, sidechains, amino acid number, aas, amino acids, amino acid, aminoacid, aminoacids, position, positions, monomers, nucleotide, nucleotides, bases, building blocks, amino acid residues`},
	{"number", `numbering, numbered, numbers`},
	{"nm", `nm, nanometre, nanometer, nanometres, nanometers`},
	{"unit", `angstrom, angstroms, ångström, ångströms, Å, kda, da, dalton, daltons, kilodalton, kilodaltons, degrees, cubic, squared, square`},

	{"capability", `what can you answer, what can i ask, what questions, who are you, what are you, are you an ai, are you a language model, what do you know, what kind of questions, how do you work, which questions, what can you do, are you a model, what topics, which topics`},
	{"overview", `summary, summarise, summarize, overview, describe, description, tell me about, tell me something about, tell me everything, tell me everything about, what do we know about, what can you tell me about, what can you say about, characterise, characterize, at a glance, general description, rundown, introduce, brief, in brief, what do you know about, what is this, what am i looking at, key facts, main facts, what does it look like, gist`},
	{"chain", `chain, chains, two chains, both chains, two subunits, both subunits, three chains, subunit, subunits, protomer, protomers, polypeptide chain, polypeptide chains, protein chain, protein chains`},
	{"oligomer", `oligomer, oligomeric, dimer, monomer, monomeric, dimeric, trimer, trimeric, tetramer, stoichiometry, multimer, multimeric, multi chain`},
	{"rna", `rna, rna strand, ribonucleic acid, ribonucleic`},
	{"dna", `dna, dna strand, deoxyribonucleic acid`},
	{"nucleic", `nucleic acid, nucleic acids, nucleic, polynucleotide`},
	{"identical", `identical, same sequence, the same sequence, homodimer, homodimeric, heterodimer, copies of, copies, same molecule, sequence identical`},
	{"atom", `atom, atoms`},
	{"heavy", `heavy, non hydrogen, nonhydrogen`},
	{"hydrogen", `hydrogens, hydrogen, hydrogen atoms, hydrogen atom, protons, protonated`},
	{"water", `water, waters, water molecule, water molecules, solvent molecule, solvent molecules, hoh, crystal waters`},
	{"ligand", `ligand, ligands, small molecule, small molecules, cofactor, cofactors, inhibitor, drug molecule, compound, compounds, heteroatom, heteroatoms, hetero, het group, het groups, non polymer, substrate, bound molecule, bound molecules`},
	{"ion", `ion, ions, metal, metals, metal ion, metal ions`},
	{"bound", `bound, co crystallised, cocrystallised, cocrystallized`},
	{"bind", `bind, binds, binding`},
	{"site", `binding site, binding sites, binding residues, binding pocket of, ligand binding site, coordination sphere, coordinates the, coordinate, coordinating, coordinated, ligand binding pocket, ligand pocket`},
	{"sequence", `from 5' to 3', 5' to 3', sequence, sequences, fasta, primary structure, one letter code, one letter codes, letter sequence, primary sequence`},
	{"composition", `composition, compositions, made of, made up of, amino acid content, amino acid make up, makeup, breakdown by amino acid, amino acid counts, residue counts, occurrence, frequency of, frequencies`},
	{"mostcommon", `most common, predominant, prevailing, dominant, dominates, dominate, commonly, frequently, most frequent, most abundant, commonest, most often, appears most, occurs most, most prevalent, dominates the sequence, least common, rarest, least frequent, least abundant, most numerous`},
	{"absent", `absent, lack, lacks, lacking, without, missing from the sequence, devoid, not present, does not occur, never occurs, never occur, do not occur`},
	{"charge", `charge be zero, net charge be zero, charge is zero, net charge is zero, charge vanish, net charge vanish, charge, net, how charged, net positive or negative charge, positive or negative charge, net positive charge, net negative charge, net charge, total charge, overall charge, electric charge, formal charge`},
	{"pi", `isoelectric point, isoelectric, isoelectric ph, iep`},
	{"whichph", `at what ph, at which ph, what ph, which ph`},
	{"weight", `weight, molecular weight, mass, molecular mass, molar mass, mw, how heavy, weigh, weighs, how much does it weigh`},
	{"secondary", `secondary structure, secondary structures, secondary structural, secondary structure elements, dssp, sse, ss elements, secondary elements, folded into`},
	{"helix", `helix, helices, helical, helixes, alpha helix, alpha helices, alpha helical, helicity, alpha, alpha content, helix content, all alpha, mostly alpha, helical segment`},
	{"strand", `strand, strands, beta strand, beta strands, sheet, sheets, beta sheet, beta sheets, beta, beta content, extended strand, all beta, beta structure, pleated sheet, beta hairpin, hairpin, beta rich`},
	{"threeten", `3-10 helix, 3-10 helices, 310 helix, 310 helices, 3-10 helical, three ten helix, 3 10 helix, 3 10 helices`},
	{"pihelix", `pi helix, pi helices`},
	{"coil", `coil, coils, loop, loops, random coil, unstructured, irregular, bend, bends, neither helix nor strand, regular secondary structure`},
	{"turn", `turn, turns, beta turn, beta turns, reverse turn, reverse turns`},
	{"longest", `longest, longer, biggest, largest, greatest, maximum, maximal, max, top, most extended, most`},
	{"shortest", `shortest, shorter, smallest, least, minimum, minimal`},
	{"confidence", `confidence, confident, plddt, plddts, lddt, b factor confidence, confidence score, confidence scores, certain about, certainty, sure, how sure, well predicted, prediction quality, quality, model quality, how accurate, how good, how well, accuracy, accurate, self assessment, confidently, plddt score`},
	{"trust", `trust, reliable, reliability, rely, rely on, believe, trustworthy, dependable, credible, solid, take seriously, safe to interpret, be trusted, trusted`},
	{"doubt", `unreliable, untrustworthy, uncertain, poorly predicted, badly predicted, doubtful, low confidence, low plddt, least reliable, least trustworthy, least trusted, least dependable, least confident, least certain, shaky, dubious, questionable, uncertainty, weakest, worst, lowest, poorly modelled, poorly modeled, be wary of, wary, careful with, ignored, ignore, not be trusted`},
	{"sure", `highest, best, high confidence, most reliable, most confident, most certain, best predicted, very high, strongest`},
	{"disorder", `disordered, disorder, intrinsically disordered`},
	{"average", `average, mean, on average, averaged, global`},
	{"pae", `pae, predicted aligned error, aligned error, expected position error, relative orientation, relative placement, relative position, oriented relative`},
	{"domain", `domain, domains`},
	{"ptm", `ptm, iptm, predicted tm score, interface ptm, predicted tm`},
	{"gyration", `radius of gyration, gyration, rg, gyration radius, gyradius`},
	{"size", `largest dimension, longest dimension, greatest dimension, maximum dimension, largest diameter, longest axis, size, how big, how large, dimensions, dimension, diameter, extent, how wide, overall size, longest dimension, big, large, physical size, bulk, span, spans, widest, maximum extent`},
	{"compact", `compact, compactness, globular, extended, elongated, tightly packed, loosely packed, how compact, packed`},
	{"endtoend", `end to end, end to end distance, ends of the chain, from one end to the other, both ends, from end to end, the two ends, two ends, chain ends, one end, other end, opposite end, opposite ends`},
	{"contact", `contact, contacts, touch, touches, touching, contacting, interact, interacts, interaction, interactions, interacting, in contact, packs against, pack against, contacted, meets, meet, interaction partners, partners of, bumps into, rest against`},
	{"around", `around, surround, surrounds, surrounding, near, nearby, close to, next to, neighbour, neighbor, neighbours, neighbors, neighbouring, neighboring, vicinity, environment, in the vicinity, adjacent, line, lining, lines, within reach, proximity, neighbourhood, neighborhood, flank, flanking, encircle, wrapped around, embrace`},
	{"distance", `distance, how far, far, far apart, distances, separation, separated, apart, how close, spacing, how far apart, how far away, furthest, farthest, furthest apart, farthest apart, far away, away, separate, separates, separating`},
	{"closest", `closest, nearest, shortest distance, minimum distance, minimal distance, closest approach, smallest distance, close`},
	{"interface", `interface, interfaces, contact surface, dimer interface, protein protein interface, interfacial, contact area, buried interface, interchain, inter chain, interchain contacts, between the chains, between the two chains, between the subunits, between subunits, between chains, across the interface`},
	{"score", `score, scores, scored, scoring, ipsae, pdockq, pdockq2`},
	{"area", `area, surface area, buried surface area, buried area, bsa, sasa, accessible surface area, accessible area, solvent accessible surface area, accessible surface, solvent accessible area, surface area buried`},
	{"surface", `surface, on the surface, at the surface`},
	{"affinity", `affinity, affinities, binding affinity, binding affinities, ic50, kd, how strongly, how tightly, binding strength, tight, tightly, strongly, dissociation constant, predicted affinity, binding probability, bind probability, likely to bind, potency, potent, binding score`},
	{"pocket", `pocket, pockets, cavity, cavities, cleft, clefts, hole, holes, groove, grooves, void, voids, tunnel, tunnels, crevice, hollow, hollows, concave`},
	{"volume", `volume, volumes, how voluminous, how deep, deep, depth`},
	{"disulfide", `sulphur, sulfur, sulphurs, sulfurs, disulfide, disulfides, disulphide, disulphides, disulfide bond, disulfide bonds, disulfide bridge, disulfide bridges, disulphide bond, disulphide bonds, disulphide bridge, disulphide bridges, S-S bond, S-S bonds, S-S bridge, S-S bridges, s s bond, s s bonds, ss bond, ss bonds, ss bridge, s s bridge, s s bridges, ss bridges, cystine, cystines, cysteine bridge, cysteine bridges, cross link, cross links, crosslink, crosslinks, cross linked, crosslinked, sulfur bridge, sulfur bridges`},
	{"free", `free, pair, pairs, pair up, pairing, partner up, unpaired, unbonded, reduced, unbridged, bonded, paired, oxidised, oxidized, bridged, linked, thiol, thiols, free thiol, free thiols`},
	{"bridge", `salt bridge, salt bridges, ion pair, ion pairs, saltbridge, saltbridges, ionic interaction, ionic interactions, electrostatic interaction, electrostatic interactions, electrostatic contacts, ionic bond, ionic bonds, charge pair, charge pairs`},
	{"hbond", `hydrogen bond, hydrogen bonds, h bond, h bonds, hbond, hbonds, hydrogen bonding, hydrogen bonded, polar contact, polar contacts, polar interactions, polar interaction, h bonding`},
	{"nterm", `n terminus, n terminal, n term, amino terminus, amino terminal, nterminus, n terminal residue, n terminal end, first residue, 5' end, first amino acid, starting residue, begin with, starts with, start with, begins with`},
	{"cterm", `c terminus, c terminal, c term, carboxy terminus, carboxyl terminus, carboxy terminal, carboxyl terminal, cterminus, c terminal residue, c terminal end, last residue, 3' end, last amino acid, final residue, ends with, end with, final amino acid`},
	{"terminus", `terminus, termini, terminal residues, terminal, ends`},
	{"gap", `not modelled, not modeled, gap, gaps, missing, missing residues, unresolved, unmodelled, unmodeled, chain break, chain breaks, break, breaks, broken, continuous, contiguous, complete, incomplete, interrupted, interruption, discontinuity, skipped, jump, jumps, not resolved, left out, uninterrupted, missing loops`},
	{"buried", `inside the protein, inside the molecule, inside the fold, on the inside, in the interior, buried, inaccessible, hidden, core, interior, solvent inaccessible, hydrophobic core`},
	{"exposed", `on the outside, on the outside of the protein, on the outside of the molecule, exposed, solvent exposed, accessible, solvent accessible, solvent exposure, exposure, burial, accessibility, outward`},
	{"patch", `hydrophobic patch, hydrophobic patches, hydrophobic surface, hydrophobic surfaces, sticky patch, sticky patches, patch, patches, greasy patch, greasy patches, apolar patch, nonpolar patch`},
	{"method", `method, experiment, experimental method, x ray, crystallography, nmr, cryo em, cryoem, crystal structure, how was it determined, how was this structure determined, how was this structure solved, how was it solved, experimentally determined, experimental structure, solved by, experimental, diffraction`},
	{"resolution", `resolution`},
	{"predicted", `predicted or experimental, prediction, computed model, predicted structure, a prediction, predicted, ai generated, modelled by, which model made, what made`},
	{"modified", `modified, modification, modifications, non standard, nonstandard, modified residues, selenomethionine, phosphorylated, unusual residues, unusual amino acids, non canonical, noncanonical, post translationally modified`},
	{"not", `not, no, never, neither, nor, non, except, except for, outside, other than, excluding, apart from, aside from, besides, beside, but not, not counting, without counting, not including, leaving out, leaving aside, ignoring, disregarding, save for, exclude, leave out, rather than`},
	{"more", `vs, versus, compared, more, fewer, less, than, outnumber, outnumbers, outnumbered, difference in, difference between the numbers of, by how many, more often, compared to, compared with`},
	{"them", `only those, just those, only the ones, they, them, their, those, these, one, ones, each other, one another, other one, others, the other, the others`},
	{"otherchain", `other chain, another chain, the other chain, other subunit, another subunit, partner chain, other chains, any other chain`},
	{"inchain", `sequence neighbours, sequence neighbors, direct neighbours, direct neighbors, direct sequence neighbours, direct sequence neighbors, immediate neighbours, immediate neighbors, neighbours in the chain, neighbors in the chain, neighbours in sequence, neighbors in sequence, chain neighbours, chain neighbors, adjacent in sequence`},
	{"edge", `end of, ends of, start of, beginning of, middle of, centre of, center of, tip of, edge of, edges of, side of, sides of, one side, either side, face of, top of, bottom of, half of`},
	{"modelled", `modelled, modeled, resolved, have coordinates, with coordinates`},

	{"!function", `function, functions, functional, role, roles, purpose, biological role, biological function, biologically, activity, active, what does this protein do, what does it do, pathway, pathways, job, responsible for, do for the cell`},
	{"!catalysis", `active site, catalytic, catalyse, catalyze, catalyses, catalysis, enzyme, enzymatic, mechanism, reaction, kinetics, turnover, kcat, km, substrate specificity, allosteric, allostery, catalytic triad`},
	{"!safety", `toxic, toxicity, safe, safety, dangerous, harmful, poisonous, allergenic, allergen, immunogenic, immunogenicity, epitope, epitopes, antibody, antibodies, antigen, vaccine, venom, side effects, hazard, hazardous`},
	{"!partner", `binding partner, binding partners, interaction network, receptor, receptors, interactome, target, targets, what does it bind, what binds to it, dock, docking, docks, recruit, recruits, agonist, antagonist, interact with other, other proteins, recognise, recognize`},
	{"!mutation", `mutation, mutations, mutate, mutated, mutating, mutant, mutants, variant, variants, substitution, substitutions, substitute, replace, replaced, replacing, swap, swapped, deletion, delete, deleted, deleting, insertion, knock out, knockout, polymorphism, snp, pathogenic, remove, removed, removing, truncate, truncated, change to, changed, changing, if i change`},
	{"!stability", `stable, stability, stabilise, stabilize, destabilise, destabilize, stabilising, stabilizing, unfold, unfolds, unfolding, melting, melting temperature, melt, melts, tm, thermostable, thermal, thermostability, denature, denatures, denatured, free energy, delta g, ddg, energy, folding rate, half life, heat, boil, temperature, fold fast, folds fast, folding speed`},
	{"!lab", `soluble, solubility, express, expressed well, expression, expresses, purify, purification, aggregate, aggregates, aggregation, crystallise, crystallize, concentration, yield, assay, buffer, e coli, host, clone, cloning, store, storage, extinction coefficient, absorbance, absorb, fluorescence, viscosity`},
	{"!origin", `species, organism, organisms, source organism, evolution, evolutionary, evolved, homolog, homologs, homologue, homologues, homologous, ortholog, family, superfamily, conserved, conservation, related proteins, ancestor, gene, genes, genome, uniprot, name of this protein, which protein is this, name of the protein, what protein is this, similar proteins, similar structures, scop, cath, gene name, human, bacterial, viral, mammalian`},
	{"!medicine", `disease, diseases, cancer, therapeutic, therapy, drug, drugs, druggable, druggability, clinical, medicine, treat, treatment, patient, patients, cure, diagnosis, diabetes, alzheimer, dose, medical, covid, virus, trial, trials`},
	{"!cell", `cell, cells, cellular, localised, localized, localisation, localization, membrane, cytoplasm, nucleus, secreted, tissue, mitochondria, signal peptide, transmembrane, extracellular, intracellular, in vivo, body`},
	{"!motion", `flexible, flexibility, dynamic, dynamics, motion, motions, move, moves, moving, fluctuate, fluctuation, rigid, breathing, mobile, mobility, conformational change, conformational changes, open and close, rmsf, rmsd, over time, simulation, simulate`},
	{"!literature", `published, publish, paper, author, authors, who solved, who made, year, when was, doi, journal, reference, citation, deposited, discovered, discover, nobel, literature, known about, history, patent, licence, license, price, cost`},
	{"!design", `improve, improved, better, optimise, optimize, design, redesign, engineer, engineering, recommend, suggest, advise, advice, best way, propose`},
	{"!compare", `similar, similarity, compare, compare to, compared with, compare it to, resemble, resembles, differ from, superpose, tm score, align, alignment, reference structure, native structure, experimental structure differ`},
	{"!symmetry", `symmetry, symmetric, symmetrical, space group, unit cell, crystal form, knot, knotted, topology, chirality, ramachandran, clash, clashes, clashscore, r free, rfree, occupancy, electron density, cis peptide, torsion, dihedral, phi, psi, rotamer, rotamers, bond length, bond angle, geometry outliers, electrostatic potential, dipole, dipole moment, hydration`},
}

type entries struct {
	entry   map[string]string // phrase, its words joined by one blank → concept
	words   []string          // single words, sorted, for slips of the pen
	longest int               // words of the longest phrase
}

var lexicon = readVocabulary()

func readVocabulary() entries {
	out := entries{entry: map[string]string{}}
	for _, v := range vocabulary {
		for _, phrase := range strings.Split(strings.ReplaceAll(v.phrases, `","`, "\x00"), ",") {
			phrase = strings.Trim(strings.ReplaceAll(phrase, "\x00", ","), " \t\n\"")
			var parts []string
			if phrase == "," || phrase == "/" {
				parts = []string{phrase}
			} else {
				for _, s := range sentences(phrase) {
					for _, w := range s {
						parts = append(parts, w.low)
					}
				}
			}
			key := strings.Join(parts, " ")
			if old, ok := out.entry[key]; ok && old != v.concept && old != "" {
				continue // the first reading of a word is its meaning
			}
			out.entry[key] = v.concept
			out.longest = max(out.longest, len(parts))
			if len(parts) == 1 {
				out.words = append(out.words, key)
			}
		}
	}
	slices.Sort(out.words)
	out.words = slices.Compact(out.words)
	return out
}

// look finds the longest phrase at the beginning of words: its concept and how many words it takes; 0: none.
func (e entries) look(words []word, least int) (concept string, n int) {
	for n = min(e.longest, len(words)); n >= least; n-- {
		if c, ok := e.entry[joined(words[:n], false)]; ok {
			return c, n
		}
		if c, ok := e.entry[joined(words[:n], true)]; ok {
			return c, n
		}
	}
	return "", 0
}

// joined is the words as a key, the last one in the singular if wanted.
func joined(words []word, singular bool) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		if low := w.low; singular && i == len(words)-1 && len(low) > 3 {
			b.WriteString(strings.TrimSuffix(low, "s"))
		} else {
			b.WriteString(low)
		}
	}
	return b.String()
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
