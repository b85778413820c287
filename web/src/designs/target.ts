// The structure that a design is for: loaded for the form, and from the library for its own page.
import { useEffect, useState } from 'preact/hooks'
import { api, download } from '../api'
import { readTopology } from '../dynamics/simulation'
import type { Table } from '../plots/residues'
import { loadStructure, structuresOf } from '../result/load'
import { readCif } from '../result/structure'
import { colour, reset } from '../store'
import { structureFile } from './address'
import type { Draft } from './draft'

/** A structure to draw. */
export interface Target {
  name: string
  /** The project that owns it; null: it is not known. */
  project: string | null
  /** The page of the structure. */
  address: string
  /** The link to the file; empty: none is needed. */
  url: string
  source: { format: 'mmcif' | 'pdb'; text: string }
  table: Table
}

/** Reads a structure of a library item: the file of a name, or the first. */
export async function readItem(id: string, file: string, signal: AbortSignal): Promise<Target> {
  const item = file ? undefined : await api.item(id)
  const name = file || structureFile(item?.metadata.files ?? [])
  if (!name) throw new Error('This library item has no structure.')
  const url = await api.fileUrl(id, name)
  const text = await (await download(url, signal)).text()
  const shared = { name, url, project: item?.projectId ?? null, address: `/ui/library/${id}` }
  if (/\.(pdb|ent)$/i.test(name)) return { ...shared, source: { format: 'pdb', text }, table: readTopology(text) }
  return { ...shared, source: { format: 'mmcif', text }, table: readCif(text, new Map(), {}).table }
}

/** Reads the structure of a fold that designs are for: of its complex, or of its first sequence. */
async function readFold(job: string, run: string, signal: AbortSignal): Promise<Target> {
  const [view, results] = await Promise.all([api.job(job, run), api.results(job, run)])
  const { source, model } = await loadStructure(view, results, structuresOf(view)[0]?.sequence ?? '', signal)
  const address = `/ui/jobs/${job}${run && `?run=${run}`}`
  return { name: view.job.name, project: view.job.projectId, address, url: '', source, table: model.table }
}

/** The structure of a draft's target; undefined: it is not loaded yet, null: it is none that the page draws. */
export function useTarget({ way, target, run, file }: Draft): Target | Error | null | undefined {
  const [found, setFound] = useState<Target | Error | null>()
  const id = (way === 'sourceJobId' || way === 'libraryItemId') && target[way]?.trim()
  useEffect(() => {
    if (!id) return setFound(null)
    const abort = new AbortController()
    reset()
    colour.value = 'chain'
    setFound(undefined)
    const reading = way === 'sourceJobId' ? readFold(id, run, abort.signal) : readItem(id, file, abort.signal)
    reading.then(
      (target) => abort.signal.aborted || setFound(target),
      (e: Error) => abort.signal.aborted || setFound(e),
    )
    return () => {
      abort.abort()
      reset()
      colour.value = 'plddt'
    }
  }, [way, id, run, file])
  return found
}
