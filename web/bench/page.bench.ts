// How soon the page can be used, over a slow line and on a slow processor, measured with the real program. The figures
// depend on the machine, so nothing here fails on a time: the last line of each part says whether it met its target.
import type { Browser, CDPSession, Page } from '@playwright/test'
import { engines, protein } from '../e2e/made'
import { drawn } from '../e2e/pixels'
import { expect, Server, signIn, test, trpCage } from '../e2e/server'

const repeats = Number(process.env.PLEAT_BENCH_REPEATS ?? 5)
const slowdown = 4
const line = { latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 } // ms, bytes per second

const median = (values: number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!

/** Prints a figure with its target. */
function report(what: string, figure: number, target: number, unit = 'ms') {
  const verdict = figure <= target ? 'pass' : 'MISSED'
  console.log(`${what}: ${Math.round(figure)} ${unit}, target at most ${target} ${unit}: ${verdict}`)
}

/** Opens a page without a cache in a browser of its own session, on the slow line and the slow processor. */
async function slowPage(browser: Browser, server: Server, key?: string): Promise<[Page, CDPSession]> {
  const context = await browser.newContext({ baseURL: server.url })
  const page = await context.newPage()
  if (key) await signIn(page, server, key)
  const cdp = await context.newCDPSession(page)
  await cdp.send('Network.enable')
  await cdp.send('Network.emulateNetworkConditions', { offline: false, ...line })
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  return [page, cdp]
}

/** Notes when an element that is found by a selector is on the screen and the page's thread has time to react. */
const watch = (selector: string) => {
  const look = () => {
    const element = document.querySelector(selector)
    if (!element?.checkVisibility()) return requestAnimationFrame(look)
    setTimeout(() => performance.mark('bench:usable'))
  }
  requestAnimationFrame(look)
}

/** The times at which a page that is opened cold has painted first and can be used, and what it had loaded by then. */
async function opened(page: Page, path: string, usable: string) {
  await page.addInitScript(watch, usable)
  await page.goto(path, { waitUntil: 'commit' })
  await page.waitForFunction(() => performance.getEntriesByName('bench:usable').length > 0)
  return page.evaluate(() => {
    const at = performance.getEntriesByName('bench:usable')[0]!.startTime
    const files = performance.getEntriesByType('resource').filter((r) => r.startTime < at)
    return {
      paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
      usable: at,
      requests: files.length + 1,
    }
  })
}

const shells = [
  { name: 'the request to sign in', path: '/ui/jobs', usable: 'dialog[open] input[type=password]', signedIn: false },
  { name: 'the form of a fold', path: '/ui/', usable: 'textarea', signedIn: true },
  { name: 'the list of jobs', path: '/ui/jobs', usable: 'tr[data-job] a', signedIn: true },
]

for (const shell of shells)
  test(`opens ${shell.name}`, async ({ browser, server }) => {
    const key = server.newKey('shell')
    for (let i = 0; i < 20; i++) await cancelled(server, key, `Trp-cage ${i}`)
    const paints: number[] = []
    const times: number[] = []
    let requests = 0
    for (let i = 0; i < repeats; i++) {
      const [page] = await slowPage(browser, server, shell.signedIn ? key : undefined)
      const at = await opened(page, shell.path, shell.usable)
      paints.push(at.paint)
      times.push(at.usable)
      requests = at.requests
      await page.context().close()
    }
    report(`first contentful paint of ${shell.name}`, median(paints), 2000)
    report(`${shell.name} can be used, after ${requests} requests`, median(times), 2000)
  })

/** Creates a job that is cancelled at once. */
async function cancelled(server: Server, key: string, name: string) {
  const sequences = [{ proteinChain: { sequence: trpCage } }]
  const { jobId } = await server.call<{ jobId: string }>(
    'POST',
    '/v1/jobs',
    { name, sequences, params: { modelName: 'mini', seed: '1' } },
    key,
  )
  await server.call('POST', `/v1/jobs/${jobId}/cancel`, undefined, key)
}

test('draws a complex of 1,500 residues with its PAE', async ({ browser }) => {
  const server = new Server(engines)
  await server.start()
  try {
    const sequences = [protein(600), protein(500), protein(400)]
    const { jobId } = await server.folded({ name: 'Large', sequences, params: { modelName: 'made-up' } })
    const times: number[] = []
    const matrices: number[] = []
    const works: number[] = []
    for (let i = 0; i < repeats; i++) {
      const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 860 } })
      const page = await context.newPage()
      await signIn(page, server)
      const cdp = await context.newCDPSession(page)
      await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
      await page.goto('/ui/jobs/' + jobId, { waitUntil: 'commit' })
      await drawn(page)
      await expect(page.locator('[data-plot=pae] canvas').first()).toHaveAttribute('aria-label', /1500 by 1500/)
      const at = await page.evaluate(() => ({
        matrix: performance.getEntriesByName('pleat:matrix')[0]!.startTime,
        structure: performance.getEntriesByName('pleat:drawn').at(-1)!.startTime,
      }))
      const { metrics } = await cdp.send('Performance.getMetrics')
      works.push(metrics.find((m) => m.name === 'TaskDuration')!.value * 1000)
      matrices.push(at.matrix)
      times.push(Math.max(at.matrix, at.structure))
      await context.close()
    }
    report('the PAE matrix of 1,500 residues is visible', median(matrices), 3000)
    report('the structure of 1,500 residues is drawn too', median(times), 3000)
    console.log(`work of the page's own thread: ${Math.round(median(works))} ms`)
  } finally {
    await server.remove()
  }
})

const rows = Number(process.env.PLEAT_BENCH_JOBS ?? 10_000)

test(`scrolls through ${rows} jobs`, async ({ browser }) => {
  const server = new Server(['--quota', String(rows + 1), '--rate', '0'])
  await server.start()
  try {
    for (let i = 0; i < rows; i += 50)
      await Promise.all(Array.from({ length: 50 }, (_, k) => cancelled(server, server.key, `number ${i + k}`)))
    for (const rate of [1, slowdown]) {
      const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 860 } })
      const page = await context.newPage()
      await signIn(page, server)
      await page.goto('/ui/jobs')
      await page.locator('tr[data-job]').first().waitFor()
      const cdp = await context.newCDPSession(page)
      await cdp.send('Emulation.setCPUThrottlingRate', { rate })
      for (const [how, scroll] of Object.entries({
        'by the wheel to the end': byWheel,
        'by the scrollbar': byScrollbar,
      })) {
        const { longest, frames, over, work, most } = await traced(page, browser, scroll)
        const machine = rate === 1 ? 'this processor' : `a processor ${rate} times as slow`
        report(`longest frame of ${frames} ${how} on ${machine}, ${over} over 50 ms`, longest, 50)
        console.log(`own time of the longest task: ${Math.round(work)} ms; rows in the document: at most ${most}`)
      }
      await context.close()
    }
  } finally {
    await server.remove()
  }
})

const batchRows = Number(process.env.PLEAT_BENCH_ROWS ?? 10_000)

test(`scrolls through a batch of ${batchRows} rows`, async ({ browser }) => {
  const server = new Server([...engines, '--batch-quota', String(batchRows + 1)])
  await server.start()
  try {
    const id = await batchOf(server, batchRows)
    for (const rate of [1, slowdown]) {
      const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 860 } })
      const page = await context.newPage()
      await signIn(page, server)
      const machine = rate === 1 ? 'this processor' : `a processor ${rate} times as slow`
      const cdp = await context.newCDPSession(page)
      await cdp.send('Emulation.setCPUThrottlingRate', { rate })
      await page.goto(`/ui/batches/${id}`, { waitUntil: 'commit' })
      await page.locator('tr[data-row]').first().waitFor()
      const first = await page.evaluate(() => performance.now())
      await expect(page.locator('.scatter')).toHaveAttribute('data-points', String(batchRows))
      const all = await page.evaluate(() => performance.now())
      console.log(
        `the first rows are there after ${Math.round(first)} ms, all after ${Math.round(all)} ms on ${machine}`,
      )
      for (const [how, scroll] of Object.entries({
        'by the wheel': rowsByWheel,
        'by the scrollbar': rowsByScrollbar,
      })) {
        const { longest, frames, over, work, most } = await traced(page, browser, scroll)
        report(`longest frame of ${frames} in the batch ${how} on ${machine}, ${over} over 50 ms`, longest, 50)
        console.log(`own time of the longest task: ${Math.round(work)} ms; rows in the document: at most ${most}`)
      }
      await context.close()
    }
  } finally {
    await server.remove()
  }
})

/** Creates a batch of many rows, few of which differ, and waits until it has ended. */
async function batchOf(server: Server, rows: number): Promise<string> {
  const jobs = Array.from({ length: rows }, (_, i) => ({ sequences: [protein(10 + (i % 20)), protein(12)] }))
  const body = { name: 'Many', kind: 'list', params: { modelName: 'made-up', stepScale: 2 }, jobs }
  const { batchId } = await server.call<{ batchId: string }>('POST', '/v1/batches', body)
  const finishedAt = async () =>
    (await server.call<{ finishedAt: string | null }>('GET', `/v1/batches/${batchId}`)).finishedAt
  await expect.poll(finishedAt, { timeout: 240_000 }).not.toBeNull()
  return batchId
}

/** Scrolls through 2,000 rows of a batch by 400 px a frame. Returns the most rows that were in the document. */
async function rowsByWheel() {
  const box = document.querySelector('.batch-rows')!
  let most = 0
  for (let i = 0; i < 180; i++) {
    box.scrollBy(0, 400)
    await new Promise((next) => requestAnimationFrame(next))
    most = Math.max(most, document.querySelectorAll('tr[data-row]').length)
  }
  return most
}

/** Jumps to and fro in a batch. Returns the most rows that were in the document. */
async function rowsByScrollbar() {
  const box = document.querySelector('.batch-rows')!
  let most = 0
  for (let i = 0; i < 60; i++) {
    box.scrollTop = (box.scrollHeight * ((i * 7) % 20)) / 20
    for (let k = 0; k < 3; k++) await new Promise((next) => requestAnimationFrame(next))
    most = Math.max(most, document.querySelectorAll('tr[data-row]').length)
  }
  return most
}

/** Scrolls to the oldest job by 400 px a frame. Returns the most rows that were in the document. */
async function byWheel() {
  let most = 0
  while (scrollY + innerHeight < document.documentElement.scrollHeight || document.querySelector('.more-row')) {
    scrollBy(0, 400)
    await new Promise((next) => requestAnimationFrame(next))
    most = Math.max(most, document.querySelectorAll('tr[data-job]').length)
  }
  return most
}

/** Jumps to and fro, each time to rows that were not there. Returns the most rows that were in the document. */
async function byScrollbar() {
  let most = 0
  for (let i = 0; i < 60; i++) {
    scrollTo(0, (document.documentElement.scrollHeight * ((i * 7) % 20)) / 20)
    for (let k = 0; k < 3; k++) await new Promise((next) => requestAnimationFrame(next))
    most = Math.max(most, document.querySelectorAll('tr[data-job]').length)
  }
  return most
}

/** Scrolls while the browser records its tasks. */
async function traced(page: Page, browser: Browser, scroll: () => Promise<number>) {
  await browser.startTracing(page, {
    categories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'],
  })
  const most = await page.evaluate(scroll)
  const trace = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] }
  return { most, ...tasks(trace.traceEvents) }
}

/** An event of Chromium's tracing; times are in µs. */
interface TraceEvent {
  name: string
  ph: string
  pid: number
  tid: number
  dur?: number
  tdur?: number
  args: { name?: string; data?: { isMainFrame?: boolean } }
}

/**
 * The longest task of the page's main thread: no frame is drawn while a task runs. Its own time is that of the thread on
 * a processor, which a busy machine does not lengthen.
 */
function tasks(events: TraceEvent[]) {
  const renderer = events.find((e) => e.name === 'FireAnimationFrame')!
  const all = events.filter(
    (e) => e.ph === 'X' && e.pid === renderer.pid && e.tid === renderer.tid && /RunTask$/.test(e.name),
  )
  const ms = (of: (e: TraceEvent) => number | undefined) => all.map((e) => (of(e) ?? 0) / 1000)
  const lengths = ms((e) => e.dur)
  return {
    frames: events.filter((e) => e.name === 'FireAnimationFrame' && e.pid === renderer.pid).length,
    longest: Math.max(...lengths),
    over: lengths.filter((length) => length > 50).length,
    work: Math.max(...ms((e) => e.tdur)),
  }
}
