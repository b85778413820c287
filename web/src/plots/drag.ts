import { useRef } from 'preact/hooks'

/**
 * Returns pointer handlers for a plot. at finds the place under the pointer; the callbacks report that the pointer is
 * over a place, that it drags from one to another, or that it clicks one.
 */
export function useDrag<P>(
  at: (e: PointerEvent) => P,
  same: (a: P, b: P) => boolean,
  on: { over(p: P | null): void; drag(from: P, to: P): void; click(p: P): void },
) {
  const start = useRef<[P] | null>(null)
  const moved = (p: P) => start.current && !same(start.current[0], p)
  return {
    onPointerDown(e: PointerEvent) {
      if (e.button !== 0) return
      ;(e.currentTarget as HTMLElement).setPointerCapture(e.pointerId)
      start.current = [at(e)]
    },
    onPointerMove(e: PointerEvent) {
      const p = at(e)
      on.over(p)
      if (moved(p)) on.drag(start.current![0], p)
    },
    onPointerUp(e: PointerEvent) {
      if (start.current && !moved(at(e))) on.click(at(e))
      start.current = null
    },
    onPointerCancel: () => (start.current = null),
    onPointerLeave: () => start.current || on.over(null),
  }
}
