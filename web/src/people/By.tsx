// Who made a job, batch or workflow, and the choice of a list between everybody's and one's own.
import type { Creator } from '../api'
import { Segments } from '../controls'
import { me, project } from '../project'

/** Whether several people may work in the chosen project, so that it matters who made what. */
export const isShared = () => project.value?.isOwn === false

/** The name of who made something; empty for a reader who may not know. */
export const creatorName = (by: Creator | null) =>
  !by ? '' : by.id === me.value?.userId ? 'you' : (by.name ?? 'a deleted user')

/** The cell of a list that names who made the row. Its column is of shared projects alone. */
export const ByCell = ({ by }: { by: Creator | null }) => <td class="dim wide-only by">{creatorName(by)}</td>

/** The column of these cells, if there is one. */
export const byColumn = (shared: boolean) => (shared ? [{ title: 'By', class: 'wide-only by' }] : [])

const choices = { '': 'Everybody’s', me: 'Mine' }

/** The choice, in shared projects alone. */
export const MineFilter = ({ value, onValue }: { value: string; onValue(value: string): void }) =>
  isShared() ? <Segments label="Made by" options={choices} value={value} onValue={onValue} /> : null
