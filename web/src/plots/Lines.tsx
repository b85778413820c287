// A line over time or over residues. The pointer's place on it is told, and a place that is told is drawn.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useTheme } from './canvas'
import { chainColour, css } from './colour'

const height = 158

interface Props {
  title: string
  x: number[]
  y: (number | null)[]
  xLabel: string
  unit: string
  place: 'ns' | 'residue' // what a value of x is
  at: number // the place that is marked, from 0; negative: none
  colour: number
  onPoint(i: number | null): void
}

export function Lines({ title, x, y, xLabel, unit, place, at, colour, onPoint }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const told = useRef(onPoint)
  told.current = onPoint
  const marked = useRef(at)
  marked.current = at
  const dark = useTheme()
  useEffect(() => {
    const element = host.current!
    const style = getComputedStyle(element)
    const ink = style.color
    const line = getComputedStyle(element.parentElement!).borderTopColor
    let mine = false // setting the cursor calls back
    const axis = {
      stroke: ink,
      grid: { stroke: line, width: 1 },
      ticks: { stroke: line, width: 1 },
      font: `12px ${style.fontFamily}`,
      labelFont: `12px ${style.fontFamily}`,
    }
    const plot = new uPlot(
      {
        width: element.clientWidth || 300,
        height,
        scales: { x: { time: false } },
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
        axes: [
          { ...axis, label: xLabel, labelSize: 18, size: 32 },
          { ...axis, size: 44 },
        ],
        series: [{}, { stroke: css(chainColour(colour)), width: 1.6, points: { show: x.length < 60 } }],
        hooks: {
          ready: [() => show(marked.current)], // before it is laid out, no value has a place
          setCursor: [
            (u) => {
              if (!mine && u.cursor.event) told.current(u.cursor.idx ?? null)
            },
          ],
        },
      },
      [x, y],
      element,
    )
    const show = (i: number) => {
      mine = true
      plot.setCursor(i < 0 ? { left: -10, top: -10 } : { left: plot.valToPos(x[i]!, 'x'), top: 10 })
      mine = false
    }
    chart.current = plot
    Object.assign(plot, { show })
    const watch = new ResizeObserver(() => {
      if (element.clientWidth > 0 && element.clientWidth !== plot.width)
        plot.setSize({ width: element.clientWidth, height })
    })
    watch.observe(element)
    return () => {
      watch.disconnect()
      plot.destroy()
      chart.current = null
    }
  }, [x, y, dark, xLabel])
  useEffect(() => {
    const plot = chart.current as (uPlot & { show(i: number): void }) | null
    plot?.show(at)
  }, [at, x, y, dark])
  const value = at >= 0 ? y[at] : undefined
  return (
    <figure class="plot lines">
      <figcaption>
        <strong>{title}</strong>
        <output class="value">
          {value === undefined || value === null
            ? ''
            : `${round(value)} ${unit} at ${place === 'ns' ? `${round(x[at]!)} ns` : `${place} ${x[at]}`}`}
        </output>
      </figcaption>
      <div class="chart" ref={host} role="img" aria-label={`${title} in ${unit} by ${xLabel}, ${x.length} values`} />
    </figure>
  )
}

const round = (v: number) => (Number.isInteger(v) ? String(v) : v.toPrecision(4).replace(/\.?0+$/, ''))
