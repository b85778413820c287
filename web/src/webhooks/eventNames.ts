// The events that an endpoint may choose.

/** The events, as the service names them, with what the page calls them. */
export const eventNames: Record<string, string> = {
  'fold_job.on_complete': 'Folds that complete',
  'fold_job.on_failed': 'Folds that fail or are stopped',
  'workflow.on_complete': 'Workflows that complete',
  'workflow.on_failed': 'Workflows that fail or are stopped',
  'batch.on_complete': 'Batches that complete',
  'batch.on_failed': 'Batches that fail or are stopped',
}

/** The events of an endpoint in words; none means all. */
export const eventsText = (events: string[]) =>
  events.length === 0 ? 'All events' : events.map((e) => eventNames[e] ?? e).join(', ')

/** The events for a request, from those that are checked: all of them are sent as none, which includes later kinds. */
export const chosenEvents = (checked: ReadonlySet<string>) => {
  const events = Object.keys(eventNames).filter((e) => checked.has(e))
  return events.length === Object.keys(eventNames).length ? [] : events
}
