// How long each stage of a run took: one bar, and a table of the same times.
import { Fragment } from 'preact'
import type { JobView } from '../api'
import { Table } from '../table'
import { describeTimes, share, span, type Times, timesOf } from './timings'
import './timings.css'

/** The times of a run that has ended; nothing if none is known. */
export function Timings({ run }: { run: JobView['run'] }) {
  const times = timesOf(run)
  if (times.stages.length === 0) return null
  return (
    <section class="card timings" aria-labelledby="timings-title" data-timings="">
      <h2 id="timings-title">
        Time {times.total !== null && <span class="dim num">{span(times.total)} from creation to end</span>}
      </h2>
      {run.cached && (
        <p class="dim">The model did not run: these are the times of reading and writing its stored results.</p>
      )}
      <Bar times={times} />
      <TimesTable times={times} />
    </section>
  )
}

/** One stretch a stage. The lengths are in proportion, except that a short stage stays visible. */
const Bar = ({ times }: { times: Times }) => (
  <div class="times" role="img" aria-label={describeTimes(times)}>
    {times.stages.map(({ name, title, seconds }) => (
      <span key={name} class={`stretch ${name}`} style={{ flexGrow: seconds }} title={`${title}: ${span(seconds)}`} />
    ))}
  </div>
)

/** The stages and their parts, with their shares of all stages. */
function TimesTable({ times }: { times: Times }) {
  const all = times.stages.reduce((seconds, stage) => seconds + stage.seconds, 0)
  return (
    <Table class="stages" columns={['Stage', { title: 'Time', class: 'right' }, { title: 'Share', class: 'right' }]}>
      {times.stages.map(({ name, title, seconds, parts }) => (
        <Fragment key={name}>
          <tr data-stage={name}>
            <td>
              <span class={`stretch ${name}`} aria-hidden="true" /> {title}
            </td>
            <td class="right num">{span(seconds)}</td>
            <td class="right num">{share(seconds, all)}</td>
          </tr>
          {parts.map((part) => (
            <tr key={part.name} class="part dim">
              <td>{part.title}</td>
              <td class="right num">{span(part.seconds)}</td>
              <td />
            </tr>
          ))}
        </Fragment>
      ))}
    </Table>
  )
}
