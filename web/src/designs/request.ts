// What the form of a design asks for, as the workflow_input of the service. No page, no network.
import type { Model } from '../api'

/** What is made: binders of a target, or other sequences for a backbone. */
export type Task = 'binder' | 'sequence'

/** The texts of the form. Empty: the service's default. */
export interface DesignRequest {
  task: Task
  /** Residues by chain, such as A: 3-9, 12. */
  epitope: string
  avoid: string
  kind: string
  length: string
  /** The binder's sequence with designed parts, instead of a length. */
  sequence: string
  cyclic: boolean
  /** Chains, or residues of them. */
  redesign: string
  temperature: string
  model: string
  designs: string
  keep: string
  seed: string
}

export const emptyRequest: DesignRequest = {
  task: 'binder',
  epitope: '',
  avoid: '',
  kind: 'protein',
  length: '',
  sequence: '',
  cyclic: false,
  redesign: '',
  temperature: '',
  model: '',
  designs: '50',
  keep: '5',
  seed: '',
}

/** Residues of a chain; of the whole chain if there is no res_idx. */
export interface ChainResidues {
  chain_id: string
  res_idx?: number[]
}

// More residues than this are more than the service takes.
const mostResidues = 5000

/**
 * Reads residues by chain, one chain a line or behind a semicolon: A: 3-9, 12. Whole: a chain alone stands for all of it.
 * Throws an error with a sentence.
 */
export function readResidues(text: string, whole = false): ChainResidues[] {
  const lines = text.split(/[;\n]/).map((line) => line.trim())
  return lines.filter(Boolean).map((line) => {
    const [chain = '', list, ...rest] = line.split(':').map((part) => part.trim())
    const wrong = new Error(`“${line}” must be a chain and positions of residues, such as A: 3-9, 12.`)
    if (!chain || rest.length > 0) throw wrong
    if (list === undefined) {
      if (!whole) throw wrong
      return { chain_id: chain }
    }
    const positions: number[] = []
    for (const part of list.split(',')) {
      const [, first, last] = /^\s*(\d{1,6})\s*(?:[-–]\s*(\d{1,6}))?\s*$/.exec(part) ?? []
      if (!first) throw wrong
      const [from, to] = [Number(first), Number(last ?? first)]
      if (to < from || positions.length + to - from >= mostResidues) throw wrong
      for (let n = from; n <= to; n++) positions.push(n)
    }
    return { chain_id: chain, res_idx: positions }
  })
}

/** The workflow_input of a request for a target. Throws an error with a sentence. */
export function designInput(request: DesignRequest, target: Record<string, string>): Record<string, unknown> {
  const input: Record<string, unknown> = {
    target,
    numDesigns: Number(request.designs),
    budget: Number(request.keep),
    ...(request.seed.trim() && { seed: request.seed.trim() }),
    ...(request.model && { modelName: request.model }),
  }
  if (request.task === 'sequence') {
    return {
      ...input,
      protocol: 'sequence_only',
      redesign: readResidues(request.redesign, true),
      ...(request.temperature.trim() && { temperature: Number(request.temperature) }),
    }
  }
  const [epitope, avoid] = [readResidues(request.epitope), readResidues(request.avoid)]
  return {
    ...input,
    ...(epitope.length > 0 && { epitope }),
    ...(avoid.length > 0 && { avoid }),
    binder: {
      kind: request.kind,
      ...(request.cyclic && { cyclic: true }),
      ...(request.sequence.trim()
        ? { sequence: request.sequence.trim() }
        : request.length.trim() && { length: request.length.trim() }),
    },
  }
}

/** The models that can do a task, in the order of the service. */
export const designModels = (models: Model[], task: Task): Model[] =>
  models.filter((m) => m.kind === 'design' && m.features.includes('sequence_only') === (task === 'sequence'))

/** What to install where no model can do a task. */
export const engineFor: Record<Task, string> = { binder: 'boltzgen', sequence: 'proteinmpnn' }
