import type { ScoreColumn } from '../api'
import { usePen } from '../plots/canvas'
import { css, smooth } from '../plots/colour'
import { describeColumn, formatScore } from './scores'

interface Props {
  column: ScoreColumn
  /** The smallest and the largest value; null: no row has the score. */
  range: [number, number] | null
}

/** The colours of a score, from its smallest to its largest value. */
export function ScoreKey({ column, range }: Props) {
  const canvas = usePen(({ g, width, height }) => {
    for (let x = 0; x < width; x++) {
      g.fillStyle = css(smooth(x / width))
      g.fillRect(x, 0, 1, height)
    }
  }, [])
  const text = (value: number) => formatScore(value, column.unit)
  return (
    <div class="key score-key">
      <span class="num">{range ? text(range[0]) : ''}</span>
      <canvas
        ref={canvas}
        role="img"
        aria-label={range ? `Colours from dark for ${text(range[0])} to light for ${text(range[1])}` : 'No values'}
      />
      <span class="num">{range ? text(range[1]) : ''}</span>
      <span class="dim">
        {column.name}, {describeColumn(column)}
      </span>
    </div>
  )
}
