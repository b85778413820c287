// The structure of a library item, drawn. Links of other programs to a structure lead here.

import { useEffect, useState } from 'preact/hooks'
import { sameOrigin } from '../api'
import { Failure, Loading } from '../components'
import { may, withProject } from '../project'
import { colour, reset } from '../store'
import { Stage } from '../viewer/Stage'
import { designAddress } from './address'
import { readItem, type Target } from './target'
import '../result/result.css'

/** The first structure of the item with this id. */
export function Item({ id }: { id: string }) {
  const [found, setFound] = useState<Target | Error>()
  const [tries, setTries] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    reset()
    colour.value = 'chain'
    setFound(undefined)
    readItem(id, '', abort.signal).then(setFound, (e: Error) => abort.signal.aborted || setFound(e))
    return () => {
      abort.abort()
      reset()
      colour.value = 'plddt'
    }
  }, [id, tries])
  if (found instanceof Error)
    return <Failure title="The structure could not be loaded" error={found} retry={() => setTries(tries + 1)} />
  if (!found) return <Loading what="Loading the structure" />
  const target = { item: id, file: found.name }
  return (
    <>
      <div class="head">
        <h1>{found.name}</h1>
        <p class="row">
          {may('member', found.project) && (
            <>
              <a class="button quiet small" href={withProject(designAddress(target), found.project)}>
                Design a binder
              </a>
              <a
                class="button quiet small"
                href={withProject(designAddress({ ...target, mode: 'redesign' }), found.project)}
              >
                Redesign the sequence
              </a>
            </>
          )}
          <a class="button quiet small" href={sameOrigin(found.url)} download="">
            Download
          </a>
          <a href="/ui/library">Library</a>
        </p>
      </div>
      <Stage {...found} name={found.name.replace(/[^\w.-]+/g, '-')} colours={['chain', 'plddt', 'secondary', 'type']} />
    </>
  )
}
