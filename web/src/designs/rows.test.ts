import { describe, expect, it } from 'vitest'
import {
  csv,
  type Design,
  type DesignColumn,
  fasta,
  firstChoice,
  formatValue,
  nextOrder,
  plotted,
  sorted,
} from './rows'

const column = (name: string, more: Partial<DesignColumn> = {}): DesignColumn => ({
  name,
  type: 'number',
  description: '',
  ...more,
})
const design = (id: string, more: Partial<Design> = {}): Design => ({
  id,
  final_rank: 1,
  pass_filters: null,
  failed_filters: null,
  designed_chain_sequence: null,
  cif_url: null,
  notes: [],
  ...more,
})

describe('the order of rows', () => {
  const rows = [design('a', { iptm: 0.5 }), design('b', { iptm: null }), design('c', { iptm: 0.9 })]
  const ids = (descending: boolean) => sorted(rows, { column: 'iptm', descending }).map((d) => d.id)
  it('has rows without a value last in both directions', () => {
    expect(ids(false)).toEqual(['a', 'c', 'b'])
    expect(ids(true)).toEqual(['c', 'a', 'b'])
  })
  it('begins with the better values', () => {
    const start = { column: 'final_rank', descending: false }
    expect(nextOrder(start, column('iptm', { better: 'higher' })).descending).toBe(true)
    expect(nextOrder(start, column('pae', { better: 'lower' })).descending).toBe(false)
    expect(nextOrder({ column: 'pae', descending: false }, column('pae', { better: 'lower' })).descending).toBe(true)
  })
})

describe('what is shown at first', () => {
  const columns = ['final_rank', 'design_to_target_iptm', 'min_design_to_target_pae', 'sequence_score'].map((name) =>
    column(name),
  )
  it('is what some design has', () => {
    const rows = [design('a', { sequence_score: 1.2 })]
    expect(firstChoice(columns, rows)).toEqual(['final_rank', 'sequence_score'])
  })
  it('is plotted where both axes have values', () => {
    const binders = [design('a', { design_to_target_iptm: 0.5, min_design_to_target_pae: 3 })]
    expect(plotted(binders)).toEqual(['min_design_to_target_pae', 'design_to_target_iptm'])
    expect(plotted([design('a', { sequence_score: 1.2, sequence_recovery: 0.4 })])).toEqual([
      'sequence_score',
      'sequence_recovery',
    ])
  })
})

it('writes values with their unit', () => {
  expect(formatValue(null, column('x'))).toBe('–')
  expect(formatValue(0.345, column('x', { unit: 'fraction' }))).toBe('35 %')
  expect(formatValue(0.12345, column('x'))).toBe('0.123')
  expect(formatValue([], column('x', { type: 'list' }))).toBe('–')
})

it('writes FASTA and CSV, without what a spreadsheet would compute', () => {
  const rows = [design('x_1', { designed_chain_sequence: 'M'.repeat(61), pass_filters: true }), design('x_2')]
  expect(fasta(rows)).toBe(`>x_1 rank=1 pass_filters=true\n${'M'.repeat(60)}\nM\n`)
  const columns = [column('id', { type: 'string' }), column('iptm'), column('cif_url', { type: 'string' })]
  expect(csv([design('=1', { iptm: 0.5 })], columns)).toBe("id,iptm\r\n'=1,0.5\r\n")
})
