import { expect, test } from 'vitest'
import { centreFrames, readTopology } from './simulation'

test('a drifting molecule is centred and keeps its shape', () => {
  const parts: DataView[] = []
  const record = (bytes: number, fill: (v: DataView) => void) => {
    const v = new DataView(new ArrayBuffer(bytes + 8))
    v.setUint32(0, bytes, true)
    v.setUint32(bytes + 4, bytes, true)
    fill(v)
    parts.push(v)
  }
  record(84, (v) => {
    v.setUint32(4, 0x44524f43, true)
    v.setUint32(48, 1, true)
  })
  record(84, () => {})
  record(4, (v) => v.setUint32(4, 2, true))
  for (const drift of [0, 10]) {
    record(48, () => {})
    for (const axis of [0, 1, 2])
      record(8, (v) => {
        v.setFloat32(4, drift + axis, true)
        v.setFloat32(8, drift + axis + 2 + drift, true)
      })
  }
  const dcd = new Uint8Array(parts.flatMap((v) => [...new Uint8Array(v.buffer)]))
  const last = dcd.length - 16 // the third axis of the second frame
  // In the second frame the atoms are 12 apart along each axis.
  expect(centreFrames(dcd)).toBeCloseTo(Math.sqrt(3) * 6)
  const out = new DataView(dcd.buffer)
  // On the third axis they were at 12 and 24 with centre 18; in the first frame at 2 and 4 with centre 3.
  expect([out.getFloat32(last + 4, true), out.getFloat32(last + 8, true)]).toEqual([-3, 9])
  expect(centreFrames(dcd.slice(0, 300))).toBeCloseTo(Math.sqrt(3)) // the first frame alone
  expect(centreFrames(new Uint8Array([1, 2, 3]))).toBe(0)
})

test('a topology is read by its CA atoms', () => {
  const atom = (name: string, residue: string, number: number, b: string) =>
    `ATOM      1  ${name.padEnd(3)} ${residue} A${String(number).padStart(4)}` +
    `       0.000   0.000   0.000  1.00 ${b.padStart(5)}`
  const read = (b: string) =>
    readTopology([atom('CA', 'TRP', 6, b), atom('CB', 'TRP', 6, b), atom('CA', 'LEU', 7, b)].join('\n'))
  expect(read('91.5').flat.map((f) => [f.residue.name, f.residue.number, f.residue.plddt])).toEqual([
    ['TRP', 6, 91.5],
    ['LEU', 7, 91.5],
  ])
  expect(read('0.00').flat.map((f) => f.residue.plddt)).toEqual([null, null]) // zero throughout: there is none
  const remark = 'REMARK 999 The B-factor column holds the predicted RMSD in Angstrom.\n'
  const [first] = readTopology(remark + atom('CA', 'TRP', 6, '0.50')).flat
  expect([first!.residue.plddt, first!.residue.rmsd]).toEqual([null, 0.5]) // Å are no pLDDT
})
