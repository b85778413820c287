// The Submit page with a model that supports every feature.
import { complex, driver, test } from './made'
import { drawn } from './pixels'
import { accessible, expect, signIn, trpCage } from './server'

test('ligands, modifications, constraints and parameters are sent as typed', async ({ page, server }) => {
  await signIn(page, server)
  await page.goto('/ui/')
  await page.getByRole('combobox', { name: 'Model' }).selectOption('made-up')
  await page.getByRole('textbox', { name: 'Sequences' }).fill(`>bait\n${trpCage}\n`)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('spinbutton', { name: 'Copies' }).fill('2')
  await expect(page.getByLabel('Sequence of Chains A to B')).toBeVisible()
  const bait = page.getByRole('article').first()
  await bait.getByText('Options').click()
  await bait.getByLabel('Cyclic').check()
  await bait.getByRole('button', { name: 'Add a modified residue' }).click()
  await bait.getByLabel('Residue of modification 1').fill('24')
  await bait.getByLabel('CCD code of modification 1').fill('SEP')
  await expect(bait).toContainText('res_idx is 24; the chain has residues 1 to 20')
  await bait.getByLabel('Residue of modification 1').fill('13')
  await expect(bait.locator('.wrong')).toHaveCount(0)

  await page.getByRole('button', { name: 'Add a ligand' }).click()
  const ligand = page.getByRole('article', { name: 'Chain C' })
  await ligand.getByRole('radio', { name: 'SMILES' }).check()
  await ligand.getByRole('textbox', { name: 'SMILES' }).fill('c1ccccc1')
  await ligand.getByLabel('Predict binding affinity').check()

  await page.getByText('Constraints', { exact: true }).click()
  await page.getByRole('button', { name: 'Add a pocket' }).click()
  await page.getByLabel('Binder chain').fill('C')
  await page.getByLabel('Residues of the pocket').fill('A:6 A:99')
  await expect(page.locator('.rule .wrong').filter({ hasText: '99' })).toBeVisible()
  await page.getByLabel('Residues of the pocket').fill('A:6 A:12')
  await expect(page.locator('.rule .wrong')).toHaveCount(0)
  await page.getByRole('button', { name: 'Add a contact' }).click()
  await page.getByLabel('First of Contact 1').fill('A:3')
  await page.getByLabel('Second of Contact 1').fill('B:7')
  await page.getByLabel('Distance of contact 1 in Å').fill('8')

  await page.locator('.run').getByText('Parameters').click()
  await page.getByRole('textbox', { name: /^recyclingSteps/ }).fill('9')
  await expect(page.locator('.run .wrong').filter({ hasText: 'recyclingSteps' })).toBeVisible()
  await page.getByRole('textbox', { name: /^recyclingSteps/ }).fill('1')
  await page.getByLabel('Name', { exact: true }).fill('bait with benzene')
  await page.getByLabel('Public').check()
  await expect(page.locator('[data-valid=yes]')).toContainText('one complex')
  await accessible(page)

  await page.getByRole('button', { name: 'Fold', exact: true }).click()
  await expect(page).toHaveURL(/\/ui\/jobs\//)
  const view = await server.call<Record<string, unknown> & { sequences: { item: unknown }[] }>(
    'GET',
    `/v1/jobs/${page.url().split('/').at(-1)}`,
  )
  expect(view.sequences.map((s) => s.item)).toEqual([
    {
      proteinChain: {
        sequence: trpCage,
        label: 'bait',
        count: 2,
        cyclic: true,
        modifications: [{ res_idx: 13, ccd: 'SEP' }],
      },
    },
    { ligandSequence: { sequence: 'c1ccccc1', property_type: 'affinity' } },
  ])
  expect(view.params).toEqual({ modelName: 'made-up', recyclingSteps: 1 })
  expect(view.job).toMatchObject({ name: 'bait with benzene', isPublic: true, isComplex: true })
  expect(view.constraints).toMatchObject({
    pocket: [
      {
        binder: { chain_id: 'C' },
        contacts: [
          { chain_id: 'A', res_idx: 6 },
          { chain_id: 'A', res_idx: 12 },
        ],
      },
    ],
    contact: [{ chainA: 'A', res_idxA: 3, chainB: 'B', res_idxB: 7, distance: 8 }],
  })

  // The job opens as the same draft.
  await page.goto(`/ui/?again=${page.url().split('/').at(-1)}`)
  await expect(page.getByLabel('Residues of the pocket')).toHaveValue('A:6 A:12')
  await expect(page.getByLabel('Residue of modification 1')).toHaveValue('13')
  await expect(page.getByRole('combobox', { name: 'Model' })).toHaveValue('made-up')
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
})

test('a model is shown as in its manifest: parameters, licence, ranges, memory', async ({ page, server }) => {
  await signIn(page, server)
  await page.goto('/ui/')
  const run = page.getByRole('form', { name: 'Settings' })
  await page.getByRole('combobox', { name: 'Model' }).selectOption('made-up')
  await expect(run.locator('[data-licence=""]')).toHaveText('Licence: Apache-2.0')
  await page.getByRole('combobox', { name: 'Model' }).selectOption('made-bare')
  await expect(run.locator('[data-licence=bound]')).toHaveText(
    'Check the licence of made-bare, non-commercial use only: for academic research only, not for commercial use.',
  )
  await expect(run).toContainText('up to 3,000 tokens')
  await run.getByText('Parameters').click()
  await expect(run.getByRole('textbox', { name: /^numModelSeeds/ })).toHaveAttribute('placeholder', '3')
  await expect(run.getByText('Structures drawn. 1 to 5.')).toBeVisible()
  await expect(run.getByRole('checkbox', { name: /^relaxPrediction/ })).toBeChecked()
  await expect(run.getByRole('combobox', { name: /^msaAlgorithm/ }).locator('option')).toHaveText(['quick', 'thorough'])

  // Values out of range and jobs that exceed the memory are reported; Show goes to the field.
  await page.getByRole('textbox', { name: 'Sequences' }).fill(trpCage)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('spinbutton', { name: 'Copies' }).fill('145')
  await run.getByRole('textbox', { name: /^stepScale/ }).fill('9')
  await expect(run.locator('[data-valid=no]')).toContainText('2900 residues need about')
  await expect(run.locator('[data-valid=no]')).toContainText('1 problem')
  await run.getByText('Parameters').click() // closed
  await run.getByRole('button', { name: 'Show' }).click()
  await expect(run.getByText('stepScale is 9; it must be 0 to 5')).toBeVisible()
  await expect(run.getByRole('textbox', { name: /^stepScale/ })).toBeFocused()
  await accessible(page)
})

test('a result without any score has no empty panel', async ({ page, server, visit, console: messages }) => {
  messages.allow(driver)
  test.setTimeout(300_000)
  const { jobId } = await server.folded({ name: 'Bare', params: { modelName: 'made-bare' } })
  await visit('/ui/jobs/' + jobId)
  await drawn(page)
  await expect(page.getByRole('region', { name: 'Verdict' })).toContainText('This engine gives no pLDDT')
  await expect(page.getByRole('region', { name: 'Scores' })).toContainText(
    'Not provided by this engine: Mean pLDDT, pTM, Largest PAE.',
  )
  await expect(page.locator('[data-plot]')).toHaveCount(0)
  await expect(page.getByRole('region', { name: 'Files' })).toContainText('Sample ranked 3')
  await expect(page.locator('main')).not.toContainText(/NaN|undefined|null/)
  await accessible(page)

  // With two chains the page shows what can be measured.
  const two = await server.folded({
    name: 'Bare pair',
    sequences: [{ proteinChain: { sequence: trpCage, count: 2 } }],
    params: { modelName: 'made-bare' },
  })
  await page.goto('/ui/jobs/' + two.jobId)
  await drawn(page)
  await expect(page.getByLabel('Colour by')).toHaveValue('contact')
  await expect(page.getByRole('button', { name: /^\d+ between chains A and B/ })).toBeVisible()
  await expect(page.locator('main')).not.toContainText(/NaN|undefined|null/)
})

test('the structure does not wait for its errors', async ({ page, server, visit, console }) => {
  console.allow(driver)
  const { jobId } = await server.folded(complex)
  let send = () => {}
  const held = new Promise<void>((resolve) => (send = resolve))
  await page.route('**/pae.json?*', async (route) => {
    await held
    await route.continue()
  })
  await visit('/ui/jobs/' + jobId)
  await drawn(page)
  await expect(page.getByRole('tabpanel')).toContainText('Loading the predicted aligned errors')
  await page.getByRole('tab', { name: 'Chains' }).click()
  send()
  await page.getByRole('tab', { name: 'PAE' }).click()
  await expect(page.locator('[data-plot=pae] canvas').first()).toHaveAttribute('aria-label', /Matrix of/)
  await drawn(page) // the same drawing
})
