import { expect, test } from 'vitest'
import type { Model } from '../api'
import { type Draft, draftOf, emptyDraft, fieldOf, runsMode, toInput, usualProtocol } from './draft'

const draft = (fields: Partial<Draft>): Draft => ({ ...emptyDraft, ...fields })

test('an address names the target and the mode', () => {
  const fold = draftOf(new URLSearchParams('job=j1&run=r1'))
  expect(toInput(fold).input).toEqual({
    target: { sourceJobId: 'j1', sourceJobRunId: 'r1' },
    binder: { kind: 'protein' },
  })
  const item = draftOf(new URLSearchParams('item=i1&file=a.cif&mode=redesign'))
  expect(item.mode).toBe('redesign')
  expect(toInput({ ...item, redesign: 'A' }).input).toEqual({
    protocol: 'sequence_only',
    target: { libraryItemId: 'i1', fileName: 'a.cif' },
    numbering: 'author',
    redesign: [{ chain_id: 'A' }],
  })
  expect(draftOf(new URLSearchParams()).way).toBe('sourceJobId')
  expect(draftOf(new URLSearchParams('pdb=1ubq'))).toMatchObject({ way: 'pdbId', target: { pdbId: '1ubq' } })
})

test('the request of a binder has what is filled in', () => {
  const full = draft({
    way: 'sourceJobId',
    target: { sourceJobId: ' j1 ' },
    chains: 'A, C',
    epitope: 'A: 3-5; C: 7',
    avoid: 'A: 9',
    length: '10..14',
    isCyclic: true,
    numDesigns: '6',
    budget: '4',
    seed: '7',
    isPublic: true,
  })
  expect(toInput(full)).toEqual({
    input: {
      target: { sourceJobId: 'j1' },
      targetChains: ['A', 'C'],
      epitope: [
        { chain_id: 'A', res_idx: ['3..5'] },
        { chain_id: 'C', res_idx: [7] },
      ],
      avoid: [{ chain_id: 'A', res_idx: [9] }],
      binder: { kind: 'protein', length: '10..14', cyclic: true },
      numDesigns: 6,
      budget: 4,
      seed: '7',
      isPublic: true,
    },
    problems: {},
  })
})

test('a sequence with designed parts replaces the length, and has disulfides', () => {
  const { input } = toInput(
    draft({
      way: 'sequence',
      target: { sequence: 'MKT\nGS' },
      epitope: '2',
      length: '9',
      sequence: '3..5C 6C3',
      disulfides: '2-1',
    }),
  )
  expect(input).toEqual({
    target: { sequence: 'MKT\nGS' },
    epitope: [{ chain_id: 'A', res_idx: [2] }],
    binder: { kind: 'protein', sequence: '3..5C 6C3', disulfides: [[2, 1]] },
  })
  const wrong = draft({ way: 'pdbId', target: { pdbId: '1ubq' }, sequence: '5C5C', disulfides: '1,2' })
  expect(toInput(wrong).problems).toEqual({
    'binder.disulfides': '“1” is no pair of cysteines; write pairs as 1-2, 3-4.',
  })
})

test('a molecule has no residues', () => {
  const atp = draft({ way: 'ccd', target: { ccd: 'ATP' }, epitope: 'A: 1', chains: 'A' })
  expect(toInput(atp).input).toEqual({ target: { ccd: 'ATP' }, binder: { kind: 'protein' } })
  expect(usualProtocol(atp)).toBe('protein-small_molecule')
})

test('the request of another sequence for a structure has no binder', () => {
  const some = draft({
    mode: 'redesign',
    way: 'sourceJobId',
    target: { sourceJobId: 'j1' },
    redesign: '1-3',
    epitope: 'A: 9',
    sequence: 'C5C',
    numDesigns: '8',
    budget: '2',
    temperature: '0.2',
    model: 'ligandmpnn',
  })
  expect(toInput(some, ['A'])).toEqual({
    input: {
      protocol: 'sequence_only',
      target: { sourceJobId: 'j1' },
      redesign: [{ chain_id: 'A', res_idx: ['1..3'] }],
      numDesigns: 8,
      budget: 2,
      temperature: 0.2,
      modelName: 'ligandmpnn',
    },
    problems: {},
  })
  expect(toInput(some, ['A', 'B']).problems).toEqual({ redesign: 'Residue 1-3 has no chain; write it as A: 1-3.' })
  expect(toInput(draft({ mode: 'redesign' })).problems).toEqual({
    target: 'Say what the target is.',
    redesign: 'Name the chains or residues that are redesigned, such as A or A: 12-18, 25.',
  })
})

test('a message of the service belongs to the field that it names', () => {
  for (const [message, field] of [
    ['workflow_input.binder.length is "120..80"; it must be a number of residues', 'binder.length'],
    ['workflow_input.epitope[0].res_idx[2] is 400; chain A of the target has residues 1 to 388', 'epitope'],
    ['workflow_input.target.pdbId is "X"; it must be an id', 'target'],
    ['workflow_input.targetChains[0] is "Q"; the target has the chains A, B', 'targetChains'],
    ['workflow_input.numDesigns is 0; it must be from 1 to 10000', 'numDesigns'],
    ['name has 300 characters; at most 255 are allowed', 'name'],
    ['workflow_input.webhooks is wrong', ''],
    ['no engine for design is running here', ''],
  ] as const)
    expect(fieldOf(message), message).toBe(field)
})

test('a model with the feature sequence_only runs nothing else', () => {
  const model = (kind: string, ...features: string[]) => ({ kind, features }) as unknown as Model
  expect(runsMode(model('design'), 'binder')).toBe(true)
  expect(runsMode(model('design'), 'redesign')).toBe(false)
  expect(runsMode(model('design', 'sequence_only'), 'redesign')).toBe(true)
  expect(runsMode(model('design', 'sequence_only'), 'binder')).toBe(false)
  expect(runsMode(model('fold'), 'binder')).toBe(false)
})
