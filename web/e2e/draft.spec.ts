// The draft of a job without a browser: what is read out of a text, and that a body comes back as it went in.
import { expect, test } from '@playwright/test'
import type { CreateJob, Model } from '../src/api'
import {
  badLetters,
  chainNames,
  curl,
  detect,
  foreign,
  fromBody,
  letters,
  newItem,
  parseText,
  placeOf,
  toBody,
} from '../src/submit/draft'

test('kinds are told apart', () => {
  for (const [text, kind] of [
    ['DAYAQWLKDGGPSSGRPPPS', 'protein'],
    ['acdef ghikl', 'protein'],
    ['GGG', 'protein'],
    ['ACGUACGU', 'rna'],
    ['ACGTACGTN', 'dna'],
    ['GATTACA', 'dna'],
    ['ACG', 'protein'],
    ['CC(=O)Oc1ccccc1C(=O)O', 'ligand'],
    ['C1CCCCC1', 'ligand'],
    ['[Na+]', 'ligand'],
    ['DAYAQWL1KDG', 'protein'],
  ] as const)
    expect(detect(text), text).toBe(kind)
})

test('FASTA, bare sequences, chains by colons and headers with kinds are read', () => {
  const read = (s: string) => parseText(s).map((i) => [i.kind, letters(i.text), i.label, i.ccd])
  expect(read('>one\nACDE\nFGHI\n>two | human\nKLMN*')).toEqual([
    ['protein', 'ACDEFGHI', 'one', false],
    ['protein', 'KLMN', 'two|human', false],
  ])
  expect(read('ACDEFGHIKL\n\nMNPQRSTVWY')).toEqual([
    ['protein', 'ACDEFGHIKL', '', false],
    ['protein', 'MNPQRSTVWY', '', false],
  ])
  expect(read('ACDEF:GHIKL')).toEqual([
    ['protein', 'ACDEF', '', false],
    ['protein', 'GHIKL', '', false],
  ])
  expect(read('>A|protein\nACG\n>B|ccd\nATP\n>C|smiles\nCCO\n>rna|name=guide\nACGU\n>dna\nACG')).toEqual([
    ['protein', 'ACG', 'A', false],
    ['ligand', 'ATP', 'B', true],
    ['ligand', 'CCO', 'C', false],
    ['rna', 'ACGU', 'guide', false],
    ['dna', 'ACG', '', false],
  ])
  expect(read('')).toEqual([])
  expect(read('>empty\n')).toEqual([])
  expect(foreign('{"name": 1}')).toBe(true)
  expect(foreign('version: 1\nsequences:\n')).toBe(true)
  expect(foreign('>version\nACDEF')).toBe(false)
})

test('a bad letter has the position that the service would name', () => {
  const item = newItem('protein', 'ACDE FG1I\nX')
  expect(badLetters(item, false)).toEqual([
    { at: 7, position: 7, letter: '1' },
    { at: 10, position: 9, letter: 'X' },
  ])
  expect(badLetters(item, true)).toEqual([{ at: 7, position: 7, letter: '1' }])
  expect(badLetters(newItem('ligand', '??'), false)).toEqual([])
})

test('chains are named as the service names them', () => {
  const item = (count: number, chain = '') => ({ ...newItem('protein', 'A'), count, chain })
  expect(chainNames([item(2), item(1, 'A'), item(2)])).toEqual([['B', 'C'], ['A'], ['D', 'E']])
  expect(chainNames([item(27)])[0]!.slice(-2)).toEqual(['Z', 'AA'])
})

const body: CreateJob = {
  name: 'complex',
  isPublic: true,
  params: { modelName: 'big', seed: '7', samplingSteps: 200, stepScale: 1.5, relaxPrediction: true },
  sequences: [
    {
      proteinChain: {
        sequence: 'ACDEFGHIK',
        chain_id: 'P',
        label: 'bait',
        count: 2,
        cyclic: true,
        modifications: [{ res_idx: 2, ccd: 'SEP' }],
      },
      sourceSequenceId: '018f4c1a-5b1c-7d9e-8a54-1c0a3f2b9d10',
    },
    { rnaSequence: { sequence: 'ACGU' } },
    { dnaSequence: { sequence: 'ACGT' } },
    { ligandSequence: { sequence: 'ATP', is_ccd: true, property_type: 'affinity' } },
    { ligandSequence: { sequence: 'CCO' } },
  ],
  constraints: {
    pocket: [
      {
        binder: { chain_id: 'D' },
        contacts: [
          { chain_id: 'P', res_idx: 1 },
          { chain_id: 'P', res_idx: 3 },
        ],
      },
    ],
    bond: [
      { atom1: { chain_id: 'P', res_idx: 2, atom_name: 'SG' }, atom2: { chain_id: 'D', res_idx: 1, atom_name: 'C1' } },
    ],
    contact: [{ chainA: 'P', res_idxA: 1, chainB: 'A', res_idxB: 2, distance: 8.5 }],
    webhooks: {
      qna: { enabled: true, initial_question: 'How large?' },
      md: {
        enabled: true,
        preset: 'single_af_go',
        residue_profile: 'calvados3',
        temp: 300,
        ionic: 0.1,
        pH: 7,
        step_size_ns: 0.01,
        sim_length_ns: 0.5,
      },
      custom_http: { enabled: false },
    },
  },
}
const big = {
  name: 'big',
  params: [
    { name: 'seed', type: 'string' },
    { name: 'samplingSteps', type: 'integer' },
    { name: 'stepScale', type: 'number' },
    { name: 'relaxPrediction', type: 'boolean' },
  ],
} as Model

test('a body comes back as it went in', () => {
  expect(toBody(fromBody(body), big)).toEqual(body)
  const plain: CreateJob = {
    name: 'x',
    sequences: [{ proteinChain: { sequence: 'ACDEF' } }],
    params: { modelName: 'big' },
  }
  expect(toBody(fromBody(plain), big)).toEqual(plain)
})

test('what is no number goes to the service as it was typed, which says so', () => {
  const d = fromBody(body)
  d.params.samplingSteps = 'many'
  d.items[0]!.mods[0]!.residue = 'two'
  const out = toBody(d, big)
  expect(out.params.samplingSteps).toBe('many')
  expect(out.sequences[0]!.proteinChain!.modifications).toEqual([{ res_idx: 'two', ccd: 'SEP' }])
})

test('a field of the interface has its place on the page', () => {
  expect(placeOf('sequences[3].ligandSequence.sequence')).toEqual({ part: 'item', index: 3, field: 'sequence' })
  expect(placeOf('constraints.bond[1].atom1')).toEqual({ part: 'rule', kind: 'bond', index: 1 })
  expect(placeOf('params.seed')).toEqual({ part: 'param', name: 'seed' })
  expect(placeOf('constraints.webhooks.md.temp')).toEqual({ part: 'follow', name: 'md' })
  expect(placeOf('sequences')).toEqual({ part: 'none' })
})

test('a quote in a name does not leave the shell command', () => {
  expect(curl('http://h', { ...body, name: "O'Hara" })).toContain("O'\\''Hara")
})
