import type { Results } from '../src/api'
import { complex, driver, protein, test } from './made'
import { counted, drawn } from './pixels'
import { accessible, expect, picture, signIn, trpCage } from './server'

// Software rendering is slow, and the machine may be busy.
test.describe.configure({ timeout: 400_000 })

test.beforeEach(({ console: messages }) => messages.allow(driver))

const selection = '[data-selection]'

test('a fold is drawn, explained and downloaded', async ({ page, server, visit }) => {
  // A seed of its own, so that the result is not the cached one of another test.
  const { jobId } = await server.folded({ params: { modelName: 'mini', seed: '2' } })
  await visit('/ui/jobs/' + jobId)
  await expect(page.getByRole('heading', { level: 1, name: 'Trp-cage' })).toBeVisible()
  await drawn(page)

  // The canvas has pixels of a class if and only if there are residues of it.
  const results = await server.call<Results>('GET', `/v1/jobs/${jobId}/results`)
  const metrics = (await (await fetch(results.artifacts.find((a) => a.kind === 'metrics_json')!.url)).json()) as {
    predictions: { plddt: { A: number[] }; mean_plddt: number }[]
  }
  const plddt = metrics.predictions[0]!.plddt.A
  const classes: [keyof Awaited<ReturnType<typeof counted>>, number][] = [
    ['very high', plddt.filter((v) => v > 90).length],
    ['confident', plddt.filter((v) => v > 70 && v <= 90).length],
    ['low', plddt.filter((v) => v > 50 && v <= 70).length],
    ['very low', plddt.filter((v) => v <= 50).length],
  ]
  const pixels = await counted(page)
  expect(classes.filter((c) => c[1] > 1).length).toBeGreaterThan(0)
  for (const [name, residues] of classes) {
    if (residues > 1) expect(pixels[name], name).toBeGreaterThan(300)
    else if (residues === 0) expect(pixels[name], name).toBeLessThan(50)
  }

  // The verdict names its score and quotes the engine's notice.
  const verdict = page.getByRole('region', { name: 'Verdict' })
  await expect(verdict).toContainText(`Mean pLDDT ${metrics.predictions[0]!.mean_plddt.toFixed(1)}`)
  await expect(verdict).toContainText('not a trained structure predictor')
  await expect(page.getByRole('region', { name: 'Scores' })).toContainText('ensemble agreement, calibrated')

  // Every file of the run is listed, and a download has the bytes of its digest.
  for (const a of results.artifacts)
    await expect(page.getByRole('link', { name: a.name, exact: true }).first()).toBeVisible()
  const coming = page.waitForEvent('download')
  await page.getByRole('region', { name: 'Files' }).getByRole('link', { name: 'model.cif' }).click()
  expect((await coming).suggestedFilename()).toBe('Trp-cage-model.cif')
  await expect(page.getByLabel('Citations of this run as BibTeX')).toContainText('@article{')
  await accessible(page)
  await page.evaluate(() => scrollTo(0, 0))
  await picture(page, 'result')
})

test('PAE matrix, pLDDT plot, chains and structure share the selection', async ({ page, server, visit }) => {
  const { jobId } = await server.folded(complex)
  await visit('/ui/jobs/' + jobId)
  await drawn(page)
  const before = await counted(page)
  for (const name of ['very high', 'confident', 'low', 'very low'] as const)
    expect(before[name], name).toBeGreaterThan(200)
  expect(before.scored + before.aligned).toBeLessThan(50)

  // A region of the matrix selects two stretches in the structure and in the pLDDT plot.
  const matrix = page.locator('[data-plot=pae]')
  const box = (await matrix.boundingBox())!
  await page.mouse.move(box.x + 100, box.y + 240)
  await page.mouse.down()
  await page.mouse.move(box.x + 150, box.y + 290, { steps: 3 })
  await page.mouse.up()
  await page.mouse.move(box.x + 10, box.y - 40)
  await expect(page.locator(selection)).toHaveAttribute('data-selection', /^scored:A:\d+-\d+ aligned:B:\d+-\d+$/)
  await expect.poll(() => counted(page).then((c) => Math.min(c.scored, c.aligned))).toBeGreaterThan(100)
  await expect(page.locator('.pae output')).toContainText(/mean \d+\.\d Å/)

  // The keyboard does the same.
  await matrix.focus()
  await page.keyboard.press('Escape')
  await expect(page.locator(selection)).toHaveCount(0)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowDown')
  await expect(page.locator('.pae output')).toHaveText(/Scored Leu2 \(chain A\), aligned Leu2 \(chain A\): 0\.0 Å/)
  await expect(page.locator('.profile output').first()).toContainText('Leu2 (chain A): pLDDT')
  await page.keyboard.press('Shift+ArrowRight')
  await page.keyboard.press('Shift+ArrowRight')
  await expect(page.locator(selection)).toHaveAttribute('data-selection', 'scored:A:2-4 aligned:A:2-2')
  await page.keyboard.press('Escape')

  // Residues hovered over and clicked in the structure are marked in the plots.
  await page.locator('.stage').evaluate((e) => e.scrollIntoView())
  const view = (await page.locator('[data-viewer]').boundingBox())!
  const hit = await findAtom(page)
  await expect(async () => {
    // like a hand: a single move may come while the viewer is still drawing
    await page.mouse.move(view.x + hit.x + 1, view.y + hit.y)
    await page.mouse.move(view.x + hit.x, view.y + hit.y)
    await expect(page.locator('.view .tip')).toContainText(/chain [ABC]\)/, { timeout: 3000 })
  }).toPass({ timeout: 60_000 })
  const named = (await page.locator('.view .tip').textContent())!.split(',')[0]!
  await expect(page.locator('.pae output')).toContainText(`Scored ${named}, aligned ${named}`)
  await page.mouse.click(view.x + hit.x, view.y + hit.y)
  await expect(page.locator(selection)).toHaveAttribute('data-selection', /^picked:/)
  await page.getByRole('button', { name: 'Clear' }).click()

  // A pair of chains shows its interface.
  await page.getByRole('tab', { name: 'Chains' }).click()
  await page
    .getByRole('button', { name: /between chains A and B/ })
    .first()
    .click()
  await expect(page.locator(selection)).toHaveAttribute('data-selection', /scored:A:.*aligned:B:/)
  await expect(page.getByText(/\d+ residues have atoms within 4.5 Å/)).toBeVisible()

  // A contact of the two chains selects its two residues.
  const contacts = page.getByRole('region', { name: 'Contacts of chains A and B' })
  await contacts
    .getByRole('button', { name: /^Select .*chain A.* and .*chain B/ })
    .first()
    .click()
  await expect(page.locator(selection)).toHaveAttribute('data-selection', /^scored:A:(\d+)-\1 aligned:B:(\d+)-\2$/)
  await expect(contacts.locator('tr.current')).toHaveCount(1)
  await expect(contacts.locator('tr.current')).toContainText(/\d\.\d\d.*\d+\.\d \/ \d+\.\d/)
  await expect(page.locator('[data-affinity]')).toContainText('0.92')
  await accessible(page)
  await page.evaluate(() => scrollTo(0, 0))
  await picture(page, 'complex')
})

test('sequences that were folded separately have a tab each', async ({ page, server, visit }) => {
  const { jobId } = await server.folded({
    name: 'Two',
    sequences: [
      { proteinChain: { sequence: trpCage, label: 'first' } },
      { proteinChain: { sequence: 'GYDPETGTWG', label: 'second' } },
    ],
  })
  await visit('/ui/jobs/' + jobId)
  await drawn(page)
  await expect(page.getByRole('tab', { name: 'first' })).toHaveAttribute('aria-selected', 'true')
  await expect(page.locator('[data-plot=pae] canvas').first()).toHaveAttribute('aria-label', /20 by 20/)
  await page.getByRole('tab', { name: 'first' }).focus()
  await page.keyboard.press('ArrowRight')
  await expect(page.getByRole('tab', { name: 'second' })).toHaveAttribute('aria-selected', 'true')
  await expect(page.locator('[data-plot=pae] canvas').first()).toHaveAttribute('aria-label', /10 by 10/)
  await drawn(page)
})

test('a run is followed from its queue position to its end', async ({ page, server, visit }) => {
  // The page is there before the run begins: the job before it ends when the test stops it.
  const before = await server.running({
    name: 'Before',
    sequences: [protein(30)],
    params: { modelName: 'made-up', samplingSteps: 10_000 },
  })
  const job = await server.create({
    name: 'Followed',
    sequences: [protein(30)],
    params: { modelName: 'made-up', samplingSteps: 60 },
  })
  await visit('/ui/jobs/' + job.jobId)
  await expect(page.getByRole('region', { name: 'Progress' })).toContainText(/queue/i)
  await expect(page.locator('[data-stream=live]')).toBeAttached()
  await server.call('POST', `/v1/jobs/${before.jobId}/cancel`)
  await expect(page.getByRole('region', { name: 'Progress' })).toContainText('Diffusion')
  await expect(page.getByRole('log')).toContainText(/step \d0 of 60/)
  await accessible(page)
  await drawn(page) // without a reload
  await expect(page.getByRole('region', { name: 'Progress' })).toHaveCount(0)
})

test('a failed run shows the reason and its log, and can be edited', async ({ page, server, visit }) => {
  const { jobId } = await server.create({
    name: 'Too much',
    sequences: [protein(30)],
    params: { modelName: 'made-up', samplingSteps: 12, recyclingSteps: 3 },
  })
  await visit('/ui/jobs/' + jobId)
  const alert = page.locator('[data-failure]')
  await expect(alert).toContainText('Chain A has a residue that this engine does not like.')
  await expect(alert.getByRole('log')).toContainText('step 10 of 12')
  await accessible(page)
  await alert.getByRole('link', { name: 'Edit and rerun' }).click()
  await expect(page).toHaveURL(/\/ui\/$/)
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Too much')
  await expect(page.getByLabel('Sequence of Chain A')).toHaveValue(/^ALEKVQRIST /)
  await expect(page.getByRole('textbox', { name: /^samplingSteps/ })).toHaveValue('12')
})

test('private results stay private, and public ones show nothing private', async ({
  page,
  server,
  visit,
  console: messages,
}) => {
  messages.allow(/status of 40[14]/)
  const { jobId } = await server.folded({ name: 'Mine', sequences: [protein(12)], params: { modelName: 'made-up' } })
  await server.call('POST', '/v1/workflows', {
    workflow_name: 'qna_v1',
    name: 'secret question',
    workflow_input: { targetSource: 'fold_job', source_job_id: jobId, question: 'Describe this structure' },
  })
  await page.goto('/ui/jobs/' + jobId)
  await expect(page.getByRole('heading', { name: 'This job is private' })).toBeVisible()
  await page.getByRole('alert').getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('dialog')).toBeVisible()
  await accessible(page)

  await page.goto('/ui/jobs/00000000-0000-7000-8000-000000000000')
  await expect(page.getByRole('heading', { name: 'Job not found' })).toBeVisible()

  const bob = server.newKey('bob')
  await visit('/ui/jobs/' + jobId, bob)
  await expect(page.getByRole('heading', { name: 'Job not found' })).toBeVisible()

  await signIn(page, server)
  await page.goto('/ui/jobs/' + jobId)
  // Scripts for viewers; the page of another service learns no link of a private job.
  for (const [name, ending] of Object.entries({
    'ChimeraX (.cxc)': 'cxc',
    'PyMOL (.pml)': 'pml',
    'Mol* (.mvsj)': 'mvsj',
  })) {
    const script = page.waitForEvent('download')
    await page.getByRole('link', { name, exact: true }).click()
    expect((await script).suggestedFilename()).toBe(`Mine-model.${ending}`)
  }
  await expect(page.getByRole('link', { name: 'molstar.org' })).toHaveCount(0)
  await page.getByRole('switch', { name: /Public/ }).check()
  await expect(page.getByRole('button', { name: 'Copy link' })).toBeVisible()
  await expect(page.getByRole('link', { name: 'molstar.org' })).toHaveAttribute('href', /^https:.*mvs-url=http/)

  await page.context().clearCookies()
  await page.goto('/ui/jobs/' + jobId)
  await drawn(page)
  await expect(page.getByRole('heading', { level: 1, name: 'Mine' })).toBeVisible()
  for (const name of ['Delete', 'Run again', 'Ask'])
    await expect(page.getByRole('button', { name, exact: true })).toHaveCount(0)
  await expect(page.getByText('secret question')).toHaveCount(0)
  await expect(page.getByText('Describe this structure')).toHaveCount(0)
  await accessible(page)
})

test('1,500 residues and their PAE matrix are drawn soon after they arrive', async ({ page, server, visit }) => {
  const { jobId } = await server.folded({ name: 'Large', sequences: [protein(1500)], params: { modelName: 'made-up' } })
  // Only the time of the page's own thread counts: software rendering is another process's, and the machine may be
  // busy.
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const spent = async () =>
    (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration')!.value * 1000
  await visit('/ui/models') // the shell is there already
  const before = await spent()
  await page.goto('/ui/jobs/' + jobId)
  await expect(page.locator('[data-plot=pae] canvas').first()).toHaveAttribute('aria-label', /1500 by 1500/)
  await drawn(page)
  const all = (await spent()) - before
  const at = await page.evaluate(() =>
    Object.fromEntries(
      performance
        .getEntriesByType('mark')
        .filter((m) => m.name.startsWith('pleat:'))
        .reverse()
        .map((m) => [m.name.slice(6), m.startTime]),
    ),
  )
  const matrix = at.matrix! - at.arrived!
  console.log(
    `      1,500 residues: ${Math.round(all)} ms of work in all; the matrix was drawn ${Math.round(matrix)} ms after it arrived, the structure ${Math.round(at.structure! - at.arrived!)} ms`,
  )
  expect(matrix).toBeLessThan(3000)
  expect(all).toBeLessThan(3000)
})

test('twenty viewers are opened and closed without a leak', async ({ page, server, visit }) => {
  const { jobId } = await server.folded({ name: 'Small', sequences: [protein(12)], params: { modelName: 'made-up' } })
  await visit('/ui/models')
  for (let i = 0; i < 20; i++) {
    await page.evaluate((to) => {
      // by the page's own router
      const a = document.createElement('a')
      a.href = to
      document.querySelector('main')!.append(a)
      a.click()
      a.remove()
    }, '/ui/jobs/' + jobId)
    await drawn(page)
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await expect(page.locator('[data-viewer]')).toHaveCount(0)
  }
  expect(await page.locator('canvas').count()).toBe(0)
}) // the browser warns of the seventeenth context if the others were not let go

/** The area of the canvas that the structure covers. */
async function findAtom(page: import('@playwright/test').Page): Promise<{ x: number; y: number }> {
  return page
    .locator('[data-viewer] canvas')
    .first()
    .evaluate((canvas: HTMLCanvasElement) => {
      const copy = document.createElement('canvas')
      const width = (copy.width = canvas.clientWidth),
        height = (copy.height = canvas.clientHeight)
      const g = copy.getContext('2d')!
      g.drawImage(canvas, 0, 0, width, height)
      const { data } = g.getImageData(0, 0, width, height)
      const ground = [data[0]!, data[1]!, data[2]!]
      const full = (x: number, y: number) =>
        [0, 1, 2].some((k) => Math.abs(data[(y * width + x) * 4 + k]! - ground[k]!) > 60)
      for (let y = 4; y < height - 4; y += 2)
        for (let x = 4; x < width - 4; x += 2) {
          if ([-3, 0, 3].every((dx) => [-3, 0, 3].every((dy) => full(x + dx, y + dy)))) return { x, y }
        }
      throw new Error('the canvas is empty')
    })
}
