// Numbers and times in words, the same on every page.
import { type Model, parseTime } from './api'

/** Formats a duration in seconds, such as 8.5 s or 2 min 05 s. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return ''
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 100) return `${Math.round(seconds)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, '0')} s`
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, '0')} min`
}

/** A rough duration: what an estimate is worth. */
export function about(seconds: number): string {
  if (seconds < 1) return 'under a second'
  if (seconds < 90) return `about ${Math.round(seconds)} s`
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} min`
  return `about ${(seconds / 3600).toFixed(1)} h`
}

/** Formats a number of bytes in decimal units. */
export function bytes(n: number): string {
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (n < 1000 || unit === 'GB') return `${n < 10 && unit !== 'B' ? n.toFixed(1) : Math.round(n)} ${unit}`
    n /= 1000
  }
  return ''
}

/** Capitalizes a message and ends it with a full stop. */
export const asSentence = (s: string) => s.charAt(0).toUpperCase() + s.slice(1) + (/[.!?]$/.test(s) ? '' : '.')

export const plural = (n: number, one: string, many = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : many}`

/** Random bytes in hexadecimal. */
export const randomHex = (bytes: number) =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (b) => b.toString(16).padStart(2, '0')).join('')

/** A random seed: a whole number that every engine accepts. */
export const newSeed = () => String(crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1)

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const year = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const full = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

/** When something was: minutes ago, the clock today, else the day. */
export function when(t: string, now = Date.now()): string {
  if (!t) return ''
  const d = parseTime(t),
    ago = (now - d.getTime()) / 1000
  if (ago >= -5 && ago < 45) return 'just now'
  if (ago >= 0 && ago < 3600) return `${Math.max(1, Math.round(ago / 60))} min ago`
  const today = new Date(now)
  if (d.toDateString() === today.toDateString()) return clock.format(d)
  return d.getFullYear() === today.getFullYear() ? `${day.format(d)}, ${clock.format(d)}` : year.format(d)
}

/** How long something has lasted, in whole minutes, hours or days. */
export function howLong(t: string, now = Date.now()): string {
  const minutes = Math.floor((now - parseTime(t).getTime()) / 60_000)
  if (minutes < 1) return 'less than a minute'
  if (minutes < 120) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`
}

/** The whole moment, for a tooltip. */
export const moment = (t: string) => t && full.format(parseTime(t))

/** AlphaFold's class of a pLDDT. */
export function confidence(plddt: number): { name: string; class: string } {
  if (plddt >= 90) return { name: 'very high', class: 'very-high' }
  if (plddt >= 70) return { name: 'confident', class: 'high' }
  if (plddt >= 50) return { name: 'low', class: 'low' }
  return { name: 'very low', class: 'very-low' }
}

/** The values that a parameter accepts, as a sentence; empty: any. */
export function valueRange({ min, max, values }: { min: number | null; max: number | null; values: string[] }): string {
  if (values.length > 0) return `One of ${values.join(', ')}.`
  if (min === null) return max === null ? '' : `At most ${max}.`
  return max === null ? `${min} or more.` : `${min} to ${max}.`
}

// The names of the stages that several engines or the service report.
const stages: Record<string, string> = {
  queue: 'Waiting',
  wait: 'Waiting',
  fetch: 'Fetching the structure',
  msa: 'Searching for related sequences',
  features: 'Preparing the input',
  prepare: 'Preparing',
  load: 'Loading the model',
  infer: 'Folding',
  diffusion: 'Diffusion',
  confidence: 'Estimating the confidence',
  affinity: 'Predicting the affinity',
  local: 'Local structure',
  sample: 'Sampling',
  select: 'Selecting the best',
  sidechains: 'Placing side chains',
  relax: 'Relaxing',
  minimise: 'Relaxing',
  score: 'Scoring',
  check: 'Checking the result',
  write: 'Writing the files',
  simulate: 'Simulating',
  analyse: 'Measuring',
  digest: 'Computing facts',
  answer: 'Answering',
  design: 'Designing backbones',
  inverse_folding: 'Choosing sequences',
  folding: 'Folding the designs',
  design_folding: 'Folding the binders alone',
  analysis: 'Measuring the designs',
  filtering: 'Choosing the final set',
}

/** The name of a stage of a run. A stage that only one engine has keeps that engine's name. */
export const stageName = (stage: string) =>
  stages[stage] ?? stage.charAt(0).toUpperCase() + stage.slice(1).replaceAll('_', ' ')

/** The uses of weights that licences allow, within a sentence. */
export const weightUses: Record<Model['weightUse'], string> = {
  commercial: 'commercial use allowed',
  nonCommercial: 'non-commercial use only',
  ask: 'read it before commercial use',
}

/**
 * The unit in which a model counts the size of its input. A token is a standard residue, or one heavy atom of anything
 * else, so models of proteins without modifications count residues.
 */
export const sizeUnit = (m: { entities: string[]; features: string[] }) =>
  m.entities.every((e) => e === 'protein') && !m.features.includes('modifications') ? 'residue' : 'token'

/** The largest input of a model, in its unit. */
export const maxSize = (m: { maxTokens: number; entities: string[]; features: string[] }) =>
  m.maxTokens.toLocaleString('en') +
  (sizeUnit(m) === 'residue' ? ' residues' : ' tokens (residues, and atoms of anything else)')
