// The structures of a library item, drawn. Links of other programs to a structure lead here.
import { useEffect, useState } from 'preact/hooks'
import { api, download, sameOrigin } from '../api'
import { Failure, Loading } from '../components'
import { readTopology } from '../dynamics/simulation'
import type { Table } from '../plots/residues'
import { readCif } from '../result/structure'
import { colour, reset } from '../store'
import { Stage } from '../viewer/Stage'
import { StartDesign } from './StartDesign'
import '../result/result.css'

/** A structure to draw. */
interface Drawn {
  name: string
  url: string
  source: { format: 'mmcif' | 'pdb'; text: string }
  table: Table
}

/** The first structure of the item with this id. */
export function Item({ id }: { id: string }) {
  const [found, setFound] = useState<Drawn | Error>()
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    reset()
    colour.value = 'chain'
    setFound(undefined)
    read(id, abort.signal).then(setFound, (e: Error) => abort.signal.aborted || setFound(e))
    return () => {
      abort.abort()
      reset()
      colour.value = 'plddt'
    }
  }, [id, tries])
  if (found instanceof Error)
    return <Failure title="The structure could not be loaded" error={found} retry={() => setTries(tries + 1)} />
  if (!found) return <Loading what="Loading the structure" />
  return (
    <>
      <div class="head">
        <h1>{found.name}</h1>
        <p class="row">
          <a class="button quiet small" href={sameOrigin(found.url)} download="">
            Download
          </a>
          <a href="/ui/library">Library</a>
        </p>
      </div>
      <div class="card">
        <StartDesign target={{ libraryItemId: id, fileName: found.name }} chains={[]} />
      </div>
      <Stage {...found} name={found.name.replace(/[^\w.-]+/g, '-')} colours={['chain', 'plddt', 'secondary', 'type']} />
    </>
  )
}

/** Reads the first structure of an item. */
async function read(id: string, signal: AbortSignal): Promise<Drawn> {
  const files = (await api.item(id)).metadata.files ?? []
  const name = files.find((f) => /\.(cif|mmcif|pdb|ent)$/i.test(f.file_name))?.file_name
  if (!name) throw new Error('This library item has no structure.')
  const url = await api.fileUrl(id, name)
  const text = await (await download(url, signal)).text()
  if (/\.(pdb|ent)$/i.test(name)) return { name, url, source: { format: 'pdb', text }, table: readTopology(text) }
  return { name, url, source: { format: 'mmcif', text }, table: readCif(text, new Map(), {}).table }
}
