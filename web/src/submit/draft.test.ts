// The draft of a job: text that is read, and bodies that survive the way through the form.
import { expect, test } from 'vitest'
import type { CreateJob, Kind, Model } from '../api'
import { curlCommands, fromBody, itemBody, toBody, withAlignments } from './body'
import { alignmentsToUpload, emptyDraft, formPart, itemFrom, jobName, newItem, ofKind, sequenceOf } from './draft'
import {
  chainNames,
  describeInvalid,
  guessKind,
  inTens,
  invalidLetters,
  isJobFile,
  parseText,
  stripSpace,
} from './sequences'

test('the kind of a molecule is guessed', () => {
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
    ['CC(=O)Oc1ccccc1C(=O)O aspirin', 'ligand'],
    ['C1CCCCC1\tcyclohexane', 'ligand'],
    ['1 MKTAYIAKQR', 'protein'],
    ['DAYAQWL1KDG', 'protein'],
  ] as const)
    expect(guessKind(text), text).toBe(kind)
})

test('FASTA, bare sequences, chains by colons and headers with kinds are read', () => {
  const read = (s: string) => parseText(s).map((i) => [i.kind, stripSpace(i.text), i.label, i.ccd])
  // An end sign stays, so that its card says that it is dropped, and the service notes it.
  expect(read('>one\nACDE\nFGHI\n>two | human\nKLMN*')).toEqual([
    ['protein', 'ACDEFGHI', 'one', false],
    ['protein', 'KLMN*', 'two|human', false],
  ])
  expect(read('ACDEFGHIKL\n\nMNPQRSTVWY')).toEqual([
    ['protein', 'ACDEFGHIKL', '', false],
    ['protein', 'MNPQRSTVWY', '', false],
  ])
  expect(read('ACDEF:GHIKL')).toEqual([
    ['protein', 'ACDEF', '', false],
    ['protein', 'GHIKL', '', false],
  ])
  expect(read('>T=0.1, sample=1, score=0.8\nMKV/GGE')).toEqual([
    ['protein', 'MKV', 'T=0.1, sample=1, score=0.8', false],
    ['protein', 'GGE', 'T=0.1, sample=1, score=0.8', false],
  ])
  expect(read('>F/C=C/F|smiles\nF/C=C/F')).toEqual([['ligand', 'F/C=C/F', 'F/C=C/F', false]])
  expect(read('>A|protein\nACG\n>B|ccd\nATP\n>C|smiles\nCCO\n>rna|name=guide\nACGU\n>dna\nACG')).toEqual([
    ['protein', 'ACG', 'A', false],
    ['ligand', 'ATP', 'B', true],
    ['ligand', 'CCO', 'C', false],
    ['rna', 'ACGU', 'guide', false],
    ['dna', 'ACG', '', false],
  ])
  expect(read('ACGU*')).toEqual([['rna', 'ACGU*', '', false]])
  expect(read('CC(=O)*')).toEqual([['ligand', 'CC(=O)*', '', false]])
  expect(read('')).toEqual([])
  expect(read('>end\n*')).toEqual([])
  expect(read('>empty\n')).toEqual([])
  expect(isJobFile('{"name": 1}')).toBe(true)
  expect(isJobFile('version: 1\nsequences:\n')).toBe(true)
  expect(isJobFile('>version\nACDEF')).toBe(false)
})

test('codes of three letters reach the service as they were written', () => {
  const sent = (text: string) =>
    itemBody(itemFrom({ kind: 'protein', text, label: '', ccd: false })).proteinChain?.sequence
  expect(sent('Ala Gly\nSer')).toBe('Ala Gly Ser')
  expect(sent('AlaGlySer')).toBe('AlaGlySer')
  expect(sent('MKTA\nYIAKqr')).toBe('MKTAYIAKQR')
  expect(sent('MKTA\nYIA*')).toBe('MKTAYIA*')
})

test('a ligand keeps what was written', () => {
  const text = (kind: Kind, written: string) => itemFrom({ kind, text: written, label: '', ccd: false })
  expect(text('ligand', 'C1CCCCC1 cyclohexane').text).toBe('C1CCCCC1 cyclohexane')
  expect(text('ligand', 'CCO\nCCN').text).toBe('CCO CCN')
  for (const [written, ligand] of [
    ['CCO CN', 'CCO CN'],
    ['CCCCCCCCCCCCCCCC', 'CCCCCCCCCCCCCCCC'],
    ['CCO\nCN', 'CCO CN'],
  ] as const) {
    const item = text('protein', written)
    expect(item.text).toBe(inTens(written))
    expect(ofKind(item, 'ligand')).toEqual({ kind: 'ligand', ccd: false, text: ligand })
  }
  for (const smiles of ['CCO', 'CCCl'])
    expect(ofKind(newItem('protein', smiles), 'ligand')).toMatchObject({ ccd: false })
  for (const code of ['CO', 'SO4', 'HEM'])
    expect(ofKind(newItem('protein', code), 'ligand')).toMatchObject({ ccd: true })
  expect(ofKind(newItem('protein', 'atp'), 'ligand')).toMatchObject({ ccd: true, text: 'atp' })
  expect(ofKind(newItem('ligand', 'MKTAYIAKQRQ'), 'protein')).toMatchObject({ text: 'MKTAYIAKQR Q' })
})

test('an invalid letter has the position that the service names', () => {
  const text = 'ACDE FG1I\nX'
  expect(invalidLetters(text, 'protein', false)).toEqual([
    { index: 7, position: 7, letter: '1' },
    { index: 10, position: 9, letter: 'X' },
  ])
  expect(invalidLetters(text, 'protein', true)).toEqual([{ index: 7, position: 7, letter: '1' }])
  expect(invalidLetters('??', 'ligand', false)).toEqual([])
  expect(invalidLetters('ACDE* \n', 'protein', false)).toEqual([])
  expect(invalidLetters('AC*DE**', 'protein', false)).toEqual([
    { index: 2, position: 3, letter: '*' },
    { index: 5, position: 6, letter: '*' },
  ])
  expect(sequenceOf(newItem('protein', 'ac de*\n'))).toBe('ACDE')
  const letters = 'ACDEFGHIKLMNPQRSTVWY'
  const message = (s: string) => describeInvalid(invalidLetters(s, 'protein', false), 'protein', false)
  expect(message('ACD1')).toBe(`Residue 4: '1' is not an amino acid; the letters are ${letters}`)
  expect(message('1X?B')).toBe(
    `Residue 1: '1', residue 2: 'X', residue 3: '?' and 1 more are not amino acids; the letters are ${letters}`,
  )
})

test('chains are named as the service names them', () => {
  const item = (count: number, chain = '') => ({ count, chain })
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
    templates: [
      { libraryItemId: '018f4c1a-5b1c-7d9e-8a54-1c0a3f2b9d11', fileName: 'a.cif', chain: 'P', templateChain: 'B' },
      { jobId: '018f4c1a-5b1c-7d9e-8a54-1c0a3f2b9d12', force: true, maxDistance: 2.5 },
      { pdbId: '1UBQ' },
    ],
    components: [{ code: 'DRG', smiles: 'CCO |$C1;C2;O1$|' }],
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

test('a body survives the way through the draft', () => {
  expect(toBody(fromBody(body), big)).toEqual(body)
  const plain: CreateJob = {
    name: 'x',
    sequences: [{ proteinChain: { sequence: 'ACDEF' } }],
    params: { modelName: 'big' },
  }
  expect(toBody(fromBody(plain), big)).toEqual(plain)
})

test('a simulation with all atoms has no parameters of residues', () => {
  const d = fromBody(body)
  d.simulation.preset = 'all_atom'
  const { md } = toBody(d, big).constraints!.webhooks as { md: Record<string, unknown> }
  expect(md.preset).toBe('all_atom')
  expect('residue_profile' in md).toBe(false)
  const again = toBody(fromBody(toBody(d, big)), big)
  expect((again.constraints!.webhooks as { md: unknown }).md).toEqual(md)
})

test('text that is not a number is sent as typed, for the service to refuse', () => {
  const d = fromBody(body)
  d.params.samplingSteps = 'many'
  d.items[0]!.modifications[0]!.residue = 'two'
  const out = toBody(d, big)
  expect(out.params.samplingSteps).toBe('many')
  expect(out.sequences[0]!.proteinChain!.modifications).toEqual([{ res_idx: 'two', ccd: 'SEP' }])
})

test('a field path belongs to a part of the form', () => {
  expect(formPart('sequences[3].ligandSequence.sequence')).toEqual({ part: 'item', index: 3, field: 'sequence' })
  expect(formPart('constraints.bond[1].atom1')).toEqual({ part: 'constraint', kind: 'bond', index: 1 })
  expect(formPart('constraints.templates[2].chain')).toEqual({ part: 'template', index: 2 })
  expect(formPart('constraints.templates')).toEqual({ part: 'template', index: -1 })
  expect(formPart('params.seed')).toEqual({ part: 'parameter', name: 'seed' })
  expect(formPart('constraints.webhooks.md.temp')).toEqual({ part: 'followUp', name: 'md' })
  expect(formPart('sequences')).toEqual({ part: 'none' })
})

test('a job without a name is named after its records', () => {
  const named = (name: string, ...labels: string[]) =>
    jobName({ ...emptyDraft(), name, items: labels.map((label) => ({ ...newItem('protein'), label })) })
  expect(named('', 'GB1')).toBe('GB1')
  expect(named('', 'GB1', 'HP35', '')).toBe('GB1 + 2 more')
  expect(named('', 'x'.repeat(255), 'HP35')).toBe(`${'x'.repeat(246)} + 1 more`)
  expect(named(' mine ', 'GB1', 'HP35')).toBe('mine')
  expect(named('', '', '')).toBe('Untitled fold')
})

test('a quote in a name is escaped in the curl command', () => {
  expect(curlCommands('http://h', { ...body, name: "O'Hara" })).toContain("O'\\''Hara")
})

test('the alignment of a complex is uploaded once, and its chains name it', () => {
  const file = new Blob()
  const alignment = { queries: ['MK', 'GGE'], copies: [1, 1], rows: 3, key: 1, name: 'a b.a3m', file }
  const draft = {
    ...emptyDraft(),
    items: [newItem('ligand', 'ATP'), ...alignment.queries.map((q) => ({ ...newItem('protein', q), alignment }))],
  }
  const files = alignmentsToUpload(draft, { features: ['msa'] } as unknown as Model)
  expect(files.map((f) => [f.fileName, f.items])).toEqual([['a_b.a3m', [1, 2]]])
  const msa = { libraryItemId: 'i1', fileName: 'a_b.a3m' }
  const sent = withAlignments(toBody(draft), 'i1', files)
  expect(sent.sequences.map((s) => s.proteinChain?.msa)).toEqual([undefined, msa, msa])
  expect(toBody(fromBody(sent)).sequences).toEqual(sent.sequences)
  const curl = curlCommands('http://h', toBody(draft), '', files)
  expect(curl).toContain(`"libraryItemId": "'$ITEM'"`)
  expect(curl).toContain("files=@a b.a3m;filename=a_b.a3m'")
  expect(curl).not.toContain('?from=')
})
