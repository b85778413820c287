import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Bounds, type Delivery, type News, type Order, Streams, type Wanted } from './streams'

// The service, as far as streams need it: each request for a stream waits in opened until the test answers it.
let server: Server
let service = ''
let user: string | null = 'ann'
let opened: Queue<{ request: IncomingMessage; response: ServerResponse }>

beforeEach(async () => {
  user = 'ann'
  opened = new Queue()
  server = createServer((request, response) => {
    if (request.url === '/v1/session') response.end(JSON.stringify({ user }))
    else opened.put({ request, response })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  service = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  vi.useRealTimers()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

/** What comes, in its order. */
class Queue<T> {
  private readonly items: T[] = []
  private readonly waiting: ((item: T) => void)[] = []

  put(item: T) {
    const next = this.waiting.shift()
    if (next) next(item)
    else this.items.push(item)
  }

  next(): Promise<T> {
    const item = this.items.shift()
    return item !== undefined ? Promise.resolve(item) : new Promise((done) => this.waiting.push(done))
  }

  get length() {
    return this.items.length
  }
}

const bounds: Bounds = { most: 4, patience: 5_000, silence: 45_000, lease: 90_000, backoff: () => 0 }
const fakeTimers = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
const project: Wanted = { path: '/v1/events', user: 'ann', shared: true }
const run = (id: string): Wanted => ({ path: `/v1/jobs/${id}/events`, user: 'ann', shared: false })

/** Opens a stream. Its news wait to be read. */
function follow(streams: Streams, wanted: Wanted) {
  const news = new Queue<News>()
  return { news, close: streams.open(wanted, (n) => news.put(n)) }
}

const state = async (from: { news: Queue<News> }) => ((await from.news.next()) as { state: string }).state

/** Answers the next request for a stream as the service does; two requests may come in any order. */
async function answer() {
  const { request, response } = await opened.next()
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  response.write(': open\n\n')
  return {
    request,
    response,
    send: (id: string, data: unknown) => response.write(`event: job\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`),
    closed: new Promise((done) => response.on('close', done)),
  }
}

test('pages of one project share one stream, which ends with the last of them', async () => {
  const streams = new Streams(service, bounds)
  const pages = Array.from({ length: 7 }, () => follow(streams, project))
  const stream = await answer()
  for (const page of pages) expect([await state(page), await state(page)]).toEqual(['opening', 'live'])
  stream.send('1', { jobId: 'a' })
  for (const page of pages) expect(await page.news.next()).toEqual({ event: 'job', data: { jobId: 'a' } })
  const late = follow(streams, project)
  expect(await state(late)).toBe('live')
  expect(opened.length).toBe(0)
  for (const page of [...pages, late]) page.close()
  await stream.closed
})

test('a stream goes on after the last event when it breaks', async () => {
  const page = follow(new Streams(service, bounds), project)
  const first = await answer()
  first.send('41', {})
  expect([await state(page), await state(page)]).toEqual(['opening', 'live'])
  await page.news.next()
  first.response.destroy()
  expect(await state(page)).toBe('reconnecting')
  const refused = await opened.next()
  refused.response.writeHead(503).end()
  const second = await answer()
  expect(second.request.headers['last-event-id']).toBe('41')
  expect(await state(page)).toBe('live')
  page.close()
})

test('a page of a proxy is no stream', async () => {
  const page = follow(new Streams(service, bounds), project)
  const { response } = await opened.next()
  response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Sign in</p>')
  expect([await state(page), await state(page)]).toEqual(['opening', 'reconnecting'])
  page.close()
})

test.each([false, true])('a stream that is held back is silent until it speaks (headers come: %s)', async (headers) => {
  fakeTimers()
  const page = follow(new Streams(service, bounds), project)
  const { response } = await opened.next()
  if (headers) response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
  vi.advanceTimersByTime(bounds.patience)
  expect([await state(page), await state(page)]).toEqual(['opening', 'silent'])
  if (!headers) response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  response.write(': open\n\n')
  expect(await state(page)).toBe('live')
  page.close()
})

test('a stream that is silent for long is opened again', async () => {
  fakeTimers()
  const waits = new Queue<number>()
  const backoff = (tries: number) => {
    waits.put(tries)
    return 1
  }
  const page = follow(new Streams(service, { ...bounds, backoff }), project)
  const held = await opened.next()
  vi.advanceTimersByTime(bounds.silence)
  await new Promise((done) => held.response.on('close', done))
  expect(await waits.next()).toBe(0)
  vi.advanceTimersByTime(1)
  const live = await answer()
  const states = [await state(page), await state(page), await state(page)]
  expect(states).toEqual(['opening', 'silent', 'live']) // and is not told to be interrupted meanwhile
  vi.advanceTimersByTime(bounds.silence)
  await live.closed
  expect(await state(page)).toBe('reconnecting')
  page.close()
})

test('streams beyond the bound wait, and that of a project goes first', async () => {
  const streams = new Streams(service, { ...bounds, most: 2 })
  const [a, b, c] = [follow(streams, run('a')), follow(streams, run('b')), follow(streams, run('c'))]
  const both = [await answer(), await answer()]
  const of = (id: string) => both.find((s) => s.request.url === run(id).path)!
  expect([await state(a), await state(a)]).toEqual(['opening', 'live'])
  expect([await state(b), await state(b)]).toEqual(['opening', 'live'])
  expect(await state(c)).toBe('waiting')
  const page = follow(streams, project)
  const third = await answer()
  expect(third.request.url).toBe(project.path)
  await of('b').closed
  expect(await state(b)).toBe('waiting')
  a.close()
  await of('a').closed
  const again = await answer()
  expect(again.request.url).toBe(run('b').path)
  expect([await state(b), await state(b)]).toEqual(['opening', 'live'])
  for (const open of [b, c, page]) open.close()
})

test('a stream that is complete leaves its place', async () => {
  const streams = new Streams(service, { ...bounds, most: 1 })
  const [a, b] = [follow(streams, run('a')), follow(streams, run('b'))]
  const { response } = await opened.next()
  response.writeHead(204).end()
  expect([await state(a), await state(a)]).toEqual(['opening', 'off'])
  await answer()
  expect([await state(b), await state(b), await state(b)]).toEqual(['waiting', 'opening', 'live'])
  b.close()
})

test('no page gets the events of another user', async () => {
  const streams = new Streams(service, bounds)
  const page = follow(streams, project)
  const hers = await answer()
  expect([await state(page), await state(page)]).toEqual(['opening', 'live'])
  user = 'ben' // has signed in, in another page
  hers.response.destroy()
  expect(await state(page)).toBe('reconnecting')
  const his = await answer() // by his cookie
  his.send('1', { jobId: 'secret' })
  await his.closed
  expect(page.news.length).toBe(0)
  const other = follow(streams, { ...project, user: 'ben' }) // is another stream
  expect(await state(other)).toBe('opening')
  page.close()
  other.close()
})

test('a page gives orders by a port, and has none when it crashes', async () => {
  const { port1, port2 } = new MessageChannel()
  const streams = new Streams(service, bounds)
  streams.serve(port2)
  const got = new Queue<Delivery>()
  port1.onmessage = ({ data }) => got.put(data)
  port1.postMessage({ id: 1, open: project } satisfies Order)
  port1.postMessage({ id: 2, open: run('a') } satisfies Order)
  const both = [await answer(), await answer()]
  expect(await got.next()).toEqual({ id: 1, state: 'opening' })
  port1.postMessage({ id: 2 } satisfies Order)
  await both.find((s) => s.request.url === run('a').path)!.closed
  port1.close()
  await both.find((s) => s.request.url === project.path)!.closed
})

test('a page that says nothing any more keeps no stream', async () => {
  const { port1, port2 } = new MessageChannel()
  new Streams(service, { ...bounds, lease: 300 }).serve(port2)
  const got = new Queue<Delivery>()
  port1.onmessage = ({ data }) => got.put(data)
  const say = () => port1.postMessage({ id: 1, open: project } satisfies Order)
  say()
  const stream = await answer()
  expect(await got.next()).toEqual({ id: 1, state: 'opening' })
  expect(await got.next()).toEqual({ id: 1, state: 'live' })
  say() // that it lives
  expect(opened.length).toBe(0) // the stream is still the same
  await stream.closed
  say() // it was only late
  await answer()
  expect(await got.next()).toEqual({ id: 1, state: 'opening' })
  port1.close()
})
