// Reads what a simulation leaves behind: which residues its beads are, and what was measured of them.
import { type Chain, Table } from '../plots/residues'

/** readBeads reads the topology: the residues, by their CA atoms. pLDDT is in the column of the B-factor, 0 throughout where there was none. */
export function readBeads(pdb: string): Table {
  const chains: Chain[] = []
  const byId = new Map<string, Chain>()
  for (const line of pdb.split('\n')) {
    if (!/^(?:ATOM  |HETATM)/.test(line) || line.slice(12, 16).trim() !== 'CA') continue // with all atoms, the others are of the same residue
    const id = line.slice(21, 22).trim()
    let chain = byId.get(id)
    if (!chain) {
      chain = { id, kind: 'protein', residues: [] }
      byId.set(id, chain)
      chains.push(chain)
    }
    chain.residues.push({
      number: Number(line.slice(22, 26)),
      name: line.slice(17, 20).trim(),
      plddt: Number(line.slice(60, 66)),
      tokens: 1,
    })
  }
  if (!chains.some((c) => c.residues.some((r) => r.plddt)))
    for (const c of chains) for (const r of c.residues) r.plddt = null
  return new Table(chains)
}

/**
 * held keeps the middle of every frame of a DCD where it is in the first, in place: a molecule drifts through its box, and would
 * leave the picture. It answers how far from the middle any atom gets, in Å. What is no DCD stays as it is; the viewer says so.
 */
export function held(dcd: Uint8Array<ArrayBuffer>): number {
  const v = new DataView(dcd.buffer, dcd.byteOffset, dcd.byteLength)
  const next = (o: number) => o + 8 + v.getUint32(o, true) // a record stands between its length and its length
  if (v.byteLength < 200 || v.getUint32(0, true) !== 84 || v.getUint32(4, true) !== 0x44524f43) return 0 // 'CORD'
  const cells = v.getUint32(48, true) !== 0
  const first: number[] = []
  let o = next(92),
    reach = 0 // after the header, the titles
  if (o + 12 > v.byteLength) return 0
  const atoms = v.getUint32(o + 4, true),
    record = 4 * atoms + 8
  o += 12
  const far = new Float64Array(Math.min(atoms, v.byteLength / 4)) // squared
  while (o + (cells ? 56 : 0) + 3 * record <= v.byteLength) {
    if (cells) o += 56
    far.fill(0)
    for (let axis = 0; axis < 3; axis++, o += record) {
      let sum = 0
      for (let k = 0; k < atoms; k++) sum += v.getFloat32(o + 4 + 4 * k, true)
      const middle = sum / atoms
      const drift = middle - (first[axis] ??= middle)
      for (let k = 0; k < atoms; k++) {
        const x = v.getFloat32(o + 4 + 4 * k, true)
        far[k]! += (x - middle) ** 2
        v.setFloat32(o + 4 + 4 * k, x - drift, true)
      }
    }
    for (const d of far) reach = Math.max(reach, d)
  }
  return Math.sqrt(reach)
}

export interface Series {
  time_ns: number[]
  rmsd_nm?: number[]
  radius_of_gyration_nm?: number[]
  end_to_end_nm?: number[]
  rmsf_nm?: number[]
}

export interface Measured {
  unit: string
  mean: number
  sd: number
  error: number | null
  min: number
  max: number
}

export interface Answer {
  artifacts: { path: string; sizeBytes: number; url: string }[]
  metrics: Record<string, unknown>
}

const titles: Record<string, string> = {
  rmsd: 'RMSD',
  rmsf: 'RMSF',
  radius_of_gyration: 'Radius of gyration',
  end_to_end: 'End-to-end distance',
}

/** measured are the metrics that have a mean, with their names in words. */
export function measured(metrics: Record<string, unknown>): [string, Measured][] {
  return Object.entries(metrics)
    .filter((e): e is [string, Measured] => typeof e[1] === 'object' && e[1] !== null && 'mean' in e[1])
    .map(([k, v]) => [titles[k] ?? k.replaceAll('_', ' '), v])
}

/** figures are the metrics that are one number, with their names in words. */
export function figures(metrics: Record<string, unknown>): [string, string][] {
  const names: Record<string, string> = {
    simulated_ns: 'Simulated',
    frames: 'Frames',
    steps: 'Steps',
    residues: 'Residues',
    restraints: 'Restraints',
    mean_temperature: 'Mean temperature',
    steps_per_second: 'Speed',
    resumed_from_step: 'Resumed from step',
  }
  const units: Record<string, string> = { simulated_ns: ' ns', mean_temperature: ' K', steps_per_second: ' steps/s' }
  return Object.entries(names)
    .filter(([k]) => typeof metrics[k] === 'number' && !(k === 'resumed_from_step' && metrics[k] === 0))
    .map(([k, title]) => [title, Number(metrics[k]).toLocaleString() + (units[k] ?? '')])
}
