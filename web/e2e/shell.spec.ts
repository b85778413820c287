import { expect, test } from './server'

const budget = 60 * 1024 // bytes of gzip before the viewer loads

test('the shell is small and its files are kept', async ({ request, server }) => {
  const get = async (path: string) => {
    const r = await fetch(server.url + path, { headers: { 'Accept-Encoding': 'identity' } })
    expect(r.status).toBe(200)
    return r.text()
  }
  const html = await get('/ui/')
  const first = [...html.matchAll(/(?:src|href)="(\/ui\/[^"]+)"/g)].map((m) => m[1]!)
  expect(first.length).toBeGreaterThan(1)
  let total = 0
  for (const path of ['/ui/', ...first]) {
    const r = await request.get(path, { headers: { 'Accept-Encoding': 'gzip' } })
    total += Number(r.headers()['content-length'])
    expect(r.headers()['content-encoding']).toBe('gzip')
    expect(r.headers()['cache-control']).toMatch(path === '/ui/' ? /no-cache/ : /immutable/)
    expect(r.headers()['content-security-policy']).toContain("require-trusted-types-for 'script'")
  }
  console.log(`      shell: ${(total / 1024).toFixed(1)} KiB gzip`)
  expect(total).toBeLessThan(budget)
})

test('pages have addresses, and what has none says so', async ({ page, visit }) => {
  await visit('/ui/models')
  await expect(page).toHaveTitle('Models · Pleat')
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await expect(page).toHaveURL(/\/ui\/jobs$/)
  await expect(page).toHaveTitle('Jobs · Pleat')
  await page.goBack()
  await expect(page).toHaveTitle('Models · Pleat')
  await page.goto('/ui/nowhere')
  await expect(page.getByRole('heading', { name: 'There is no such page' })).toBeVisible()
})
