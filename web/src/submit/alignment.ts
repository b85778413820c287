// Multiple sequence alignments that the user supplies, in A3M format. The service validates them again.

/** The largest file that the service's library stores, in bytes. */
export const maxAlignmentBytes = 64 << 20

/** The part of an alignment that the page needs. */
export interface AlignmentSummary {
  /** The query: the first row. */
  query: string
  /** The number of rows, including the query. */
  rows: number
}

/**
 * Reads an A3M file. The first row is the query; in the others, capitals and hyphens align with its residues and small
 * letters are insertions. Throws an Error whose message is one sentence on where the file is invalid.
 */
export function readA3M(text: string): AlignmentSummary {
  const otherFormat = /^(?:# STOCKHOLM|CLUSTAL)/.exec(text)?.[0].replace('# ', '')
  if (otherFormat)
    throw new Error(`it is in the format ${otherFormat}; convert it to A3M, for example with reformat.pl of HH-suite`)
  const reader = new RowReader()
  let number = 0
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    reader.line(text.slice(start, end).trimEnd(), ++number)
    start = end + 1
  }
  reader.finishRow()
  if (reader.rows === 0) throw new Error('it has no sequence')
  return { query: reader.query, rows: reader.rows }
}

/** Collects the lines of one row at a time and checks each complete row. */
class RowReader {
  query = ''
  rows = 0
  private row: string | null = null // null before the first header

  line(line: string, number: number) {
    if (line === '' || line.startsWith('#')) return
    if (line.startsWith('>')) {
      this.finishRow()
      this.row = ''
      return
    }
    if (this.row === null) throw new Error(`line ${number} is before the first header, which begins with >`)
    const index = line.search(/[^A-Za-z.*-]/)
    if (index >= 0)
      throw new Error(
        `line ${number} has “${line.charAt(index)}” at position ${index + 1}; ` +
          'an alignment has letters, hyphens and dots',
      )
    this.row += line.replace(/\./g, '').replace(/\*/g, 'X')
  }

  finishRow() {
    if (this.row === null) return
    this.rows++
    if (this.rows === 1) {
      this.query = checkQuery(this.row)
      return
    }
    const columns = this.row.replace(/[a-z]+/g, '').length
    if (columns !== this.query.length)
      throw new Error(`row ${this.rows} has ${columns} columns; the first row has ${this.query.length} residues`)
  }
}

/** Throws an Error that names the first letter that the query may not have. */
function checkQuery(row: string): string {
  if (row === '') throw new Error('its first row is empty; it must be the query sequence')
  const index = row.search(/[^A-Z]/)
  if (index >= 0)
    throw new Error(
      `its first row has “${row[index]}” at position ${index + 1}; ` +
        'it must be the query sequence in capitals without gaps',
    )
  return row
}

/** Describes how an alignment's query differs from a chain's sequence; empty if they are equal. */
export function queryMismatch(query: string, sequence: string): string {
  if (query === sequence) return ''
  let index = 0
  while (index < query.length && query[index] === sequence[index]) index++
  const lengths =
    query.length === sequence.length ? '' : `it has ${query.length} residues, the chain ${sequence.length}`
  const difference = index < Math.min(query.length, sequence.length) ? `they differ at residue ${index + 1}` : ''
  return `is of another sequence: ${[lengths, difference].filter(Boolean).join(', and ')}`
}

/** The name of an alignment's file in the library, restricted to the characters that the library accepts. */
export const libraryName = (name: string) => {
  const base = name
    .replace(/\.a3m$/i, '')
    .replace(/[^\w.-]+/g, '_')
    .replace(/^\.+/, '')
  return `${base.slice(0, 100) || 'alignment'}.a3m`
}
