// Package analyst answers questions about one structure from facts computed of its coordinates (package facts), without
// a model and without a network. It owns the grammar of the questions it understands (Answer).
//
// It never guesses: a question it does not understand whole, or whose answer the facts do not hold, gets an abstention
// that says why and what can be asked. It reads no file and keeps no state.
package analyst

// Name is how the engine presents itself.
const Name = "Pleat analyst, built in: answers from computed facts of this structure, not from a language model"

const hydrophobic = "AVILMFWP"
