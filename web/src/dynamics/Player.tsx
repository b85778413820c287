import { useEffect, useState } from 'preact/hooks'
import { frame } from '../store'

/** Frames per second: at least 15, and a long trajectory plays in half a minute. */
const frameRate = (count: number) => Math.max(15, count / 30)

/** Plays the trajectory and moves to a frame. times: the time of each frame in ns. */
export function Player({ times }: { times: number[] }) {
  const [playing, setPlaying] = useState(false)
  const count = times.length
  useEffect(() => {
    if (!playing) return
    const firstFrame = frame.peek()
    const start = performance.now()
    // By the clock: a slow machine skips frames instead of falling behind.
    let request = requestAnimationFrame(function advance(now) {
      const seconds = Math.max(0, now - start) / 1000
      frame.value = (firstFrame + Math.floor(seconds * frameRate(count))) % count
      request = requestAnimationFrame(advance)
    })
    return () => cancelAnimationFrame(request)
  }, [playing, count])
  const time = times[frame.value]
  return (
    <div class="player" role="group" aria-label="Player">
      <button type="button" class="small" aria-pressed={playing} onClick={() => setPlaying(!playing)}>
        {playing ? 'Pause' : 'Play'}
      </button>
      <input
        type="range"
        min={0}
        max={count - 1}
        step={1}
        value={frame.value}
        aria-label="Frame"
        aria-valuetext={`${time} ns`}
        onInput={(e) => {
          setPlaying(false)
          frame.value = Number(e.currentTarget.value)
        }}
      />
      <output data-frame={frame.value}>
        {time !== undefined && `${Number(time.toPrecision(4))} ns`} · frame {frame.value + 1} of {count}
      </output>
    </div>
  )
}
