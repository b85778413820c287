// Canvases in the resolution of the screen, redrawn when their size, their data or the theme change.

import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** A canvas to draw on. Sizes are in CSS pixels. */
export interface Pen {
  g: CanvasRenderingContext2D
  width: number
  height: number
  ink: string
  dim: string
  line: string
}

/** Returns the ref of a canvas that draw fills, again when deps change. */
export function usePen(draw: (pen: Pen) => void, deps: unknown[]): RefObject<HTMLCanvasElement | null> {
  const ref = useRef<HTMLCanvasElement>(null)
  const size = useSize(ref)
  const theme = useTheme()
  useEffect(() => {
    const canvas = ref.current
    if (!canvas || size.width === 0 || size.height === 0) return
    const ratio = window.devicePixelRatio || 1
    const width = Math.round(size.width * ratio)
    const height = Math.round(size.height * ratio)
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width
      canvas.height = height
    }
    const g = canvas.getContext('2d')
    if (!g) return
    const redraw = () => {
      const style = getComputedStyle(canvas)
      g.setTransform(ratio, 0, 0, ratio, 0, 0)
      g.clearRect(0, 0, size.width, size.height)
      g.font = `12px ${style.fontFamily}`
      draw({
        g,
        width: size.width,
        height: size.height,
        ink: colourOf('--ink'),
        dim: colourOf('--dim'),
        line: colourOf('--line'),
      })
      canvas.dataset.drawn = String(Number(canvas.dataset.drawn ?? 0) + 1)
    }
    redraw()
    // Chromium prints a canvas that is drawn now on white, so one that lies on another stays as it is.
    return canvas.classList.contains('over') ? undefined : redrawForPrint(redraw)
  }, [size.width, size.height, theme, ...deps])
  return ref
}

/** The size of an element in px, again whenever it changes. */
function useSize(ref: RefObject<HTMLElement | null>) {
  const [size, set] = useState({ width: 0, height: 0 })
  useEffect(() => {
    const element = ref.current!
    const measure = () =>
      set((old) =>
        old.width === element.clientWidth && old.height === element.clientHeight
          ? old
          : { width: element.clientWidth, height: element.clientHeight },
      )
    const watch = new ResizeObserver(measure)
    watch.observe(element)
    measure()
    return () => watch.disconnect()
  }, [])
  return size
}

const redraws = new Set<() => void>()

/** Calls redraw in light colours before the page is printed, and again afterwards. Returns the function that ends it. */
export function redrawForPrint(redraw: () => void): () => void {
  redraws.add(redraw)
  return () => redraws.delete(redraw)
}

// The browser prints what is drawn when its event ends: a new theme would be drawn too late.
for (const [event, printing] of [
  ['beforeprint', true],
  ['afterprint', false],
] as const)
  addEventListener(event, () => {
    document.documentElement.classList.toggle('printing', printing)
    for (const redraw of redraws) redraw()
  })

const darkTheme = matchMedia('screen and (prefers-color-scheme: dark)')

/** Reports whether the page is dark, and renders again when that changes. Paper is light. */
export function useTheme(): boolean {
  const [dark, set] = useState(darkTheme.matches)
  useEffect(() => {
    const update = () => set(darkTheme.matches)
    darkTheme.addEventListener('change', update)
    return () => darkTheme.removeEventListener('change', update)
  }, [])
  return dark
}

/** Resolves a CSS variable, by a hidden element: a canvas does not understand light-dark(). */
function colourOf(name: string): string {
  probe ??= document.body.appendChild(Object.assign(document.createElement('i'), { hidden: true }))
  probe.style.color = `var(${name})`
  return getComputedStyle(probe).color
}

// The element in which the browser computes the colours of the style sheet.
let probe: HTMLElement | undefined

/** Returns round numbers from low to high, about as many as wanted. */
export function ticks(low: number, high: number, wanted: number): number[] {
  const span = Math.max(high - low, 1e-9)
  const rough = span / Math.max(1, wanted)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough)!
  const values: number[] = []
  for (let v = Math.ceil(low / step) * step; v <= high + 1e-9; v += step) values.push(Number(v.toFixed(10)))
  return values
}
