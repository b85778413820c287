// The page of comparisons: structures superposed in one view, with scores, distances by residue and changed contacts.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Comparison, Workflow } from '../src/api'
import { driver, test } from './made'
import { accessible, expect, Server, signIn } from './server'

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

test('an entry of the Protein Data Bank is superposed in the view', async ({ browser, console: messages }) => {
  const peptide = (cif: boolean) => {
    const rows = Array.from({ length: 20 }, (_, i) => {
      const at = [Math.cos(i * 1.745) * 2.3, Math.sin(i * 1.745) * 2.3, i * 1.5].map((x) => x.toFixed(3))
      return cif
        ? `ATOM ${i + 1} C CA . ALA A 1 ${i + 1} ? ${at.join(' ')} 1.00 20.00 ? ${i + 1} ALA A CA 1`
        : `ATOM  ${String(i + 1).padStart(5)}  CA  ALA A${String(i + 1).padStart(4)}    ` +
            `${at.map((x) => x.padStart(8)).join('')}  1.00 20.00           C`
    })
    const columns =
      'group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id label_entity_id label_seq_id ' +
      'pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv pdbx_formal_charge auth_seq_id ' +
      'auth_comp_id auth_asym_id auth_atom_id pdbx_PDB_model_num'
    const head = `data_x\nloop_\n${columns.replace(/(\S+) ?/g, '_atom_site.$1\n')}`
    return cif ? `${head}${rows.join('\n')}\n` : `${rows.join('\n')}\nEND\n`
  }
  const source = createServer((request, answer) => answer.end(peptide(request.url === '/1CIF')))
  await new Promise<void>((ok) => source.listen(0, '127.0.0.1', ok))
  const { port } = source.address() as AddressInfo
  const server = new Server(['--pdb-url', `http://127.0.0.1:${port}/{id}`])
  await server.start()
  try {
    const context = await browser.newContext({ baseURL: server.url })
    await messages.watch(context)
    const page = await context.newPage()
    const hosts = new Set<string>()
    page.on('request', (r) => hosts.add(new URL(r.url()).host))
    await signIn(page, server)
    await page.goto('/ui/compare?of=pdb:1CIF,pdb:1PDB,pdb:1CIF')
    const view = page.getByRole('region', { name: 'Superposed structures' })
    await expect(view.locator('[data-viewer]')).toHaveAttribute('data-ready', 'true', { timeout: 60_000 })
    for (const box of await view.getByRole('checkbox').all()) await expect(box).toBeChecked()
    await expect(view.locator('.caution')).toHaveCount(0)
    await expect(page.locator('[data-pair="1-2"]')).toContainText('0.00')
    expect([...hosts].filter((host) => host !== new URL(server.url).host && host !== '')).toEqual([])
    await accessible(page)
    await context.close()
  } finally {
    await server.remove()
    source.close()
  }
})
