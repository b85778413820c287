import { expect, test } from 'vitest'
import { chosenEvents, eventNames, eventsText } from './eventNames'

test('all events are sent as none, some by their names', () => {
  const all = Object.keys(eventNames)
  expect(chosenEvents(new Set(all))).toEqual([])
  expect(chosenEvents(new Set(['batch.on_failed', 'fold_job.on_failed']))).toEqual([
    'fold_job.on_failed',
    'batch.on_failed',
  ])
})

test('the events are said in words, unknown ones as they are', () => {
  expect(eventsText([])).toBe('All events')
  expect(eventsText(['batch.on_complete', 'later.on_end'])).toBe('Batches that complete, later.on_end')
})
