// The settings of a design in words. No page, no network.
import { type ChainResidues, formatResidues } from './residues'

/** Whether a value is a list of residues by chain. */
const isResidues = (value: unknown[]): value is ChainResidues[] =>
  value.every((v) => typeof v === 'object' && v !== null && 'chain_id' in v)

/** The settings with a value as pairs of name and text. Objects are taken apart: binder.length. */
export function settingsOf(values: Record<string, unknown>, path = ''): [name: string, text: string][] {
  return Object.entries(values).flatMap(([key, value]): [string, string][] => {
    const name = path + key
    if (value === null || value === undefined || value === '') return []
    if (Array.isArray(value)) {
      if (value.length === 0) return []
      if (isResidues(value)) return [[name, formatResidues(value, values.numbering !== 'author')]]
      return [[name, value.map((v) => (typeof v === 'object' ? JSON.stringify(v) : String(v))).join(', ')]]
    }
    if (typeof value === 'object') return settingsOf(value as Record<string, unknown>, `${name}.`)
    return [[name, String(value)]]
  })
}
