// The chart of a month: for each day a bar of the series on one another.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { chainColour, css } from '../plots/colour'
import { brief, dayOf, exact, isWhole, type Measure, measures, type Series, sumsOf, ticksTo } from './spent'

interface Props {
  /** Names the chart for screen readers; the table below has its values. */
  title: string
  series: Series[]
  measure: Measure
  month: string
}

const height = 220
const margin = { left: 56, right: 4, top: 8, bottom: 22 }
const narrowest = 16 // px between two days, for each to have a number

const colourOf = (i: number) => css(chainColour(i))

/** The chart, as wide as its place, with its legend. */
export function Chart({ title, series, measure, month }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(600)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.max(240, host.current!.clientWidth)))
    observer.observe(host.current!)
    return () => observer.disconnect()
  }, [])
  return (
    <figure class="plot spent">
      <div ref={host}>
        <svg width={width} height={height} role="img" aria-label={title}>
          <Bars series={series} measure={measure} month={month} width={width} />
        </svg>
      </div>
      <figcaption class="small-text">
        {series.map((s, i) => (
          <span key={s.name} class="entry">
            <span class="swatch" style={{ background: colourOf(i) }} /> {s.name}{' '}
            <span class="dim num">{exact(s.total, measure)}</span>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

/** The axes and the bars. */
function Bars({ series, measure, month, width }: Omit<Props, 'title'> & { width: number }) {
  const sums = sumsOf(series)
  const ticks = ticksTo(Math.max(0, ...sums), isWhole(measure))
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom }
  const y = (value: number) => margin.top + inner.height * (1 - value / ticks.at(-1)!)
  const step = inner.width / sums.length
  const isNumbered = (day: number) => step >= narrowest || day === 1 || day % 5 === 0
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="grid" x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} />
          <text class="tick" x={margin.left - 6} y={y(tick) + 4} text-anchor="end">
            {brief(tick, measure)}
          </text>
        </g>
      ))}
      {sums.map((sum, i) => {
        const left = margin.left + i * step
        let below = 0
        return (
          <g key={i}>
            {isNumbered(i + 1) && (
              <text class="tick" x={left + step / 2} y={height - 6} text-anchor="middle">
                {i + 1}
              </text>
            )}
            {sum > 0 && <title>{describeDay(series, i, measure, month)}</title>}
            {series.map((s, k) => {
              const value = s.values[i]!
              if (value === 0) return null
              const top = y(below + value)
              const part = (
                <rect
                  key={s.name + k}
                  x={left + step * 0.12}
                  width={step * 0.76}
                  y={top}
                  height={Math.max(0.5, y(below) - top)}
                  fill={colourOf(k)}
                />
              )
              below += value
              return part
            })}
          </g>
        )
      })}
    </>
  )
}

/** The sums of a day, for the tip of its bar. */
function describeDay(series: Series[], day: number, measure: Measure, month: string): string {
  const parts = series.filter((s) => s.values[day]! > 0).map((s) => `${s.name}: ${exact(s.values[day]!, measure)}`)
  return `${dayOf(month, day + 1)}, ${measures[measure]}\n${parts.join('\n')}`
}
