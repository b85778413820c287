// Reads the results of a simulation: topology, trajectory, series and metrics. No page, no network.
import { type Chain, Table } from '../plots/residues'
import { hasRmsdInB } from '../result/structure'

/**
 * Reads the residues of a topology in PDB format by their CA atoms. The B-factor column has the pLDDT of the starting
 * structure, or what the file says that it has; zero throughout means that there is none.
 */
export function readTopology(pdb: string): Table {
  const chains = new Map<string, Chain>()
  for (const line of pdb.split('\n')) {
    // In all-atom topologies the other atoms belong to the same residues.
    if (!/^(?:ATOM {2}|HETATM)/.test(line) || line.slice(12, 16).trim() !== 'CA') continue
    const id = line.slice(21, 22).trim()
    const chain: Chain = chains.get(id) ?? { id, kind: 'protein', residues: [] }
    chains.set(id, chain)
    chain.residues.push({
      number: Number(line.slice(22, 26)),
      codes: [line.slice(26, 27).trim()],
      name: line.slice(17, 20).trim(),
      plddt: Number(line.slice(60, 66)),
      tokens: 1,
    })
  }
  const residues = [...chains.values()].flatMap((c) => c.residues)
  if (hasRmsdInB(pdb))
    for (const r of residues) {
      r.rmsd = r.plddt ?? undefined
      r.plddt = null
    }
  if (residues.every((r) => r.plddt === 0)) for (const r of residues) r.plddt = null
  return new Table([...chains.values()])
}

/** Where the frames of a DCD file begin, and their sizes in bytes. */
interface DcdLayout {
  start: number
  atoms: number
  /** Whether each frame begins with a unit cell. */
  hasCells: boolean
}

// The layout of DCD: the first four bytes after the length of the first record, and the size of a unit-cell record.
const dcdMagic = 0x44524f43 // "CORD"
const cellRecord = 56 // bytes

/** Reads the headers of a DCD file; null if it is not one. Every record is enclosed by its length, four bytes each. */
function readDcdHeader(v: DataView): DcdLayout | null {
  if (v.byteLength < 200 || v.getUint32(0, true) !== 84 || v.getUint32(4, true) !== dcdMagic) return null
  const titles = 92
  const atomCount = titles + 8 + v.getUint32(titles, true)
  if (atomCount + 12 > v.byteLength) return null
  return {
    start: atomCount + 12,
    atoms: v.getUint32(atomCount + 4, true),
    hasCells: v.getUint32(48, true) !== 0,
  }
}

/**
 * Moves every frame of a DCD file, in place, so that its centre stays where it is in the first frame: a molecule drifts
 * through its box and would leave the view. Returns the largest distance of an atom from the centre in Å. A file that
 * is not a DCD is left unchanged and gives 0; the viewer reports it.
 */
export function centreFrames(dcd: Uint8Array<ArrayBuffer>): number {
  const v = new DataView(dcd.buffer, dcd.byteOffset, dcd.byteLength)
  const layout = readDcdHeader(v)
  if (!layout) return 0
  const { atoms, hasCells } = layout
  const axisRecord = 4 * atoms + 8
  const frameBytes = (hasCells ? cellRecord : 0) + 3 * axisRecord
  const firstCentre: number[] = []
  const squaredDistances = new Float64Array(Math.min(atoms, v.byteLength / 4))
  let largest = 0
  for (let frame = layout.start; frame + frameBytes <= v.byteLength; frame += frameBytes) {
    squaredDistances.fill(0)
    for (let axis = 0; axis < 3; axis++) {
      const coordinates = frame + (hasCells ? cellRecord : 0) + axis * axisRecord + 4
      const centre = meanOf(v, coordinates, atoms)
      firstCentre[axis] ??= centre
      const drift = centre - firstCentre[axis]!
      for (let i = 0; i < atoms; i++) {
        const x = v.getFloat32(coordinates + 4 * i, true)
        squaredDistances[i]! += (x - centre) ** 2
        v.setFloat32(coordinates + 4 * i, x - drift, true)
      }
    }
    for (const d of squaredDistances) largest = Math.max(largest, d)
  }
  return Math.sqrt(largest)
}

/** The mean of count 32-bit floats from offset on. */
function meanOf(v: DataView, offset: number, count: number): number {
  let sum = 0
  for (let i = 0; i < count; i++) sum += v.getFloat32(offset + 4 * i, true)
  return sum / count
}

/** Values over time, one per frame; rmsf_nm has one per residue. */
export interface Series {
  time_ns: number[]
  rmsd_nm?: number[]
  radius_of_gyration_nm?: number[]
  end_to_end_nm?: number[]
  rmsf_nm?: number[]
}

/** The result of a simulation's task. */
export interface SimulationResult {
  artifacts: { path: string; sizeBytes: number; url: string }[]
  metrics: Record<string, unknown>
}

/** A quantity averaged over the run. error is the standard error of the mean. */
export interface Quantity {
  unit: string
  mean: number
  sd: number
  error: number | null
  min: number
  max: number
}

// The names of averaged quantities, by their key in the metrics.
const quantityNames: Record<string, string> = {
  rmsd: 'RMSD',
  rmsf: 'RMSF',
  radius_of_gyration: 'Radius of gyration',
  end_to_end: 'End-to-end distance',
}

/** The metrics that are averaged quantities, with their names. */
export function quantities(metrics: Record<string, unknown>): [name: string, quantity: Quantity][] {
  return Object.entries(metrics)
    .filter((e): e is [string, Quantity] => typeof e[1] === 'object' && e[1] !== null && 'mean' in e[1])
    .map(([key, quantity]) => [quantityNames[key] ?? key.replaceAll('_', ' '), quantity])
}

// The names and units of single numbers, by their key in the metrics.
const numberNames: Record<string, { name: string; unit: string }> = {
  simulated_ns: { name: 'Simulated time', unit: ' ns' },
  frames: { name: 'Frames', unit: '' },
  steps: { name: 'Steps', unit: '' },
  residues: { name: 'Residues', unit: '' },
  restraints: { name: 'Restraints', unit: '' },
  mean_temperature: { name: 'Mean temperature', unit: ' K' },
  steps_per_second: { name: 'Speed', unit: ' steps/s' },
  resumed_from_step: { name: 'Resumed from step', unit: '' },
}

/** The metrics that are single numbers, with their names and units. */
export function numbers(metrics: Record<string, unknown>): [name: string, value: string][] {
  return Object.entries(numberNames)
    .filter(([key]) => typeof metrics[key] === 'number' && !(key === 'resumed_from_step' && metrics[key] === 0))
    .map(([key, { name, unit }]) => [name, Number(metrics[key]).toLocaleString('en') + unit])
}
