// Package analyst answers questions about one structure from facts computed of its coordinates (package facts),
// without a model and without a network. It owns the vocabulary, the filter language and the topics of the questions
// that it understands (Answer). It must not compute facts, read files or keep state.
//
// It never guesses: a question that it does not understand whole, or whose answer the facts do not hold, is refused
// with the reason and with questions that can be answered. Words become items by the table of words, vocabulary.txt;
// the items of a question become a topic of topics.json and a filter over residues; the filter selects the facts that
// the sentences of the answer state. An answer names the filter that it was computed with, so that a reader sees how
// the question was understood.
package analyst

// Name is how the engine presents itself.
const Name = "Pleat analyst, built in: answers from computed facts of this structure, not from a language model"
