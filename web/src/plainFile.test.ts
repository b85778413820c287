import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { plainFile } from './plainFile'

const text = '>x\nGSGS\n'
const zipped = new Uint8Array(gzipSync(text))

test('a compressed file is read as what it holds', async () => {
  const file = await plainFile(new File([zipped], 'x.a3m.gz'), 100)
  expect([file.name, await file.text()]).toEqual(['x.a3m', text])
  const same = new File([text], 'x.a3m')
  expect(await plainFile(same, 100)).toBe(same)
})

test('a file that grows too large or is damaged is refused', async () => {
  await expect(plainFile(new File([zipped], 'x.gz'), 7)).rejects.toThrow('x.gz has more than')
  await expect(plainFile(new File([zipped.slice(0, 15)], 'x.gz'), 100)).rejects.toThrow(
    'x.gz is compressed, and damaged, incomplete or in several parts; decompress it first',
  )
})
