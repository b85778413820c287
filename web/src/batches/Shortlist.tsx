// The rows that the user has put aside, which are part of the address.
import { compareAddress, maxCompared } from '../compare/address'
import { plural } from '../format'
import { navigate } from '../router'
import { maxShortlist, type View } from './address'
import type { Row } from './scores'

interface Props {
  rows: Row[]
  view: View
  change(fields: Partial<View>): void
}

/** The actions for the shortlist. */
export function Shortlist({ rows, view, change }: Props) {
  const { shortlist, onlyShortlist } = view
  const jobs = rows.filter((row) => shortlist.includes(row.row)).flatMap((row) => row.jobId ?? [])
  return (
    <section class="row card chosen" aria-label="Shortlist" data-shortlist={shortlist.join()}>
      <span class="grow">
        {plural(shortlist.length, 'row')} in the shortlist
        {shortlist.length === maxShortlist && <span class="dim">, which is full</span>}
      </span>
      <button
        type="button"
        class="quiet small"
        aria-pressed={onlyShortlist}
        title="The table, the plots and the downloads have these rows alone"
        onClick={() => change({ onlyShortlist: !onlyShortlist })}
      >
        Show only these
      </button>
      <button
        type="button"
        class="quiet small"
        disabled={jobs.length < 2 || jobs.length > maxCompared}
        title={`2 to ${maxCompared} rows that are shown`}
        onClick={() => navigate(compareAddress([...new Set(jobs)]))}
      >
        Compare
      </button>
      <button type="button" class="bare" onClick={() => change({ shortlist: [], onlyShortlist: false })}>
        Clear
      </button>
    </section>
  )
}
