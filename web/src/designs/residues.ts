// Lists of residues as text, such as "A: 12-18, 25; B: 3", and as the service takes them. No page, no network.
import type { Stretch } from '../store'

/** Residues of a chain; without res_idx the whole chain. */
export interface ChainResidues {
  chain_id: string
  res_idx?: number[]
}

// A list with more residues than this is a slip of the pen, such as 1-99999. The service takes fewer.
const maxResidues = 10_000

const chainName = /\s*([A-Za-z0-9_]+)\s*:/y
const range = /\s*(-?\d+)(?:\s*[-–]\s*(-?\d+))?(?![\w:])/y
const word = /\s*([A-Za-z0-9_]+)/y
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

/** The residues from one end of a range to the other. */
function expand([text, from, to = from]: RegExpExecArray): number[] {
  const [first, last] = [Number(from), Number(to)]
  if (last < first) throw new Error(`“${text!.trim()}” runs backwards; write ${last}-${first}.`)
  if (last - first >= maxResidues) throw new Error(`“${text!.trim()}” names more than ${maxResidues} residues.`)
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

/** Reads a list of residues; each comes once, and each chain once. Throws an Error for the user. */
export function parseResidues(text: string, { chain = '', whole = false }: Options = {}): ChainResidues[] {
  const chains = new Map<string, number[] | null>() // null: the whole chain
  const reader = new Reader(text)
  let current = chain
  let isEmpty = false // whether a chain has been named and none of its residues yet
  const end = () => {
    if (!isEmpty) return
    if (!whole) throw new Error(`Chain ${current} is named without residues; write them as ${current}: 12-18, 25.`)
    chains.set(current, null)
  }
  const add = (numbers: number[]) => {
    if (!current) throw new Error(`Residue ${numbers[0]} has no chain; write it as A: ${numbers[0]}.`)
    const known = chains.get(current)
    if (known === null) throw new Error(`Chain ${current} is named as a whole and by its residues.`)
    chains.set(current, [...new Set([...(known ?? []), ...numbers])])
    isEmpty = false
  }
  for (reader.match(separator); reader.at < text.length; reader.match(separator)) {
    const named = reader.match(chainName)
    const numbers = named ? null : reader.match(range)
    const name = named?.[1] ?? (whole && !numbers ? reader.match(word)?.[1] : undefined)
    if (name) {
      end()
      current = name
      isEmpty = true
    } else if (numbers) add(expand(numbers))
    else throw new Error(`“${reader.rest}” is not a residue; write chains and residues as A: 12-18, 25; B: 3.`)
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

/** A list of residues as text. */
export const formatResidues = (list: ChainResidues[]) =>
  list
    .map(({ chain_id, res_idx }) => {
      if (!res_idx) return chain_id
      return `${chain_id}: ${ranges(res_idx)
        .map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
        .join(', ')}`
    })
    .join('; ')

/** A list of residues as ranges of the structure. A whole chain is left out. */
export const stretchesOf = (list: ChainResidues[]): Stretch[] =>
  list.flatMap(({ chain_id, res_idx = [] }) => ranges(res_idx).map(([from, to]) => ({ chain: chain_id, from, to })))

/** Ranges of the structure as a list of residues. */
export function residuesOf(stretches: Stretch[]): ChainResidues[] {
  const chains = new Map<string, Set<number>>()
  for (const { chain, from, to } of stretches) {
    const set = chains.get(chain) ?? new Set()
    for (let n = from; n <= to; n++) set.add(n)
    chains.set(chain, set)
  }
  return [...chains].map(([chain_id, set]) => ({ chain_id, res_idx: [...set].sort((a, b) => a - b) }))
}
