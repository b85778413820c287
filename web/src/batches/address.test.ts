import { expect, test } from 'vitest'
import {
  formatView,
  maxShortlist,
  nextSort,
  parseFilter,
  parseView,
  searchOf,
  statusOf,
  tableQuery,
  toggled,
  withSearch,
  withStatus,
} from './address'

const view = (query: string) => parseView(new URLSearchParams(query))

test('a view survives its address', () => {
  const query =
    'filter=status=COMPLETED,meanPLDDT>=80&sort=ipsae.A-B:desc&plot=scatter&x=ptm_score&y=iptm_score' +
    '&colour=meanPLDDT&row=7&shortlist=3,9&only=shortlist'
  expect(formatView(view(query))).toBe(query)
  expect(formatView(view(''))).toBe('')
  expect(formatView(view(formatView(view(query))))).toBe(formatView(view(query)))
})

test('the query of the table has the filter, the order and the rows that are asked for', () => {
  const query = 'filter=meanPLDDT>80&sort=meanPLDDT:asc&x=ptm_score&row=7&shortlist=3,9'
  expect(tableQuery(view(query))).toBe('filter=meanPLDDT>80&sort=meanPLDDT:asc')
  expect(tableQuery(view(`${query}&only=shortlist`))).toBe('filter=meanPLDDT>80&sort=meanPLDDT:asc&rows=3,9')
  expect(tableQuery(view('only=shortlist'))).toBe('') // an empty shortlist selects nothing, so it does not count
})

test('what an address cannot mean is left out', () => {
  const v = view('row=-1&shortlist=3,x,3,2.5,1e99,4&plot=pie&only=everything')
  expect([v.row, v.shortlist, v.plot, v.onlyShortlist]).toEqual([0, [3, 4], '', false])
  const many = Array.from({ length: 300 }, (_, i) => i + 1).join()
  expect(view(`shortlist=${many}`).shortlist).toHaveLength(maxShortlist)
})

test('filters are read as the service reads them', () => {
  expect(parseFilter(' meanPLDDT >= 80 ,a!=1,status=FAILED')).toEqual([
    { name: 'meanPLDDT', op: '>=', value: '80' },
    { name: 'a', op: '!=', value: '1' },
    { name: 'status', op: '=', value: 'FAILED' },
  ])
  expect(parseFilter('nonsense')).toEqual([{ name: 'nonsense', op: '', value: '' }]) // for the service to refuse
  expect(parseFilter('')).toEqual([])
})

test('one status is chosen at a time', () => {
  const v = view('filter=status=failed,meanPLDDT>80')
  expect(statusOf(v)).toBe('FAILED')
  expect(tableQuery({ ...v, conditions: withStatus(v, 'STOPPED') })).toBe('filter=status=STOPPED,meanPLDDT>80')
  expect(tableQuery({ ...v, conditions: withStatus(v, '') })).toBe('filter=meanPLDDT>80')
})

test('a text of ids is searched', () => {
  const v = view('filter=meanPLDDT>80,customId~ nb=1 ')
  expect(searchOf(v)).toBe('nb=1')
  expect(tableQuery({ ...v, conditions: withSearch(v, ' nb-2,x ') })).toBe('filter=meanPLDDT>80,customId~nb-2')
  expect(tableQuery({ ...v, conditions: withSearch(v, '') })).toBe('filter=meanPLDDT>80')
  expect(searchOf(view('filter=customId=nb'))).toBe('') // which is a condition of its own
})

test('a head sorts by the better values first', () => {
  const up = { name: 'ptm_score', higherIsBetter: true }
  const down = { name: 'max_pae_score', higherIsBetter: false }
  expect(nextSort('', up)).toBe('ptm_score:desc')
  expect(nextSort('ptm_score:desc', up)).toBe('ptm_score:asc')
  expect(nextSort('ptm_score:asc', up)).toBe('')
  expect(nextSort('ptm_score', up)).toBe('ptm_score:asc') // without a direction the better values come first
  expect(nextSort('ptm_score:desc', down)).toBe('max_pae_score:asc')
})

test('the shortlist is bounded', () => {
  expect(toggled([3, 4], 3)).toEqual([4])
  expect(toggled([3, 4], 5)).toEqual([3, 4, 5])
  const full = Array.from({ length: maxShortlist }, (_, i) => i + 1)
  expect(toggled(full, 500)).toEqual(full)
  expect(toggled(full, 1)).toHaveLength(maxShortlist - 1)
})
