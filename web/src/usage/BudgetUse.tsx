// The budget of a project: how much of it is used, planned and left, and who can raise it.
import type { BudgetUse as Use } from '../api'
import { moment } from '../format'
import { me } from '../project'
import { budgetParts, exact, nameOfMonth } from './spent'

interface Props {
  use: Use
  project: string
}

/** The month before a time at which the next one begins. */
const monthBefore = (resetAt: string) => nameOfMonth(new Date(Date.parse(resetAt) - 1).toISOString().slice(0, 7))

/** A bar for each unit that has a limit. */
export function BudgetUse({ use, project }: Props) {
  const hasLimit = use.gpuSeconds !== null || use.cpuSeconds !== null
  const isOperator = !!me.value?.isOperator
  const change = (
    <a href={`/ui/projects/${project}`} key="change">
      {hasLimit ? 'Change it' : 'Set one'}
    </a>
  )
  return (
    <section class="card budget" aria-labelledby="budget-title">
      <h2 id="budget-title">Budget of {monthBefore(use.resetAt)}</h2>
      {hasLimit ? (
        <>
          <Bar use={use} unit="gpu" name="GPU-seconds" />
          <Bar use={use} unit="cpu" name="CPU-seconds" />
          <p class="dim small-text">
            Planned is what waits and runs, as far as its duration can be estimated. Work that would pass the budget is
            refused until {moment(use.resetAt)}. {isOperator ? change : 'An operator of the service can raise it.'}
          </p>
        </>
      ) : (
        <p class="dim">
          No budget limits what this project may spend in a month.{' '}
          {isOperator ? change : 'An operator of the service can set one.'}
        </p>
      )}
    </section>
  )
}

/** The bar of a unit; one sentence if it has no limit. */
function Bar({ use, unit, name }: { use: Use; unit: 'gpu' | 'cpu'; name: string }) {
  const parts = budgetParts(use, unit)
  const number = (n: number) => exact(n, 'gpuSeconds')
  if (!parts)
    return (
      <p class="num quota-text">
        <strong>{number(unit === 'gpu' ? use.usedGpuSeconds : use.usedCpuSeconds)}</strong> {name} used, without a
        limit.
      </p>
    )
  const isNear = parts.left < 0.1 * parts.limit
  return (
    <>
      <div class={`budget-bar ${isNear ? 'nearly' : ''}`} aria-hidden="true">
        <i class="used" style={{ width: `${100 * parts.usedPart}%` }} />
        <i class="planned" style={{ width: `${100 * parts.plannedPart}%` }} />
      </div>
      <p class="num quota-text">
        <strong>{number(parts.used)}</strong> of {number(parts.limit)} {name} used,{' '}
        <strong>{number(parts.planned)}</strong> planned, <strong>{number(parts.left)}</strong> left.
      </p>
    </>
  )
}
