import { expect, test } from 'vitest'
import type { DesignFold } from '../api'
import {
  csv,
  type Design,
  type DesignColumn,
  describeColumn,
  fasta,
  firstAxes,
  firstChoice,
  foldModels,
  formatValue,
  hasFilters,
  nextOrder,
  numeric,
  sorted,
  titleOf,
  withFolds,
} from './rows'
import { settingsOf } from './settings'

const column = (name: string, more: Partial<DesignColumn> = {}): DesignColumn => ({
  name,
  type: 'number',
  description: '',
  ...more,
})
const columns = [
  column('id', { type: 'string' }),
  column('final_rank', { type: 'integer', better: 'lower' }),
  column('pass_filters', { type: 'boolean' }),
  column('designed_chain_sequence', { type: 'string' }),
  column('num_design', { type: 'integer' }),
  column('design_to_target_iptm', { better: 'higher' }),
  column('min_design_to_target_pae', { unit: 'Å', better: 'lower' }),
  column('plddt', { better: 'higher' }),
  column('filter_rmsd', { unit: 'Å', better: 'lower' }),
  column('sequence_score', { unit: 'nats', better: 'lower' }),
  column('sequence_recovery', { unit: 'fraction' }),
  column('notes', { type: 'list' }),
]
const design = (id: string, more: Partial<Design> = {}): Design => ({
  id,
  final_rank: null,
  pass_filters: null,
  failed_filters: [],
  designed_chain_sequence: null,
  cif_url: null,
  notes: [],
  ...more,
})
const binders = [
  design('a', {
    final_rank: 1,
    pass_filters: true,
    design_to_target_iptm: 0.8,
    min_design_to_target_pae: 2,
    plddt: 90,
  }),
  design('b', { final_rank: 2, pass_filters: false, design_to_target_iptm: null, min_design_to_target_pae: 3 }),
]
const sequences = [design('a', { final_rank: 1, num_design: 9, sequence_score: 1.2, sequence_recovery: 0.4 })]

test('the columns and axes that are shown at first have values', () => {
  expect(firstChoice(columns, binders)).toEqual([
    'final_rank',
    'design_to_target_iptm',
    'min_design_to_target_pae',
    'plddt',
  ])
  expect(firstChoice(columns, sequences)).toEqual(['final_rank', 'sequence_score', 'sequence_recovery'])
  expect(firstAxes(numeric(columns, binders))).toEqual(['min_design_to_target_pae', 'design_to_target_iptm'])
  expect(firstAxes(numeric(columns, sequences))).toEqual(['sequence_recovery', 'sequence_score'])
  const few = [design('a', { final_rank: 1, num_design: 9, plddt: 80 })]
  expect(firstAxes(numeric(columns, few))).toEqual(['num_design', 'plddt'])
  expect(firstAxes(numeric(columns, [design('a', { final_rank: 1, plddt: 80 })]))).toBeNull()
  expect([hasFilters(binders), hasFilters(sequences)]).toEqual([true, false])
})

test('a click sorts the better values first; rows without a value are last', () => {
  const iptm = column('design_to_target_iptm', { better: 'higher' })
  const first = nextOrder({ column: 'final_rank', descending: false }, iptm)
  expect(first).toEqual({ column: 'design_to_target_iptm', descending: true })
  const second = nextOrder(first, iptm)
  expect(second.descending).toBe(false)
  const rows = [...binders, design('c', { design_to_target_iptm: 0.9 })]
  expect(sorted(rows, first).map((d) => d.id)).toEqual(['c', 'a', 'b'])
  expect(sorted(rows, second).map((d) => d.id)).toEqual(['a', 'c', 'b'])
  expect(sorted(rows, { column: 'id', descending: true }).map((d) => d.id)).toEqual(['c', 'b', 'a'])
})

test('values and heads are text', () => {
  for (const [value, of, text] of [
    [null, {}, '–'],
    [undefined, {}, '–'],
    [true, {}, 'yes'],
    [['x', 'y'], {}, 'x, y'],
    [[], {}, '–'],
    [12, { type: 'integer' }, '12'],
    [0.333, { unit: 'fraction' }, '33 %'],
    [0.4567, {}, '0.457'],
    [12.345, {}, '12.35'],
    [1234.5, {}, '1235'],
  ] as const)
    expect(formatValue(value, column('x', of)), String(value)).toBe(text)
  expect(describeColumn(column('x', { unit: 'fraction', better: 'lower' }))).toBe('%, lower better')
  expect(describeColumn(column('x'))).toBe('')
  expect([titleOf(column('final_rank')), titleOf(column('helix'))]).toEqual(['Rank', 'helix'])
})

test('FASTA and CSV have the rows', () => {
  const rows = [
    design('a', {
      final_rank: 1,
      pass_filters: true,
      designed_chain_sequence: 'M'.repeat(61),
      notes: ['one', 'two "x"'],
    }),
    design('x;=1+1', {}),
    design('=b', {}),
    design('x;"=1+1', {}),
  ]
  expect(fasta(rows)).toBe(`>a rank=1 pass_filters=true\n${'M'.repeat(60)}\nM\n`)
  const lines = csv(rows, [...columns, column('cif_url', { type: 'string' })]).split('\r\n')
  expect(lines[0]).toBe(columns.map((c) => c.name).join())
  expect(lines[1]).toBe(`a,1,true,${'M'.repeat(61)},,,,,,,,"one; two ""x"""`)
  expect(lines[2]).toBe(`x;'=1+1${','.repeat(columns.length - 1)}`)
  expect(lines[3]).toBe(`'=b${','.repeat(columns.length - 1)}`)
  expect(lines[4]).toBe(`"x;""'=1+1"${','.repeat(columns.length - 1)}`)
})

test('the last fold of a model stands beside its design', () => {
  const fold = (designId: string, modelName: string, iptm: number | null): DesignFold => ({
    designId,
    modelName,
    jobId: `job-${iptm}`,
    jobRunId: 'run',
    status: iptm === null ? 'RUNNING' : 'COMPLETED',
    iptm_score: iptm,
    ptm_score: null,
    mean_plddt: 70,
    predicted_rmsd: null,
    binder_rmsd: iptm && 2 * iptm,
  })
  const folds = [
    fold('a', 'boltz-2', 0.5),
    fold('a', 'boltz-2', 0.25),
    fold('a', 'other', 0.75),
    fold('b', 'other', null),
  ]
  expect(foldModels(folds)).toEqual(['boltz-2', 'other'])
  const rows = withFolds(binders, folds, 'boltz-2')
  expect(rows[0]).toMatchObject({ id: 'a', fold_model: 'boltz-2', fold_iptm: 0.25, fold_plddt: 70, fold_rmsd: 0.5 })
  expect(rows[1]).toMatchObject({ id: 'b', fold_model: null, fold_iptm: null, fold: undefined })
  expect(withFolds(binders, folds, 'other')[1]!.fold?.status).toBe('RUNNING')
})

test('settings are taken apart, and have no empty values', () => {
  expect(
    settingsOf({
      target: { pdbId: '1ubq' },
      epitope: [{ chain_id: 'A', res_idx: [3, 4, 9] }],
      binder: { cyclic: false, disulfides: [[1, 2]] },
      alpha: null,
      files: [],
      numDesigns: 5,
    }),
  ).toEqual([
    ['target.pdbId', '1ubq'],
    ['epitope', 'A: 3-4, 9'],
    ['binder.cyclic', 'false'],
    ['binder.disulfides', '[1,2]'],
    ['numDesigns', '5'],
  ])
})
