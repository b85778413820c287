import { expect, test } from 'vitest'
import { emptyDraft, faultOf, missing, parseLigands, parseRows, toBatch } from './draft'
import { readBatch, readLigands, readRows, separated } from './input'

const protein = (sequence: string) => ({ proteinChain: { sequence } })

test('separated values have quotes, lines and either separator', () => {
  expect(separated('a,b\n1,"x, ""y""\nz"\n\n2,3')).toEqual([
    { line: 1, cells: ['a', 'b'] },
    { line: 2, cells: ['1', 'x, "y"\nz'] },
    { line: 5, cells: ['2', '3'] },
  ])
  expect(separated('a\tb\r\n1,5\t2\r\n').map((r) => r.cells)).toEqual([
    ['a', 'b'],
    ['1,5', '2'],
  ])
  expect(separated('a;b\r\n1,5;2\r\n').map((r) => r.cells)).toEqual([
    ['a', 'b'],
    ['1,5', '2'],
  ])
  expect(separated('sep=;\r\n\na,b;c\r\n1,5;2')).toEqual([
    { line: 3, cells: ['a,b', 'c'] },
    { line: 4, cells: ['1,5', '2'] },
  ])
  expect(separated('\na;b').map((r) => r.cells)).toEqual([['a', 'b']])
  expect(separated('')).toEqual([])
  expect(separated('a,').at(-1)?.cells).toEqual(['a', ''])
  expect(() => separated('a,b\n1,"x"y')).toThrow('line 2 has a quotation mark')
  expect(() => separated('a,b\n1,"x')).toThrow('line 2 has a quotation mark')
})

test('rows come from CSV, from FASTA, and from bare sequences', () => {
  expect(readRows('ID,other,sequence\nx,1,GSG:AAA\n,,GG', 'protein')).toEqual({
    entries: [{ customId: 'x', sequences: [protein('GSG'), protein('AAA')] }, { sequences: [protein('GG')] }],
    lines: [2, 3],
  })
  expect(readRows('>x some words\nGSG\nGSG:AAA\n>|rna\nACGU\n>empty\n', 'protein')).toEqual({
    entries: [
      { customId: 'x', sequences: [protein('GSGGSG'), protein('AAA')] },
      { sequences: [{ rnaSequence: { sequence: 'ACGU' } }] },
    ],
    lines: [1, 4],
  })
  expect(readRows('GATTACA\nGSG\n', 'protein').entries).toEqual([
    { sequences: [protein('GATTACA')] }, // of the letters of DNA, but the form says protein
    { sequences: [protein('GSG')] },
  ])
  const design = (sample: number) => `>T=0.1, sample=${sample}, score=0.8, seq_recovery=0.5\nGSG\n`
  expect(readRows(design(1) + design(2), 'protein').entries.map((e) => e.customId)).toEqual(['sample=1', 'sample=2'])
  expect(readRows('sequence\nGSG', 'dna').entries).toEqual([{ sequences: [{ dnaSequence: { sequence: 'GSG' } }] }])
  expect(readRows(' \n', 'protein').entries).toEqual([])
  expect(() => readRows('name,seq\nx,GSG', 'protein')).toThrow('the columns are name, seq; there must be sequence')
  expect(() => readRows('first,sequence\nx,GSG', 'protein')).toThrow('there must be id or customid or name')
})

test('ligands come from CSV and from lines', () => {
  expect(readLigands('id,smiles\naspirin,"CC(=O)O"\n', false)).toEqual({
    entries: [{ customId: 'aspirin', sequence: 'CC(=O)O' }],
    lines: [2],
  })
  expect(readLigands('ccd\nATP', true).entries).toEqual([{ sequence: 'ATP', is_ccd: true, property_type: 'affinity' }])
  expect(readLigands('SMILES Name\nCCO\tethanol', false)).toEqual({
    entries: [{ customId: 'ethanol', sequence: 'CCO' }],
    lines: [2],
  })
  expect(readLigands('sep=;\nid;smiles\nx;CCO', false)).toEqual({
    entries: [{ customId: 'x', sequence: 'CCO' }],
    lines: [3],
  })
  expect(readLigands('id;smiles\nx;CCO', false).entries).toEqual([{ customId: 'x', sequence: 'CCO' }])
  expect(readLigands('c1ccccc1 benzene ring\n\nCCO', false)).toEqual({
    entries: [{ customId: 'benzene ring', sequence: 'c1ccccc1' }, { sequence: 'CCO' }],
    lines: [1, 3],
  })
})

test('a batch in JSON is a body, or a list of jobs', () => {
  expect(readBatch('[{"sequences": []}]')).toEqual({ kind: 'list', jobs: [{ sequences: [] }] })
  expect(readBatch('{"kind": "seeds", "seedCount": 3}')).toEqual({ kind: 'seeds', seedCount: 3 })
  expect(() => readBatch('{"jobs": []}')).toThrow('it has no kind')
  expect(() => readBatch('{')).toThrow('it is not JSON')
})

const none = { entries: [], lines: [], error: '' }
const sources = { jobs: none, binders: none, targets: none, ligands: none }

test('a draft makes the request of its kind', () => {
  const draft = { ...emptyDraft(), model: 'mini', complex: 'GSG' }
  const of = (fields: Partial<typeof draft>) => toBatch({ ...draft, ...fields }, sources)
  expect(of({ kind: 'seeds', seeds: '1-3, 7' })).toEqual({
    name: 'Seeds',
    kind: 'seeds',
    params: { modelName: 'mini' },
    sequences: [protein('GSG')],
    seeds: ['1', '2', '3', '7'],
  })
  expect(of({ kind: 'seeds', seeds: '500 seeds' })).toMatchObject({ seedCount: 500 })
  expect(of({ kind: 'variants', mutations: 'WT, G1A:S2T', scanFrom: '2', scanResidues: 'AV' })).toMatchObject({
    mutations: ['WT', 'G1A:S2T'],
    scan: { from: 2, to: 2, residues: 'AV' },
  })
  expect(of({ kind: 'variants', scanFrom: 'two' })).toMatchObject({ scan: { from: 'two' } }) // the service names it
  const binders = parseRows('id,sequence\na,GSG\nb,AAA', 'protein')
  expect(toBatch({ ...draft, kind: 'matrix', self: true }, { ...sources, binders })).toMatchObject({
    binders: [{ customId: 'a' }, { customId: 'b' }],
    upperTriangle: true,
    self: true,
  })
  const both = toBatch({ ...draft, kind: 'matrix', self: true }, { ...sources, binders, targets: binders })
  expect(both.targets).toHaveLength(2)
  expect(both.self).toBeUndefined() // the service refuses it next to targets
  const file = { name: 'b.json', body: readBatch('{"kind":"seeds","name":"x","params":{"modelName":"big"}}') }
  expect(toBatch({ ...draft, file, name: 'mine', isPublic: true }, sources)).toEqual({
    kind: 'seeds',
    name: 'mine',
    isPublic: true,
    params: { modelName: 'big' },
  })
})

test('a batch says who is notified only if the user has', () => {
  const draft = { ...emptyDraft(), model: 'mini', complex: 'GSG', kind: 'seeds' as const, seeds: '1' }
  const of = (fields: Partial<typeof draft>) => toBatch({ ...draft, ...fields }, sources).webhooks
  expect(of({})).toBeUndefined() // the default of the webhook decides
  expect(of({ notify: true })).toEqual({ custom_http: { enabled: true } })
  expect(of({ notifyRows: true })).toEqual({ rows: true })
  expect(of({ notify: false, notifyRows: true })).toEqual({ custom_http: { enabled: false } })
  const file = { name: 'b.json', body: readBatch('{"kind":"seeds","webhooks":{"rows":true}}') }
  expect(of({ file, notify: false })).toEqual({ rows: true }) // of the file
})

test('what a draft lacks is said before it is checked', () => {
  const draft = emptyDraft()
  expect(missing(draft, sources)).toBe('Add rows to begin.')
  expect(missing({ ...draft, kind: 'ligands' }, { ...sources, ligands: parseLigands('CCO', false) })).toMatch(/complex/)
  expect(missing({ ...draft, kind: 'seeds', complex: 'G' }, sources)).toMatch(/seeds/)
  expect(missing(draft, { ...sources, jobs: parseRows('name,seq\nx,G', 'protein') })).toMatch(
    /^The rows cannot be read/,
  )
})

test('a fault is told by row, id and line', () => {
  const jobs = parseRows('id,sequence\na,GSG\n\nb,GBG:G', 'protein')
  const body = toBatch({ ...emptyDraft(), model: 'mini' }, { ...sources, jobs })
  const at = (field: string, message: string) => faultOf({ field, message }, body, { ...sources, jobs })
  expect(
    at(
      'jobs[1].sequences[1].proteinChain.sequence',
      'Invalid sequence format: jobs[1].sequences[1].proteinChain.sequence, residue 1: x',
    ),
  ).toEqual({ place: 'Row 2', id: 'b', line: 4, message: 'chain 2, residue 1: x' })
  expect(at('jobs[1].customId', 'jobs[1].customId is "b" like that of jobs[0]').message).toBe(
    'customId is "b" like that of jobs[0]',
  )
  expect(at('params.seed', 'params.seed must be')).toEqual({
    place: '',
    id: '',
    line: 0,
    message: 'params.seed must be',
  })
})
