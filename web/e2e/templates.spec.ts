import type { JobView } from '../src/api'
import { driver, protein, test } from './made'
import { accessible, expect } from './server'

test.beforeEach(({ console: messages }) => messages.allow(driver))

test('templates are chosen from the library and from earlier jobs, and the result says how near it is', async ({
  page,
  server,
  visit,
}) => {
  // The structure of a job is the file of a library item too.
  const source = await server.folded({ name: 'Template', params: { modelName: 'made-up' }, sequences: [protein(40)] })
  const results = await server.call<{ artifacts: { name: string; kind: string; url: string }[] }>(
    'GET',
    `/v1/jobs/${source.jobId}/results`,
  )
  const cif = results.artifacts.find((a) => a.kind === 'cif')!
  const item = await server.call<{ id: string }>('POST', '/v1/library/create', { name: 'My structures', type: 'file' })
  const form = new FormData()
  form.append('files', await (await fetch(cif.url)).blob(), 'helix.cif')
  form.append('files', new Blob(['>a\nACDE\n']), 'notes.fasta')
  const upload = await fetch(`${server.url}/v1/library/${item.id}/upload-files`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${server.key}` },
    body: form,
  })
  expect(upload.status).toBe(200)

  await visit('/ui/')
  await page.getByRole('textbox', { name: 'Sequences' }).fill(protein(40).proteinChain.sequence)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const model = page.getByRole('combobox', { name: 'Model' })
  await model.selectOption('mini')
  await expect(page.getByText('Templates', { exact: true })).toHaveCount(0) // mini takes none
  await model.selectOption('made-up')
  await page.getByText('Templates', { exact: true }).click()
  await page.getByRole('button', { name: 'Add a template' }).click()
  const first = page.getByRole('group', { name: 'Template 1' })
  await expect(first).toContainText('must have one of libraryItemId, jobId and pdbId')
  await expect(first.getByLabel('Source of template 1').getByRole('option')).toHaveText(['Library', 'Earlier job'])
  await first.getByLabel('Library item of template 1').selectOption('My structures')
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
  await first.getByLabel('Chain in the file of template 1').fill('Z')
  await expect(first).toContainText('has no protein chain "Z"')
  await first.getByLabel('Chain in the file of template 1').fill('')
  await first.getByLabel('Keep it near').check()
  await expect(first).toContainText('with force it must be a length in Å')
  await first.getByLabel('Largest distance from template 1 in Å').fill('2.5')
  await expect(page.locator('[data-valid=yes]')).toBeVisible()

  await page.getByRole('button', { name: 'Add a template' }).click()
  const second = page.getByRole('group', { name: 'Template 2' })
  await second.getByLabel('Source of template 2').selectOption('job')
  await second.getByLabel('Job of template 2').selectOption(source.jobId)
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
  await accessible(page)
  // The model that takes none says so at the templates.
  await model.selectOption('mini')
  await expect(page.locator('details', { hasText: 'Add a template' })).toContainText(
    'the model "mini" takes no templates',
  )
  await model.selectOption('made-up')
  await expect(page.locator('[data-valid=yes]')).toBeVisible()

  await page.getByRole('button', { name: 'Fold', exact: true }).click()
  await expect(page).toHaveURL(/\/ui\/jobs\/[0-9a-f-]{36}$/)
  const id = page.url().split('/').at(-1)!
  const scores = page.locator('[data-templates="2"]')
  await expect(scores.getByRole('row')).toHaveText([
    /Residues/,
    /^1 · libraryA400\.00$/,
    /^2 · an earlier jobA400\.00$/,
  ])
  await accessible(page)
  const { constraints } = await server.call<JobView>('GET', `/v1/jobs/${id}`)
  expect(constraints!.templates).toMatchObject([
    { libraryItemId: item.id, force: true, maxDistance: 2.5 },
    { jobId: source.jobId },
  ])

  // An edited job keeps them. A job that is not in the menu is named by its id.
  await page.goto(`/ui/?again=${id}`)
  await expect(first.getByLabel('Library item of template 1')).toHaveValue(item.id)
  await expect(second.getByLabel('Job of template 2')).toHaveValue(source.jobId)
  await second.getByLabel('Job of template 2').selectOption('other')
  await second.getByLabel('Job of template 2').fill('01890a5d-ac96-774b-bcce-b302099a8057')
  await expect(second).toContainText('which is none of your jobs, nor a public one')
  await second.getByRole('button', { name: 'Remove template 2' }).click()
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
  await page.setViewportSize({ width: 360, height: 740 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
})
