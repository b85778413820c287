// The page of comparisons: structures superposed in one view, with scores, distances by residue and changed contacts.
import type { Comparison, Workflow } from '../src/api'
import { driver, test } from './made'
import { accessible, expect, signIn } from './server'

test.describe.configure({ timeout: 300_000 })

test.beforeEach(({ console: messages }) => messages.allow(driver))

test('two folds are superposed, and their scores are in a table', async ({ page, server }) => {
  const key = server.newKey('cora')
  const one = await server.folded({ name: 'first', params: { modelName: 'mini', seed: '1' } }, key)
  const two = await server.folded({ name: 'second', params: { modelName: 'mini', seed: '2' } }, key)
  await signIn(page, server, key)
  await page.goto('/ui/jobs')
  await page.getByLabel('Select all').check()
  await page.getByRole('button', { name: 'Compare' }).click()
  await expect(page.locator('tr[data-run]')).toHaveCount(2)
  const view = page.getByRole('region', { name: 'Superposed structures' })
  await expect(view.locator('[data-viewer]')).toHaveAttribute('data-ready', 'true', { timeout: 60_000 })
  const of = [`job:${one.jobId}`, `job:${two.jobId}`].join(',')
  const scores = await server.call<Comparison>('GET', `/v1/compare?of=${of}`, undefined, key)
  await expect(page.locator('[data-pair]')).toContainText(scores.pairs[0]!.rmsd!.toFixed(2))
  await expect(page.locator('[data-pair]')).toContainText(scores.pairs[0]!.tmScoreA!.toFixed(3))
  await expect(page.locator('[data-contacts]')).toContainText('keeps')
  // Pointing at the plot names both residues below the view.
  await page.locator('.chart .u-over').hover()
  await expect(view.locator('.selection')).toContainText(/1: A \d+ · 2: A \d+/)
  await accessible(page)
  // A structure can be hidden.
  await view.getByRole('checkbox').first().uncheck()
  await expect(view.getByRole('checkbox').first()).not.toBeChecked()
  // The reference is part of the address, and so is a structure that is added.
  await page.getByRole('button', { name: 'Use as reference: structure 2' }).click()
  await expect(page).toHaveURL(/\/ui\/compare\?of=.*&reference=2$/)
  await expect(page.locator('[data-structure="2"]')).toContainText('Reference')
  await page.getByLabel('Add a structure').fill(one.jobId)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await expect(page.locator('[data-pair]')).toHaveCount(3)
  await expect(page.locator('[data-comparison="3"] [data-viewer]')).toHaveAttribute('data-ready', 'true', {
    timeout: 60_000,
  })
  await expect(page.locator('[data-pair="2-3"]')).toContainText('0.00') // the list has the newest job first
  await accessible(page)
})

test('many structures are compared in a task', async ({ page, server }) => {
  const key = server.newKey('dora')
  const { jobId } = await server.folded({ name: 'one', params: { modelName: 'mini', seed: '1' } }, key)
  await signIn(page, server, key)
  await page.goto(`/ui/compare?of=${Array(5).fill(`job:${jobId}`).join(',')}`)
  await page.getByRole('button', { name: 'Compare 5 structures' }).click()
  await expect(page).toHaveURL(/\/ui\/compare\?workflow=/)
  await expect(page.locator('[data-pair]')).toHaveCount(10, { timeout: 60_000 })
  const id = new URL(page.url()).searchParams.get('workflow')!
  const workflow = await server.call<Workflow>('GET', `/v1/workflows/${id}`, undefined, key)
  expect(workflow.workflow_type).toBe('compare_v1')
})

test('a result starts a comparison, and what cannot be compared says why', async ({ page, server, console }) => {
  console.allow(/40[04] \(.*\/v1\/compare/)
  const key = server.newKey('ella')
  const { jobId } = await server.folded({ name: 'alone', params: { modelName: 'mini', seed: '1' } }, key)
  await signIn(page, server, key)
  await page.goto('/ui/jobs/' + jobId)
  await page.getByRole('link', { name: 'Compare', exact: true }).click()
  await expect(page).toHaveURL(/\/ui\/compare\?of=job/)
  await page.getByLabel('Add a structure').fill('pdb:1UBQ')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await expect(page.getByText(/does not allow this service to fetch from the Protein Data Bank/)).toBeVisible()
})
