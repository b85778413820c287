// The documentation site in a browser: nothing from elsewhere, nothing that its policy refuses, search, colours, phone.
import { accessible, expect, test } from './server'

const pages = ['/docs/', '/docs/guide/', '/docs/skill/', '/docs/engines/', '/docs/decisions/', '/docs/api/']

test('pages ask no other origin and fit a phone', async ({ page, server }) => {
  const foreign: string[] = []
  page.on('request', (r) => {
    if (!r.url().startsWith(server.url) && !r.url().startsWith('data:')) foreign.push(r.url())
  })
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 860 })
    for (const path of pages) {
      await page.goto(path)
      await expect(page.locator('h1')).toBeVisible()
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0)
    }
  }
  expect(foreign).toEqual([])
})

test('the search finds a page by the keyboard', async ({ page }) => {
  await page.goto('/docs/')
  await page.keyboard.press('/')
  await page.keyboard.type('circuit breaker')
  const first = page.locator('.md-search-result__link').first()
  await expect(first).toBeVisible()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await expect(page).not.toHaveURL(/\/docs\/$/)
  await expect(page.locator('main')).toContainText(/circuit breaker/i)
})

test('the colours can be chosen and stay chosen', async ({ page }) => {
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto('/docs/')
  const scheme = () => page.locator('body').getAttribute('data-md-color-scheme')
  expect(await scheme()).toBe('slate')
  await page.locator('label[title*="switch to light"]').click()
  expect(await scheme()).toBe('default')
  await page.goto('/docs/guide/')
  expect(await scheme()).toBe('default')
})

test('the reference of the server stands in the site, and links lead both ways', async ({ page }) => {
  await page.goto('/docs/api/#CreateJob')
  await expect(page.locator('#CreateJob')).toBeInViewport()
  await expect(page.locator('#CreateJob td', { hasText: 'constraints' }).first()).toBeVisible()
  await page.getByRole('link', { name: 'Use it' }).first().click()
  await expect(page).toHaveURL(/\/docs\/guide\/$/)
})

test('without scripts, a page can be read', async ({ browser, server }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, baseURL: server.url })
  const page = await context.newPage()
  await page.goto('/docs/guide/')
  await expect(page.getByRole('heading', { name: /^Fold/ })).toBeVisible()
  await page.getByRole('link', { name: 'Webhooks' }).first().click()
  await expect(page.locator('h1')).toContainText('Webhooks')
  await context.close()
})

test('pages are accessible', async ({ page }) => {
  // axe takes minutes for the whole reference: it gets one part of each kind.
  const more = '.reference section ~ section:not(#CreateJob), .reference li ~ li ~ li'
  for (const path of ['/docs/', '/docs/skill/', '/docs/api/']) {
    await page.goto(path)
    await page.evaluate((s) => [...document.querySelectorAll(s)].map((e) => e.remove()), more)
    // The theme's button that copies a block is in a landmark of its own, without a name.
    await accessible(page, ['.md-code__nav'])
  }
})
