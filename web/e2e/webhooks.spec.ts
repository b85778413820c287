import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { accessible, expect, picture, signIn, test } from './server'

/** A webhook receiver on loopback that answers with a given status. */
async function receiver() {
  const got: { headers: IncomingHttpHeaders; body: string }[] = []
  const http = createServer((req, res) => {
    let body = ''
    req.on('data', (b) => (body += b))
    req.on('end', () => {
      got.push({ headers: req.headers, body })
      res.writeHead(self.status).end('seen')
    })
  })
  await new Promise<void>((ok) => http.listen(0, '127.0.0.1', ok))
  const self = {
    got,
    status: 200,
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`,
    close: () => new Promise((ok) => http.close(ok)),
  }
  return self
}

test('an endpoint is set up, tested, notified, and notified again', async ({ page, server, console }) => {
  console.allow(/400 \(Bad Request\).*custom-http-config/) // the browser's message for the refused address
  const to = await receiver(),
    key = server.newKey('gina')
  await signIn(page, server, key)
  await page.goto('/ui/webhooks')
  await expect(page.getByText('No endpoint is set up yet')).toBeVisible()
  await expect(page.getByRole('heading', { name: 'No deliveries yet' })).toBeVisible()
  await accessible(page)

  // A token is required; it can be generated, and is shown until it is saved or replaced.
  await expect(page.locator('.field').filter({ has: page.getByLabel('Token') })).toContainText('(required)')
  await page.getByRole('button', { name: 'Generate' }).click()
  await expect(page.getByLabel('Token')).toHaveValue(/^[0-9a-f]{64}$/)
  await expect(page.getByLabel('Token')).toHaveAttribute('type', 'text')

  // The service's error messages are shown.
  await page.getByLabel('URL').fill('http://10.0.0.1/x')
  await page.getByLabel('Token').fill('a long random text')
  await page.getByRole('button', { name: 'Set up' }).click()
  await expect(page.getByRole('alert')).toContainText('target_url')

  await page.getByLabel('URL').fill(to.url)
  await page.getByLabel('Notify for every run').check()
  await page.getByRole('button', { name: 'Set up' }).click()
  await expect(page.getByText(/^whsec_/)).toBeVisible()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  await expect(page.locator('[data-hook=active]')).toBeVisible()
  expect(await page.content()).not.toContain('whsec_')

  await page.getByRole('button', { name: 'Send test' }).click()
  const first = page.locator('[data-delivery]').first()
  await expect(first).toHaveAttribute('data-state', 'SUCCEEDED')
  await expect(first).toContainText('Test')
  expect(to.got).toHaveLength(1)
  expect(to.got[0]!.headers['x-webhook-token']).toBe('a long random text')

  // The end of a run is delivered, and the same delivery can be sent again.
  const job = await server.create({ name: 'notified' }, key)
  await server.call('POST', `/v1/jobs/${job.jobId}/cancel`, undefined, key)
  const delivery = page.locator('[data-delivery]').filter({ hasText: 'Fold stopped' })
  await expect(delivery).toHaveAttribute('data-state', 'SUCCEEDED')
  await expect(delivery.getByRole('link', { name: 'Fold stopped' })).toHaveAttribute('href', `/ui/jobs/${job.jobId}`)
  await delivery.getByRole('button', { name: /^Details/ }).click()
  await expect(page.getByText('accepted · 200')).toHaveCount(1)
  await expect(page.getByText(/^\d+ ms$/)).toBeVisible()
  await page.getByRole('button', { name: 'Send again' }).click()
  await expect(page.getByText('accepted · 200')).toHaveCount(2)
  expect(to.got).toHaveLength(3)
  expect(to.got[2]!.headers['webhook-id']).toBe(to.got[1]!.headers['webhook-id'])
  expect(JSON.parse(to.got[2]!.body).event.source_id).toBe(job.jobId)
  await picture(page, 'webhooks')
  await accessible(page)

  // A failed delivery waits for its next attempt and shows the reason.
  to.status = 500
  await page.getByRole('button', { name: 'Send test' }).click()
  await expect(page.locator('[data-delivery]').first()).toContainText('500')
  await expect(page.locator('[data-delivery]').first()).toHaveAttribute('data-state', 'PENDING')
  to.status = 200
  await page.getByRole('button', { name: 'Send waiting now' }).click()
  await expect(page.locator('[data-delivery]').first()).toHaveAttribute('data-state', 'SUCCEEDED')

  await page.getByRole('button', { name: 'Pause' }).click()
  await expect(page.locator('[data-hook=paused]')).toBeVisible()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect(page.locator('[data-hook=active]')).toBeVisible()
  page.on('dialog', (d) => void d.accept())
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await expect(page.getByText(/^whsec_/)).toBeVisible()
  await page.getByRole('button', { name: 'Deactivate' }).click()
  await expect(page.locator('[data-hook=inactive]')).toBeVisible()

  // The link of a result opens its delivery.
  await page.goto('/ui/webhooks?delivery=' + (await delivery.getAttribute('data-delivery')))
  await expect(page.getByText('accepted · 200')).toHaveCount(2)
  await to.close()
})

test('further endpoints are added, changed, tested and deleted, and members see them', async ({ page, server }) => {
  const to = await receiver(),
    key = server.newKey('hana')
  await signIn(page, server, key)
  await page.goto('/ui/webhooks')
  const card = page.getByRole('region', { name: 'Further endpoints' })
  await card.getByRole('button', { name: 'Add endpoint' }).click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Name').fill('on call')
  await form.getByLabel('URL').fill(to.url)
  for (const event of ['Folds', 'Workflows', 'Batches']) await form.getByLabel(`${event} that complete`).uncheck()
  await accessible(page)
  await form.getByRole('button', { name: 'Add', exact: true }).click()
  await expect(form).toBeHidden()
  await expect(card.getByText(/^whsec_/)).toBeVisible()
  await card.getByRole('button', { name: 'I have copied it' }).click()
  const endpoint = card.locator('[data-endpoint="on call"]')
  await expect(endpoint).toContainText('active')
  await expect(endpoint).toContainText('Folds that fail or are stopped, Workflows that fail')
  await expect(endpoint).toContainText(to.url)

  // A test, and the end of a run that concerns it; the log can be narrowed to it.
  await endpoint.getByRole('button', { name: 'Test' }).click()
  await expect(page.locator('[data-delivery]').first()).toHaveAttribute('data-state', 'SUCCEEDED')
  const job = await server.create({ name: 'stopped' }, key)
  await server.call('POST', `/v1/jobs/${job.jobId}/cancel`, undefined, key)
  await expect(page.locator('[data-delivery]').filter({ hasText: 'Fold stopped' })).toContainText('to on call')
  await page.getByLabel('Endpoint', { exact: true }).selectOption('on call')
  await expect(page.locator('[data-delivery]')).toHaveCount(2)
  expect(to.got).toHaveLength(2)

  // A name that is taken is refused in the form; a change shows.
  await endpoint.getByRole('button', { name: 'Edit' }).click()
  await form.getByLabel('Name').fill('pager')
  await form.getByLabel('Folds that complete').check()
  await form.getByRole('button', { name: 'Save' }).click()
  const renamed = card.locator('[data-endpoint=pager]')
  await expect(renamed).toContainText('Folds that complete')
  await renamed.getByRole('button', { name: 'Pause' }).click()
  await expect(renamed).toContainText('paused')
  await renamed.getByRole('button', { name: 'Resume' }).click()
  await expect(renamed).toContainText('active')
  await accessible(page)
  page.on('dialog', (d) => void d.accept())
  await renamed.getByRole('button', { name: 'Rotate secret' }).click()
  await expect(card.getByText(/^whsec_/)).toBeVisible()
  await renamed.getByRole('button', { name: 'Delete' }).click()
  await expect(renamed).toHaveCount(0)
  await expect(page.locator('[data-delivery]').first()).toContainText('to pager') // the log stays
  await to.close()
})
