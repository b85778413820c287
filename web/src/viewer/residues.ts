// Residues as Mol* knows them, and as the page does: by the chain's name and the residue's number. Only this file and
// viewer.ts know Mol*.

import { QualityAssessmentProvider } from 'molstar/lib/extensions/model-archive/quality-assessment/prop.js'
import { type OrderedSet, SortedArray } from 'molstar/lib/mol-data/int.js'
import { Bond, type Structure, StructureElement, StructureProperties, Unit } from 'molstar/lib/mol-model/structure.js'
import type { Residue, Stretch } from '../store'

/** A key for maps of residues. */
export const key = (r: Residue) => `${r.chain}|${r.residue}`

/** The residue of a Mol* location. */
export function residueAt(location: StructureElement.Location): Residue {
  return {
    chain: StructureProperties.chain.auth_asym_id(location),
    residue: StructureProperties.residue.auth_seq_id(location),
  }
}

/** The first residue of a Mol* selection; null: it has none. */
export function residueOf(loci: unknown): Residue | null {
  const l = loci as { kind?: string }
  const element = l.kind === 'bond-loci' ? Bond.toFirstStructureElementLoci(loci as Bond.Loci) : loci
  if (!StructureElement.Loci.is(element)) return null
  const first = StructureElement.Loci.getFirstLocation(element)
  return first ? residueAt(first) : null
}

/** The pLDDT at a location: the quality metric of the file, else the B-factor. */
export function plddt(at: StructureElement.Location): number | undefined {
  if (!Unit.isAtomic(at.unit)) return undefined
  const residue = at.unit.model.atomicHierarchy.residueAtomSegments.index[at.element]!
  const v = QualityAssessmentProvider.get(at.unit.model).value?.pLDDT?.get(residue) ?? bFactor(at)
  return v === undefined || v < 0 ? undefined : v
}

/** The B-factor at a location. */
export const bFactor = (at: StructureElement.Location): number | undefined =>
  Unit.isAtomic(at.unit) ? at.unit.model.atomicConformation.B_iso_or_equiv.value(at.element) : undefined

/** The Mol* selection of some stretches. */
export function lociOf(structure: Structure, stretches: Stretch[]): StructureElement.Loci {
  const elements: { unit: Unit; indices: OrderedSet<StructureElement.UnitIndex> }[] = []
  const at = StructureElement.Location.create(structure)
  for (const unit of structure.units) {
    if (!Unit.isAtomic(unit)) continue
    at.unit = unit
    const found: number[] = []
    let residue = -1
    let inside = false
    for (let i = 0; i < unit.elements.length; i++) {
      at.element = unit.elements[i]!
      const r = unit.residueIndex[at.element]!
      if (r !== residue) {
        residue = r
        const p = residueAt(at)
        inside = stretches.some((s) => s.chain === p.chain && p.residue >= s.from && p.residue <= s.to)
      }
      if (inside) found.push(i)
    }
    if (found.length > 0)
      elements.push({
        unit,
        indices: SortedArray.ofSortedArray(found) as unknown as OrderedSet<StructureElement.UnitIndex>,
      })
  }
  return StructureElement.Loci(structure, elements)
}
