// The reader of alignments in A3M format. The form loads it with the first file that it reads.
import { type AlignmentSummary, queryMismatch } from './submit/alignment'

/**
 * Reads an A3M file as internal/msa does. The first row is the query; in the others, capitals and hyphens align with its
 * residues and small letters are insertions. In ColabFold's alignment of a complex a row has the columns of all chains,
 * and the first row that aligns a chain has its sequence. Throws an Error whose message is one sentence on where the
 * file is invalid.
 */
export function readA3M(text: string): AlignmentSummary {
  const otherFormat = /^(?:# STOCKHOLM|CLUSTAL)/.exec(text)?.[0].replace('# ', '')
  if (otherFormat)
    throw new Error(`it is in the format ${otherFormat}; convert it to A3M, for example with reformat.pl of HH-suite`)
  const reader = new RowReader()
  const lineEnd = /\r\n?|\n/g
  let number = 0
  for (let start = 0; start < text.length; start = lineEnd.lastIndex || text.length) {
    const end = lineEnd.exec(text)?.index ?? text.length
    reader.line(text.slice(start, end).trimEnd(), ++number)
  }
  return reader.end()
}

// The first line of ColabFold's alignments: the lengths of the different chains, and how often each occurs.
const header = /^#(\d{1,7}(?:,\d{1,7})*)\t(\d{1,3}(?:,\d{1,3})*)$/
const maxChains = 256

/** Collects the lines of one row at a time and checks each complete row. */
class RowReader {
  private queries: string[] = [] // empty texts: not read yet
  private lengths: number[] = [] // of the chains, in columns
  private copies: number[] = []
  private isComplex = false
  private rows = 0
  private row: string | null = null // null before the first header

  line(line: string, number: number) {
    if (number === 1) this.readHeader(line)
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

  end(): AlignmentSummary {
    this.finishRow()
    if (this.rows === 0) throw new Error('it has no sequence')
    const missing = this.queries.indexOf('')
    if (missing >= 0) throw new Error(`it has no row of chain ${missing + 1}`)
    return { queries: this.queries, copies: this.queries.map((_, i) => this.copies[i] || 1), rows: this.rows }
  }

  private readHeader(line: string) {
    const [, lengths = [], copies = []] = header.exec(line)?.map((list) => list.split(',').map(Number)) ?? []
    if (lengths.length > maxChains || lengths.some((n) => n === 0)) return
    this.isComplex = lengths.length > 1
    this.lengths = lengths
    this.copies = copies
    this.queries = lengths.map(() => '')
  }

  private finishRow() {
    if (this.row === null) return
    this.rows++
    if (this.rows === 1 && !this.isComplex) {
      this.queries = [checkQuery(this.row, 'its first row')]
      this.lengths = [this.row.length]
      return
    }
    const columns = this.row.replace(/[a-z]+/g, '').length
    const total = this.lengths.reduce((sum, n) => sum + n, 0)
    if (columns !== total)
      throw new Error(
        `row ${this.rows} has ${columns} columns; ` +
          (this.isComplex
            ? `by the first line, the chains of the complex have ${total}`
            : `the first row has ${total} residues`),
      )
    if (this.queries.includes('')) this.readQueries(this.row)
  }

  /** Takes the chains that the row is the first to align as queries. Insertions between two belong to the second. */
  private readQueries(row: string) {
    let rest = row
    for (const [i, length] of this.lengths.entries()) {
      const isLast = i === this.lengths.length - 1
      const part = isLast ? rest : new RegExp(`^(?:[a-z]*[A-Z-]){${length}}`).exec(rest)![0]
      rest = rest.slice(part.length)
      if (this.queries[i] === '' && /[^-]/.test(part))
        this.queries[i] = checkQuery(part, `row ${this.rows}, the first of chain ${i + 1},`)
    }
  }
}

/** Throws an Error that names the first letter that the query may not have. */
function checkQuery(row: string, name: string): string {
  if (row === '') throw new Error(`${name} is empty; it must be the query sequence`)
  const index = row.search(/[^A-Z]/)
  if (index >= 0)
    throw new Error(
      `${name} has “${row[index]}” at position ${index + 1}; ` +
        'it must be the query sequence in capitals without gaps',
    )
  return row
}

/** Says why an alignment belongs to none of the chains. If one alone can be meant, it says how that one differs. */
export function misfit(queries: string[], chains: string[]): string {
  const alike = chains.filter((s) => queries.some((q) => q.length === s.length))
  const [near] = alike.length === 1 ? alike : chains
  if (near && (alike.length === 1 || chains.length === 1)) return queryMismatch(queries, near)
  const begins = queries.map((q) => `${q.length} residues and begins with ${q.slice(0, 12)}`).join('; another has ')
  return `belongs to none of the chains: its query has ${begins}`
}
