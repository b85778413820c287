import { test } from './made'
import { accessible, expect } from './server'

// Software rendering is slow, and the machine may be busy.
test.describe.configure({ timeout: 400_000 })

test.use({
  launchOptions: {
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-3d-apis'],
  },
})

test('without WebGL the page shows a message, and the plots still work', async ({ page, server, visit }) => {
  const { jobId } = await server.folded({
    name: 'Flat',
    sequences: [{ proteinChain: { sequence: 'ALEKVQRISTDF' } }],
    params: { modelName: 'made-up' },
  })
  await visit('/ui/jobs/' + jobId)
  await expect(page.locator('[data-trouble]')).toContainText('no WebGL')
  const profile = page.locator('[data-plot=plddt]')
  await profile.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Shift+ArrowRight')
  await expect(page.locator('[data-selection]')).toHaveAttribute('data-selection', 'picked:A:2-3')
  await expect(page.locator('.pae output')).toContainText('Scored')
  await expect(page.getByRole('link', { name: 'model.cif' })).toBeVisible()
  await accessible(page)
})

test('without WebGL a batch has its table and plots, and says why there is no structure', async ({
  page,
  server,
  visit,
}) => {
  const { batchId } = await server.call<{ batchId: string }>('POST', '/v1/batches', {
    name: 'Flat',
    kind: 'seeds',
    params: { modelName: 'made-up' },
    sequences: [{ proteinChain: { sequence: 'ALEKVQRISTDF' } }],
    seedCount: 2,
  })
  await visit('/ui/batches/' + batchId)
  await expect(page.locator('.scatter')).toHaveAttribute('data-points', '2')
  await page.getByRole('button', { name: 'seed-1' }).click()
  await expect(page.locator('[data-trouble]')).toContainText('no WebGL')
  await accessible(page)
})
