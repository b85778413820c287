import { accessible, expect, picture, signIn, test } from './server'

const budget = 48 * 1024 // bytes of gzip before the page of an address loads
const brotliBudget = 42.5 * 1024

test('the shell is small and its files are cached', async ({ request, server }) => {
  const html = await (await fetch(server.url + '/ui/', { headers: { 'Accept-Encoding': 'identity' } })).text()
  const first = [...html.matchAll(/(?:src|href)="(\/ui\/[^"]+)"/g)].map((m) => m[1]!)
  expect(first.length).toBeGreaterThan(1)
  let total = 0
  let brotli = 0
  for (const path of ['/ui/', ...first]) {
    const small = await request.get(path, { headers: { 'Accept-Encoding': 'br, gzip' } })
    expect(small.headers()['content-encoding']).toBe('br')
    brotli += Number(small.headers()['content-length'])
    const r = await request.get(path, { headers: { 'Accept-Encoding': 'gzip' } })
    total += Number(r.headers()['content-length'])
    expect(r.headers()['content-encoding']).toBe('gzip')
    expect(r.headers()['cache-control']).toMatch(path === '/ui/' ? /no-cache/ : /immutable/)
    expect(r.headers()['content-security-policy']).toContain("require-trusted-types-for 'script'")
  }
  console.log(`      shell: ${(total / 1024).toFixed(1)} KiB gzip, ${(brotli / 1024).toFixed(1)} KiB brotli`)
  expect(total).toBeLessThan(budget)
  expect(brotli).toBeLessThan(brotliBudget)
})

// The requests before a page can be used, in the order of need: their dependencies decide on a slow line.
for (const { name, path, usable, most } of [
  { name: 'the form', path: '/ui/', usable: 'textarea', most: 10 },
  { name: 'the list of jobs', path: '/ui/jobs', usable: '.state h2, tr[data-job]', most: 14 },
])
  test(`${name} needs few requests`, async ({ page, server, visit }) => {
    const requested: string[] = []
    page.on('request', (r) => requested.push(new URL(r.url()).pathname))
    await visit(path, server.newKey('sparse'))
    await page.locator(usable).first().waitFor()
    expect(requested.length).toBeLessThanOrEqual(most)
    expect(requested.filter((p) => p === '/v1/session')).toHaveLength(1) // begun by the document, used by the page
    expect(requested.filter((p) => /molstar|viewer|uplot/i.test(p))).toEqual([])
  })

test('no page but a result loads the viewer', async ({ page, visit }) => {
  const loaded: string[] = []
  page.on('response', (r) => loaded.push(r.url()))
  await visit('/ui/')
  for (const name of ['Jobs', 'Batches', 'Webhooks', 'Keys', 'Models']) {
    await page.getByRole('link', { name, exact: true }).click()
    await expect(page).toHaveTitle(`${name} · Pleat`)
  }
  await expect(page.locator('[data-ready]').first()).toBeVisible()
  expect(loaded.some((u) => /\/assets\/Models-/.test(u))).toBe(true)
  expect(loaded.filter((u) => /molstar|uplot/i.test(u))).toEqual([])
})

test('pages have addresses, and other addresses are not found', async ({ page, visit }) => {
  await visit('/ui/models')
  await expect(page).toHaveTitle('Models · Pleat')
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await expect(page).toHaveURL(/\/ui\/jobs$/)
  await expect(page).toHaveTitle('Jobs · Pleat')
  await page.goBack()
  await expect(page).toHaveTitle('Models · Pleat')
  await page.goto('/ui/nowhere')
  await expect(page.getByRole('heading', { name: 'Page not found' })).toBeVisible()
  await accessible(page)
})

test('a key is exchanged for a cookie; one that is invalid or may not read is refused', async ({
  page,
  context,
  server,
  console,
}) => {
  console.allow(/401 \(Unauthorized\).*\/v1\/session/) // the browser's message for the wrong key
  await page.goto('/ui/keys')
  await expect(page.getByRole('dialog')).toBeVisible()
  await accessible(page)
  await picture(page, 'sign-in')
  const key = page.getByLabel('API key', { exact: true })
  await key.fill('pleat_nonsense')
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('alert')).toHaveText(/This key is not valid/)
  console.allow(/403 \(Forbidden\).*\/v1\/usage/)
  const cluster = await server.call<{ key: string }>('POST', '/v1/keys', { scopes: ['submit'] })
  await key.fill(cluster.key)
  await key.press('Enter')
  await expect(page.getByRole('alert')).toHaveText(/This key does not have the scope read/)
  await key.fill(server.key)
  await key.press('Enter')
  await expect(page.getByRole('heading', { name: 'Keys and usage' })).toBeVisible() // the address that was asked for
  await expect(page.getByTitle('Signed in')).toHaveText('alice')
  const cookie = (await context.cookies()).find((c) => c.name === 'pleat_session')
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  expect(cookie!.value).not.toContain(server.key)
  expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0)
  await page.reload()
  await expect(page.getByTitle('Signed in')).toHaveText('alice')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page.getByRole('heading', { name: 'Sign in to continue' })).toBeVisible()
  expect((await context.cookies()).some((c) => c.name === 'pleat_session')).toBe(false)
})

test('after the session ends the page asks for the key and keeps the draft', async ({ page, server, console }) => {
  console.allow(/401 \(Unauthorized\)/)
  const first = server.newKey('jo'),
    second = server.newKey('jo')
  await signIn(page, server, first)
  await page.goto('/ui/')
  await page.getByRole('button', { name: /^Chignolin/ }).click()
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
  await page.getByLabel('Name', { exact: true }).fill('another name')
  const keys = await server.call<{ data: { id: string; prefix: string }[] }>('GET', '/v1/keys', undefined, second)
  await server.call('DELETE', `/v1/keys/${keys.data.find((k) => first.startsWith(k.prefix))!.id}`, undefined, second)
  await expect(page.getByRole('dialog')).toBeVisible()
  await page.getByLabel('API key', { exact: true }).fill(second)
  await page.keyboard.press('Enter')
  await expect(page.getByLabel('Sequence of Chain A')).toHaveValue('YYDPETGTWY')
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('another name')
  await expect(page.locator('[data-valid=yes]')).toBeVisible()
})

test('everything can be reached by keyboard', async ({ page, visit }) => {
  await visit('/ui/models')
  await expect(page.locator('[data-ready]').first()).toBeVisible()
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.locator('main')).toBeFocused()
  await page.keyboard.press('Tab')
  await expect(page.getByText(/^Citations/).first()).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByLabel('Citations of mini')).toContainText('@article')
})

test('models show their limits and how to read their results', async ({ page }) => {
  await page.goto('/ui/models') // to anyone
  const mini = page.getByRole('article', { name: 'mini' })
  await expect(mini).toContainText('not a trained structure predictor')
  await expect(mini).toContainText('Apache-2.0')
  await expect(page.getByRole('article', { name: 'analyst' })).toBeVisible()
  await expect(page.getByRole('article', { name: 'calvados' })).toBeVisible()
  await accessible(page)
  await picture(page, 'models')
})

test('no page is wider than a phone', async ({ page, server }) => {
  await signIn(page, server)
  await page.setViewportSize({ width: 360, height: 740 })
  for (const path of [
    '/ui/',
    '/ui/jobs',
    '/ui/batches',
    '/ui/batches/new',
    '/ui/workflows',
    '/ui/designs/new',
    '/ui/webhooks',
    '/ui/keys',
    '/ui/models',
    '/ui/nowhere',
  ]) {
    await page.goto(path)
    await expect(page.locator('main h1').first()).toBeVisible()
    await expect(page.locator('.loading')).toHaveCount(0)
    expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBeLessThanOrEqual(360)
  }
})
