// Against a real server: scripts/with-server sets PLEAT_URL and PLEAT_KEY.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createPleat, dataOf, type Event, ServiceError } from '../src/index.js'

const url = process.env.PLEAT_URL
const key = process.env.PLEAT_KEY
if (!url || !key) throw new Error('PLEAT_URL and PLEAT_KEY are not set')

const pleat = createPleat({ url, key })
const trpCage = (name: string) => ({
  name,
  sequences: [{ proteinChain: { sequence: 'DAYAQWLKDGGPSSGRPPPS' } }],
  params: { modelName: 'mini', seed: '1' },
})

test('a job is created, followed to its end and read', async () => {
  const { jobId } = await dataOf(pleat.POST('/v1/jobs', { body: trpCage('Trp-cage') }))
  const states: string[] = []
  const job = await pleat.wait('jobs', jobId, {
    onEvent: ({ name, data }) => {
      if (name === 'state') states.push((data as Event).state ?? '')
    },
  })
  assert.equal(job.job.status, 'COMPLETED')
  assert.equal(states.at(-1), 'COMPLETED')
  const results = await dataOf(pleat.GET('/v1/jobs/{id}/results', { params: { path: { id: jobId } } }))
  assert.ok((results.predictionPayload?.meanPLLDT ?? 0) > 0)
  const cif = results.artifacts.find((a) => a.kind === 'cif')
  assert.match(await (await fetch(cif?.url ?? '')).text(), /^data_/)
})

test('a stream resumes after the event that was received last', async () => {
  const { jobId } = await dataOf(pleat.POST('/v1/jobs', { body: trpCage('resumed') }))
  await pleat.wait('jobs', jobId)
  const all: string[] = []
  for await (const event of pleat.events('jobs', jobId)) all.push(event.id)
  const rest: string[] = []
  for await (const event of pleat.events('jobs', jobId, { lastEventId: all[0] ?? '' })) rest.push(event.id)
  assert.deepEqual(rest, all.slice(1))
  for await (const event of pleat.events('jobs', jobId, { lastEventId: all.at(-1) ?? '' })) assert.fail(event.id)
})

test('a batch is waited for', async () => {
  const { batchId } = await dataOf(
    pleat.POST('/v1/batches', {
      body: {
        name: 'variants',
        kind: 'variants',
        sequences: [{ proteinChain: { sequence: 'DAYAQWLKDGGPSSGRPPPS' } }],
        mutations: ['WT', 'W6F'],
        params: { modelName: 'mini', seed: '1' },
      },
    }),
  )
  const batch = await pleat.wait('batches', batchId)
  assert.deepEqual(batch.counts, { COMPLETED: 2 })
})

test('changes of all jobs are streamed until the caller leaves', async () => {
  const stop = new AbortController()
  let opened = () => {}
  const open = new Promise<void>((resolve) => (opened = resolve))
  const watching = createPleat({
    url,
    key,
    fetch: async (request) => {
      const response = await fetch(request)
      opened()
      return response
    },
  })
  const changes = watching.changes({ signal: stop.signal })
  try {
    const first = changes.next()
    await open // a change before it would not come
    const { jobId } = await dataOf(pleat.POST('/v1/jobs', { body: trpCage('changed') }))
    for (let change = (await first).value; change?.jobId !== jobId; change = (await changes.next()).value);
  } finally {
    stop.abort() // an open stream would keep the process
  }
  await assert.rejects(changes.next(), { name: 'AbortError' })
})

test('a refusal is an error in the words of the service', async () => {
  const body = { ...trpCage('x'), sequences: [{ proteinChain: { sequence: 'DAYAQ1' } }] }
  const error = await pleat.POST('/v1/jobs', { body }).catch((e: unknown) => e)
  assert.ok(error instanceof ServiceError)
  assert.equal(error.status, 400)
  assert.match(error.message, /sequences\[0\]/)
  const stranger = createPleat({ url })
  await assert.rejects(stranger.GET('/v1/jobs'), { status: 401 })
})

test('a service that cannot be reached is an error with status 0', async () => {
  const lost = createPleat({ url: 'http://127.0.0.1:1', retries: 0 })
  await assert.rejects(lost.GET('/v1/models'), { name: 'ServiceError', status: 0 })
})

/** Runs a test with a server that answers in the way of the test. */
async function withServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  use: (url: string) => Promise<void>,
) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('a busy service is asked again with the same idempotency key', async () => {
  const keys: unknown[] = []
  await withServer(
    (request, response) => {
      keys.push(request.headers['idempotency-key'])
      request.resume()
      if (keys.length < 3) response.writeHead(503, { 'Retry-After': '0.01' }).end('{"message":"later"}')
      else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"jobId":"x","jobRunId":"y"}')
    },
    async (busy) => {
      const { jobId } = await dataOf(createPleat({ url: busy }).POST('/v1/jobs', { body: trpCage('x') }))
      assert.equal(jobId, 'x')
    },
  )
  assert.equal(keys.length, 3)
  assert.equal(new Set(keys).size, 1)
})

test('a creation that the service cannot recognise again is sent once', async () => {
  let requests = 0
  await withServer(
    (request, response) => {
      requests++
      request.resume()
      response.writeHead(503, { 'Retry-After': '0.01' }).end('{"message":"later"}')
    },
    async (busy) => {
      const body = { sequences: ['GSGSGS'] }
      await assert.rejects(createPleat({ url: busy }).POST('/v1/alignments', { body }), {
        status: 503,
        message: 'later',
      })
    },
  )
  assert.equal(requests, 1)
})

test('an interrupted stream is opened again after the event that was received last', async () => {
  const asked: unknown[] = []
  await withServer(
    (request, response) => {
      asked.push(request.headers['last-event-id'])
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      if (asked.length > 1) response.end('id: 2\nevent: state\ndata: {"state":\ndata: "COMPLETED"}\n\n')
      else response.write(': here\n\nid: 1\r\nevent: stage\r\ndata: {}\r\n\r\nid: 7\nda', () => response.destroy())
    },
    async (flaky) => {
      const ids: string[] = []
      for await (const event of createPleat({ url: flaky }).events('jobs', 'x')) ids.push(event.id)
      assert.deepEqual(ids, ['1', '2'])
    },
  )
  assert.deepEqual(asked, [undefined, '1'])
})

test('a file is compared with its entity tag', async () => {
  const sum = createHash('sha256').update('ATOM').digest('hex')
  const file = { params: { path: { id: 'x', name: 'a.cif' } }, parseAs: 'text' } as const
  for (const [content, tag, damaged] of [
    ['ATOM', `"${sum}"`, false],
    ['ATOm', `"${sum}"`, true],
    ['ATOm', `W/"${sum}-gzip"`, true],
    ['ATOm', '"another"', false],
  ] as const) {
    await withServer(
      (_, response) => response.writeHead(200, { ETag: tag, 'Content-Type': 'text/plain' }).end(content),
      async (store) => {
        const read = createPleat({ url: store }).GET('/v1/artifacts/{id}/{name}', file as never)
        if (damaged) await assert.rejects(read, { name: 'DamagedFileError', sha256: sum })
        else assert.equal((await read).data, content)
      },
    )
  }
  await withServer(
    (_, response) => {
      response.writeHead(200, { ETag: `"${sum}"`, 'Content-Length': '4' })
      response.write('AT', () => response.destroy())
    },
    async (store) => {
      const read = createPleat({ url: store, retries: 0 }).GET('/v1/artifacts/{id}/{name}', file as never)
      await assert.rejects(read, { name: 'ServiceError', message: /^The file ended early/ })
    },
  )
})

test('what is not a stream of the service is an error, not a loop', async () => {
  for (const [sent, want] of [
    ['event: state\ndata: {"state"\n\n', /not JSON/],
    [`data: ${'x'.repeat(1 << 21)}`, /characters/],
  ] as const) {
    await withServer(
      (_, response) => response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(sent),
      async (odd) => {
        await assert.rejects(createPleat({ url: odd }).events('jobs', 'x').next(), {
          name: 'StreamError',
          message: want,
        })
      },
    )
  }
})
