import type { Page } from '@playwright/test'
import type { Batch, BatchRows, CreateBatch, CreatedBatch } from '../src/api'
import { margin, placesOf, pointsOf } from '../src/batches/points'
import { type Grid, gridOf, type Row } from '../src/batches/scores'
import { test as base, driver, engines } from './made'
import { drawn } from './pixels'
import { accessible, expect, picture, Server, signIn } from './server'

// Software rendering is slow, and the machine may be busy.
base.describe.configure({ timeout: 400_000 })

const test = base.extend<object, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = new Server([...engines, '--batch-quota', '40000'])
      await server.start()
      await use(server)
      await server.remove()
    },
    { scope: 'worker' },
  ],
})

test.beforeEach(({ console: messages }) => messages.allow(driver))

const params = { modelName: 'made-up', stepScale: 2 } // whose scores differ by sequence
const letters = 'ACDEFGHIKLMNPQRSTVWY'

/** A protein that differs from those with other numbers. */
const protein = (number: number, length = 16) => ({
  proteinChain: {
    sequence: Array.from({ length }, (_, k) => letters[(number * 7 + k * ((number % 13) + 3)) % 20]).join(''),
  },
})

/** Rows with two chains, of which each sixth fails. */
const screenJobs = Array.from({ length: 18 }, (_, i) => ({
  customId: `binder-${i + 1}`,
  sequences: [protein(i), protein(99)],
  ...(i % 6 === 4 && { params: { modelName: 'made-up', recyclingSteps: 3 } }),
}))

const create = async (server: Server, body: Partial<CreateBatch>, key = server.key) =>
  (await server.call<CreatedBatch>('POST', '/v1/batches', { name: 'screen', params, ...body }, key)).batchId

const read = (server: Server, id: string, key = server.key) =>
  server.call<Batch>('GET', `/v1/batches/${id}`, undefined, key)

const rowsOf = async (server: Server, id: string, query = '') =>
  (await server.call<BatchRows>('GET', `/v1/batches/${id}/rows?limit=1000&${query}`)).data as Row[]

/** Creates a batch and waits until all its rows have ended. */
async function ended(server: Server, body: Partial<CreateBatch>, key = server.key): Promise<string> {
  const id = await create(server, body, key)
  await expect.poll(async () => (await read(server, id, key)).finishedAt, { timeout: 240_000 }).not.toBeNull()
  return id
}

let screenId = ''
let matrixId = ''
let grid: Grid

// The batches that several tests read.
test.beforeAll(async ({ server }) => {
  test.setTimeout(400_000)
  screenId = await ended(server, { kind: 'list', name: 'PD-L1 binders', jobs: screenJobs })
  const entries = (prefix: string, from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ customId: `${prefix}-${i + 1}`, sequences: [protein(from + i)] }))
  matrixId = await ended(server, {
    kind: 'matrix',
    name: 'Specificity',
    binders: entries('nb', 200, 4),
    targets: entries('target', 300, 3),
  })
  grid = gridOf(await rowsOf(server, matrixId))
})

/** Waits until the structure of a job is drawn beside the table. */
async function drawnBeside(page: Page, job: string) {
  await page.locator(`[data-structure="${job}"][aria-busy=false]`).waitFor()
  await drawn(page)
}

const row = (page: Page, number: number) => page.locator(`tr[data-row="${number}"]`)
const shownRows = (page: Page) =>
  page.locator('tr[data-row]').evaluateAll((rows) => rows.map((r) => Number((r as HTMLElement).dataset.row)))

test('a new user has no batches', async ({ page, server, visit }) => {
  await visit('/ui/batches', server.newKey('newcomer'))
  await expect(page.getByRole('heading', { name: 'No batches yet' })).toBeVisible()
  await expect(page.getByRole('link', { name: 'Batches', exact: true })).toHaveAttribute('aria-current', 'page')
  await accessible(page)
  await page.getByRole('main').getByRole('link', { name: 'New batch' }).first().click()
  await expect(page).toHaveURL(/\/ui\/batches\/new$/)
})

test('a batch is checked by row before it is created', async ({ page, server }) => {
  const key = server.newKey('mia')
  await signIn(page, server, key)
  await page.goto('/ui/batches/new')
  await page.getByRole('combobox', { name: 'Model' }).first().selectOption('made-up')
  const rows = page.getByLabel('Sequences', { exact: true })
  await rows.fill('name,seq\na,GYDPETGTWG')
  await expect(page.getByText('It cannot be read: the columns are name, seq; there must be sequence.')).toBeVisible()
  await rows.fill('id,sequence\nfirst,GYDPETGTWG\nsecond,GYDPETGTWG\nfirst,GYDPETGTWG')
  const faults = page.locator('[data-fault]')
  await expect(faults).toContainText('Row 3firstline 4CustomId is "first" like that of jobs[0]')
  await rows.fill('id,sequence\nfirst,GYDPETGTWG\nsecond,GYDBETGTWG\nthird,GSGSG:GS1')
  await expect(faults).toHaveCount(2)
  await expect(faults.first()).toContainText('Row 2second' + "line 3Residue 4: 'B' stands for D or N")
  await expect(faults.last()).toContainText("Row 3thirdline 4Chain 2, residue 3: '1'")
  await expect(page.getByRole('button', { name: 'Create batch' })).toBeDisabled()
  await accessible(page)
  await rows.fill('id,sequence\nfirst,GYDPETGTWG\nsecond,GSGSGS\nthird,gydpetgtwg')
  await page.getByLabel('Name', { exact: true }).fill('Peptides')
  await expect(page.locator('[data-valid=yes]')).toContainText('Rows3Equal rows1, not computed again')
  await expect(page.locator('[data-valid=yes]')).toContainText('3 of the 40,000 rows left today')
  await page.getByText('Show as curl').click()
  await expect(page.getByLabel('The request as a command')).toContainText('/v1/batches')
  await expect(page.getByLabel('The request as a command')).toContainText('"name": "Peptides"')
  await picture(page, 'batch-new')
  await page.getByRole('button', { name: 'Create a batch of 3 rows' }).click()
  await expect(page).toHaveURL(/\/ui\/batches\/[0-9a-f-]{36}$/)
  await expect(page.getByRole('heading', { name: 'Peptides' })).toBeVisible()
  // The page follows the batch to its end, and shows the scores of the rows.
  await expect(page.locator('article.batch')).toHaveAttribute('data-state', 'COMPLETED')
  await expect(row(page, 3)).toContainText(/third.*completed.*\d\d\.\d/)
  await page.getByRole('link', { name: 'Batches', exact: true }).click()
  await expect(page.locator('tr[data-batch]')).toContainText(/Peptides.*3 completed.*List.*made-up/)
  await accessible(page)
})

test('a webhook is notified of the batch, and of each row if the user asks for it', async ({ page, server }) => {
  const key = server.newKey('wanda')
  const target_url = 'http://127.0.0.1:9/hook' // where nothing listens
  await server.call('PUT', '/v1/webhooks/custom-http-config', { target_url, token_value: 'a long random text' }, key)
  await signIn(page, server, key)
  await page.goto('/ui/batches/new')
  await page.getByRole('combobox', { name: 'Model' }).first().selectOption('made-up')
  await page.getByLabel('Sequences', { exact: true }).fill('GYDPETGTWG\nGSGSGS')
  await expect(page.getByLabel('For each row, too')).toHaveCount(0) // by default nobody is notified
  await page.getByLabel('Notify my webhook').check()
  await page.getByLabel('For each row, too').check()
  await expect(page.locator('[data-valid=yes]')).toContainText('Rows2')
  await accessible(page)
  await page.getByRole('button', { name: 'Create a batch of 2 rows' }).click()
  await expect(page.locator('article.batch')).toHaveAttribute('data-state', 'COMPLETED')
  const deliveries = async () =>
    (await server.call<{ data: { source_kind: string }[] }>('GET', '/v1/webhooks/deliveries', undefined, key)).data
  await expect
    .poll(async () => (await deliveries()).map((d) => d.source_kind).sort())
    .toEqual(['batch', 'fold_job', 'fold_job'])
})

test('each kind of batch has its form, and JSON is taken as it is', async ({ page, visit }) => {
  await visit('/ui/batches/new')
  await page.getByRole('combobox', { name: 'Model' }).first().selectOption('made-up')
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  await button('Matrix').click()
  await page.getByRole('textbox', { name: 'Sequences of the binders' }).fill('>a\nGSGSG\n>b\nAAAA\n>c\nGGGG')
  await expect(button('Create a batch of 3 rows')).toBeEnabled() // each pair once
  await page.getByLabel('Each binder with itself, too').check()
  await expect(button('Create a batch of 6 rows')).toBeEnabled()
  await page.getByRole('textbox', { name: 'Sequences of the targets' }).fill('GSGSGSGS\nGAGAGAGA')
  await expect(button('Create a batch of 6 rows')).toBeEnabled()
  await expect(page.getByLabel('Each pair once')).toHaveCount(0)
  await button('Ligands').click()
  await page.getByRole('textbox', { name: 'Sequences that all rows have' }).fill('GSGSGSGSGS')
  await page
    .getByRole('textbox', { name: 'SMILES or CCD codes' })
    .fill('id,smiles\naspirin,CC(=O)Oc1ccccc1C(=O)O\nethanol,CCO')
  await page.getByLabel('Predict how strongly each binds').check()
  await expect(button('Create a batch of 2 rows')).toBeEnabled()
  await button('Variants').click()
  await page.getByRole('textbox', { name: 'Mutations' }).fill('WT G1A:S2T')
  await page.getByLabel('From residue').fill('3')
  await page.getByLabel('into').fill('AV')
  await expect(button('Create a batch of 4 rows')).toBeEnabled()
  await page.getByRole('textbox', { name: 'Mutations' }).fill('A9V')
  await expect(page.locator('[data-fault="Mutation 1"]')).toContainText('but residue 9 of the chain is G')
  await accessible(page)
  await button('Seeds').click()
  await page.getByRole('textbox', { name: 'Seeds' }).fill('1-5, 9')
  await expect(button('Create a batch of 6 rows')).toBeEnabled()
  await button('List').click()
  const file = {
    kind: 'seeds',
    name: 'From a file',
    params: { modelName: 'mini' },
    sequences: [protein(1)],
    seedCount: 4,
  }
  await page
    .getByLabel('File of Sequences')
    .setInputFiles({ name: 'seeds.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(file)) })
  await expect(page.getByRole('heading', { name: 'From seeds.json' })).toBeVisible()
  await expect(button('Create a batch of 4 rows')).toBeEnabled()
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('From a file')
})

test('the order and the filter of the table stand in the address and are the service’s', async ({
  page,
  server,
  visit,
}) => {
  await visit(`/ui/batches/${screenId}`)
  await expect(page.locator('tr[data-row]')).toHaveCount(18)
  // A failure is counted, and its row says why.
  await expect(page.getByRole('group', { name: 'Rows by status' })).toHaveText('3 failed15 completed')
  await expect(row(page, 5)).toContainText('Chain A has a residue that this engine does not like.')
  // A head names the unit and the direction of a score, and sorts by the better values.
  const head = page.getByRole('columnheader', { name: 'meanPLDDT' })
  await expect(head).toContainText('0 to 100, higher better')
  await expect(head.getByRole('img')).toHaveAccessibleName(/^Distribution of meanPLDDT: .* 15 of 18 rows$/)
  await head.getByRole('button').click()
  await expect(page).toHaveURL(/sort=meanPLDDT:desc/)
  await expect(head).toHaveAttribute('aria-sort', 'descending')
  const best = await rowsOf(server, screenId, 'sort=meanPLDDT:desc')
  await expect.poll(() => shownRows(page)).toEqual(best.map((r) => r.row))
  await accessible(page)
  await page.getByLabel('Value', { exact: true }).fill('50')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await expect(page).toHaveURL(/filter=meanPLDDT>=50|filter=meanPLDDT%3E=50/)
  const some = await rowsOf(server, screenId, 'sort=meanPLDDT:desc&filter=meanPLDDT>=50')
  expect(some.length).toBeGreaterThan(0)
  expect(some.length).toBeLessThan(15)
  await expect.poll(() => shownRows(page)).toEqual(some.map((r) => r.row))
  await page.reload()
  await expect.poll(() => shownRows(page)).toEqual(some.map((r) => r.row))
  // The files have the same rows in the same order.
  const exports = page.getByRole('group', { name: 'Download what is shown' })
  const download = page.waitForEvent('download')
  await exports.getByRole('link', { name: 'JSON Lines' }).click()
  const file = await download
  expect(file.suggestedFilename()).toBe('PD-L1-binders.jsonl')
  const { readFile } = await import('node:fs/promises')
  const lines = (await readFile((await file.path())!, 'utf8')).trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as Row).row)).toEqual(some.map((r) => r.row))
  for (const [name, part] of [
    ['CSV', 'table.csv'],
    ['Parquet', 'table.parquet'],
    ['Structures', 'archive.zip'],
  ] as const) {
    const href = (await exports.getByRole('link', { name }).getAttribute('href'))!
    expect(href).toContain(`/${part}?`)
    expect(decodeURIComponent(href)).toContain('filter=meanPLDDT>=50&sort=meanPLDDT:desc')
    expect((await page.request.get(href)).status()).toBe(200)
  }
  await page.getByRole('button', { name: 'Remove the condition meanPLDDT>=50' }).click()
  await page.getByRole('button', { name: 'Failed 3' }).click()
  await expect.poll(() => shownRows(page)).toEqual([5, 11, 17])
  await expect(page).toHaveURL(/filter=status=FAILED/)
  await page.getByLabel('Value', { exact: true }).fill('1')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await expect(page.getByText('No rows match.')).toBeVisible()
  await page.getByRole('button', { name: 'Show all rows' }).click()
  await expect(page.locator('tr[data-row]')).toHaveCount(18)
})

test('rows are searched by their ids, and the text is in the address', async ({ page, visit }) => {
  await visit(`/ui/batches/${screenId}`)
  const search = page.getByRole('searchbox', { name: 'Search rows by id' })
  await search.fill('BINDER-1')
  await expect.poll(() => shownRows(page)).toEqual([1, 10, 11, 12, 13, 14, 15, 16, 17, 18])
  await expect(page).toHaveURL(/filter=customId~BINDER-1$/)
  await page.getByRole('button', { name: 'Failed 3' }).click()
  await expect.poll(() => shownRows(page)).toEqual([11, 17])
  await expect(page).toHaveURL(/filter=status=FAILED,customId~BINDER-1$/)
  const csv = page.getByRole('group', { name: 'Download what is shown' }).getByRole('link', { name: 'CSV' })
  expect((await (await page.request.get((await csv.getAttribute('href'))!)).text()).trim().split('\n')).toHaveLength(3)
  await page.reload()
  await expect(search).toHaveValue('BINDER-1')
  await expect.poll(() => shownRows(page)).toEqual([11, 17])
  await search.fill('none of them')
  await expect(page.getByText('No rows match.')).toBeVisible()
  await accessible(page)
  await page.getByRole('button', { name: 'Show all rows' }).click()
  await expect(page.locator('tr[data-row]')).toHaveCount(18)
  await expect(search).toHaveValue('')
})

test('a filter that the service refuses is said', async ({ page, visit, console: messages }) => {
  messages.allow(/400 \(Bad Request\)/)
  await visit(`/ui/batches/${screenId}?filter=meanPLDT>3`)
  await expect(page.getByRole('alert')).toContainText('did you mean meanPLDDT?')
  await page.getByRole('button', { name: 'Remove the condition meanPLDT>3' }).click()
  await expect(page.locator('tr[data-row]')).toHaveCount(18)
  await expect(page.getByRole('alert')).toHaveCount(0)
})

test('a point of the scatter chooses its row, whose structure is shown beside', async ({ page, server, visit }) => {
  const viewers: string[] = []
  page.on('request', (r) => /molstar/.test(r.url()) && viewers.push(r.url()))
  await visit(`/ui/batches/${screenId}?x=ptm_score&y=iptm_score&colour=meanPLDDT`)
  const scatter = page.locator('.scatter')
  await expect(scatter).toHaveAttribute('data-points', '15')
  expect(viewers).toEqual([]) // before a row is chosen
  const rows = await rowsOf(server, screenId)
  const points = pointsOf(rows, 'ptm_score', 'iptm_score', 'meanPLDDT')!
  const area = scatter.locator('.points')
  const box = (await area.boundingBox())!
  const places = placesOf(points, box.width, box.height)
  const best = points.x.indexOf(Math.max(...points.x))
  const position = { x: places.x(points.x[best]!), y: places.y(points.y[best]!) }
  await area.hover({ position })
  await expect(scatter.locator('output')).toContainText(points.rows[best]!.customId)
  await area.click({ position })
  const chosen = points.rows[best]!
  await expect(page).toHaveURL(new RegExp(`row=${chosen.row}`))
  await expect(row(page, chosen.row)).toHaveAttribute('aria-current', 'true')
  const panel = page.getByRole('region', { name: 'Chosen row' })
  await expect(panel.getByRole('heading')).toContainText(chosen.customId)
  await drawnBeside(page, chosen.jobId!)
  expect(viewers.length).toBeGreaterThan(0)
  await expect(panel.getByRole('link', { name: 'Open the job' })).toHaveAttribute('href', `/ui/jobs/${chosen.jobId}`)
  await expect(panel.locator('dl')).toContainText(`ptm_score${points.x[best]!.toFixed(3)}`)
  await accessible(page)
  await picture(page, 'batch')
  // The plot is drawn again in the colours of a dark page.
  const axis = () =>
    scatter
      .locator('canvas')
      .first()
      .evaluate((canvas: HTMLCanvasElement, x) => {
        const copy = new OffscreenCanvas(1, 1).getContext('2d')!
        copy.drawImage(canvas, -x, -100)
        return copy.getImageData(0, 0, 1, 1).data[0]
      }, margin.left)
  await expect.poll(axis).toBeGreaterThan(200) // the vertical axis on a light page
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(axis).toBeLessThan(100)
  // The address alone leads back to the row.
  await page.reload()
  await expect(panel.getByRole('heading')).toContainText(chosen.customId)
  await drawnBeside(page, chosen.jobId!)
})

test('rows are chosen and shortlisted by keys, and the shortlist is in the address', async ({ page, visit }) => {
  await visit(`/ui/batches/${screenId}`)
  const table = page.getByRole('region', { name: /^Rows\. Arrow keys/ })
  await table.focus()
  await page.keyboard.press('ArrowDown')
  await expect(row(page, 1)).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('Space')
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Space')
  await expect(page.getByRole('region', { name: 'Shortlist', exact: true })).toContainText('2 rows in the shortlist')
  await page.keyboard.press('End')
  await expect(row(page, 18)).toHaveAttribute('aria-current', 'true')
  await expect(row(page, 18)).toBeInViewport()
  await expect(page).toHaveURL(/row=18&shortlist=1,5/)
  // A failed row is shown beside with its reason, and without a structure.
  await page.getByRole('button', { name: 'binder-5', exact: true }).click()
  const panel = page.getByRole('region', { name: 'Chosen row' })
  await expect(panel).toContainText('Chain A has a residue that this engine does not like.')
  await expect(panel.locator('[data-viewer]')).toHaveCount(0)
  await page.getByRole('button', { name: 'Show only these' }).click()
  await expect.poll(() => shownRows(page)).toEqual([1, 5])
  await expect(page).toHaveURL(/only=shortlist/)
  const csv = page.getByRole('group', { name: 'Download what is shown' }).getByRole('link', { name: 'CSV' })
  expect((await (await page.request.get((await csv.getAttribute('href'))!)).text()).trim().split('\n')).toHaveLength(3)
  await page.reload()
  await expect.poll(() => shownRows(page)).toEqual([1, 5])
  await page.getByLabel('Put binder-1 on the shortlist').click() // which takes the row away
  await expect.poll(() => shownRows(page)).toEqual([5])
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await expect(page.locator('tr[data-row]')).toHaveCount(18)
  await page.getByLabel('Put binder-2 on the shortlist').check()
  await page.getByLabel('Put binder-3 on the shortlist').check()
  await page.getByRole('button', { name: 'Compare' }).click()
  await expect(page).toHaveURL(/\/ui\/compare\?jobs=[0-9a-f-]{36},[0-9a-f-]{36}$/)
})

test('a matrix has a heat map, whose cells choose rows', async ({ page, visit }) => {
  await visit(`/ui/batches/${matrixId}`)
  const map = page.locator('.heat')
  await expect(map).toHaveAttribute('data-cells', '12')
  await expect(map.getByRole('img').first()).toHaveAccessibleName('meanPLDDT of 4 binders with 3 targets')
  const cells = map.getByRole('group')
  await cells.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  const chosen = grid.at(1, 1)!
  await expect(map.locator('output')).toContainText('nb-2:target-2: meanPLDDT')
  await expect(row(page, chosen.row)).toHaveAttribute('aria-current', 'true')
  await page.getByRole('combobox', { name: 'Colour' }).first().selectOption('iptm_score')
  await expect(page).toHaveURL(/colour=iptm_score/)
  await expect(map.getByRole('img').first()).toHaveAccessibleName(/^iptm_score of 4/)
  const box = (await cells.boundingBox())!
  await cells.click({ position: { x: 70, y: box.height - 12 } }) // the first target of the last binder
  await expect(page.getByRole('region', { name: 'Chosen row' })).toContainText('nb-4:target-1')
  await drawnBeside(page, grid.at(3, 0)!.jobId!)
  await accessible(page)
  await page.getByRole('tab', { name: 'Scatter' }).click()
  await expect(page.locator('.scatter')).toHaveAttribute('data-points', '12')
  await expect(page).toHaveURL(/plot=scatter/)
  for (const address of [page.url(), '/ui/batches', '/ui/batches/new']) {
    await page.setViewportSize({ width: 360, height: 740 })
    await page.goto(address)
    await expect(page.locator('[data-ready]').first()).toBeVisible()
    expect(await page.evaluate(() => document.documentElement.scrollWidth), address).toBeLessThanOrEqual(360)
  }
})

test('a batch is stopped, retried, repeated, published and deleted', async ({
  page,
  server,
  browser,
  console: messages,
}) => {
  messages.allow(/400 \(Bad Request\).*\/rerun/)
  const key = server.newKey('otto')
  await signIn(page, server, key)
  page.on('dialog', (d) => void d.accept())
  const id = await create(
    server,
    {
      kind: 'list',
      name: 'Long',
      params: { modelName: 'made-up', samplingSteps: 10_000 },
      jobs: screenJobs.slice(0, 3),
    },
    key,
  )
  await page.goto(`/ui/batches/${id}`)
  await expect(page.locator('[data-count=RUNNING]')).toBeVisible()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await expect(page.locator('article.batch')).toHaveAttribute('data-state', 'STOPPED')
  await expect(page.locator('tr[data-row][data-state=STOPPED]')).toHaveCount(3)
  await page.getByRole('button', { name: 'Retry 3 rows' }).click()
  await expect(page.locator('tr[data-row][data-state=STOPPED]')).toHaveCount(0)
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await expect(page.locator('article.batch')).toHaveAttribute('data-state', 'STOPPED')
  // The same rows with other parameters.
  await page.getByRole('button', { name: 'Run with other settings' }).click()
  const form = page.getByRole('form', { name: 'Run with other settings' })
  await form.getByLabel('Name', { exact: true }).fill('Short')
  await form.getByText('Parameters').click()
  await form.getByLabel('samplingSteps').fill('x')
  await form.getByRole('button', { name: 'Create batch' }).click()
  await expect(form.getByRole('alert')).toContainText('samplingSteps')
  await form.getByLabel('samplingSteps').fill('1')
  await accessible(page)
  await form.getByRole('button', { name: 'Create batch' }).click()
  await expect(page.getByRole('heading', { name: 'Short' })).toBeVisible()
  await expect(page.locator('article.batch')).toHaveAttribute('data-state', 'COMPLETED')
  await expect(page.getByRole('link', { name: 'rows of another batch' })).toHaveAttribute('href', `/ui/batches/${id}`)
  // Anyone reads a public batch, and nobody else changes it.
  const address = new URL(page.url()).pathname
  const context = await browser.newContext({ baseURL: server.url })
  const stranger = await context.newPage()
  await stranger.goto(address)
  await expect(stranger.getByRole('alert')).toContainText('It is not public.')
  await page.getByRole('switch').check()
  await expect(page.getByRole('button', { name: 'Copy link' })).toBeVisible()
  await stranger.reload()
  await expect(stranger.getByRole('heading', { name: 'Short' })).toBeVisible()
  await stranger.getByRole('button', { name: 'binder-2', exact: true }).click()
  await drawn(stranger)
  await expect(stranger.getByRole('button', { name: 'Delete' })).toHaveCount(0)
  const csv = stranger.getByRole('link', { name: 'CSV' })
  expect((await stranger.request.get((await csv.getAttribute('href'))!)).status()).toBe(200)
  await accessible(stranger)
  await context.close()
  await page.getByRole('button', { name: 'Delete' }).click()
  await expect(page).toHaveURL(/\/ui\/batches$/)
  await expect(page.locator('tr[data-batch]')).toHaveCount(1)
})

test('an unknown batch is not found', async ({ page, visit, console: messages }) => {
  messages.allow(/404 \(Not Found\)/)
  await visit('/ui/batches/01890a5d-ac96-774b-bcce-b302099a8057')
  await expect(page.getByRole('heading', { name: 'Batch not found' })).toBeVisible()
  await accessible(page)
})

test('without its stream the page reads the batch again', async ({ page, server, proxied }) => {
  const key = server.newKey('paul')
  const proxy = await proxied(server)
  proxy.treat = (path) => (path === '/v1/events' ? 'pass' : 'cut')
  await signIn(page, { url: proxy.url, key })
  const id = await create(
    server,
    { kind: 'list', params: { modelName: 'made-up', samplingSteps: 10_000 }, jobs: screenJobs.slice(0, 2) },
    key,
  )
  await page.goto(`${proxy.url}/ui/batches/${id}`)
  await expect(page.getByText('Live updates are interrupted.')).toBeVisible()
  await server.call('POST', `/v1/batches/${id}/cancel`, undefined, key)
  await expect(page.locator('article.batch')).toHaveAttribute('data-state', 'STOPPED')
  await expect(page.locator('tr[data-row][data-state=STOPPED]')).toHaveCount(2)
  await expect(page.getByText('Live updates are interrupted.')).toHaveCount(0)
})

test('of 10,000 rows those on the screen are in the document, and few requests read them', async ({ page, server }) => {
  const key = server.newKey('ten')
  const count = 10_000
  const jobs = Array.from({ length: count }, (_, i) => ({ customId: `row-${i + 1}`, sequences: [protein(i % 20)] }))
  const id = await ended(server, { kind: 'list', name: 'Ten thousand', jobs }, key)
  await signIn(page, server, key)
  const requests: string[] = []
  page.on('request', (r) => {
    const url = new URL(r.url())
    if (/\/rows$/.test(url.pathname)) requests.push(url.search)
  })
  await page.goto(`/ui/batches/${id}`)
  await expect(page.getByRole('table')).toHaveAttribute('aria-rowcount', String(count + 1))
  await expect(page.locator('.scatter')).toHaveAttribute('data-points', String(count))
  expect(requests).toHaveLength(10) // a thousand rows each
  const table = page.getByRole('region', { name: /^Rows\. Arrow keys/ })
  const most = () => page.locator('tr[data-row]').count()
  expect(await most()).toBeLessThan(80)
  // From one end to the other, each row in between is made at most once.
  const { created, shown } = await table.evaluate(async (box) => {
    let created = 0
    let shown = 0
    new MutationObserver((changes) => {
      for (const change of changes)
        for (const node of change.addedNodes) if (node instanceof HTMLElement && node.dataset.row) created++
    }).observe(box.querySelector('tbody')!, { childList: true })
    for (let i = 0; i < 200; i++) {
      box.scrollBy(0, 150)
      await new Promise((next) => requestAnimationFrame(next))
      shown = Math.max(shown, box.querySelectorAll('tr[data-row]').length)
    }
    return { created, shown }
  })
  expect(shown).toBeLessThan(80)
  expect(created).toBeGreaterThan(500)
  expect(created).toBeLessThan(30_000 / 36 + 200)
  await table.focus()
  await page.keyboard.press('End')
  await expect(row(page, count)).toBeInViewport()
  await expect(row(page, count)).toHaveAttribute('aria-rowindex', String(count + 1))
  expect(await most()).toBeLessThan(120)
  expect(requests).toHaveLength(10) // scrolling reads nothing
  // Another order is read once.
  await page.getByRole('columnheader', { name: 'meanPLDDT' }).getByRole('button').click()
  await expect(page.getByRole('table')).toHaveAttribute('aria-rowcount', String(count + 1))
  await expect.poll(() => requests.length).toBe(20)
})
