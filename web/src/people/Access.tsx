// The readers of a job, batch or workflow, for its head: the switch that makes it public, links, and its project.
import { useState } from 'preact/hooks'
import type { Creator, Shared } from '../api'
import { creatorName, may, namedProject, projectName, projects, suffices } from '../project'
import { PublicSwitch } from '../result/PublicSwitch'
import { Move } from './Move'
import { Share } from './Share'

/** An object of a project, as the service describes it to the reader. */
interface Owned {
  isOwner?: boolean
  is_owner?: boolean
  projectId: string | null
  createdBy: Creator | null
}

interface Props {
  of: Owned
  kind: Shared
  id: string
  isPublic: boolean
  setPublic(isPublic: boolean): Promise<unknown>
  /** The word for it in texts. */
  what: string
  /** Reads it again after a move. */
  reload(): unknown
}

/** The switch and the buttons. Batches cannot be moved. */
export function Access({ of, kind, id, isPublic, setPublic, what, reload }: Props) {
  const [open, setOpen] = useState<'' | 'share' | 'move'>('')
  const owner = namedProject(of.projectId)
  const readers = owner && !owner.isOwn ? `only members of “${owner.name}” can see this ${what}` : undefined
  const isMovable = kind !== 'batches' && projects.value.filter((p) => suffices(p.role, 'member')).length > 1
  const close = () => setOpen('')
  return (
    <>
      <div class="row">
        <PublicSwitch isPublic={isPublic} setPublic={setPublic} what={what} readers={readers} />
        <button type="button" class="quiet small" onClick={() => setOpen('share')}>
          Share…
        </button>
        {isMovable && (
          <button type="button" class="quiet small" onClick={() => setOpen('move')}>
            Move to project…
          </button>
        )}
      </div>
      {open === 'share' && <Share kind={kind} id={id} what={what} close={close} />}
      {open === 'move' && kind !== 'batches' && (
        <Move kind={kind} id={id} what={what} from={of.projectId} moved={reload} close={close} />
      )}
    </>
  )
}

/** For the line below a title: the project of those with several and who made it, or by what others read. */
export function Belongs({ of, isPublic }: { of: Owned; isPublic: boolean }) {
  if (!(of.isOwner ?? of.is_owner)) return <>{isPublic ? ' · public' : ' · shared with you by a link'}</>
  const owner = namedProject(of.projectId)
  const isViewer = !may('member', of.projectId)
  if (!owner) return isViewer ? <> · you are a viewer of its project</> : null // with a key that reaches one project
  return (
    <>
      {' · '}
      {owner.isOwn ? (
        projectName(owner)
      ) : (
        <>
          in <a href={`/ui/projects/${owner.projectId}`}>{owner.name}</a>
          {of.createdBy && `, by ${creatorName(of.createdBy)}`}
        </>
      )}
      {isViewer && ', where you are a viewer'}
    </>
  )
}
