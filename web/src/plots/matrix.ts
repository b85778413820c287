// The PAE matrix as the service writes it: rows by aligned residue, columns by scored residue, in Å with two decimals.
// It is parsed from bytes: 1,500² errors are 11 MB of text, of which JSON.parse would make two million boxed numbers.

/** A square matrix of predicted aligned errors by token. */
export class Matrix {
  /** values: hundredths of an Å, row by row; max: the largest error in Å. */
  constructor(
    readonly n: number,
    readonly values: Uint16Array,
    readonly max: number,
  ) {}

  /** Returns the error in Å of a scored residue when the structures are aligned on another residue. */
  at(aligned: number, scored: number): number {
    return this.values[aligned * this.n + scored]! / 100
  }

  /** Returns the mean error in Å of a block; both ends are included. */
  mean(rows: [number, number], columns: [number, number]): number {
    let sum = 0
    for (let i = rows[0]; i <= rows[1]; i++)
      for (let j = columns[0]; j <= columns[1]; j++) sum += this.values[i * this.n + j]!
    return sum / 100 / ((rows[1] - rows[0] + 1) * (columns[1] - columns[0] + 1))
  }
}

/** The number of rows of the largest matrix that is drawn. */
export const maxRows = 4000

/** parseMatrix reads the file pae.json. It throws where the file is not one, and where it is too large to be drawn. */
export function parseMatrix(bytes: Uint8Array): Matrix {
  const start = find(bytes, '"predicted_aligned_error"', 0)
  if (start < 0) throw new Error('The file of errors holds no predicted_aligned_error.')
  let i = start
  while (i < bytes.length && bytes[i] !== open) i++
  let n = 0
  for (let k = i + 1; k < bytes.length && bytes[k] !== close; k++) if (bytes[k] === comma) n++
  n++
  if (n > maxRows)
    throw new Error(`The matrix has ${n} rows; the page draws up to ${maxRows}. The file is among the downloads.`)
  const values = new Uint16Array(n * n)
  let count = 0
  let depth = 0
  let most = 0
  for (; i < bytes.length; i++) {
    const c = bytes[i]!
    if (c === open) depth++
    else if (c === close) {
      if (--depth === 0) break
    } else if (c >= zero && c <= nine) {
      let whole = 0
      let decimals = 0
      let scale = 100
      let dot = false
      for (; i < bytes.length; i++) {
        const d = bytes[i]!
        if (d >= zero && d <= nine) {
          if (!dot) whole = whole * 10 + d - zero
          else if (scale > 1) decimals += (d - zero) * (scale /= 10)
        } else if (d === point) dot = true
        else break
      }
      i--
      const v = Math.min(65535, whole * 100 + decimals)
      if (count < values.length) values[count] = v
      if (v > most) most = v
      count++
    }
  }
  if (count !== n * n)
    throw new Error(`The matrix is not square: its first row has ${n} errors, and there are ${count}.`)
  return new Matrix(n, values, most / 100)
}

// The bytes of JSON that the parser looks for.
const open = 91
const close = 93
const comma = 44
const point = 46
const zero = 48
const nine = 57

/** The index of a text in the bytes, from an index on; -1: it is not there. */
function find(bytes: Uint8Array, text: string, from: number): number {
  const w = new TextEncoder().encode(text)
  outer: for (let i = bytes.indexOf(w[0]!, from); i >= 0; i = bytes.indexOf(w[0]!, i + 1)) {
    for (let k = 1; k < w.length; k++) if (bytes[i + k] !== w[k]) continue outer
    return i
  }
  return -1
}
