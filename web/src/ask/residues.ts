// Finds the residues that a text names, so that they can be shown in the structure. A name that does not fit the
// structure stays text: a button that shows another residue than the sentence means would be worse than none.
import { letters, type Table } from '../plots/residues'
import type { Stretch } from '../store'

/** A part of a text: plain text, or residues of the structure. */
export type TextPart = string | { text: string; stretch: Stretch }

// Three-letter code by one-letter code.
const oneLetter = Object.fromEntries(Object.entries(letters).map(([code, letter]) => [letter, code]))

/** Matches a residue code in capitals or with small letters after the first, such as TRP or Trp. */
const codePattern = (code: string) => [...code].map((c, i) => (i === 0 ? c : `[${c}${c.toLowerCase()}]`)).join('')

// A residue such as TRP 6, Trp6 or Trp-6.
const residueName = `(?:${Object.keys(letters).map(codePattern).join('|')})[ -]?\\d{1,5}`
// The text between the two ends of a range.
const rangeSign = '(?:\\s+(?:to|through)\\s+|\\s*[–—-]\\s*)'
// "(chain A)", "of chain A" or "in chain A"; the chain is in one of two named groups.
const inChain = (group: string) =>
  `(?:\\s*(?:\\(chain (?<${group}a>[A-Za-z0-9]{1,4})\\)|(?:of|in) chain (?<${group}b>[A-Za-z0-9]{1,4})\\b))?`
// The forms in which answers and questions name residues.
const pattern = new RegExp(
  [
    // TRP 6 (chain A), Asp1–Tyr3
    `(?<first>${residueName})${inChain('c1')}(?:${rangeSign}(?<last>${residueName})${inChain('c2')})?`,
    // chain A residues 5–12
    '(?:chain (?<before>[A-Za-z0-9]{1,4}),? )?' +
      `residues? (?<from>\\d{1,5})(?:${rangeSign}(?<to>\\d{1,5}))?${inChain('c3')}`,
    // W6
    '\\b(?<letter>[ACDEFGHIKLMNPQRSTVWY])(?<at>\\d{1,5})\\b',
    // The chain that the next residues belong to
    '\\bchain (?<whole>[A-Za-z0-9]{1,4})\\b',
  ].join('|'),
  'g',
)

type Groups = Record<string, string | undefined>

/** Splits a text into plain text and the residues of a structure that it names. */
export function splitResidues(text: string, table: Table): TextPart[] {
  const parts: TextPart[] = []
  let end = 0
  let lastChain = ''
  for (const m of text.matchAll(pattern)) {
    const g = m.groups as Groups
    const named = [g.c1a, g.c1b, g.c2a, g.c2b, g.before, g.c3a, g.c3b, g.whole]
    const chain = named.find((c) => c !== undefined && table.chains.some((k) => k.id === c))
    if (chain) lastChain = chain
    if (g.whole) continue
    const stretch = findStretch(residuesOf(g), chain ?? '', lastChain, table)
    if (!stretch) continue
    parts.push(text.slice(end, m.index), { text: m[0], stretch })
    end = m.index + m[0].length
  }
  parts.push(text.slice(end))
  return parts.filter((p) => p !== '')
}

/** A residue that a text names; without a code it may be any residue with the number. */
interface NamedResidue {
  code?: string
  number: number
}

/** The first and the last residue of a match; both are the same if it names a single one. */
function residuesOf(g: Groups): [NamedResidue, NamedResidue] {
  const parse = (name: string) => ({ code: name.slice(0, 3).toUpperCase(), number: Number(name.replace(/\D/g, '')) })
  if (g.first) return [parse(g.first), parse(g.last ?? g.first)]
  if (g.from) return [{ number: Number(g.from) }, { number: Number(g.to ?? g.from) }]
  const single = { code: oneLetter[g.letter!]!, number: Number(g.at) }
  return [single, single]
}

/**
 * Finds the residues in the chain named; without one, in the chain named last, if they fit it, or in the only chain
 * that they fit. Returns null if they fit none or several.
 */
function findStretch(
  [first, last]: [NamedResidue, NamedResidue],
  chain: string,
  lastChain: string,
  table: Table,
): Stretch | null {
  const fits = (id: string) =>
    [first, last].every(({ code, number }) => {
      const entry = table.flat[table.index({ chain: id, residue: number })]
      return entry && (!code || entry.residue.name === code)
    })
  const candidates = (chain ? [chain] : table.chains.map((c) => c.id)).filter(fits)
  const found = candidates.includes(lastChain) ? lastChain : candidates.length === 1 ? candidates[0] : undefined
  if (!found) return null
  return {
    chain: found,
    from: Math.min(first.number, last.number),
    to: Math.max(first.number, last.number),
  }
}

/** Names stretches as in a question: "residues 2-5 of chain A and TRP 6 of chain A". */
export function describeStretches(list: Stretch[], table: Table): string {
  const describe = ({ chain, from, to }: Stretch) => {
    if (from !== to) return `residues ${from}-${to} of chain ${chain}`
    const name = table.flat[table.index({ chain, residue: from })]?.residue.name ?? 'residue'
    return `${name} ${from} of chain ${chain}`
  }
  return list.map(describe).join(' and ')
}

// Words that refer to the selection.
const pronoun =
  /\b(?:these|those|this|the selected|the highlighted|selected)(?: (?:residues?|stretch(?:es)?|region|selection))\b|\bthe selection\b/i

/** Puts the selected residues into a question: in place of "these residues" and the like, else at its end. */
export function withSelection(question: string, selected: Stretch[], table: Table): string {
  if (selected.length === 0) return question
  const residues = describeStretches(selected, table)
  if (pronoun.test(question)) return question.replace(pronoun, residues)
  const punctuation = /[?.!\s]*$/.exec(question)!
  const ending = punctuation[0].includes('?') ? '?' : punctuation[0].trim() || '?'
  return `${question.slice(0, punctuation.index)}, of ${residues}${ending}`
}
