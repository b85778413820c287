// Finds residues that a text names, so that they can be shown. What does not fit the structure stays text: a chip that shows
// another residue than the sentence means would be worse than none.
import { letters, type Table } from '../plots/residues'
import type { Stretch } from '../store'

export type Piece = string | { text: string; stretches: Stretch[] }

const codes = Object.keys(letters)
const one = Object.fromEntries(Object.entries(letters).map(([code, letter]) => [letter, code]))
const any = codes
  .map((c) => c[0] + '[' + c[1] + c[1]!.toLowerCase() + '][' + c[2] + c[2]!.toLowerCase() + ']')
  .join('|')

const name = `(?:${any})[ -]?\\d{1,5}`
const joint = '(?:\\s+(?:to|through)\\s+|\\s*[–—-]\\s*)'
const inChain = '(?:\\s*(?:\\(chain ([A-Za-z0-9]{1,4})\\)|(?:of|in) chain ([A-Za-z0-9]{1,4})\\b))?'
const pattern = new RegExp(
  [
    `(?<first>${name})${inChain}(?:${joint}(?<last>${name})${inChain})?`, // TRP 6 (chain A), Asp1–Tyr3
    `(?:chain (?<before>[A-Za-z0-9]{1,4}),? )?residues? (?<from>\\d{1,5})(?:${joint}(?<to>\\d{1,5}))?${inChain}`, // chain A residues 5–12
    `\\b(?<letter>[ACDEFGHIKLMNPQRSTVWY])(?<at>\\d{1,5})\\b`, // W6
    `\\bchain (?<whole>[A-Za-z0-9]{1,4})\\b`, // which chain the next residues belong to
  ].join('|'),
  'g',
)

/** pieces cuts a text into words and residues of a structure. */
export function pieces(text: string, table: Table): Piece[] {
  const out: Piece[] = []
  let done = 0
  let chain = '' // the one spoken of last
  for (const m of text.matchAll(pattern)) {
    const g = m.groups!
    const told = [m[2], m[3], m[5], m[6], g.before, m[10], m[11], g.whole].find(
      (c) => c !== undefined && table.chains.some((k) => k.id === c),
    )
    if (told) chain = told
    if (g.whole) continue
    const stretch = stretchOf(g, told ?? '', chain, table)
    if (!stretch) continue
    out.push(text.slice(done, m.index), { text: m[0], stretches: [stretch] })
    done = m.index + m[0].length
  }
  out.push(text.slice(done))
  return out.filter((p) => p !== '')
}

function stretchOf(g: Record<string, string | undefined>, told: string, last: string, table: Table): Stretch | null {
  const ends: { code?: string; number: number }[] = []
  if (g.first)
    for (const v of [g.first, g.last ?? g.first])
      ends.push({ code: v.slice(0, 3).toUpperCase(), number: Number(v.replace(/\D/g, '')) })
  else if (g.from) ends.push({ number: Number(g.from) }, { number: Number(g.to ?? g.from) })
  else ends.push({ code: one[g.letter!]!, number: Number(g.at) }, { code: one[g.letter!]!, number: Number(g.at) })
  const fits = (chain: string) =>
    ends.every((e) => {
      const f = table.flat[table.index({ chain, residue: e.number })]
      return f && (!e.code || f.residue.name === e.code)
    })
  const of = (chain: string): Stretch => ({
    chain,
    from: Math.min(ends[0]!.number, ends[1]!.number),
    to: Math.max(ends[0]!.number, ends[1]!.number),
  })
  if (told) return fits(told) ? of(told) : null
  const all = table.chains.map((c) => c.id).filter(fits)
  if (last && all.includes(last)) return of(last)
  return all.length === 1 ? of(all[0]!) : null
}

/** words name stretches as a question does. */
export function words(list: Stretch[], table: Table): string {
  return list
    .map((s) => {
      if (s.from !== s.to) return `residues ${s.from}-${s.to} of chain ${s.chain}`
      const name = table.flat[table.index({ chain: s.chain, residue: s.from })]?.residue.name ?? 'residue'
      return `${name} ${s.from} of chain ${s.chain}`
    })
    .join(' and ')
}

/** attached is a question with the residues it is about in it. */
export function attached(question: string, list: Stretch[], table: Table): string {
  if (list.length === 0) return question
  const about = words(list, table)
  const pronoun =
    /\b(?:these|those|this|the selected|the highlighted|selected)(?: (?:residues?|stretch(?:es)?|region|selection))\b|\bthe selection\b/i
  if (pronoun.test(question)) return question.replace(pronoun, about)
  const end = /[?.!\s]*$/.exec(question)!
  return `${question.slice(0, end.index)}, of ${about}${/\?/.test(end[0]) ? '?' : end[0].trim() || '?'}`
}
