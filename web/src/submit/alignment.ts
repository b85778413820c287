// An alignment of the user's own, in the format A3M, and whether it fits its chain. The service reads it again when it comes.

/** mostBytes is the largest file that the service's library takes. */
export const mostBytes = 64 << 20

/** What is known of an alignment's file. */
export interface Read {
  query: string
  rows: number
} // query: the first row; rows with it

/**
 * Reads an A3M file: the first row is the sequence itself, capitals and hyphens of the others stand at its residues, small letters
 * between them. It throws one sentence that says where it is none.
 */
export function readA3M(text: string): Read {
  const foreign = /^(?:# STOCKHOLM|CLUSTAL)/.exec(text)?.[0].replace('# ', '')
  if (foreign)
    throw new Error(`it is in the format ${foreign}; convert it to A3M, for example with reformat.pl of HH-suite`)
  let query = '',
    rows = 0,
    columns = 0,
    row = '',
    open = false
  const end = () => {
    if (!open) return
    rows++
    if (rows === 1) {
      const at = row.search(/[^A-Z]/)
      if (at >= 0)
        throw new Error(
          `its first row has “${row[at]}” at position ${at + 1}; it must be the sequence itself, in capitals without gaps`,
        )
      if (!row) throw new Error('its first row is empty; it must be the sequence itself')
      query = row
    } else if ((columns = row.replace(/[a-z]+/g, '').length) !== query.length)
      throw new Error(`row ${rows} has ${columns} columns; the first row has ${query.length} residues`)
  }
  let number = 0
  for (let at = 0; at < text.length; ) {
    let stop = text.indexOf('\n', at)
    if (stop < 0) stop = text.length
    const line = text.slice(at, stop).trimEnd()
    at = stop + 1
    number++
    if (line === '' || line.startsWith('#')) continue
    if (line.startsWith('>')) {
      end()
      open = true
      row = ''
      continue
    }
    if (!open) throw new Error(`line ${number} stands before the first name, which begins with >`)
    const odd = line.search(/[^A-Za-z.*-]/)
    if (odd >= 0)
      throw new Error(
        `line ${number} has “${line.slice(odd, odd + 1)}” at position ${odd + 1}; an alignment has letters, hyphens and dots`,
      )
    row += line.replace(/\./g, '').replace(/\*/g, 'X')
  }
  end()
  if (rows === 0) throw new Error('it has no sequence')
  return { query, rows }
}

/** Why an alignment is none of a sequence; empty: it is one. */
export function misfit(query: string, sequence: string): string {
  if (query === sequence) return ''
  let at = 0
  while (at < query.length && query[at] === sequence[at]) at++
  const lengths =
    query.length === sequence.length ? '' : `: it has ${query.length} residues, the chain ${sequence.length}`
  return `is of another sequence${lengths}${at < Math.min(query.length, sequence.length) ? `${lengths ? ', and' : ':'} they differ at residue ${at + 1}` : ''}`
}

/** The name that a file has in the library: what may stand there, and an ending that says what it is. */
export const storedName = (name: string) =>
  (name
    .replace(/\.a3m$/i, '')
    .replace(/[^\w.-]+/g, '_')
    .replace(/^\.+/, '')
    .slice(0, 100) || 'alignment') + '.a3m'
