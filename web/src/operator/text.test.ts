import { expect, test } from 'vitest'
import { devicesOf, exportAddress, ratio } from './text'

test('alike devices are named once', () => {
  const gpu = { id: '0', name: 'H100', memoryBytes: 80e9 }
  expect(devicesOf({ devices: [gpu, { ...gpu, id: '1' }], memoryBytes: 0 })).toBe('2 × H100 80 GB')
  expect(devicesOf({ devices: [], memoryBytes: 16e9 })).toBe('CPU, 16 GB')
  expect(devicesOf({ devices: [], memoryBytes: 0 })).toBe('CPU')
})

test('a run is compared with what was expected, if that is known', () => {
  expect(ratio(30, 10)).toBe('3.0 ×')
  expect(ratio(30, null)).toBe('')
})

test('an export names the days that were chosen', () => {
  expect(exportAddress('csv', '', '')).toBe('/v1/operator/audit?format=csv')
  expect(exportAddress('jsonl', '2027-01-01', '2027-01-31')).toBe(
    '/v1/operator/audit?format=jsonl&from=2027-01-01&to=2027-01-31',
  )
})
