import { protein, test } from './made'
import { expect, signIn } from './server'

const held = 'Live updates do not arrive: a proxy may be buffering them. The page asks every few seconds instead.'
const long = { sequences: [protein(30)], params: { modelName: 'made-up', samplingSteps: 10_000 } }
const short = { sequences: [protein(12)], params: { modelName: 'made-up' } }

test('seven pages of one browser leave connections for requests', async ({ context, page, server, proxied }) => {
  const key = server.newKey('gil')
  const { jobId } = await server.running(long, key)
  const proxy = await proxied(server)
  await signIn(page, { url: proxy.url, key })
  const pages = [page]
  while (pages.length < 7) pages.push(await context.newPage())
  for (const [i, p] of pages.entries()) {
    await p.goto(`${proxy.url}/ui/jobs${i < 4 ? '' : `/${jobId}`}`)
    await expect(p.locator('[data-stream=live]')).toBeAttached()
  }
  await expect
    .poll(() => [...proxy.streams].sort().join(' '))
    .toBe(`/v1/events${` /v1/jobs/${jobId}/events`.repeat(3)}`)
  expect(await pages[6]!.evaluate(async () => (await fetch('/v1/usage')).status)).toBe(200)

  // One more page of a run asks for what its stream would tell, until another is closed.
  const last = await context.newPage()
  await last.goto(`${proxy.url}/ui/jobs/${jobId}`)
  const waits = last.getByText('Live updates wait until other pages of this browser are closed or hidden.')
  await expect(waits).toBeVisible()
  await pages[6]!.close()
  await expect(waits).toBeHidden()
  await expect(last.getByRole('log')).toContainText(/step/)
  await server.call('POST', `/v1/jobs/${jobId}/cancel`, undefined, key)
  for (const p of pages.slice(0, 4))
    await expect(p.locator(`[data-job="${jobId}"]`)).toHaveAttribute('data-state', 'STOPPED')
  await expect(last.locator('article[data-job]')).toHaveAttribute('data-state', 'STOPPED')
  for (const p of [...pages, last]) await p.close()
  await expect.poll(() => proxy.streams).toEqual([])
})

test('behind a proxy that buffers, the page says so and polls until its stream speaks', async ({
  page,
  server,
  proxied,
}) => {
  const key = server.newKey('ira')
  const proxy = await proxied(server)
  proxy.treat = () => 'hold'
  await signIn(page, { url: proxy.url, key })
  await page.goto(`${proxy.url}/ui/jobs`)
  await expect(page.getByText(held)).toBeVisible({ timeout: 15_000 })
  const job = await server.create(short, key)
  await expect(page.locator(`[data-job="${job.jobId}"]`)).toHaveAttribute('data-state', 'COMPLETED')
  proxy.release()
  await expect(page.locator('[data-stream=live]')).toBeAttached()
  await expect(page.getByText(held)).toBeHidden()
})

test('pages of runs and batches say that their own streams are held back', async ({ page, server, proxied }) => {
  const key = server.newKey('jan')
  const { jobId } = await server.running(long, key)
  const batch = {
    kind: 'list',
    name: 'One',
    params: long.params,
    jobs: [{ customId: 'one', sequences: long.sequences }],
  }
  const { batchId } = await server.call<{ batchId: string }>('POST', '/v1/batches', batch, key)
  const proxy = await proxied(server)
  proxy.treat = (path) => (path === '/v1/events' ? 'pass' : 'hold')
  await signIn(page, { url: proxy.url, key })
  await page.goto(`${proxy.url}/ui/jobs/${jobId}`)
  await expect(page.getByRole('region', { name: 'Progress' })).toContainText(held)
  proxy.release()
  await expect(page.getByRole('log')).toContainText(/step/)
  await expect(page.getByText(held)).toBeHidden()
  proxy.treat = (path) => (path === '/v1/events' ? 'pass' : 'hold')
  await page.goto(`${proxy.url}/ui/batches/${batchId}`)
  await expect(page.getByText(held)).toBeVisible()
  await server.call('POST', `/v1/batches/${batchId}/cancel`, undefined, key)
  await expect(page.locator('article.batch')).toHaveAttribute('data-state', 'STOPPED')
})

test('a sign-out in one page ends the streams of all', async ({ context, page, server }) => {
  await signIn(page, server, server.newKey('kay'))
  const other = await context.newPage()
  for (const p of [page, other]) {
    await p.goto('/ui/jobs')
    await expect(p.locator('[data-stream=live]')).toBeAttached()
  }
  await page.getByRole('button', { name: 'Sign out' }).click()
  for (const p of [page, other]) await expect(p.getByRole('heading', { name: 'Sign in to continue' })).toBeVisible()
  await expect(other.locator('[data-stream=off]')).toBeAttached()
})

test('a page whose stream breaks after another user has signed in is a page of that user', async ({
  page,
  server,
  proxied,
}) => {
  const proxy = await proxied(server)
  await signIn(page, { url: proxy.url, key: server.newKey('lee') })
  await page.goto(`${proxy.url}/ui/jobs`)
  await expect(page.locator('[data-stream=live]')).toBeAttached()
  await signIn(page, { url: proxy.url, key: server.newKey('mia') })
  proxy.cut()
  await expect(page.getByTitle('Signed in')).toHaveText('mia')
})

test('a browser without shared workers has streams in its pages', async ({ page, server, visit }) => {
  await page.addInitScript(() => Reflect.deleteProperty(window, 'SharedWorker'))
  const key = server.newKey('ned')
  await visit('/ui/jobs', key)
  await expect(page.locator('[data-stream=live]')).toBeAttached()
  const { jobId } = await server.create(short, key)
  await expect(page.locator(`[data-job="${jobId}"]`)).toHaveAttribute('data-state', 'COMPLETED')
})
