// Package analyst answers questions about one structure from facts computed of its coordinates (package facts),
// without a model and without a network. It owns the vocabulary, the filter language and the topics of the questions
// that it understands (Answer). It must not compute facts, read files or keep state.
//
// It never guesses: a question that it does not understand whole, or whose answer the facts do not hold, is refused
// with the reason and with questions that can be answered. A question is read in steps, each in files of its own:
//
//	words.go                     text to sentences of words
//	lexicon.go, vocabulary.txt   phrases to concepts
//	scan.go                      words to items: concepts, and entities such as residues, chains and ligands
//	talk.go                      a message to clauses, one for each question
//	query.go                     the items of a clause to a query: topics, and one filter
//	filter.go                    the conditions of a filter, over residues
//	relation.go                  nearness to something, which is a condition, too
//	intent.go, topics.json       the topic of a query
//	refuse.go                    why a query is not answered
//	sites.go                     the residues that pass the filter, and the groups that they form
//	metric.go                    answers that are values of groups: length, charge, surface and the like
//	residues.go                  answers about which residues, how many, and whether all or any
//	near.go                      answers about contacts, distances, interfaces and bonds
//	candidates.go                residues to change and places for tags
//	list.go                      answers that list chains, ligands, pockets, gaps and scores
//	answer.go                    the reply
//
// An answer names the filter that it was computed with, so that a reader sees how the question was understood.
package analyst

// Name is how the engine presents itself.
const Name = "Pleat analyst, built in: answers from computed facts of this structure, not from a language model"
