// Designs: from the form to the final set, its downloads, and folds of it with another model. The engine is a runner
// that draws sequences (test/scenario/testdata/designer).

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Workflow } from '../src/api'
import { driver } from './made'
import { drawn } from './pixels'
import { accessible, test as base, expect, picture, Server, signIn } from './server'

const here = import.meta.dirname ?? __dirname
const runners = mkdtempSync(join(tmpdir(), 'pleat-runners-'))
process.on('exit', () => rmSync(runners, { recursive: true, force: true }))
for (const folder of ['../../test/scenario/testdata/designer', '../../runners/foldrun'])
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
  await expect(page.getByLabel('Counts')).toContainText('designs nothing') // the notice of the model
  await expect(rows.nth(0)).toContainText('passed')
  await expect(rows.nth(1)).toContainText('filter_rmsd')
  await drawn(page)
  await expect(page.getByLabel('Colour key')).toContainText('Designed')

  // A click on a head sorts: the better values first; rows without a value are last in both directions.
  await page.getByRole('button', { name: 'ipTM', exact: true }).click()
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
  const folds = page.locator('[data-fold]')
  await expect(folds).toHaveCount(2)
  await expect(folds.first()).toHaveAttribute('data-state', 'COMPLETED', { timeout: 90_000 })
  const folded = page.locator('tr[data-design="design_1"]')
  await expect(folded.getByRole('link', { name: 'Open the fold of design_1 with designer-complex' })).toBeVisible()
  await expect(folded).toContainText('0.250')
  await page.getByRole('button', { name: 'Fold ipTM' }).click()
  await expect(rows.nth(2)).toContainText('–')
  await drawn(page)
  await accessible(page)
  await page.evaluate(() => scrollTo(0, 0))
  await picture(page, 'design')
  await page.setViewportSize({ width: 400, height: 800 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(400)
})

test('the columns that rank fit into a page of 1280 px', async ({ page, server, visit }) => {
  const flow = await designed(server)
  await page.setViewportSize({ width: 1280, height: 800 })
  await visit(`/ui/workflows/${flow.workflow_id}`)
  await expect(page.locator('tr[data-design]')).toHaveCount(4)
  const box = page.getByRole('region', { name: /^Designs/ })
  await page.getByText('Columns', { exact: false }).first().click()
  for (const name of ['filter_rmsd', 'plddt']) await page.getByRole('checkbox', { name, exact: true }).check()
  for (const title of ['Design', 'Filters', 'Rank', 'ipTM', 'PAE', 'RMSD', 'pLDDT'])
    await expect(box.locator('thead')).toContainText(title)
  expect(await box.evaluate((e) => e.scrollWidth - e.clientWidth)).toBe(0)
})

test('a binder is designed from a fold’s result by keyboard alone', async ({ page, server, visit, console }) => {
  console.allow(/400 \(Bad Request\)/)
  const { jobId } = await server.folded()
  await visit(`/ui/jobs/${jobId}`)
  await page.getByRole('link', { name: 'Design a binder' }).press('Enter')
  await expect(page.getByRole('heading', { name: 'New design' })).toBeVisible()
  await expect(page.getByLabel('Fold', { exact: true })).toHaveValue(jobId)
  await drawn(page)
  await accessible(page)
  await page.setViewportSize({ width: 400, height: 800 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(400)
  await page.setViewportSize({ width: 1280, height: 800 })

  // The page reports at once a text that it cannot read; a refusal of the service stands at its field, which has the
  // focus.
  const epitope = page.getByLabel('Residues to bind', { exact: true })
  await epitope.focus()
  await page.keyboard.type('A: x')
  await expect(page.getByText('“x” is not a residue')).toBeVisible()
  await epitope.fill('3-5, 99')
  await page.getByRole('button', { name: 'Peptide' }).press('Enter')
  await expect(page.locator('[data-protocol]')).toHaveAttribute('data-protocol', 'peptide-anything')
  await page.getByLabel('Length').fill('10..14')
  await page.getByLabel('Name', { exact: true }).fill('By form')
  await page.getByLabel('Designs to make').fill('6')
  await page.getByLabel('Of them returned').fill('4')
  await page.getByLabel('Seed').fill('7')
  await page.keyboard.press('Enter')
  await expect(epitope).toBeFocused()
  await expect(epitope).toHaveAttribute('aria-invalid', 'true')
  await expect(
    page.getByText(/epitope\[0\]\.res_idx\[1\] is 99; chain A of the target has residues 1 to 20/),
  ).toBeVisible()
  await accessible(page)
  await epitope.fill('3-5')
  await page.getByRole('button', { name: 'Design', exact: true }).press('Enter')
  await expect(page).toHaveURL(/\/ui\/workflows\//)
  await expect(page.getByRole('heading', { name: 'By form' })).toBeVisible()
  await expect(page.locator('tr[data-design]')).toHaveCount(4, { timeout: 90_000 })
  const flow = await server.call<Workflow>('GET', '/v1/workflows/' + page.url().split('/').at(-1))
  expect(flow.input_payload).toMatchObject({
    target: { sourceJobId: jobId },
    epitope: [{ chain_id: 'A', res_idx: ['3..5'] }],
    binder: { kind: 'peptide', length: '10..14' },
    numDesigns: 6,
    budget: 4,
  })
})

test('a residue that is clicked in the structure is one to bind', async ({ page, server, visit }) => {
  const { jobId } = await server.folded()
  await visit(`/ui/designs/new?job=${jobId}`)
  await drawn(page)
  const add = page.getByRole('button', { name: 'Residues to bind: add the selection' })
  await expect(add).toBeDisabled()
  const view = (await page.locator('[data-viewer]').boundingBox())!
  // The cartoon runs somewhere near the middle.
  await expect(async () => {
    for (const [dx, dy] of [
      [0, 0],
      [-30, 0],
      [30, 0],
      [0, -30],
      [0, 30],
      [-50, -20],
      [50, 20],
    ] as const) {
      await page.mouse.click(view.x + view.width / 2 + dx, view.y + view.height / 2 + dy)
      if (await add.isEnabled()) return
    }
    throw new Error('nothing was hit')
  }).toPass({ timeout: 60_000 })
  await add.click()
  await expect(page.getByLabel('Residues to bind', { exact: true })).toHaveValue(/^A: \d+$/)
  await page.getByRole('button', { name: 'Residues to bind: show in the structure' }).click()
  await expect(page.locator('[data-selection]')).toHaveAttribute('data-selection', /^picked:A:/)
})

test('a structure gets other sequences, whose table and plot have what there is', async ({ page, server, visit }) => {
  const { jobId } = await server.folded()
  await visit(`/ui/jobs/${jobId}`)
  await page.getByRole('link', { name: 'Redesign the sequence' }).click()
  await page.getByLabel('Residues to redesign', { exact: true }).fill('A: 3-8')
  await page.getByLabel('Temperature').fill('0.2')
  await page.getByLabel('Designs to make').fill('5')
  await page.getByLabel('Of them returned').fill('3')
  await accessible(page)
  await page.getByRole('button', { name: 'Design', exact: true }).click()
  const rows = page.locator('tr[data-design]')
  await expect(rows).toHaveCount(3, { timeout: 90_000 })
  const heads = page.locator('.designs th')
  await expect(heads).toHaveCount(5)
  for (const [i, title] of ['Shortlist', 'Design', 'Rank', 'Score', 'Recovery'].entries())
    await expect(heads.nth(i)).toContainText(title)
  await expect(page.locator('.designs')).not.toContainText('–')
  await expect(page.locator('.scatter')).toHaveAttribute('data-points', '3')
  await expect(page.getByLabel('Up')).toHaveValue('sequence_score')
  await drawn(page)
  await accessible(page)
})

test('without an engine the form says what to install, and makes a draft', async ({ page, console, start }) => {
  console.allow(/400 \(Bad Request\)/)
  const without = await start('--engines', 'mini')
  const { jobId } = await without.folded()
  await signIn(page, without)
  await page.goto(`${without.url}/ui/designs/new?job=${jobId}&mode=redesign`)
  await expect(page.locator('[data-no-engine]')).toContainText('pleat engines install proteinmpnn')
  await page.getByRole('button', { name: 'Design a binder' }).click()
  await expect(page.locator('[data-no-engine]')).toContainText('pleat engines install boltzgen')
  await expect(page.getByRole('button', { name: 'Design', exact: true })).toHaveCount(0)
  await page.getByRole('button', { name: 'Save as a draft' }).click()
  await expect(page.getByText('This is a draft. It has not been run.')).toBeVisible()
  await expect(page.getByText('target.sourceJobId')).toBeVisible()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await expect(page.getByText(/no engine for design is running here/)).toBeVisible()
})

test('a structure of the library leads to the form', async ({ page, server, visit }) => {
  const flow = await designed(server)
  const item = flow.tasks[0]!.output_library_items[0]!.libraryItemId
  await visit('/ui/library/' + item)
  await page.getByRole('link', { name: 'Design a binder' }).click()
  await expect(page.getByLabel('Library file', { exact: true })).toHaveValue(item)
  await drawn(page)
  await page.getByLabel('Residues to bind', { exact: true }).fill('B: 2')
  await page.getByLabel('Designs to make').fill('3')
  await page.getByRole('checkbox', { name: 'A', exact: true }).uncheck()
  await page.getByRole('button', { name: 'Save as a draft' }).click()
  await expect(page.getByText('This is a draft. It has not been run.')).toBeVisible()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await expect(page.locator('tr[data-design]')).toHaveCount(2, { timeout: 90_000 })
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
