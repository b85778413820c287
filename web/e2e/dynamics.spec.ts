import type { Workflow } from '../src/api'
import { driver, test } from './made'
import { counted, drawn } from './pixels'
import { accessible, expect, picture, type Server, trpCage } from './server'

// Software rendering is slow, and the machine may be busy.
test.describe.configure({ timeout: 400_000 })

test.beforeEach(({ console: messages }) => messages.allow(driver))

const ended = (server: Server, id: string) =>
  expect.poll(async () => (await server.call<Workflow>('GET', '/v1/workflows/' + id)).status).toBe('COMPLETED')

test('a simulation is started from a result and played, and a frame of it is saved', async ({
  page,
  server,
  visit,
  console: messages,
}) => {
  messages.allow(/status of 400/) // an invalid selection, at the end
  const { jobId } = await server.folded()
  await visit('/ui/jobs/' + jobId)
  await page.getByText('Start a simulation').click()
  await page.getByLabel('Length (ns)').fill('0.05')
  await page.getByLabel('Frame interval (ns)').fill('0.001')
  await page.getByRole('button', { name: 'Simulate' }).click()
  await expect(page).toHaveURL(/\/ui\/workflows\//)
  await drawn(page)
  await expect(page.locator('.player output')).toContainText('frame 1 of 50')

  // Playing changes the frame; so do the plots' cursor and the slider.
  const host = page.locator('[data-viewer]')
  await page.getByRole('button', { name: 'Play' }).click()
  await expect.poll(async () => Number(await host.getAttribute('data-frame'))).toBeGreaterThan(2)
  await page.getByRole('button', { name: 'Pause' }).click()
  const curve = page.locator('.chart .u-over').first()
  await curve.hover({ position: { x: 1, y: 20 } })
  await expect(page.locator('.player output')).toHaveAttribute('data-frame', '0')
  const box = (await curve.boundingBox())!
  await curve.hover({ position: { x: box.width - 1, y: 20 } })
  await expect(page.locator('.player output')).toHaveAttribute('data-frame', '49')
  await expect(host).toHaveAttribute('data-frame', '49')
  await page.getByLabel('Frame', { exact: true }).focus()
  await page.keyboard.press('ArrowLeft')
  await expect(page.locator('.player output')).toContainText('frame 49 of 50')
  await expect(page.locator('.lines').first().locator('output')).toContainText('nm at 0.049 ns')

  // The measurements are those of the service.
  const id = page.url().split('/').at(-1)!
  const flow = await server.call<Workflow>('GET', '/v1/workflows/' + id)
  const { metrics } = flow.tasks[0]!.result_raw_json as { metrics: { rmsd: { mean: number } } }
  await expect(page.getByRole('row', { name: /^RMSD/ })).toContainText(metrics.rmsd.mean.toFixed(3))
  await expect(page.getByRole('img', { name: /Free energy over RMSD/ })).toBeVisible()

  // The frame shown is saved as a file.
  await page.getByLabel('Residues').fill('resid 5:12')
  await page.getByRole('button', { name: 'Save frame' }).click()
  const link = page.getByRole('link', { name: 'frame.pdb' })
  await expect(link).toBeVisible()
  const pdb = await (await page.request.get((await link.getAttribute('href'))!)).text()
  expect(pdb.match(/^ATOM/gm)).toHaveLength(8)
  await page.getByLabel('Residues').fill('resid 5 to nowhere')
  await page.getByRole('button', { name: 'Save frame' }).click()
  await expect(page.getByRole('region', { name: 'Save this frame' }).getByRole('alert')).toBeVisible()
  await accessible(page)
  await page.evaluate(() => scrollTo(0, 0))
  await picture(page, 'dynamics')
})

test('a simulation with all atoms is offered where its engine runs', async ({ page, server, visit }) => {
  const { jobId } = await server.folded({
    name: 'Two',
    sequences: [
      { proteinChain: { sequence: 'YYDPETGTWY', label: 'Chignolin' } },
      { proteinChain: { sequence: trpCage, label: 'Trp-cage' } },
    ],
  })
  await visit('/ui/jobs/' + jobId)
  await page.getByRole('tab', { name: 'Trp-cage' }).click()
  await page.getByText('Start a simulation').click()
  await expect(page.getByText('one bead per residue in implicit salt water')).toBeVisible()
  await page.getByRole('combobox', { name: 'Model' }).selectOption('Made up, in place of OpenMM')
  await expect(page.getByText('Simulates nothing.')).toBeVisible()
  await page.getByRole('button', { name: 'Simulate' }).click()
  await expect(page.getByRole('heading', { name: 'Dynamics of Trp-cage' })).toBeVisible()
  const flow = await server.call<Workflow>('GET', '/v1/workflows/' + page.url().split('/').at(-1))
  expect(flow.input_payload).toMatchObject({ preset: 'all_atom' })
  const settings = page.getByRole('region', { name: 'Settings' })
  await expect(settings).toContainText('Salt (mol/L)')
  await expect(settings).not.toContainText('_ns')

  await page.goto('/ui/')
  await page.getByRole('button', { name: /^Chignolin/ }).click()
  await page.getByLabel('Simulate its dynamics').check()
  await expect(page.getByLabel('Force field')).toBeVisible()
  await page.locator('.follow').getByLabel('Model').selectOption('Made up, in place of OpenMM')
  await expect(page.getByLabel('Force field')).toBeHidden()
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
})

test('an uploaded structure is simulated and coloured by its confidence', async ({ page, server, visit }) => {
  // A helix in a library file whose B-factors cover all four classes.
  const lines = Array.from({ length: 60 }, (_, i) => {
    const a = (100 * i * Math.PI) / 180
    const [x, y, z] = [2.3 * Math.cos(a), 2.3 * Math.sin(a), 1.5 * i].map((v) => v.toFixed(3).padStart(8))
    return `ATOM  ${String(i + 1).padStart(5)}  CA  ALA A${String(i + 1).padStart(4)}    ${x}${y}${z}  1.00${(30 + i * 1.15).toFixed(2).padStart(6)}           C  `
  })
  const put = async (fileName: string, fileType: string, text: string) => {
    const { id } = await server.call<{ id: string }>('POST', '/v1/library/create', {
      name: fileName,
      type: 'file',
      fileType,
    })
    const form = new FormData()
    form.append('files', new Blob([text]), fileName)
    const uploaded = await fetch(`${server.url}/v1/library/${id}/upload-files`, {
      method: 'POST',
      headers: { Authorization: 'Bearer ' + server.key },
      body: form,
    })
    expect(uploaded.status).toBe(200)
    return { libraryItemId: id, fileName }
  }
  const pdb = await put('helix.pdb', 'pdb', lines.join('\n') + '\nEND\n')
  const pae = await put(
    'pae.json',
    'json',
    JSON.stringify([
      { predicted_aligned_error: lines.map((_, i) => lines.map((_, j) => Math.min(20, Math.abs(i - j)))) },
    ]),
  )
  const flow = await server.call<Workflow>('POST', '/v1/workflows', {
    workflow_name: 'md',
    name: 'Helix',
    workflow_input: {
      preset: 'single_af_go',
      files: { pdb, pae },
      sim_length_ns: 0.01,
      step_size_ns: 0.001,
      seed: '1',
    },
  })
  await ended(server, flow.workflow_id)
  await visit('/ui/workflows/' + flow.workflow_id)
  await drawn(page)
  await page.getByRole('combobox', { name: 'Colour' }).selectOption('plddt')
  await expect
    .poll(async () => {
      const c = await counted(page)
      return Math.min(c['very high'], c.confident, c.low, c['very low'])
    })
    .toBeGreaterThan(60)
})

test('a running simulation shows its progress and can be stopped', async ({ page, server, visit }) => {
  const flow = await server.call<Workflow>('POST', '/v1/workflows', {
    workflow_name: 'md',
    name: 'Long',
    workflow_input: {
      preset: 'single_idr_fasta',
      sequence: 'GS'.repeat(100),
      sim_length_ns: 500,
      step_size_ns: 1,
      box_length: 40,
    },
  })
  await visit('/ui/workflows/' + flow.workflow_id)
  await expect(page.getByRole('region', { name: 'Progress' })).toContainText('Simulating')
  await expect(page.getByRole('progressbar')).toHaveAttribute('aria-valuenow', /\d/)
  await accessible(page)
  await page.getByRole('button', { name: 'Stop' }).click()
  await expect(page.getByText('This simulation was stopped')).toBeVisible()
})
