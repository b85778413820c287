import { accessible, expect, signIn, test } from './server'

const atom = 'ATOM      1  CA  ALA A   1       0.000   0.000   0.000  1.00 50.00           C  \n'

test('files are uploaded to the library, downloaded and deleted', async ({ page, server }) => {
  const key = server.newKey('rosa')
  await signIn(page, server, key)
  await page.goto('/ui/library')
  await expect(page.getByRole('heading', { name: 'Your library is empty' })).toBeVisible()
  await page.getByLabel('Files to upload').setInputFiles([
    { name: 'helix.pdb', mimeType: 'text/plain', buffer: Buffer.from(atom) },
    { name: 'chain.fasta', mimeType: 'text/plain', buffer: Buffer.from('>x\nACDE\n') },
  ])
  await expect(page.locator('[data-item]')).toHaveCount(2)
  await expect(page.getByText(`2 items with ${atom.length + 8} B`)).toBeVisible()
  await accessible(page)
  const file = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download helix.pdb of helix' }).click()
  expect((await file).suggestedFilename()).toBe('helix.pdb')
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  page.on('dialog', (d) => void d.accept())
  await page.getByRole('button', { name: 'Delete helix' }).click()
  await expect(page.locator('[data-item]')).toHaveCount(1)
  await expect(page.getByText('1 item with 8 B')).toBeVisible()
})

test('an upload that the library has no room for is refused, and leaves nothing', async ({ page, console, start }) => {
  console.allow(/413/)
  const small = await start('--library-quota', '1MiB')
  await signIn(page, small)
  await page.goto(small.url + '/ui/library')
  const buffer = Buffer.alloc(2 << 20, 'A')
  await page.getByLabel('Files to upload').setInputFiles({ name: 'x.pdb', mimeType: 'text/plain', buffer })
  await expect(page.getByRole('alert')).toContainText('x.pdb could not be uploaded: ')
  await expect(page.getByRole('heading', { name: 'Your library is empty' })).toBeVisible()
})
