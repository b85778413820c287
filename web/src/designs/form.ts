// Shared code of the parts of the form of a design.
import type { Draft, Problems } from './draft'
import type { Target } from './target'

/** The properties of every part of the form. */
export interface FormProps {
  draft: Draft
  update(fields: Partial<Draft>): void
  /** Messages by field. */
  problems: Problems
  /** The structure of the target; see useTarget. */
  target: Target | Error | null | undefined
}

/** The chains of a target that can be named; empty: they are not known. */
export const chainsOf = (target: FormProps['target']) =>
  target && !(target instanceof Error) ? target.table.chains.filter((c) => c.kind !== 'ligand').map((c) => c.id) : []
