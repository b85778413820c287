// The page's end of the streams of its browser: a port of the shared worker or, without one, of the page's own streams.

import type { Delivery, News, Order, Wanted } from './streams'
import workerAddress from './streamWorker?sharedworker&url'

/** How long the worker may take to its first answer, in ms. */
const patience = 5_000

/** The time after which the page says again what it wants, in ms, so that the worker knows that it still lives. */
const renewal = 25_000

interface Subscription {
  wanted: Wanted
  reader(news: News): void
  /** Ends the wait for the worker. */
  timer: ReturnType<typeof setTimeout>
}

const subscriptions = new Map<number, Subscription>()
let port: MessagePort | undefined
let own = false // whether the port is that of the page's own streams
let renewing: ReturnType<typeof setInterval> | undefined
let count = 0

/** Subscribes to a stream. Returns the function that ends the subscription. */
export function subscribe(wanted: Wanted, reader: (news: News) => void): () => void {
  port ??= connect()
  const id = ++count
  const timer = setTimeout(openHere, patience)
  subscriptions.set(id, { wanted, reader, timer })
  send({ id, open: wanted })
  renewing ??= setInterval(sendAll, renewal)
  return () => {
    clearTimeout(timer)
    subscriptions.delete(id)
    send({ id })
    if (subscriptions.size > 0) return
    clearInterval(renewing)
    renewing = undefined
  }
}

const send = (order: Order) => port?.postMessage(order)

function sendAll() {
  for (const [id, { wanted }] of subscriptions) send({ id, open: wanted })
}

function receive({ data: { id, ...news } }: MessageEvent<Delivery>) {
  const subscription = subscriptions.get(id)
  clearTimeout(subscription?.timer)
  subscription?.reader(news)
}

/** Connects the page with the shared worker of its browser. */
function connect(): MessagePort {
  try {
    const worker = new SharedWorker(trustedAddress(), { type: 'module' })
    worker.onerror = openHere
    worker.port.onmessage = receive
    return worker.port
  } catch {
    return ownStreams() // there is none, or the browser's settings forbid it
  }
}

/** Opens the streams in the page, in place of a worker that does not answer. If it is only late, it ends its own. */
function openHere() {
  if (own) return
  for (const [id, { timer }] of subscriptions) {
    clearTimeout(timer)
    send({ id })
  }
  port?.close()
  port = ownStreams()
  sendAll()
}

function ownStreams(): MessagePort {
  own = true
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = receive
  import('./streams').then(
    ({ Streams }) => new Streams(location.origin).serve(port2),
    () => {
      // The service has gone, or a newer one has come: the page polls. The next subscription tries again.
      own = false
      port = undefined
      for (const { reader } of subscriptions.values()) reader({ state: 'reconnecting' })
    },
  )
  return port1
}

/** The address of the worker in the form in which the page's policy lets it start a script. */
function trustedAddress(): string {
  const { trustedTypes } = globalThis as {
    trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(text: string): string } }
  }
  const policy = trustedTypes?.createPolicy('worker', { createScriptURL: () => workerAddress })
  return policy?.createScriptURL('') ?? workerAddress
}
