// Package analyst answers questions about one structure from facts computed of its coordinates (package facts),
// without a model and without a network. It owns the vocabulary, the filter language and the topics of the questions
// that it understands (Answer). It must not compute facts, read files or keep state.
//
// It never guesses: a question that it does not understand whole, or whose answer the facts do not hold, is refused
// with the reason and with questions that can be answered. A question is read in steps: sentences of words (words.go),
// words to concepts and entities (lexicon.go with vocabulary.txt, scan.go), one clause for each question
// (talk.go), a clause to a filter and a relation in space (query.go, filter.go, relation.go), the intent
// that fits (intent.go with topics.txt) or a reason to refuse (refuse.go), and the answer (answer.go): values of chains
// and parts of them (metric.go), residues that pass the filter (residues.go), what is near what (near.go) and lists
// (list.go), over the selected residues (sites.go).
package analyst

// Name is how the engine presents itself.
const Name = "Pleat analyst, built in: answers from computed facts of this structure, not from a language model"
