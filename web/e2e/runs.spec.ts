// Several runs: earlier ones of a job, stored ones, and jobs of several models and seeds side by side.
import type { CreatedJob, JobView } from '../src/api'
import { driver, protein, test } from './made'
import { accessible, expect, type Server, signIn } from './server'

test.describe.configure({ timeout: 300_000 })

test.beforeEach(({ console: messages }) => messages.allow(driver))

const chignolin = 'YYDPETGTWY'

/** Runs a job again and waits for the end. */
async function rerun(server: Server, job: string, params: object) {
  const run = await server.call<CreatedJob>('POST', `/v1/jobs/${job}/runs`, { params })
  const status = async () => (await server.call<JobView>('GET', `/v1/jobs/${job}`)).run.status
  await expect.poll(status).toBe('COMPLETED')
  return run.jobRunId
}

test('the runs of a job are listed, and an earlier one can be opened', async ({ page, server, visit }) => {
  const { jobId, jobRunId } = await server.folded({ params: { modelName: 'made-up', seed: '1' } })
  await visit('/ui/jobs/' + jobId)
  await expect(page.getByRole('region', { name: 'Scores' })).toBeVisible()
  await expect(page.getByRole('region', { name: 'Runs' })).toBeHidden()
  const latest = await rerun(server, jobId, { modelName: 'mini', seed: '2' })
  const runs = page.getByRole('region', { name: 'Runs' })
  await expect(runs.locator('tbody tr')).toHaveCount(2)
  await expect(runs.locator(`[data-run="${latest}"]`)).toContainText('mini')
  await expect(runs).toContainText('The scores of different models are not on one scale.')
  await runs.getByRole('link', { name: 'Run 1' }).click()
  await expect(page).toHaveURL(`/ui/jobs/${jobId}?run=${jobRunId}`)
  await expect(page.getByText('You are looking at an earlier run')).toBeVisible()
  await expect(page.getByRole('region', { name: 'Settings' })).toContainText('made-up')
  await expect(runs.getByRole('link', { name: 'Run 1' })).toHaveAttribute('aria-current', 'true')
  const file = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Download all' }).click()
  expect((await file).suggestedFilename()).toBe('Trp-cage.zip')
  await accessible(page)
  await expect(page.getByRole('link', { name: 'Edit and rerun' })).toHaveAttribute(
    'href',
    `/ui/?again=${jobId}&run=${jobRunId}`,
  )
  await page.getByRole('link', { name: 'Open the latest run' }).click()
  await expect(page.getByText('You are looking at an earlier run')).toBeHidden()
  await expect(page.getByRole('region', { name: 'Settings' })).toContainText('mini')
})

test('a stored result is announced before it costs, and a new seed is offered', async ({ page, server }) => {
  const key = server.newKey('nora')
  const params = { modelName: 'mini', seed: '4' }
  const sequences = [{ proteinChain: { sequence: chignolin } }]
  const first = await server.folded({ params, sequences }, key)
  await signIn(page, server, key)
  await page.goto(`/ui/?again=${first.jobId}`)
  await expect(page.getByText('This was already computed on')).toBeVisible()
  await expect(page.getByRole('link', { name: 'open it' })).toHaveAttribute(
    'href',
    `/ui/jobs/${first.jobId}?run=${first.jobRunId}`,
  )
  await accessible(page)
  await page.getByRole('button', { name: 'run with a new seed' }).click()
  await expect(page.getByRole('textbox', { name: /^seed/ })).toHaveValue(/^\d+$/)
  await expect(page.getByText('This was already computed')).toBeHidden()
  await expect(page.locator('[data-valid=yes]')).toBeVisible()

  const again = await server.folded({ params, sequences }, key)
  await page.goto('/ui/jobs/' + again.jobId)
  await expect(page.getByText('The results are those of a stored run')).toBeVisible()
  await page.getByRole('button', { name: 'Run with a new seed' }).click()
  await expect(page.getByText('The results are those of a stored run')).toBeHidden()
  await expect(page.getByRole('region', { name: 'Runs' }).locator('tbody tr')).toHaveCount(2)
  const view = await server.call<JobView>('GET', `/v1/jobs/${again.jobId}`, undefined, key)
  expect(view.run.seed).not.toBe('4')
})

test('the time of each stage is a bar and a table', async ({ page, server, visit }) => {
  const params = { modelName: 'made-up', samplingSteps: 3, seed: '11' }
  const first = await server.folded({ params })
  await visit('/ui/jobs/' + first.jobId)
  const time = page.getByRole('region', { name: /^Time/ })
  await expect(time.locator('[data-stage=infer]')).toContainText(/Computing.*\d s.*%/)
  await expect(time.getByRole('img')).toHaveAttribute(
    'aria-label',
    /In the queue: .*; Computing: .*; Writing the results: /,
  )
  const widths = await time
    .locator('.times .stretch')
    .evaluateAll((all) => all.map((e) => e.getBoundingClientRect().width))
  expect(widths.length).toBe(await time.locator('[data-stage]').count())
  expect(Math.min(...widths)).toBeGreaterThanOrEqual(4) // a short stage is still seen
  await accessible(page)
  await page.setViewportSize({ width: 360, height: 740 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)

  // A run that takes its results from a stored one computes nothing, and says so.
  const again = await server.folded({ params })
  await page.goto('/ui/jobs/' + again.jobId)
  await expect(time).toContainText('The model did not run')
  await expect(time.locator('[data-stage=infer]')).toHaveCount(0)
  await expect(time.locator('[data-stage=write]')).toBeVisible()
})

test('a job that waits says why', async ({ page, server }) => {
  const key = server.newKey('quin')
  await signIn(page, server, key)
  await server.running({ params: { modelName: 'made-up', samplingSteps: 10_000 } }, key)
  const next = await server.create({ params: { modelName: 'made-up', samplingSteps: 10_000 } }, key)
  await page.goto('/ui/jobs/' + next.jobId)
  const view = await server.call<JobView>('GET', `/v1/jobs/${next.jobId}`, undefined, key)
  expect(view.waiting?.reason).toBeTruthy()
  await expect(page.locator('[data-waiting]')).toContainText(view.waiting!.reason.slice(1))
  await expect(page.locator('[data-waiting]')).toContainText('Waiting for less than a minute.')
})

test('several seeds and models make several jobs, which are compared', async ({ page, server }) => {
  const key = server.newKey('olga')
  await signIn(page, server, key)
  await page.goto('/ui/')
  await page.getByRole('textbox', { name: 'Sequences' }).fill(`>Chig\n${chignolin}`)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('combobox', { name: 'Model' }).selectOption('mini')
  await page.getByText('Several seeds and models').click()
  await page.getByLabel('Seeds').fill('1-40')
  await expect(page.getByText('These are 40 jobs; one submission creates at most 32.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Fold 40 jobs' })).toBeDisabled()
  await page.getByLabel('Seeds').fill('1, 2')
  await page.getByRole('checkbox', { name: 'made-up' }).check()
  await expect(page.getByText('These are 4 jobs. They take 4 of the 1,000 jobs left today.')).toBeVisible()
  await accessible(page)
  await page.getByRole('button', { name: 'Fold 4 jobs' }).click()
  await expect(page).toHaveURL(/\/ui\/compare\?jobs=[0-9a-f-]{36}(,[0-9a-f-]{36}){3}$/)
  await expect(page.getByRole('link', { name: '996 of 1000 jobs left today' })).toBeVisible()
  const rows = page.locator('tr[data-run]')
  await expect(rows).toHaveCount(4)
  await expect(page.locator('tr[data-state=COMPLETED]')).toHaveCount(4, { timeout: 120_000 })
  for (const name of ['Chig (mini, seed 1)', 'Chig (mini, seed 2)', 'Chig (made-up, seed 1)', 'Chig (made-up, seed 2)'])
    await expect(page.getByRole('region', { name: 'Jobs' }).getByRole('link', { name })).toBeVisible()
  const scores = (await rows.locator('.score').allInnerTexts()).map(Number)
  expect(scores).toHaveLength(4)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  await expect(page.getByText('The scores of different models are not on one scale.')).toBeVisible()
  await accessible(page)
})

test('a comparison shows failed and missing jobs, and starts from the list', async ({ page, server, console }) => {
  console.allow(/404 \(Not Found\).*\/v1\/jobs\//)
  const key = server.newKey('pia')
  const good = await server.folded({ name: 'good', params: { modelName: 'made-up' } }, key)
  const bad = await server.create(
    { name: 'bad', params: { modelName: 'made-up', recyclingSteps: 3 }, sequences: [protein(30)] },
    key,
  )
  await signIn(page, server, key)
  await page.goto('/ui/jobs')
  await expect(page.locator(`[data-job="${bad.jobId}"]`)).toHaveAttribute('data-state', 'FAILED')
  await page.getByLabel('Select all').check()
  await page.getByRole('button', { name: 'Compare' }).click()
  await expect(page).toHaveURL(/\/ui\/compare\?jobs=/)
  await expect(page.getByRole('row').filter({ hasText: 'bad' })).toContainText('does not like')
  await expect(page.getByRole('row').filter({ hasText: 'good' }).locator('.score')).toBeVisible()
  await page.goto(`/ui/compare?jobs=${good.jobId},018f4c1a-5b1c-7d9e-8a54-1c0a3f2b9d10`)
  await expect(page.getByRole('row').filter({ hasText: 'Deleted job' })).toBeVisible()
})

test('the scores of several records are in one table', async ({ page, server, visit }) => {
  const sequences = [
    { proteinChain: { sequence: chignolin, label: 'Chignolin' } },
    { proteinChain: { sequence: 'GEWTYDDATKTFTVTE', label: 'Hairpin' } },
  ]
  const { jobId } = await server.folded({ sequences })
  await visit('/ui/jobs/' + jobId)
  const records = page.getByRole('region', { name: 'Records' })
  await expect(records.locator('tbody tr')).toHaveCount(2)
  await expect(records.locator('[data-record=Hairpin]')).toContainText('16')
  await expect(records.locator('[data-record=Hairpin] .score')).toBeVisible()
  await records.getByRole('button', { name: 'Show the structure of Hairpin' }).click()
  await expect(page.getByRole('tab', { name: 'Hairpin' })).toHaveAttribute('aria-selected', 'true')
})
