// Multiple sequence alignments that the user supplies, in A3M format. The service validates them again.

/** The largest file that the service's library stores, in bytes. */
export const maxAlignmentBytes = 64 << 20

/** The part of an alignment that the page needs. */
export interface AlignmentSummary {
  /** The sequences that it aligns: its first row, or the chains of a complex. */
  queries: string[]
  /** How often each occurs, by the first line of ColabFold; 1 where there is none. */
  copies: number[]
  /** The number of rows, including the query. */
  rows: number
}

/** Describes how the sequences of an alignment differ from a chain's; empty if one of them is equal. */
export function queryMismatch(queries: string[], sequence: string): string {
  if (queries.includes(sequence)) return ''
  const [query] = queries
  if (queries.length === 1) return `is of another sequence${difference(query!, sequence)}`
  const lengths = queries.map((q) => q.length).join(', ')
  const near = queries.find((q) => q.length === sequence.length)
  const rest = near ? difference(near, sequence) : `; the chain has ${sequence.length}`
  return `is ColabFold’s of a complex, whose chains have ${lengths} residues; none of them is this sequence${rest}`
}

/** The difference of an alignment's sequence from a chain's, as the rest of a sentence: lengths and first residue. */
function difference(query: string, sequence: string): string {
  let index = 0
  while (index < query.length && query[index] === sequence[index]) index++
  const lengths =
    query.length === sequence.length ? '' : `; it has ${query.length} residues, and the chain ${sequence.length}`
  if (index >= Math.min(query.length, sequence.length)) return lengths
  return `${lengths}; residue ${index + 1} is ${sequence[index]} in the chain and ${query[index]} in the alignment`
}

/** The name of an alignment's file in the library, restricted to the characters that the library accepts. */
export const libraryName = (name: string) => {
  const base = name
    .replace(/\.a3m$/i, '')
    .replace(/[^\w.-]+/g, '_')
    .replace(/^\.+/, '')
  return `${base.slice(0, 100) || 'alignment'}.a3m`
}
