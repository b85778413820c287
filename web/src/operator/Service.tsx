// The version of the service, what it has, and its disk.
import type { DiskSpace, Overview } from '../api'
import { bytes, howLong, moment, plural } from '../format'

/** The facts about the service. */
export const Service = ({ overview: o }: { overview: Overview }) => (
  <section class="card" aria-labelledby="service-title">
    <h2 id="service-title">Service</h2>
    <dl class="facts">
      <dt>Version</dt>
      <dd>{o.version}</dd>
      <dt>Runs since</dt>
      <dd title={moment(o.startedAt)}>{howLong(o.startedAt)}</dd>
      <dt>Database</dt>
      <dd>
        {o.database === 'sqlite' ? 'SQLite' : 'PostgreSQL'}, schema {o.schemaVersion}
      </dd>
      <dt>People</dt>
      <dd>
        {plural(o.users, 'user')}, {plural(o.projects, 'shared project')}
      </dd>
      {o.disks.map((d) => (
        <Disk key={d.folder} disk={d} />
      ))}
    </dl>
  </section>
)

const Disk = ({ disk: d }: { disk: DiskSpace }) => (
  <>
    <dt>Disk</dt>
    <dd class={d.freeBytes < d.totalBytes / 20 ? 'warned' : ''}>
      {bytes(d.freeBytes)} of {bytes(d.totalBytes)} free <code class="dim id">{d.folder}</code>
    </dd>
  </>
)
