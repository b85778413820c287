// A line plot over time or residues, with one point marked.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { redrawForPrint, useTheme } from './canvas'
import { chainColour, css } from './colour'

// The distances of ticks at whole numbers.
const wholeSteps = [1, 10, 100, 1000, 10_000].flatMap((n) => [n, 2 * n, 5 * n])
// The height of the plot in px.
const height = 158

interface Props {
  title: string
  x: number[]
  y: (number | null)[]
  xLabel: string
  /** The unit of y. */
  unit: string
  /** Names a value of x, rounded, such as "12 ns". */
  describeX(x: string): string
  /** The index of the point that is marked; negative: none. */
  marked: number
  /** The number of a chain colour. */
  colour: number
  /** Called with the index of the point under the pointer, or null. */
  onPoint(index: number | null): void
}

/** The plot with its title and the value at the marked point. */
export function LinePlot(props: Props) {
  const { title, x, y, xLabel, unit, describeX, marked } = props
  const host = usePlot(props)
  const value = marked >= 0 ? y[marked] : undefined
  return (
    <figure class="plot lines">
      <figcaption>
        <strong>{title}</strong> <span class="dim small-text">{unit}</span>
        <output class="value">
          {value === undefined || value === null ? '' : `${round(value)} ${unit} at ${describeX(round(x[marked]!))}`}
        </output>
      </figcaption>
      <div class="chart" ref={host} role="img" aria-label={`${title} in ${unit} by ${xLabel}, ${x.length} values`} />
    </figure>
  )
}

/** Four significant digits without trailing zeros. */
const round = (v: number) => (Number.isInteger(v) ? String(v) : v.toPrecision(4).replace(/\.?0+$/, ''))

/** Creates the plot, again when its data or the theme change. Returns the ref of its host element. */
function usePlot({ x, y, xLabel, colour, marked, onPoint }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const settingCursor = useRef(false) // uPlot calls the hook for its own cursor changes as well
  const dark = useTheme()
  const current = useRef({ marked, onPoint })
  current.current = { marked, onPoint }
  const showMarked = (u: uPlot) => {
    const i = current.current.marked
    settingCursor.current = true
    u.setCursor(i < 0 ? { left: -10, top: -10 } : { left: u.valToPos(x[i]!, 'x'), top: 10 })
    settingCursor.current = false
  }
  useEffect(() => {
    const element = host.current!
    const options: uPlot.Options = {
      width: element.clientWidth || 300,
      height,
      scales: { x: { time: false } },
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      axes: axes(element, xLabel, x.every(Number.isInteger)),
      series: [{}, { stroke: css(chainColour(colour)), width: 1.6, points: { show: x.length < 60 } }],
      hooks: {
        ready: [showMarked], // values have positions only after the layout
        setCursor: [
          (u) => {
            if (!settingCursor.current && u.cursor.event) current.current.onPoint(u.cursor.idx ?? null)
          },
        ],
      },
    }
    const created = new uPlot(options, [x, y], element)
    plot.current = created
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth
      if (width > 0 && width !== created.width) created.setSize({ width, height })
    })
    observer.observe(element)
    const unregister = redrawForPrint(() => created.redraw(false))
    return () => {
      unregister()
      observer.disconnect()
      created.destroy()
      plot.current = null
    }
  }, [x, y, dark, xLabel])
  useEffect(() => {
    if (plot.current) showMarked(plot.current)
  }, [marked, x, y, dark])
  return host
}

/** The axes in the colours and the font of the page. Between whole numbers there are no ticks. */
function axes(element: HTMLElement, xLabel: string, whole: boolean): uPlot.Axis[] {
  const lines = { stroke: () => getComputedStyle(element.parentElement!).borderTopColor, width: 1 }
  const font = `12px ${getComputedStyle(element).fontFamily}`
  const axis = { stroke: () => getComputedStyle(element).color, grid: lines, ticks: lines, font, labelFont: font }
  return [
    { ...axis, label: xLabel, labelSize: 18, size: 32, ...(whole && { incrs: wholeSteps }) },
    { ...axis, size: 44 },
  ]
}
