// What is being written on the Submit page, and how it becomes the body of POST /v1/jobs and back. Nothing here touches
// the page or the network.
import type {
  Bond,
  Constraints,
  Contact,
  CreateJob,
  Kind,
  LigandSequence,
  Model,
  Params,
  Pocket,
  Polymer,
  SequenceItem,
} from '../api'
import { misfit, type Read, storedName } from './alignment'

/** One entity to fold. Text is as it was typed. */
export interface Item {
  key: number
  kind: Kind
  text: string
  label: string
  count: number
  chain: string
  ccd: boolean
  affinity: boolean
  cyclic: boolean
  mods: Mod[]
  source: string
  alignment: Alignment | null // of the user's own
}
/** An alignment of the user's own. The file is a handle: its text is not copied with the draft. */
export interface Alignment extends Read {
  key: number
  name: string
  file: Blob
}
export interface Mod {
  residue: string
  ccd: string
}

/** A constraint as its fields were typed: residues as A:12, atoms as A:12:SG. */
export interface Rule {
  key: number
  kind: 'contact' | 'pocket' | 'bond'
  a: string
  b: string
  distance: string
}

export interface Simulation {
  preset: string
  length: string
  every: string
  temp: string
  ionic: string
  pH: string
  profile: string
}

export interface Draft {
  name: string
  isPublic: boolean
  items: Item[]
  model: string
  params: Record<string, string | boolean>
  rules: Rule[]
  ask: boolean
  question: string
  simulate: boolean
  simulation: Simulation
  notify: boolean | null // null: as the webhook's default says
  chatId: string
  from: string // library item that the job is associated with, as it is: an older job's. Beside the body, in the address
}

export const usual: Simulation = {
  preset: 'single_af_go',
  length: '0.2',
  every: '0.01',
  temp: '293.15',
  ionic: '0.15',
  pH: '7.5',
  profile: 'calvados2',
}

let keys = 0
export const nextKey = () => ++keys

export const blank = (): Draft => ({
  name: '',
  isPublic: false,
  items: [],
  model: '',
  params: {},
  rules: [],
  ask: false,
  question: '',
  simulate: false,
  simulation: { ...usual },
  notify: null,
  chatId: '',
  from: '',
})

export const newItem = (kind: Kind, text = ''): Item => ({
  key: nextKey(),
  kind,
  text,
  label: '',
  count: 1,
  chain: '',
  ccd: kind === 'ligand',
  affinity: false,
  cyclic: false,
  mods: [],
  source: '',
  alignment: null,
})

// Letters, as the service takes them. The last of each stands for an unknown residue, which only some models take.
const alphabets: Record<Exclude<Kind, 'ligand'>, string> = {
  protein: 'ACDEFGHIKLMNPQRSTVWYX',
  rna: 'ACGUN',
  dna: 'ACGTN',
}

export const alphabet = (kind: Exclude<Kind, 'ligand'>, unknown: boolean) =>
  unknown ? alphabets[kind] : alphabets[kind].slice(0, -1)

/** Letters without white space, which does not count. */
export const letters = (text: string) => text.replace(/\s+/g, '')

/** Groups of ten, as sequences are read; white space does not count. */
export const grouped = (text: string) => letters(text).replace(/(.{10})(?=.)/g, '$1 ')

export interface BadLetter {
  at: number
  position: number
  letter: string
} // at: index in the text; position: counted from 1, without white space

/** The letters of a polymer that are none. */
export function badLetters(item: Item, unknown: boolean): BadLetter[] {
  if (item.kind === 'ligand') return []
  const allowed = alphabet(item.kind, unknown),
    out: BadLetter[] = []
  let position = 0,
    at = 0
  for (const letter of item.text) {
    if (!/\s/.test(letter)) {
      position++
      if (!allowed.includes(letter.toUpperCase())) out.push({ at, position, letter })
    }
    at += letter.length
  }
  return out
}

/** What kind of entity a text is most likely to be. */
export function detect(text: string): Kind {
  const t = text.trim()
  const one = letters(t).toUpperCase()
  if (!/\s/.test(t) && (/[()=#@[\]\\/+]/.test(t) || (/\d/.test(t) && /^[BCFHINOPSbclnopsr0-9%]+$/.test(t))))
    return 'ligand' // a SMILES
  if (/^[ACGUN]+$/.test(one) && one.includes('U')) return 'rna'
  if (/^[ACGTN]+$/.test(one) && one.includes('T') && one.length >= 6) return 'dna'
  return 'protein'
}

const headerKinds: Record<string, { kind: Kind; ccd?: boolean }> = {
  protein: { kind: 'protein' },
  rna: { kind: 'rna' },
  dna: { kind: 'dna' },
  ligand: { kind: 'ligand', ccd: false },
  smiles: { kind: 'ligand', ccd: false },
  ccd: { kind: 'ligand', ccd: true },
}

/**
 * Reads FASTA, bare sequences, a SMILES, or chains joined by colons. A header may say its kind between bars, such as
 * >A|protein; what is left of it is the label.
 */
export function parseText(text: string): Item[] {
  const out: Item[] = []
  const add = (header: string, body: string) => {
    const words = header.split('|').map((w) => w.trim())
    const said = words
      .slice(0, 2)
      .map((w) => headerKinds[w.toLowerCase()])
      .find(Boolean)
    const named = words.map((w) => /^name=(.+)/i.exec(w)?.[1]).find(Boolean)
    const label = (named ?? words.filter((w) => !headerKinds[w.toLowerCase()]).join('|')).trim().slice(0, 255)
    const chains = said?.kind !== 'ligand' && /^[A-Za-z\s*:]+$/.test(body) ? body.split(':') : [body]
    for (const chain of chains) {
      const clean = chain.trim().replace(/\*$/, '').trim()
      if (!clean) continue
      const item = newItem(said?.kind ?? detect(clean), clean)
      item.ccd = said?.ccd ?? false
      item.label = label
      out.push(item)
    }
  }
  const lines = text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .filter((l) => !l.startsWith(';'))
  let header = '',
    body: string[] = []
  for (const line of lines) {
    if (line.startsWith('>')) {
      add(header, body.join('\n'))
      header = line.slice(1)
      body = []
    } else if (!line.trim() && body.length > 0 && !header) {
      // a blank line parts bare sequences
      add('', body.join('\n'))
      body = []
    } else body.push(line)
  }
  add(header, body.join('\n'))
  return out
}

/** Whether a text is a file of another program rather than sequences. */
export const foreign = (text: string) =>
  /^\s*[[{]/.test(text) || /^\s*(version|sequences)\s*:/m.test(text.slice(0, 2000))

/** Chain names as the service gives them: the one asked for, else the next free of A … Z, AA … */
export function chainNames(items: Item[]): string[][] {
  const used = new Set(items.map((i) => i.chain).filter(Boolean))
  let next = 0
  const free = () => {
    for (;;) {
      let s = ''
      for (let n = ++next; n > 0; n = Math.floor((n - 1) / 26)) s = String.fromCharCode(65 + ((n - 1) % 26)) + s
      if (!used.has(s)) {
        used.add(s)
        return s
      }
    }
  }
  return items.map((i) => {
    const out = i.chain ? [i.chain] : []
    while (out.length < Math.min(i.count || 1, 512)) out.push(free())
    return out
  })
}

const whole = (s: string) => (/^\s*-?\d+\s*$/.test(s) ? Number(s) : s)
const number = (s: string) => (s.trim() !== '' && Number.isFinite(Number(s)) ? Number(s) : s)

const wire = { protein: 'proteinChain', rna: 'rnaSequence', dna: 'dnaSequence', ligand: 'ligandSequence' } as const

function itemBody(i: Item): SequenceItem {
  const common = {
    ...(i.chain && { chain_id: i.chain }),
    ...(i.label && { label: i.label }),
    ...(i.count !== 1 && { count: i.count }),
  }
  const source = i.source ? { sourceSequenceId: i.source } : {}
  if (i.kind === 'ligand') {
    const ligand: LigandSequence = {
      sequence: i.text.trim(),
      ...(i.ccd && { is_ccd: true }),
      ...common,
      ...(i.affinity && { property_type: 'affinity' }),
    }
    return { ligandSequence: ligand, ...source }
  }
  const polymer: Polymer = { sequence: letters(i.text).toUpperCase(), ...common, ...(i.cyclic && { cyclic: true }) }
  const mods = i.mods.filter((m) => m.residue.trim() || m.ccd.trim())
  if (mods.length > 0)
    polymer.modifications = mods.map((m) => ({ res_idx: whole(m.residue) as number, ccd: m.ccd.trim().toUpperCase() }))
  return { [wire[i.kind]]: polymer, ...source }
}

const parts = (s: string) =>
  s
    .trim()
    .split(':')
    .map((p) => p.trim())
const residue = (s: string) => ({ chain_id: parts(s)[0] ?? '', res_idx: whole(parts(s)[1] ?? '') as number })
const atom = (s: string) => ({ ...residue(s), atom_name: parts(s)[2] ?? '' })

function constraintsBody(d: Draft): Constraints | undefined {
  const of = (kind: Rule['kind']) => d.rules.filter((r) => r.kind === kind)
  const contact = of('contact').map((r): Contact => {
    const a = residue(r.a),
      b = residue(r.b)
    return {
      chainA: a.chain_id,
      res_idxA: a.res_idx,
      chainB: b.chain_id,
      res_idxB: b.res_idx,
      ...(r.distance.trim() && { distance: number(r.distance) as number }),
    }
  })
  const pocket = of('pocket').map(
    (r): Pocket => ({
      binder: { chain_id: r.a.trim() },
      contacts: r.b
        .split(/[\s,]+/)
        .filter(Boolean)
        .map(residue),
    }),
  )
  const bond = of('bond').map((r): Bond => ({ atom1: atom(r.a), atom2: atom(r.b) }))
  const webhooks: Record<string, unknown> = {}
  if (d.ask) webhooks.qna = { enabled: true, ...(d.question.trim() && { initial_question: d.question.trim() }) }
  if (d.simulate) {
    const s = d.simulation
    webhooks.md = {
      enabled: true,
      preset: s.preset,
      residue_profile: s.profile,
      temp: number(s.temp),
      ionic: number(s.ionic),
      pH: number(s.pH),
      step_size_ns: number(s.every),
      sim_length_ns: number(s.length),
    }
  }
  if (d.notify !== null) webhooks.custom_http = { enabled: d.notify }
  const out: Constraints = {
    ...(pocket.length > 0 && { pocket }),
    ...(bond.length > 0 && { bond }),
    ...(contact.length > 0 && { contact }),
    ...(Object.keys(webhooks).length > 0 && { webhooks }),
  }
  return Object.keys(out).length > 0 ? out : undefined
}

/** Parameters of the model chosen; a field left empty takes the model's default, and one that it has not is left out. */
function paramsBody(d: Draft, model?: Model): Params {
  const out: Params = { modelName: d.model }
  for (const [name, v] of Object.entries(d.params)) {
    const spec = model?.params.find((p) => p.name === name)
    if ((model && !spec) || v === '') continue
    out[name] =
      typeof v === 'boolean' ? v : spec?.type === 'integer' ? whole(v) : spec?.type === 'number' ? number(v) : v
  }
  return out
}

export function nameOf(d: Draft): string {
  return d.name.trim() || d.items.find((i) => i.label)?.label || 'Untitled fold'
}

/** The body of POST /v1/jobs. */
export function toBody(d: Draft, model?: Model): CreateJob {
  const constraints = constraintsBody(d)
  return {
    name: nameOf(d),
    ...(d.isPublic && { isPublic: true }),
    sequences: d.items.map(itemBody),
    params: paramsBody(d, model),
    ...(constraints && { constraints }),
    ...(d.chatId && { chatId: d.chatId }),
  }
}

/** A draft of a body, such as one that came out of a file or of an older job. */
export function fromBody(b: CreateJob): Draft {
  const d = blank()
  d.name = b.name ?? ''
  d.isPublic = b.isPublic ?? false
  d.chatId = b.chatId ?? ''
  for (const s of b.sequences ?? []) {
    for (const kind of Object.keys(wire) as Kind[]) {
      const given = s[wire[kind]]
      if (!given) continue
      const item = newItem(kind, given.sequence)
      item.label = given.label ?? ''
      item.count = given.count ?? 1
      item.chain = given.chain_id ?? ''
      item.affinity = given.property_type === 'affinity'
      item.ccd = 'is_ccd' in given && !!given.is_ccd
      item.cyclic = 'cyclic' in given && !!given.cyclic
      item.mods = (('modifications' in given && given.modifications) || []).map((m) => ({
        residue: String(m.res_idx),
        ccd: m.ccd,
      }))
      item.source = s.sourceSequenceId ?? ''
      d.items.push(item)
    }
  }
  const { modelName = '', ...params } = b.params ?? {}
  d.model = modelName
  for (const [name, v] of Object.entries(params))
    if (v !== null && v !== undefined) d.params[name] = typeof v === 'boolean' ? v : String(v)
  rulesFrom(d, b.constraints)
  return d
}

const said = (v: unknown, otherwise: string) => (v === undefined || v === null ? otherwise : String(v))

function rulesFrom(d: Draft, c?: Constraints | null) {
  for (const k of c?.contact ?? [])
    d.rules.push({
      key: nextKey(),
      kind: 'contact',
      a: `${k.chainA}:${k.res_idxA}`,
      b: `${k.chainB}:${k.res_idxB}`,
      distance: k.distance === undefined || k.distance === null ? '' : String(k.distance),
    })
  for (const p of c?.pocket ?? [])
    d.rules.push({
      key: nextKey(),
      kind: 'pocket',
      a: p.binder.chain_id,
      b: p.contacts.map((r) => `${r.chain_id}:${r.res_idx}`).join(' '),
      distance: '',
    })
  for (const k of c?.bond ?? [])
    d.rules.push({
      key: nextKey(),
      kind: 'bond',
      a: `${k.atom1.chain_id}:${k.atom1.res_idx}:${k.atom1.atom_name}`,
      b: `${k.atom2.chain_id}:${k.atom2.res_idx}:${k.atom2.atom_name}`,
      distance: '',
    })
  const hooks = (c?.webhooks ?? {}) as Record<string, Record<string, unknown> | null>
  const ask = hooks.qna ?? hooks.evolla,
    md = hooks.md ?? hooks.openmm
  if (ask?.enabled) {
    d.ask = true
    d.question = said(ask.initial_question, '')
  }
  if (md?.enabled) {
    d.simulate = true
    d.simulation = {
      preset: said(md.preset, usual.preset),
      profile: said(md.residue_profile, usual.profile),
      length: said(md.sim_length_ns, usual.length),
      every: said(md.step_size_ns, usual.every),
      temp: said(md.temp, usual.temp),
      ionic: said(md.ionic, usual.ionic),
      pH: said(md.pH, usual.pH),
    }
  }
  if (typeof hooks.custom_http?.enabled === 'boolean') d.notify = hooks.custom_http.enabled
}

/** Which part of the draft a field of the interface stands in: an item, a rule, a parameter, a follow-up, or none. */
export type Place =
  | { part: 'item'; index: number; field: string }
  | { part: 'rule'; kind: Rule['kind']; index: number }
  | { part: 'param'; name: string }
  | { part: 'follow'; name: string }
  | { part: 'name' }
  | { part: 'none' }

export function placeOf(field: string): Place {
  let m = /^sequences\[(\d+)\](?:\.\w+)?\.?(.*)$/.exec(field)
  if (m) return { part: 'item', index: Number(m[1]), field: m[2]! }
  m = /^constraints\.(contact|pocket|bond)\[(\d+)\]/.exec(field)
  if (m) return { part: 'rule', kind: m[1] as Rule['kind'], index: Number(m[2]) }
  m = /^params\.(\w+)/.exec(field)
  if (m) return { part: 'param', name: m[1]! }
  m = /^constraints\.webhooks\.(\w+)/.exec(field)
  if (m) return { part: 'follow', name: m[1]! }
  return field === 'name' ? { part: 'name' } : { part: 'none' }
}

/** Whether a model makes use of alignments, as the draft's parameters stand. */
export const aligns = (d: Draft, model?: Model) => !!model?.features.includes('msa') && d.params.msaAlgorithm !== 'none'

/** The alignments that go out with a job, each with a name of its own. */
export function alignmentsOf(d: Draft, model?: Model): (Alignment & { stored: string })[] {
  const names = new Set<string>()
  return (aligns(d, model) ? d.items : []).flatMap((i, k) => {
    if (!i.alignment || i.kind !== 'protein') return []
    let stored = storedName(i.alignment.name)
    if (names.has(stored)) stored = `${k + 1}-${stored}`
    names.add(stored)
    return [{ ...i.alignment, stored }]
  })
}

/** What is wrong with an entity's alignment; empty: nothing. */
export const misaligned = (i: Item) =>
  i.alignment && i.kind === 'protein' ? misfit(i.alignment.query, letters(i.text).toUpperCase()) : ''

const quoted = (s: string) => `'${s.replaceAll("'", "'\\''")}'`

/** Commands that send a body, for a shell; files are alignments that go into the library first. */
export function curl(origin: string, body: CreateJob, from = '', files: string[] = []): string {
  const key = '-H "Authorization: Bearer $PLEAT_KEY"',
    json = "-H 'Content-Type: application/json'"
  const post = (path: string, more: string) => `curl -sS ${origin}${path} \\\n  ${key} ${more}`
  const create = (path: string) => post(path, `${json} \\\n  -d ${quoted(JSON.stringify(body, null, 2))}`)
  if (files.length === 0) return create('/v1/jobs' + (from && '?from=' + from))
  return [
    `ITEM=$(${post('/v1/library/create', `${json} \\\n  -d '{"name": "alignments", "type": "file", "fileType": "a3m"}'`)} | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    ...files.map((f) => post('/v1/library/$ITEM/upload-files', `-F ${quoted('files=@' + f)}`)),
    create('/v1/jobs?from=$ITEM'),
  ].join('\n')
}
