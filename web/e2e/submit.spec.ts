import type { CreatedJob, JobView } from '../src/api'
import { accessible, expect, picture, signIn, test, trpCage } from './server'

const paste = async (page: import('@playwright/test').Page, text: string) => {
  await page
    .getByRole('textbox', { name: 'Sequences' })
    .or(page.getByRole('textbox', { name: 'Add more' }))
    .fill(text)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
}

test('from a pasted sequence to a folded job, live', async ({ page, visit }) => {
  await visit('/ui/')
  await expect(page.getByText('Add a sequence to begin.')).toBeVisible()
  await picture(page, 'submit-empty')
  await paste(page, `>Trp-cage\n${trpCage.slice(0, 7)}1${trpCage.slice(7)}`)

  // The invalid letter is marked in place, and the job cannot be submitted.
  const field = page.getByLabel('Sequence of Chain A')
  await expect(field).toHaveAttribute('aria-invalid', 'true')
  await expect(page.locator('.letters mark')).toHaveText('1')
  await expect(page.getByText("Residue 8: '1' is not an amino acid")).toBeVisible()
  await expect(page.locator('[data-valid=no]')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Fold', exact: true })).toBeDisabled()

  await field.fill(trpCage)
  await field.blur()
  await expect(field).toHaveValue('DAYAQWLKDG GPSSGRPPPS')
  await expect(page.locator('[data-valid=yes]')).toContainText('20 residues')
  await expect(page.locator('[data-valid=yes]')).toContainText('on one core')
  await page.getByText('Show as curl').click()
  await expect(page.getByLabel('The request as a command')).toContainText(`"sequence": "${trpCage}"`)
  await page.getByText('Show as curl').click()

  await page.getByRole('button', { name: 'Fold', exact: true }).click()
  await expect(page).toHaveURL(/\/ui\/jobs\/[0-9a-f-]{36}$/)
  const id = page.url().split('/').at(-1)!
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  const row = page.locator(`[data-job="${id}"]`)
  await expect(row).toHaveAttribute('data-state', 'RUNNING')
  await expect(row.getByRole('progressbar')).toBeVisible()
  const seen = new Set<string>() // stages with how much of each is done
  await expect
    .poll(
      async () => {
        for (const t of await row.locator('.standing').allInnerTexts()) seen.add(t)
        return seen.size
      },
      { intervals: [200] },
    )
    .toBeGreaterThan(3)
  await expect(row).toHaveAttribute('data-state', 'COMPLETED', { timeout: 90_000 })
  await expect(row.locator('.score')).toHaveText(/^\d+\.\d$/)
})

test('an example with follow-ups is validated', async ({ page, visit }) => {
  await visit('/ui/')
  await page.getByRole('button', { name: /^Insulin/ }).click()
  await expect(page.getByRole('article')).toHaveCount(2)
  await expect(page.getByLabel('Kind of Chain B')).toHaveValue('protein')
  await page.getByLabel('Ask a question about it').check()
  await page.getByLabel('The question').fill('Which residues are least certain?')
  await page.getByLabel('Simulate its dynamics').check()
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
  await picture(page, 'submit')
  await accessible(page)
  await page.getByLabel('Length (ns)').fill('-1')
  await expect(page.locator('.follow .wrong').filter({ hasText: 'sim_length_ns' })).toBeVisible()
  await page.getByLabel('Length (ns)').fill('0.1')
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
})

test("the service's messages are shown next to their fields", async ({ page, visit }) => {
  await visit('/ui/')
  await paste(page, 'GG')
  await expect(page.getByRole('article', { name: 'Chain A' })).toContainText(
    'has 2 residues; the model "mini" folds 3 or more',
  )
  await paste(page, 'ACGUACGU') // mini folds no RNA
  await expect(page.getByLabel('Kind of Chain B')).toHaveValue('rna')
  await expect(page.getByRole('article', { name: 'Chain B' })).toContainText('folds protein only')
  await page.getByText('Parameters').click()
  await page.getByRole('textbox', { name: /^seed/ }).fill('minus one')
  await expect(page.locator('.run .wrong').filter({ hasText: 'minus one' })).toBeVisible()
  await page.getByRole('button', { name: 'Remove Chain B' }).click()
  await expect(page.getByRole('article')).toHaveCount(1)
})

test('a draft survives a visit to another page, and an older job can be edited and run again', async ({
  page,
  visit,
  server,
}) => {
  const item = await server.call<{ id: string }>('POST', '/v1/library/create', { name: 'alignments', type: 'folder' })
  const job = await server.call<CreatedJob>('POST', `/v1/jobs?from=${item.id}`, {
    name: 'to stop',
    sequences: [{ proteinChain: { sequence: 'ACDEFGHIKL', label: 'bait', chain_id: 'Q' } }],
    params: { modelName: 'mini', seed: '5' },
    isPublic: true,
  })
  await server.call('POST', `/v1/jobs/${job.jobId}/cancel`)
  await visit('/ui/')
  await paste(page, trpCage)
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.getByRole('link', { name: 'Pleat' }).click()
  await expect(page.getByLabel('Sequence of Chain A')).toHaveValue('DAYAQWLKDG GPSSGRPPPS')
  await page.goto(`/ui/?again=${job.jobId}`)
  await expect(page.getByLabel('Sequence of Chain Q')).toHaveValue('ACDEFGHIKL')
  await expect(page.getByLabel('Label of Chain Q')).toHaveValue('bait')
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('to stop')
  await expect(page.getByRole('textbox', { name: /^seed/ })).toHaveValue('5')
  await expect(page).toHaveURL(/\/ui\/$/)
  await expect(page.getByText('Uses the library item of the previous job')).toBeVisible()
  await expect(page.getByLabel('Public')).not.toBeChecked()
  await page.getByRole('button', { name: 'Fold', exact: true }).click()
  await expect(page).toHaveURL(/\/ui\/jobs\//)
  const view = await server.call<JobView>('GET', `/v1/jobs/${page.url().split('/').at(-1)}`)
  expect(view.job.libraryItemId).toBe(item.id)
  expect(view.job.isPublic).toBe(false)
  await server.call('POST', `/v1/jobs/${view.job.id}/cancel`)
})

const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })

test("another program's file is imported, with notes on what was changed", async ({ page, visit, console }) => {
  console.allow(/400 \(Bad Request\).*\/v1\/jobs(\/import)? ?/) // the browser's message for refused requests
  await visit('/ui/')
  const open = page.locator('input[type=file]')
  await open.setInputFiles(
    file(
      'two.json',
      JSON.stringify([
        { name: 'first of two', modelSeeds: ['7'], sequences: [{ proteinChain: { sequence: trpCage, count: 2 } }] },
        {
          name: 'second of two',
          modelSeeds: [],
          sequences: [
            { proteinChain: { sequence: 'YYDPETGTWY', count: 1 } },
            { ligand: { ligand: 'CCD_ATP', count: 1 } },
          ],
        },
      ]),
    ),
  )
  const from = page.getByRole('region', { name: 'From a file' })
  await expect(from).toContainText('From two.json')
  await expect(from).toContainText('The file has 2 jobs')
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('first of two')
  await expect(page.getByLabel('Sequence of Chains A to B')).toHaveValue('DAYAQWLKDG GPSSGRPPPS')
  await expect(page.getByRole('textbox', { name: /^seed/ })).toHaveValue('7')
  await expect(page.getByRole('article', { name: 'Chains A to B' })).toContainText('would fold one copy')
  await page.getByLabel('Copies').fill('1')
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
  await from.getByRole('button', { name: 'second of two' }).click()
  await expect(page.getByLabel('CCD code', { exact: true }).last()).toHaveValue('ATP')
  await expect(page.getByRole('article', { name: 'Chain B' })).toContainText('folds protein only')
  await accessible(page)

  await open.setInputFiles(
    file('dimer.yaml', `version: 1\nsequences:\n  - protein:\n      id: [X, Y]\n      sequence: ${trpCage}\n`),
  )
  await expect(page.getByRole('article')).toHaveCount(2)
  await expect(page.getByRole('article', { name: 'Chain X' })).toBeVisible()
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('dimer')

  await open.setInputFiles(
    file(
      'path.yaml',
      `version: 1\nsequences:\n  - protein:\n      id: A\n      sequence: ${trpCage}\n      msa: /etc/passwd\n`,
    ),
  )
  await expect(page.getByRole('alert')).toContainText('path.yaml could not be read')
  await expect(page.getByRole('article', { name: 'Chain X' })).toBeVisible() // what was there stays
  await open.setInputFiles(file('large.fasta', '>x\n' + 'A'.repeat(1 << 20)))
  await expect(page.getByRole('alert')).toContainText('a file may have 1.0 MB')
})

test('all jobs of a file are folded at once', async ({ page, server }) => {
  test.setTimeout(300_000) // two folds, on a machine that may have much else to do
  const key = server.newKey('ida')
  await signIn(page, server, key)
  await page.goto('/ui/')
  const jobs = ['YYDPETGTWY', 'GEWTYDDATKTFTVTE'].map((sequence, i) => ({
    name: `number ${i + 1}`,
    modelSeeds: ['1'],
    sequences: [{ proteinChain: { sequence, count: 1 } }],
  }))
  await page.locator('input[type=file]').setInputFiles(file('jobs.json', JSON.stringify(jobs)))
  await page.getByRole('button', { name: 'Fold all 2' }).click()
  await expect(page).toHaveURL(/\/ui\/jobs$/)
  for (const name of ['number 1', 'number 2'])
    await expect(page.getByRole('row').filter({ hasText: name })).toHaveAttribute('data-state', 'COMPLETED', {
      timeout: 120_000,
    })
})
