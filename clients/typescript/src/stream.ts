// Server-sent events, as the HTML standard defines them (section «Server-sent events»).

/** One event of a stream. */
export interface StreamEvent {
  /** Its name, such as state; message if the stream gives none. */
  name: string
  /** Its id, by which a stream can be resumed; empty: none. */
  id: string
  /** Its data, parsed as JSON. */
  data: unknown
}

/** A stream that is not what the service sends. */
export class StreamError extends Error {
  override name = 'StreamError'
}

/** The longest line and the most lines of an event; those of the service are far smaller. */
const longestLine = 1 << 20
const mostLines = 10_000

/** Parses a stream of server-sent events. An incomplete event at the end of the stream is dropped. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  let name = ''
  let id = ''
  let data: string[] = []
  for await (const line of readLines(body)) {
    if (line === '') {
      if (data.length > 0) yield { name: name || 'message', id, data: parse(data.join('\n')) }
      name = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    if (colon === 0) continue // a comment, which keeps the connection open
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    else if (field === 'data') data.push(value)
    else if (field === 'id') id = value
    if (data.length > mostLines) throw new StreamError(`an event has more than ${mostLines} lines`)
  }
}

/** Parses the data of an event. */
function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw new StreamError(`the data of an event is not JSON: ${data.slice(0, 80)}`, { cause })
  }
}

/** Splits a stream into lines. The reader is released, and the connection closed, when the caller stops early. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      const lines = rest.split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      if (rest.length > longestLine) throw new StreamError(`a line has more than ${longestLine} characters`)
      yield* lines
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
