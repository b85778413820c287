// Every page on a narrow screen and on paper, and the names of its controls.
import type { Page } from '@playwright/test'
import type { Batch, CreatedBatch, Workflow } from '../src/api'
import { driver, test } from './made'
import { drawn } from './pixels'
import { expect, type Server, trpCage } from './server'

test.describe.configure({ timeout: 400_000 })

test.beforeEach(({ console: messages }) => messages.allow(driver))

/** The job, question and simulation that the pages show. */
async function content(server: Server) {
  const { jobId } = await server.folded({
    name: 'Two',
    sequences: [
      { proteinChain: { sequence: 'YYDPETGTWY', label: 'sp|P00000|CHIGNOLIN_DESIGNED Chignolin, a designed hairpin' } },
      { proteinChain: { sequence: trpCage, label: 'Trp-cage' } },
    ],
  })
  const start = async (workflow_name: string, workflow_input: object) => {
    const flow = await server.call<Workflow>('POST', '/v1/workflows', { workflow_name, name: 'Flow', workflow_input })
    const status = async () => (await server.call<Workflow>('GET', '/v1/workflows/' + flow.workflow_id)).status
    await expect.poll(status).toBe('COMPLETED')
    return '/ui/workflows/' + flow.workflow_id
  }
  const simulation = await start('md', {
    sourceType: 'fold_job',
    sourceJobId: jobId,
    sim_length_ns: 0.01,
    step_size_ns: 0.001,
  })
  const question = await start('qna_v1', {
    targetSource: 'fold_job',
    source_job_id: jobId,
    question: 'Describe this structure',
  })
  const job = '/ui/jobs/' + jobId
  const { batchId } = await server.call<CreatedBatch>('POST', '/v1/batches', {
    name: 'Peptides with a long name that has to break somewhere',
    kind: 'matrix',
    params: { modelName: 'made-up' },
    binders: [{ customId: 'a-binder-with-a-rather-long-name', sequences: [{ proteinChain: { sequence: trpCage } }] }],
    targets: [{ sequences: [{ proteinChain: { sequence: 'YYDPETGTWY' } }] }],
  })
  const batch = `/ui/batches/${batchId}?row=1&shortlist=1`
  await expect
    .poll(async () => (await server.call<Batch>('GET', '/v1/batches/' + batchId)).status, { timeout: 90_000 })
    .toBe('COMPLETED')
  return { job, simulation, question, batch }
}

/** Opens a page and waits until its data is there. */
async function open(page: Page, address: string) {
  await page.goto(address)
  await expect(page.locator('main .loading')).toHaveCount(0)
  await expect(page.locator('main h1')).toBeVisible()
}

/** The elements that do not fit into the width of the window. Those that are for print only are elsewhere. */
const tooWide = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('header *, main *')]
      .filter((e) => !e.closest('.print-only, pre, .batch-rows') && e.getBoundingClientRect().width > 0)
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
      .map((e) => `${e.tagName}.${e.className}`),
  )

// The roles of what can be operated.
const controls =
  /^(button|link|textbox|searchbox|combobox|checkbox|radio|switch|slider|spinbutton|tab|DisclosureTriangle|option)$/

/** The controls of the page without a name for assistive technology. */
async function nameless(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as {
    nodes: { ignored: boolean; role?: { value: string }; name?: { value: string }; backendDOMNodeId?: number }[]
  }
  const found = nodes.filter((n) => !n.ignored && controls.test(n.role?.value ?? ''))
  expect(found.length).toBeGreaterThan(5) // the navigation alone has more
  return found.filter((n) => !n.name?.value.trim()).map((n) => `${n.role!.value} ${n.backendDOMNodeId}`)
}

test('every page fits a phone, and every control has a name', async ({ page, server, visit }) => {
  const { job, simulation, question, batch } = await content(server)
  await visit('/ui/')
  await page.setViewportSize({ width: 390, height: 844 })
  const pages = [
    '/ui/',
    '/ui/jobs',
    '/ui/batches',
    '/ui/batches/new',
    '/ui/library',
    '/ui/workflows',
    '/ui/designs/new',
    '/ui/webhooks',
    '/ui/keys',
    '/ui/models',
    '/ui/nowhere',
  ]
  const compare = `/ui/compare?jobs=${job.split('/').at(-1)}`
  for (const address of [...pages, compare, job, simulation, question, batch]) {
    await open(page, address)
    if (address === '/ui/') {
      await page.getByRole('button', { name: /^Insulin/ }).click()
      await page.getByLabel('Ask a question about it').check()
      await page.getByLabel('Simulate its dynamics').check()
      await page.getByText('Parameters').click()
      await page.getByRole('combobox', { name: 'Model' }).first().selectOption('made-up') // with all options
    }
    if ([job, simulation, question, batch].includes(address)) await drawn(page)
    for (const summary of await page.locator('main summary').all()) await summary.click()
    for (const summary of await page.locator('main details:not([open]) > summary').all()) await summary.click()
    expect.soft(await tooWide(page), address).toEqual([])
    expect.soft(await page.evaluate(() => document.documentElement.scrollWidth), address).toBe(390)
    expect.soft(await nameless(page), address).toEqual([])
  }
})

test('on a phone the files of a result are folded away', async ({ page, server, visit }) => {
  const { jobId } = await server.folded()
  await visit('/ui/')
  await page.setViewportSize({ width: 390, height: 844 })
  await open(page, '/ui/jobs/' + jobId)
  const files = page.getByRole('region', { name: 'Files' })
  await expect(files.getByRole('table')).toBeHidden()
  await files.getByRole('heading', { name: 'Files' }).click()
  await expect(files.getByRole('link', { name: 'metrics.json' })).toBeVisible()
})

test('a result is printed with every chain, and without what can only be operated', async ({ page, server, visit }) => {
  const { job, simulation } = await content(server)
  for (const address of [job, simulation]) {
    await visit(address)
    await drawn(page)
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
    for (const hidden of ['header.bar', 'main form', 'main .head-actions', 'main button:not(.residue, .cell, .record)'])
      expect(await page.locator(hidden).locator('visible=true').count(), hidden).toBe(0)
    const adjust = (e: Element) => getComputedStyle(e).printColorAdjust
    expect(await page.locator('.legend i').first().evaluate(adjust)).toBe('exact')
    // No heading stands alone, and no plot is divided.
    for (const plot of await page.locator('main figure:visible').all())
      expect(await plot.evaluate((e) => getComputedStyle(e).breakInside)).toBe('avoid')
    expect(
      await page.locator('main h2:visible').evaluateAll((all) => all.map((e) => getComputedStyle(e).breakAfter)),
    ).not.toContain('auto')
    if (address === job) {
      // The structure that is shown, and the other one with the service's plots.
      const other = page.getByRole('region', { name: 'Trp-cage' })
      await expect(other).toContainText('Mean pLDDT')
      await expect(other.getByRole('img', { name: 'Confidence by residue of Trp-cage' })).toBeVisible()
      await expect(page.getByText('DAYAQWLKDG GPSSGRPPPS')).toBeVisible()
      await expect(page.getByRole('region', { name: 'Records' })).toContainText('Trp-cage')
    }
    const pdf = await page.pdf({ format: 'A4' })
    expect(pdf.length).toBeGreaterThan(10_000)
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' })
    await expect(page.getByRole('region', { name: 'Trp-cage' })).toBeHidden()
  }
})
