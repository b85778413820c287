// Reads what a batch is made of: CSV, TSV, FASTA and JSON. No page, no network.
import type { BatchEntry, BatchLigand, CreateBatch, Kind, SequenceItem } from '../api'
import { itemBody } from '../submit/body'
import { itemFrom } from '../submit/draft'
import { type ParsedSequence, parseRecords, parseText } from '../submit/sequences'

/** Things that were read from a text, each with the line at which it begins. */
export interface Source<T> {
  entries: T[]
  /** The line of each entry, from 1. */
  lines: number[]
}

/** A row of separated values, with the line at which it begins. */
interface Values {
  line: number
  cells: string[]
}

// A line such as sep=; before a table, which Excel understands, names the character between its columns.
const namedSeparator = /^([\r\n]*) *sep=([,;\t])[ \t]*(?=[\r\n]|$)/

/** The character between the columns of a table: the one that it names, or that its first line has most often. */
function separatorOf(text: string): string {
  const head = text.replace(/^[\r\n]+/, '').split(/[\r\n]/, 1)[0]!
  const count = (separator: string) => head.split(separator).length
  return namedSeparator.exec(text)?.[2] ?? [';', '\t'].reduce((best, s) => (count(s) > count(best) ? s : best), ',')
}

/** Splits CSV (RFC 4180), also with semicolons, or TSV into rows. Empty lines are left out. Throws an Error for the user. */
export function separated(text: string): Values[] {
  const rows: Values[] = []
  const separator = separatorOf(text)
  const table = text.replace(namedSeparator, '$1') // whose lines keep their numbers
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${separator}\\r\\n]*))(${separator}|\\r\\n?|\\n|$)`, 'y')
  let line = 1
  let row: Values = { line, cells: [] }
  while (cell.lastIndex < table.length || row.cells.length > 0) {
    const found = cell.exec(table)
    if (!found) throw new Error(`line ${line} has a quotation mark that does not begin and end a value`)
    const [all, quoted, plain = '', ending = ''] = found
    row.cells.push((quoted?.replaceAll('""', '"') ?? plain).trim())
    line += all.replaceAll('\r\n', '\n').match(/[\r\n]/g)?.length ?? 0
    if (ending === separator) continue
    if (row.cells.some((c) => c !== '')) rows.push(row)
    row = { line, cells: [] }
    if (ending === '') break
  }
  return rows
}

/** Takes the columns out of rows with a head. Each name may be one of several. Throws an Error for the user. */
function columnsOf(rows: Values[], wanted: string[][]): ((row: Values) => string)[] {
  const head = rows[0]!.cells.map((c) => c.toLowerCase())
  return wanted.map((names) => {
    const index = head.findIndex((c) => names.includes(c))
    if (index < 0)
      throw new Error(`the columns are ${head.join(', ').slice(0, 200)}; there must be ${names.join(' or ')}`)
    return (row) => row.cells[index] ?? ''
  })
}

/** A polymer chain of a row. The row is called by its id, so its chains have no labels. */
const chain = (kind: Kind, text: string): SequenceItem => itemBody(itemFrom({ kind, text, label: '', ccd: false }))

/** The chains of a text with colons between them. */
const chainsOf = (kind: Kind, text: string) => text.split(':').map((part) => chain(kind, part.trim()))

/** The rows of FASTA, one for each record. kind is that of records whose headers name none. */
function fastaRows(text: string, kind: Kind): Source<BatchEntry> {
  const records = parseRecords(text, kind)
  return {
    entries: records.map(({ header, sequences }) => ({
      ...optionalId(recordName(header.trim())),
      sequences: sequences.map((s) => itemBody(itemFrom({ ...s, label: '' }))),
    })),
    lines: records.map((r) => r.line),
  }
}

/** What the header of a record names it: a design of ProteinMPNN by its number, others by their first word. */
function recordName(header: string): string {
  const design = /^(?:([^,=]+), )?(?:T|id|score)=[^,]*, .*(?:score|seed)=/.exec(header)
  if (!design) return header.split(/[\s|]/)[0]!
  const number = /(?:^|, )((?:id|sample)=\d+)(?:,|$)/.exec(header)?.[1]
  return [design[1], number].filter(Boolean).join(' ')
}

const optionalId = (customId: string) => (customId ? { customId } : {})

/**
 * Reads rows of a list, or the binders or targets of a matrix: FASTA; CSV or TSV with the columns id and sequence; or a
 * sequence in each line. Colons separate chains. kind: of the molecules. Throws an Error for the user.
 */
export function readRows(text: string, kind: Kind): Source<BatchEntry> {
  if (/^\s*[>;]/.test(text)) return fastaRows(text, kind)
  const rows = separated(text)
  if (rows.length === 0) return { entries: [], lines: [] }
  if (rows.every((r) => r.cells.length === 1) && rows[0]!.cells[0]!.toLowerCase() !== 'sequence')
    return { entries: rows.map((r) => ({ sequences: chainsOf(kind, r.cells[0]!) })), lines: rows.map((r) => r.line) }
  const isList = rows[0]!.cells.length === 1
  const [sequence, id] = columnsOf(rows, isList ? [['sequence']] : [['sequence'], ['id', 'customid', 'name']])
  const body = rows.slice(1)
  return {
    entries: body.map((r) => ({ ...optionalId(id?.(r) ?? ''), sequences: chainsOf(kind, sequence!(r)) })),
    lines: body.map((r) => r.line),
  }
}

/**
 * Reads ligands: CSV or TSV with the column smiles or ccd, and perhaps id; or a SMILES in each line, with its id behind
 * a space. affinity: whether to predict it. Throws an Error for the user.
 */
export function readLigands(text: string, affinity: boolean): Source<BatchLigand> {
  const more = affinity ? ({ property_type: 'affinity' } as const) : {}
  const [first = ''] = text
    .replace(namedSeparator, '')
    .trimStart()
    .split(/[\r\n]/, 1)
  const head = first
    .toLowerCase()
    .split(separatorOf(text))
    .map((c) => c.trim())
  if (!head.includes('smiles') && !head.includes('ccd')) {
    const lines = text.split(/\r\n?|\n/).map((line, i) => ({ words: line.trim().split(/\s+/), line: i + 1 }))
    const used = lines.filter(({ words }, i) => words[0] !== '' && !(i === 0 && words[0]!.toLowerCase() === 'smiles'))
    return {
      entries: used.map(({ words: [sequence = '', ...id] }) => ({ ...optionalId(id.join(' ')), sequence, ...more })),
      lines: used.map(({ line }) => line),
    }
  }
  const isCCD = !head.includes('smiles')
  const rows = separated(text)
  const [sequence] = columnsOf(rows, [[isCCD ? 'ccd' : 'smiles']])
  const id = head.includes('id') ? columnsOf(rows, [['id']])[0] : undefined
  const body = rows.slice(1)
  return {
    entries: body.map((r) => ({
      ...optionalId(id?.(r) ?? ''),
      sequence: sequence!(r),
      ...(isCCD && { is_ccd: true }),
      ...more,
    })),
    lines: body.map((r) => r.line),
  }
}

/** Reads the complex of ligands, variants and seeds, as the page of a single fold reads sequences. */
export const readComplex = (text: string): SequenceItem[] =>
  parseText(text).map((s: ParsedSequence) => itemBody(itemFrom(s)))

/** Reports whether a text is JSON rather than a table or sequences. */
export const isJSON = (text: string) => /^\s*[[{]/.test(text)

/** Reads a batch in JSON: the body of POST /v1/batches, or a list of its jobs. Throws an Error for the user. */
export function readBatch(text: string): Partial<CreateBatch> & Pick<CreateBatch, 'kind'> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (e) {
    throw new Error(`it is not JSON: ${(e as Error).message}`)
  }
  if (Array.isArray(value)) return { kind: 'list', jobs: value }
  const body = value as Partial<CreateBatch>
  if (typeof body.kind !== 'string')
    throw new Error('it has no kind; it must be the body of a batch, or a list of jobs with their sequences')
  return { ...body, kind: body.kind }
}
