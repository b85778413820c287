// Sequences as text: alphabets, the reader of pasted text, and chain names. No page, no network.

import { alphabets } from 'pleat-client'
import type { Kind } from '../api'

/** The kinds that are sequences of letters. */
type Polymer = Exclude<Kind, 'ligand'>

/** The letters that a sequence may have. withUnknown includes the letter for an unknown residue. */
export const alphabet = (kind: Polymer, withUnknown: boolean) =>
  withUnknown ? alphabets[kind] : alphabets[kind].slice(0, -1)

/** Removes white space. */
export const stripSpace = (text: string) => text.replace(/\s+/g, '')

/** Removes the end sign * of a sequence, as the service does: the stop codon of a translation. */
export const cutEnd = (text: string) => text.replace(/\*\s*$/, '')

/** Formats a sequence in groups of ten letters. */
export const inTens = (text: string) => stripSpace(text).replace(/(.{10})(?=.)/g, '$1 ')

// The names of the units that letters of a sequence stand for.
const letterNames: Record<Polymer, [one: string, many: string]> = {
  protein: ['an amino acid', 'amino acids'],
  rna: ['a nucleotide of RNA', 'nucleotides of RNA'],
  dna: ['a nucleotide of DNA', 'nucleotides of DNA'],
}

/** Says which letters are invalid, the first three by their position, and which letters there are. */
export function describeInvalid(invalid: InvalidLetter[], kind: Polymer, withUnknown: boolean): string {
  const [one, many] = letterNames[kind]
  const named = invalid.slice(0, 3).map((i) => `residue ${i.position}: '${i.letter}'`)
  const more = invalid.length > 3 ? ` and ${invalid.length - 3} more` : ''
  const subject = named.join(', ') + more + (invalid.length === 1 ? ` is not ${one}` : ` are not ${many}`)
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)}; the letters are ${alphabet(kind, withUnknown)}`
}

/** A letter that the kind of the sequence does not have. */
export interface InvalidLetter {
  letter: string
  /** The index in the text. */
  index: number
  /** The position in the sequence, counted from 1, without white space. */
  position: number
}

/** Finds the letters of a text that are not of the polymer's alphabet. */
export function invalidLetters(text: string, kind: Kind, withUnknown: boolean): InvalidLetter[] {
  if (kind === 'ligand') return []
  const allowed = alphabet(kind, withUnknown)
  const invalid: InvalidLetter[] = []
  let position = 0
  let index = 0
  for (const letter of cutEnd(text)) {
    if (!/\s/.test(letter)) {
      position++
      if (!allowed.includes(letter.toUpperCase())) invalid.push({ letter, index, position })
    }
    index += letter.length
  }
  return invalid
}

/**
 * Reports whether a text begins with a SMILES rather than a sequence: its first word has signs or digits that sequences
 * lack. The service says what may stand behind it.
 */
function isSmiles(text: string): boolean {
  const [word = ''] = text.split(/\s/, 1)
  return /[()=#@[\]\\/+]/.test(word) || (/\d/.test(word) && /^[BCFHINOPSbclnopsr][BCFHINOPSbclnopsr0-9%]+$/.test(word))
}

/** Guesses the kind of molecule that a text describes. */
export function guessKind(text: string): Kind {
  const trimmed = text.trim()
  const letters = stripSpace(cutEnd(trimmed)).toUpperCase()
  if (isSmiles(trimmed)) return 'ligand'
  if (/^[ACGUN]+$/.test(letters) && letters.includes('U')) return 'rna'
  if (/^[ACGTN]+$/.test(letters) && letters.includes('T') && letters.length >= 6) return 'dna'
  return 'protein'
}

/** One molecule of a pasted text. */
export interface ParsedSequence {
  kind: Kind
  text: string
  label: string
  /** Whether the text of a ligand is a CCD code; otherwise it is a SMILES. */
  ccd: boolean
}

// The kinds that a FASTA header may declare.
const headerKinds: Record<string, { kind: Kind; ccd: boolean }> = {
  protein: { kind: 'protein', ccd: false },
  rna: { kind: 'rna', ccd: false },
  dna: { kind: 'dna', ccd: false },
  ligand: { kind: 'ligand', ccd: false },
  smiles: { kind: 'ligand', ccd: false },
  ccd: { kind: 'ligand', ccd: true },
}

/** Splits a FASTA header such as "A|protein" or "x|name=Bait" into its kind, if it names one, and the label. */
function parseHeader(header: string) {
  const words = header.split('|').map((word) => word.trim())
  const kindOf = (word: string) => headerKinds[word.toLowerCase()]
  const named = words.map((word) => /^name=(.+)/i.exec(word)?.[1]).find(Boolean)
  const label = (named ?? words.filter((word) => !kindOf(word)).join('|')).trim().slice(0, 255)
  return { declared: words.slice(0, 2).map(kindOf).find(Boolean), label }
}

/**
 * The sequences of a FASTA record: several if colons separate its chains or, as in the files of ProteinMPNN, slashes.
 * kind: if the header names none.
 */
function parseSequences(header: string, body: string, kind?: Kind): ParsedSequence[] {
  const { declared, label } = parseHeader(header)
  const isJoined = /^[A-Za-z\s*:]+$/.test(body) || (header !== '' && /^[A-Z\s*:/]+$/.test(body))
  const chains = declared?.kind !== 'ligand' && isJoined ? body.split(/[:/]/) : [body]
  return chains
    .map((chain) => chain.trim())
    .filter((text) => cutEnd(text) !== '')
    .map((text) => ({
      kind: declared?.kind ?? kind ?? guessKind(text),
      text,
      label,
      ccd: declared?.ccd ?? false,
    }))
}

/** A record of FASTA: its header without ">", its sequences, and the line at which it begins, from 1. */
interface ParsedRecord {
  header: string
  line: number
  sequences: ParsedSequence[]
}

/**
 * Reads FASTA, bare sequences separated by empty lines, a SMILES, or chains joined by colons. A header may name the
 * kind between bars, such as ">A|protein"; the rest of the header is the label. Lines that begin with ";" are comments.
 * kind: of what no header says; without it, it is guessed. Records without a sequence are left out.
 */
export function parseRecords(text: string, kind?: Kind): ParsedRecord[] {
  const records: ParsedRecord[] = []
  let header = ''
  let start = 1
  let body: string[] = []
  const finishRecord = (nextHeader: string, line: number) => {
    const sequences = parseSequences(header, body.join('\n'), kind)
    if (sequences.length > 0) records.push({ header, line: start, sequences })
    header = nextHeader
    start = line
    body = []
  }
  for (const [i, line] of text.replace(/\r\n?/g, '\n').split('\n').entries()) {
    if (line.startsWith(';')) continue
    if (line.startsWith('>')) finishRecord(line.slice(1), i + 1)
    else if (line.trim() === '' && body.length > 0 && header === '') finishRecord('', i + 2)
    else body.push(line)
  }
  finishRecord('', 0)
  return records
}

/** Reads text as parseRecords does, without the borders of the records. */
export const parseText = (text: string): ParsedSequence[] => parseRecords(text).flatMap((record) => record.sequences)

/** Reports whether a text looks like another program's job file (JSON or YAML) rather than sequences. */
export const isJobFile = (text: string) =>
  /^\s*[[{]/.test(text) || /^\s*(version|sequences)\s*:/m.test(text.slice(0, 2000))

/** The n-th chain name: A … Z, AA … */
function chainName(n: number): string {
  let name = ''
  for (; n > 0; n = Math.floor((n - 1) / 26)) name = String.fromCharCode(65 + ((n - 1) % 26)) + name
  return name
}

/** Names the chains of each item as the service does: the name asked for, then the next free ones. */
export function chainNames(items: { chain: string; count: number }[]): string[][] {
  const used = new Set(items.map((item) => item.chain).filter(Boolean))
  let next = 0
  const nextFree = () => {
    let name: string
    do name = chainName(++next)
    while (used.has(name))
    used.add(name)
    return name
  }
  return items.map((item) => {
    const names = item.chain ? [item.chain] : []
    while (names.length < Math.min(item.count || 1, 512)) names.push(nextFree())
    return names
  })
}
