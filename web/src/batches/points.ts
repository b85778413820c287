// The points of a scatter plot: two scores of each row. No page, no network.
import { extent, fraction, type Row, scoreOf } from './scores'

export const margin = { left: 52, top: 8, right: 12, bottom: 38 } // px, for the axes
export const radius = 3.5 // px, of a point
const reach = 14 // px, from the pointer to a point

/** The points, and the ranges of the axes with some space around them. */
export interface Points {
  rows: Row[]
  x: number[]
  y: number[]
  colour: (number | null)[]
  xRange: [number, number]
  yRange: [number, number]
  colours: [number, number] | null
}

/** The rows that have both scores; null: none has. */
export function pointsOf(rows: Row[], x: string, y: string, colour: string): Points | null {
  const shown = rows.filter((row) => scoreOf(row, x) !== null && scoreOf(row, y) !== null)
  if (shown.length === 0) return null
  const values = (name: string) => shown.map((row) => scoreOf(row, name)!)
  const colours = shown.map((row) => scoreOf(row, colour))
  const padded = ([low, high]: [number, number]): [number, number] => {
    const space = (high - low) * 0.04 || Math.abs(high) * 0.04 || 1
    return [low - space, high + space]
  }
  const [xs, ys] = [values(x), values(y)]
  return {
    rows: shown,
    x: xs,
    y: ys,
    colour: colours,
    xRange: padded(extent(xs)!),
    yRange: padded(extent(ys)!),
    colours: extent(colours),
  }
}

/** Where points are, in px from the top left corner of a plot of a size. */
export const placesOf = ({ xRange, yRange }: Points, width: number, height: number) => ({
  x: (value: number) => margin.left + fraction(value, xRange) * (width - margin.left - margin.right),
  y: (value: number) => height - margin.bottom - fraction(value, yRange) * (height - margin.top - margin.bottom),
})

/** The index of the point that is nearest to a place within reach; -1: none is. */
export function nearest(points: Points, at: { x: number; y: number }, width: number, height: number): number {
  const places = placesOf(points, width, height)
  let best = reach * reach
  let found = -1
  for (let i = 0; i < points.x.length; i++) {
    const distance = (places.x(points.x[i]!) - at.x) ** 2 + (places.y(points.y[i]!) - at.y) ** 2
    if (distance > best) continue
    best = distance
    found = i
  }
  return found
}
