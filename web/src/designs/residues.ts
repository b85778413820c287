// Lists of residues as text, such as "A: 12-18, 25; B: 3", and as the service takes them. No page, no network.
import type { Residue, Stretch } from '../store'

/**
 * Residues of a chain; without res_idx the whole chain. A residue is a number or a text such as 82A, several are a text
 * such as 82A..84: the service knows which residues are between two numbers of the authors.
 */
export interface ChainResidues {
  chain_id: string
  res_idx?: (number | string)[]
}

const chainName = /\s*([A-Za-z0-9_][\w.-]*)\s*:/y
const number = '-?\\d{1,9}[A-Za-z]?'
const range = new RegExp(`\\s*(${number})(?:\\s*(?:[-–]|\\.\\.)\\s*(${number}))?(?![\\w:])`, 'y')
const word = /\s*([A-Za-z0-9_][\w.-]*)/y
const separator = /[\s,;]*/y

interface Options {
  /** The chain of residues that name none; empty: each must name one. */
  chain?: string
  /** Whether a chain may be named without residues: the whole chain. */
  whole?: boolean
}

/** Reads one token of a text at a position. */
class Reader {
  at = 0
  constructor(readonly text: string) {}

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found) this.at = pattern.lastIndex
    return found
  }

  get rest() {
    return this.text.slice(this.at).trim().slice(0, 20)
  }
}

/** A residue or a range as the service takes it. */
function itemOf(from: string, to: string): number | string {
  if (from !== to) return `${from}..${to}`
  return /[A-Za-z]$/.test(from) ? from : Number(from)
}

/** Reads a list of residues; each comes once, and each chain once. Throws an Error for the user. */
export function parseResidues(text: string, { chain = '', whole = false }: Options = {}): ChainResidues[] {
  const chains = new Map<string, (number | string)[] | null>() // null: the whole chain
  const reader = new Reader(text)
  let current = chain
  let isEmpty = false // whether a chain has been named and none of its residues yet
  const end = () => {
    if (!isEmpty) return
    if (!whole) throw new Error(`Chain ${current} is named without residues; write them as ${current}: 12-18, 25.`)
    chains.set(current, null)
  }
  const add = (residue: number | string) => {
    if (!current) throw new Error(`Residue ${shown(residue)} has no chain; write it as A: ${shown(residue)}.`)
    const known = chains.get(current)
    if (known === null) throw new Error(`Chain ${current} is named as a whole and by its residues.`)
    chains.set(current, [...new Set([...(known ?? []), residue])])
    isEmpty = false
  }
  for (reader.match(separator); reader.at < text.length; reader.match(separator)) {
    const named = reader.match(chainName)
    const residue = named ? null : reader.match(range)
    const name = named?.[1] ?? (whole && !residue ? reader.match(word)?.[1] : undefined)
    if (name) {
      end()
      current = name
      isEmpty = true
    } else if (residue) add(itemOf(residue[1]!, residue[2] ?? residue[1]!))
    else throw new Error(`“${reader.rest}” is not a residue; write chains and residues as A: 12-18, 25, 82A; B: 3.`)
  }
  end()
  return [...chains].map(([chain_id, res_idx]) => (res_idx ? { chain_id, res_idx } : { chain_id }))
}

/** Joins numbers to ranges, in order. */
function ranges(numbers: number[]): [number, number][] {
  const joined: [number, number][] = []
  for (const n of [...numbers].sort((a, b) => a - b)) {
    const last = joined.at(-1)
    if (last && n <= last[1] + 1) last[1] = Math.max(n, last[1])
    else joined.push([n, n])
  }
  return joined
}

/** A residue or a range as people write it. */
const shown = (residue: number | string) => String(residue).replace('..', '-')

/** A list of residues as text. joined: numbers are positions, so that those in a row are a range. */
export const formatResidues = (list: ChainResidues[], joined = false) =>
  list
    .map(({ chain_id, res_idx }) => {
      if (!res_idx) return chain_id
      const numbers = res_idx.filter((r) => typeof r === 'number')
      const texts = res_idx.filter((r) => typeof r === 'string')
      const items = joined ? [...ranges(numbers).map(([from, to]) => itemOf(`${from}`, `${to}`)), ...texts] : res_idx
      return `${chain_id}: ${items.map(shown).join(', ')}`
    })
    .join('; ')

/** A list of residues as ranges of the structure, which knows no insertion codes. A whole chain is left out. */
export const stretchesOf = (list: ChainResidues[]): Stretch[] =>
  list.flatMap(({ chain_id, res_idx = [] }) =>
    res_idx.map((residue) => {
      const [from = 0, to = from] = String(residue)
        .split('..')
        .map((end) => Number.parseInt(end, 10))
      return { chain: chain_id, from, to }
    }),
  )

/** Ranges of the structure as a list of residues. codes: the insertion codes that a number has there, in order. */
export function residuesOf(stretches: Stretch[], codes: (number: Residue) => string[]): ChainResidues[] {
  const chains = new Map<string, (number | string)[]>()
  for (const { chain, from, to } of stretches) {
    const first = `${from}${codes({ chain, residue: from })[0] ?? ''}`
    const last = `${to}${codes({ chain, residue: to }).at(-1) ?? ''}`
    chains.set(chain, [...(chains.get(chain) ?? []), itemOf(first, last)])
  }
  return [...chains].map(([chain_id, res_idx]) => ({ chain_id, res_idx }))
}
