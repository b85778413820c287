// The accounting of a month: a chart by day, the same as tables, and the budget of the project.
import { useEffect, useState } from 'preact/hooks'
import { api, type BudgetUse as Budget, type SpentTable } from '../api'
import { Empty, Failure, Loading } from '../components'
import { Segments, Select } from '../controls'
import { plural } from '../format'
import { me, project, projectId, projectName, suffices } from '../project'
import { navigate, query } from '../router'
import { Table } from '../table'
import { BudgetUse } from './BudgetUse'
import { Chart } from './Chart'
import {
  amountOf,
  boundsOf,
  dayOf,
  exact,
  firstMeasure,
  type Key,
  type Measure,
  measures,
  monthsUntil,
  nameOfMonth,
  type Series,
  seriesOf,
  sumsOf,
  totalsOf,
} from './spent'
import './usage.css'

/** The runs that count: those of the project, the user's own in it, or those of all projects of the service. */
type Whose = 'project' | 'mine' | 'all'

/** The view, which is part of the address. */
interface View {
  whose: Whose
  /** The project. */
  id: string
  /** Its name, for its members. */
  name: string
  month: string
  by: Key
  /** Empty: the first that was spent. */
  measure: Measure | ''
}

const shownMonths = 24

/** The choices that the view of an address has, with their names; the first is the default. */
interface Choices {
  whose: Partial<Record<Whose, string>>
  by: Partial<Record<Key, string>>
  months: string[]
}

const listed = (text: string | null, choices: object, fallback: string) =>
  text !== null && text in choices ? text : fallback

/** Reads the view from the address, as far as the user may see it. */
function useView(): { view: View; choices: Choices } {
  const q = query.value
  const isOperator = !!me.value?.isOperator
  const of = q.get('of') ?? projectId.value // an operator reads any project
  const member = me.value?.projects.find((p) => p.projectId === of)
  const isOwn = !!member?.isOwn
  const whoseChoices = {
    project: isOwn ? 'Your own project' : 'The project',
    ...(member && !isOwn && { mine: 'Yours' }),
    ...(isOperator && { all: 'All projects' }),
  }
  const whose = listed(q.get('whose'), whoseChoices, 'project') as Whose
  const seesPeople = isOperator || suffices(member?.role ?? null, 'manager')
  const by: Choices['by'] = {
    ...(whose === 'all' && { project: 'Project' }),
    model: 'Model',
    ...((whose === 'all' || (whose === 'project' && !isOwn && seesPeople)) && { user: 'Person' }),
  }
  const months = monthsUntil(new Date(), shownMonths)
  const wanted = q.get('month') ?? ''
  return {
    choices: { whose: whoseChoices, by, months },
    view: {
      whose,
      id: of,
      name: member ? projectName(member) : '',
      month: months.includes(wanted) ? wanted : months[0]!,
      by: listed(q.get('by'), by, Object.keys(by)[0]!) as Key,
      measure: listed(q.get('measure'), measures, '') as Measure | '',
    },
  }
}

/** Puts a choice into the address, from which the page reads it. */
function choose(name: string, value: string) {
  const q = new URLSearchParams(query.peek())
  q.set(name, value)
  navigate(`/ui/usage?${q}`, { replace: true })
}

/** The page. */
export function Usage() {
  const { view, choices } = useView()
  const { whose, id, month, by } = view
  const [read, setRead] = useState<{ table: SpentTable; budget: Budget | null } | Error>()
  const days = { ...boundsOf(month), by: `day,${by}` }
  const load = async () => {
    if (whose === 'all') return { table: await api.allUsage(days), budget: null }
    const ofProject = await api.projectUsage(id, whose === 'mine' ? {} : days)
    return { table: whose === 'mine' ? await api.ownUsage(id, days) : ofProject, budget: ofProject.budget }
  }
  const [tries, setTries] = useState(0)
  useEffect(() => {
    let gone = false
    setRead(undefined)
    if (id)
      load().then(
        (answer) => gone || setRead(answer),
        (e: Error) => gone || setRead(e),
      )
    return () => {
      gone = true
    }
  }, [whose, id, month, by, tries])
  const isOwn = whose === 'project' && id === me.value?.userId
  const of =
    whose === 'all' ? ' of all projects' : view.name && project.value?.isOwn === false ? ` of “${view.name}”` : ''
  return (
    <div class="usage">
      <div class="head">
        <div>
          <h1>Usage</h1>
          <p class="dim">
            What {whose === 'mine' || isOwn ? 'your runs' : 'the runs'}
            {of} have spent, by the days of UTC on which they ended.
          </p>
        </div>
        <a
          class="button quiet small"
          download
          href={api.usageFile(whose === 'all' ? null : id, whose === 'mine', days)}
        >
          Download CSV
        </a>
      </div>
      <div class="row filters">
        <label>
          <span class="visually-hidden">Month</span>
          <Select value={month} onValue={(m) => choose('month', m)}>
            {choices.months.map((m) => (
              <option key={m} value={m}>
                {nameOfMonth(m)}
              </option>
            ))}
          </Select>
        </label>
        <Choice label="Whose runs" options={choices.whose} value={whose} name="whose" />
        <Choice label="Told apart by" options={choices.by} value={by} name="by" />
      </div>
      {read === undefined && <Loading what="Loading the usage" />}
      {read instanceof Error && (
        <Failure title="The usage could not be loaded" error={read} retry={() => setTries(tries + 1)} />
      )}
      {read && !(read instanceof Error) && (
        <>
          {read.budget && <BudgetUse use={read.budget} project={id} />}
          <Spent view={view} table={read.table} names={choices.by} />
        </>
      )}
    </div>
  )
}

interface ChoiceProps {
  label: string
  options: Partial<Record<string, string>>
  value: string
  /** The name of the parameter in the address. */
  name: string
}

/** Buttons for a choice; nothing where there is none. */
const Choice = ({ label, options, value, name }: ChoiceProps) =>
  Object.keys(options).length < 2 ? null : (
    <Segments
      label={label}
      options={options as Record<string, string>}
      value={value}
      onValue={(v) => choose(name, v)}
    />
  )

/** The chart and the tables of a month. */
function Spent({ view, table, names }: { view: View; table: SpentTable; names: Choices['by'] }) {
  const { month, by } = view
  const { total } = table
  if (table.usage.length === 0)
    return (
      <Empty title={`Nothing was spent in ${nameOfMonth(month)}`}>
        <p>Runs count on the day on which they end.</p>
      </Empty>
    )
  const measure = view.measure || firstMeasure(total)
  const series = seriesOf(table.usage, by, measure, month)
  const unit = measures[measure]
  const what = names[by]!.toLowerCase()
  return (
    <>
      <section class="card" aria-labelledby="days-title">
        <div class="row between">
          <h2 id="days-title">
            {unit} by day <span class="dim num">{exact(amountOf(total, measure), measure)}</span>
          </h2>
          <Choice label="What is counted" options={measures} value={measure} name="measure" />
        </div>
        {series.length === 0 ? (
          <p class="dim">
            No {unit.replace(/^[A-Z](?=[a-z])/, (c) => c.toLowerCase())} in {nameOfMonth(month)}.
          </p>
        ) : (
          <>
            <Chart
              title={`${unit} by day and ${what} in ${nameOfMonth(month)}; the table below has the same values`}
              series={series}
              measure={measure}
              month={month}
            />
            <DayTable series={series} measure={measure} month={month} />
          </>
        )}
        <Unknown total={total} measure={measure} />
      </section>
      <section class="card" aria-labelledby="sums-title">
        <h2 id="sums-title">
          By {what}, in {nameOfMonth(month)}
        </h2>
        <SumTable table={table} by={by} title={names[by]!} />
      </section>
    </>
  )
}

/** The part that a measure leaves out. */
function Unknown({ total, measure }: { total: SpentTable['total']; measure: Measure }) {
  const seconds =
    measure === 'gpuSeconds' ? total.unknownGpuSeconds : measure === 'cpuSeconds' ? total.unknownCpuSeconds : 0
  if (seconds === 0) return null
  return (
    <p class="dim small-text">
      Not counted: {exact(seconds, measure)} seconds of attempts whose {measure === 'gpuSeconds' ? 'GPUs' : 'cores'} are
      not known.
    </p>
  )
}

/** The values of the chart: a row for each day that has some. */
function DayTable({ series, measure, month }: { series: Series[]; measure: Measure; month: string }) {
  const sums = sumsOf(series)
  const columns = ['Day', ...series.map((s) => s.name), 'All'].map((title, i) => ({
    title,
    class: i > 0 ? 'right' : '',
  }))
  const cell = (value: number) => (value === 0 ? <span class="dim">–</span> : exact(value, measure))
  return (
    <div class="scroll" role="region" aria-label={`${measures[measure]} of each day`} tabIndex={0}>
      <Table columns={columns}>
        {sums.map(
          (sum, i) =>
            sum > 0 && (
              <tr key={i}>
                <td class="num">{dayOf(month, i + 1)}</td>
                {series.map((s, k) => (
                  <td key={s.name + k} class="right num">
                    {cell(s.values[i]!)}
                  </td>
                ))}
                <td class="right num">
                  <strong>{cell(sum)}</strong>
                </td>
              </tr>
            ),
        )}
      </Table>
    </div>
  )
}

/** The sums of the month, of everything that is counted. */
function SumTable({ table, by, title }: { table: SpentTable; by: Key; title: string }) {
  const all = Object.entries(measures) as [Measure, string][]
  const columns = [title, ...all.map(([, name]) => ({ title: name, class: 'right' }))]
  const sums = totalsOf(table.usage, by)
  return (
    <>
      <Table class="cards" columns={columns}>
        {sums.map((sum) => (
          <tr key={sum.id}>
            <td data-label={title}>{sum.name}</td>
            {all.map(([measure, name]) => (
              <td key={measure} class="right num" data-label={name}>
                {exact(sum.spent[measure], measure)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      <p class="dim small-text">
        {plural(table.total.attempts, 'attempt')} in all: every attempt counts, also one that failed. Runs and tokens
        are those of completed runs, bytes those of their files when they ended.
      </p>
    </>
  )
}
