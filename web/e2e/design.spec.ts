// Designs: from a fold to the final set, its downloads, and folds of it with another model. The engine is a runner that
// draws sequences (cmd/pleat/testdata/designer).

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Workflow } from '../src/api'
import { driver } from './made'
import { drawn } from './pixels'
import { accessible, test as base, expect, picture, Server } from './server'

const here = import.meta.dirname ?? __dirname
const runners = mkdtempSync(join(tmpdir(), 'pleat-runners-'))
process.on('exit', () => rmSync(runners, { recursive: true, force: true }))
for (const folder of ['../../cmd/pleat/testdata/designer', '../../runners/foldrun'])
  cpSync(resolve(here, folder), join(runners, folder.split('/').at(-1)!), { recursive: true })

const test = base.extend<object, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = new Server(['--engines', 'mini,designer', '--runners', runners])
      await server.start()
      await use(server)
      await server.remove()
    },
    { scope: 'worker' },
  ],
})

test.describe.configure({ timeout: 400_000 })

test.beforeEach(({ console: messages }) => messages.allow(driver))

/** A completed design with six requested and four returned designs. */
async function designed(server: Server): Promise<Workflow> {
  const { jobId } = await server.folded()
  const flow = await server.call<Workflow>('POST', '/v1/workflows', {
    workflow_name: 'design_v1',
    name: 'Binders',
    workflow_input: {
      target: { sourceJobId: jobId },
      epitope: [{ chain_id: 'A', res_idx: [3, 4, 5] }],
      binder: { length: '10..14' },
      numDesigns: 6,
      budget: 4,
      seed: 7,
    },
  })
  const read = () => server.call<Workflow>('GET', '/v1/workflows/' + flow.workflow_id)
  await expect.poll(async () => (await read()).status, { timeout: 90_000 }).toBe('COMPLETED')
  return read()
}

test('the final set is read, sorted, drawn, downloaded and folded with another model', async ({
  page,
  server,
  visit,
}) => {
  const flow = await designed(server)
  await visit('/ui/workflows')
  await expect(page.getByRole('row', { name: /Binders/ })).toContainText('Design')
  await page.getByRole('link', { name: 'Binders' }).click()
  const rows = page.locator('tr[data-design]')
  await expect(rows).toHaveCount(4)
  await expect(page.getByLabel('Counts')).toContainText('requested')
  await expect(rows.nth(0)).toContainText('passed')
  await expect(rows.nth(1)).toContainText('filter_rmsd')
  await drawn(page)
  await expect(page.getByLabel('Colour key')).toContainText('Designed')

  // A click on a head sorts: the better values first; rows without a value are last in both directions.
  await page.getByRole('button', { name: 'design_to_target_iptm' }).click()
  await expect(rows.first()).toHaveAttribute('data-design', 'design_5')
  await page.getByText('Columns', { exact: false }).first().click()
  await page.getByRole('checkbox', { name: 'filter_rmsd_design', exact: true }).check()
  const head = page.getByRole('button', { name: 'filter_rmsd_design' })
  await head.click()
  await expect(rows.last()).toHaveAttribute('data-design', 'design_1')
  await head.click()
  await expect(rows.last()).toHaveAttribute('data-design', 'design_1')
  await expect(rows.last()).toContainText('–')
  await page.getByText('Columns', { exact: false }).first().click()

  // Keys choose a design and put it on the shortlist.
  const table = page.getByRole('region', { name: /^Designs/ })
  await table.focus()
  await page.keyboard.press('End')
  await expect(page.locator('[data-chosen]')).toHaveAttribute('data-chosen', 'design_1')
  await expect(page.locator('[data-structure]')).toHaveAttribute('data-structure', 'design_1')
  await page.keyboard.press(' ')
  await expect(page.locator('[data-shortlist]')).toHaveAttribute('data-shortlist', 'design_1')
  await page.getByRole('checkbox', { name: 'Put design_3 on the shortlist' }).check()
  const sequence = (flow.tasks[0]!.parsed_results as { designed_chain_sequence: string }[])[0]!.designed_chain_sequence
  const saved = async (name: string) => {
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name }).click()
    return readFileSync(await (await download).path(), 'utf8')
  }
  const fasta = await saved('Download FASTA')
  expect(fasta).toContain(`>design_1 rank=1 pass_filters=true\n${sequence}\n`)
  expect(fasta.match(/^>/gm)).toHaveLength(2)
  expect((await saved('Download CSV')).split('\r\n')[0]).toMatch(/^id,final_rank,/)

  // The shortlist is folded with another model, whose scores stand beside each design.
  await page.getByRole('button', { name: 'Fold 2 designs' }).click()
  const folds = page.locator('tr[data-fold]')
  await expect(folds).toHaveCount(2)
  await expect(folds.first()).toHaveAttribute('data-state', 'COMPLETED', { timeout: 90_000 })
  await expect(folds.first()).toContainText('designer-complex')
  await expect(folds.first()).toContainText('0.250')
  await drawn(page)
  await accessible(page)
  await page.evaluate(() => scrollTo(0, 0))
  await picture(page, 'design')
  await page.setViewportSize({ width: 400, height: 800 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(400)
})

test('addresses that clients print lead to the workflow and to the structure', async ({ page, server, visit }) => {
  const flow = await designed(server)
  const item = flow.tasks[0]!.output_library_items[0]!.libraryItemId
  await visit('/workflow/composer/' + flow.workflow_id)
  await expect(page).toHaveURL(`/ui/workflows/${flow.workflow_id}`)
  await expect(page.getByRole('heading', { name: 'Binders' })).toBeVisible()
  await page.goto(`/mol/${item}?from=library`)
  await expect(page.getByRole('heading', { name: /^rank1_.*\.cif$/ })).toBeVisible()
  await drawn(page)
  await accessible(page)
})

test('a design is started from a fold, by the form', async ({ page, server, visit, console: messages }) => {
  messages.allow(/status of 400/)
  const { jobId } = await server.folded()
  await visit(`/ui/jobs/${jobId}`)
  await drawn(page)
  await page.getByText('Start a design').click()
  const form = page.locator('.start-design')
  await form.getByLabel('Residues to bind').fill('A: 3-5, 99')
  await form.getByLabel(/^Length/).fill('10..14')
  await form.getByLabel('Designs to make').fill('4')
  await form.getByLabel('Designs to keep').fill('2')
  await form.getByRole('button', { name: 'Design', exact: true }).click()
  // A wrong residue is refused in one sentence, and the form keeps its texts.
  await expect(form.getByRole('alert')).toContainText('workflow_input.epitope[0].res_idx[3] is 99')
  await form.getByLabel('Residues to bind').fill('A: 3-5')
  await accessible(page)
  await form.getByRole('button', { name: 'Design', exact: true }).click()
  await expect(page.locator('tr[data-design]')).toHaveCount(2, { timeout: 90_000 })
})

test('the sequence of a structure is designed, and folded by a model of single chains', async ({
  page,
  server,
  visit,
}) => {
  const { jobId } = await server.folded()
  await visit(`/ui/jobs/${jobId}`)
  await page.getByText('Start a design').click()
  const form = page.locator('.start-design')
  await form.getByRole('button', { name: 'The sequence' }).click()
  await form.getByLabel('Residues to redesign').fill('A: 3-6')
  await form.getByLabel('Designs to make').fill('6')
  await form.getByLabel('Designs to keep').fill('3')
  await picture(page, 'design-form')
  await form.getByRole('button', { name: 'Design', exact: true }).click()
  const rows = page.locator('tr[data-design]')
  await expect(rows).toHaveCount(3, { timeout: 90_000 })
  await expect(page.getByRole('columnheader', { name: /sequence_score/ })).toBeVisible()
  await expect(page.getByRole('columnheader', { name: 'Filters' })).toHaveCount(0)
  await expect(page.getByLabel('Counts')).toContainText('Draws letters at random')
  await expect(page.getByRole('combobox', { name: 'Across' })).toHaveValue('sequence_score')
  await page.getByRole('combobox', { name: 'Model' }).selectOption('mini')
  await page.getByRole('button', { name: 'Fold 3 designs' }).click()
  await expect(page.locator('tr[data-fold][data-state=COMPLETED]')).toHaveCount(3, { timeout: 90_000 })
  await drawn(page)
  await accessible(page)
  await page.evaluate(() => scrollTo(0, 0))
  await picture(page, 'design-sequence')
})

base('without an engine a design is saved as a draft', async ({ page, server, visit, console: messages }) => {
  messages.allow(/status of 400/)
  const { jobId } = await server.folded()
  await visit(`/ui/jobs/${jobId}`)
  await page.getByText('Start a design').click()
  const form = page.locator('.start-design')
  await expect(form).toContainText('pleat engines install boltzgen')
  await form.getByRole('button', { name: 'The sequence' }).click()
  await expect(form).toContainText('pleat engines install proteinmpnn')
  await form.getByRole('button', { name: 'A binder' }).click()
  await form.getByRole('button', { name: 'Save a draft' }).click()
  await expect(page.getByText('This is a draft.')).toBeVisible()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await expect(page.getByText('no engine for design is running here')).toBeVisible()
})
