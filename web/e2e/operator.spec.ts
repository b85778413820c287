// The page of the operators: a model is paused and resumed, a user is disabled, the log is exported, a worker drains.
import type { OperatorWorker, Overview } from '../src/api'
import { accessible, expect, signIn, test } from './server'

interface Page<T> {
  data: T[]
}

test('only operators have the page', async ({ page, server, visit }) => {
  await visit('/ui/operator', server.newKey('bob'))
  await expect(page.getByText('This page is for those who operate the service.')).toBeVisible()
  await expect(page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Operators' })).toHaveCount(0)
  await accessible(page)
})

test('an operator pauses a model, whose jobs wait and say why', async ({ page, server, browser }) => {
  const olga = server.newKey('olga')
  server.grantOperator('olga')
  await signIn(page, server, olga)
  await page.goto('/ui/jobs')
  await page.getByRole('link', { name: 'Operators' }).click()
  await expect(page.getByRole('heading', { name: 'Queue by model' })).toBeVisible()

  await page.getByRole('button', { name: 'Pause mini' }).click()
  const dialog = page.getByRole('dialog', { name: 'Pause mini' })
  await dialog.getByLabel('Reason').fill('its weights are being replaced')
  await accessible(page)
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click()
  const row = page.locator('tr[data-model=mini]')
  await expect(row).toContainText('paused by olga')
  await expect(row).toContainText('its weights are being replaced')

  const job = await server.create()
  const context = await browser.newContext({ baseURL: server.url })
  const user = await context.newPage()
  await signIn(user, server)
  await user.goto(`/ui/jobs/${job.jobId}`)
  await expect(user.getByText(/have paused mini.*its weights are being replaced/)).toBeVisible()
  await user.goto('/ui/models')
  await expect(user.getByRole('article', { name: 'mini', exact: true })).toContainText('have paused this model')
  await context.close()

  await expect(row.locator('td[data-label=Waiting]')).toHaveText('1') // the page refreshes by itself
  await accessible(page)
  await page.setViewportSize({ width: 400, height: 900 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.getByRole('button', { name: 'Resume mini' }).click()
  await expect(row).not.toContainText('paused')
  await expect(row.locator('td[data-label=Waiting]')).toHaveText('0', { timeout: 60_000 })
})

test('an operator disables a user, and exports the log', async ({ page, server }) => {
  const olga = server.newKey('olga')
  server.grantOperator('olga')
  const eve = server.newKey('eve')
  await signIn(page, server, olga)
  await page.goto('/ui/operator')
  page.on('dialog', (d) => void d.accept())
  await page.getByRole('button', { name: 'Disable eve' }).click()
  await expect(page.getByRole('button', { name: 'Enable eve' })).toBeVisible()
  await expect(server.call('GET', '/v1/me', undefined, eve)).rejects.toThrow('401')
  await page.getByRole('button', { name: 'Enable eve' }).click()
  await expect(page.getByRole('button', { name: 'Disable eve' })).toBeVisible()
  await expect(page.getByRole('button', { name: 'Disable olga' })).toHaveCount(0)
  await expect(page.getByRole('row').filter({ hasText: 'user enabled' }).first()).toContainText('olga')
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Export CSV' }).click()
  expect((await download).suggestedFilename()).toBe('audit.csv')
})

test('an operator drains the worker of the server, which goes on', async ({ page, server }) => {
  const olga = server.newKey('olga')
  server.grantOperator('olga')
  await signIn(page, server, olga)
  await page.goto('/ui/operator')
  page.on('dialog', (d) => void d.accept())
  await page.getByRole('button', { name: /^Drain / }).click()
  await expect
    .poll(
      async () => (await server.call<Page<OperatorWorker>>('GET', '/v1/operator/workers', undefined, olga)).data[0]!,
    )
    .toMatchObject({ state: 'stopped' })
  await expect(page.getByRole('button', { name: /^Drain / })).toHaveCount(0)
  const workers = async () =>
    (await server.call<Overview>('GET', '/v1/operator/overview', undefined, olga)).models.map((m) => m.workers)
  await expect.poll(async () => Math.max(...(await workers()))).toBe(0)
  await page.goto('about:blank') // closes the page's stream of events, which would miss the server
  await server.stop()
  await server.start()
})
