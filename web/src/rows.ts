// Which rows of a long table are in the document: those on the screen and some around them. Rows have any height.

/** The heights of rows in px: as measured, else that of the average row measured first. */
export class RowHeights {
  private readonly known = new Map<string, number>()
  private average = 48 // until rows have been measured
  private measured = false
  private last?: { ids: string[]; tops: Float64Array }

  /** Notes measured heights by row. */
  measure(heights: [id: string, height: number][]) {
    // The average of the first rows stays: with another, all rows below would move.
    if (!this.measured && heights.length > 0) {
      this.average = heights.reduce((sum, [, height]) => sum + height, 0) / heights.length
      this.measured = true
      this.last = undefined
    }
    for (const [id, height] of heights) {
      // Where all rows have one height, the offsets stay, which take a while to add up for a long table.
      if (Math.abs((this.known.get(id) ?? this.average) - height) < 0.5) continue
      this.known.set(id, height)
      this.last = undefined
    }
  }

  /** The offsets of the tops of rows from that of the first, and of the end of the last. */
  tops(ids: string[]): Float64Array {
    if (this.last?.ids === ids) return this.last.tops
    const tops = new Float64Array(ids.length + 1)
    for (let i = 0; i < ids.length; i++) tops[i + 1] = tops[i]! + (this.known.get(ids[i]!) ?? this.average)
    this.last = { ids, tops }
    return tops
  }

  /** Forgets all heights, as when the width of the table has changed. */
  clear() {
    this.known.clear()
    this.measured = false
    this.last = undefined
  }
}

/** Rows from first on, without end. */
export interface Range {
  first: number
  end: number
}

/** The rows between two offsets, given the tops of all. */
export function rowsBetween(tops: Float64Array, from: number, to: number): Range {
  const count = tops.length - 1
  const first = Math.max(0, search(tops, from) - 1)
  return { first: Math.min(first, Math.max(0, count - 1)), end: Math.min(count, Math.max(search(tops, to), 1)) }
}

/** The index of the first offset greater than a value. */
function search(tops: Float64Array, value: number): number {
  let low = 0
  let high = tops.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (tops[middle]! > value) high = middle
    else low = middle + 1
  }
  return low
}

/** Whether a range contains another. */
const contains = (outer: Range, inner: Range) => outer.first <= inner.first && inner.end <= outer.end

/**
 * The range to put into the document next: what is needed at once, because it is on the screen, or else a step towards
 * the target, which has room around it. A frame has time for a few new rows only.
 */
export function nextRange(shown: Range, needed: Range, target: Range, step: number): Range {
  if (shown.end <= needed.first || needed.end <= shown.first) return needed
  const grown = contains(shown, needed) ? step : 0
  return {
    first: Math.max(target.first, Math.min(shown.first, needed.first) - grown),
    end: Math.min(target.end, Math.max(shown.end, needed.end) + grown),
  }
}
