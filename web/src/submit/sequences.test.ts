import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { itemFrom, sequenceOf } from './draft'
import { parseText } from './sequences'

interface SharedCase {
  name: string
  text: string
  items: { kind: string; sequence: string; label: string; ccd?: boolean }[]
}

// The service's FASTA reader is checked against the same file, by internal/format/shared_test.go.
const shared = new URL('../../../internal/format/testdata/fasta.json', import.meta.url)
const cases = JSON.parse(readFileSync(shared, 'utf8')) as SharedCase[]

test.each(cases)('$name', ({ text, items }) => {
  const read = parseText(text).map(itemFrom)
  expect(
    read.map((item) => ({ kind: item.kind, sequence: sequenceOf(item), label: item.label, ccd: item.ccd })),
  ).toEqual(items.map((item) => ({ ccd: false, ...item })))
})
