// The accounting of runs, on the page: the chart of a month with its tables, budgets, and who made what in lists.
import { mkdirSync } from 'node:fs'
import type { Page } from '@playwright/test'
import type { ProjectRole, ProjectUsage } from '../src/api'
import { driver } from './made'
import { accessible, expect, type Server, signIn, test } from './server'

const shots = process.env.PLEAT_SHOTS

/** Writes pictures of the page, light and dark, wide and narrow, to the folder PLEAT_SHOTS if it is set. */
async function pictures(page: Page, name: string) {
  if (!shots) return
  mkdirSync(shots, { recursive: true })
  const size = page.viewportSize()!
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: `${shots}/${name}-${colorScheme}-${width}.png`, fullPage: true })
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(size)
}

/** The width by which the page is wider than a narrow screen. */
async function overflow(page: Page): Promise<number> {
  const size = page.viewportSize()!
  await page.setViewportSize({ width: 320, height: 800 })
  const extra = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  await page.setViewportSize(size)
  return extra
}

/** A project that alice manages, and in which ben is a member; and the keys of ben and of an operator. */
async function shared(server: Server, name: string) {
  const operator = server.newKey('opal')
  server.grantOperator('opal')
  const ben = server.newKey('ben')
  const { projectId } = await server.call<ProjectRole>('POST', '/v1/projects', { name, manager: 'alice' }, operator)
  await server.call('PUT', `/v1/projects/${projectId}/members/ben`, { role: 'member' })
  return { projectId, operator, ben }
}

test('what a project has spent stands in a chart and in tables, and a budget in a bar', async ({
  page,
  server,
  console,
}) => {
  console.allow(driver)
  test.setTimeout(120_000)
  const { projectId, operator, ben } = await shared(server, 'Lab Spent')
  await server.folded({ projectId, name: 'By alice' })
  await server.folded({ projectId, name: 'By ben', params: { modelName: 'mini', seed: '7' } }, ben)

  // The operator sets a budget.
  await signIn(page, server, operator)
  await page.goto(`/ui/projects/${projectId}`)
  await page.getByLabel('CPU-seconds a month').fill('1000')
  await page.getByLabel('Jobs per day').fill('50')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await expect
    .poll(async () => (await server.call<ProjectRole>('GET', `/v1/projects/${projectId}`)).budget.cpuSeconds)
    .toBe(1000)
  expect((await server.call<ProjectRole>('GET', `/v1/projects/${projectId}`)).quota).toBe(50)
  await accessible(page)
  await pictures(page, 'limits-operator')
  await page.goto('/ui/usage?whose=all')
  await expect(page.getByText('of all projects')).toBeVisible()
  await expect(page.getByRole('row').filter({ hasText: 'Lab Spent' }).last()).toBeVisible()
  await accessible(page)
  await pictures(page, 'usage-all')
  await page.goto(`/ui/usage?of=${projectId}`)
  await expect(page.getByRole('link', { name: 'Change it' })).toBeVisible()

  // The manager sees who has spent what; the chart, its table and the service agree.
  await page.context().clearCookies()
  await signIn(page, server)
  await page.goto(`/ui/usage?project=${projectId}&by=user&measure=runs`)
  await expect(page.getByRole('heading', { name: 'Usage', exact: true })).toBeVisible()
  await expect(page.getByRole('img', { name: /^Runs by day and person/ })).toBeVisible()
  const table = page.getByRole('region', { name: 'Runs of each day' })
  await expect(table.getByRole('columnheader')).toHaveText(['Day', 'alice', 'ben', 'All'])
  await expect(table.getByRole('row').nth(1).getByRole('cell').last()).toHaveText('2')
  await expect(page.locator('.spent rect')).toHaveCount(2)
  const said = await server.call<ProjectUsage>('GET', `/v1/projects/${projectId}/usage`)
  expect(said.total.runs).toBe(2)
  await expect(page.getByText('of 1,000.0 CPU-seconds used')).toBeVisible()
  await expect(page.getByText('An operator of the service can raise it.')).toBeVisible()
  await accessible(page)
  expect(await overflow(page)).toBe(0)
  await pictures(page, 'usage-person')

  await page.getByRole('button', { name: 'Model' }).click()
  await page.getByRole('button', { name: 'Bytes' }).click()
  await expect(page).toHaveURL(/by=model/)
  await expect(page.getByRole('heading', { name: /^Bytes by day/ })).toBeVisible()
  await accessible(page)
  await pictures(page, 'usage-model')
  const file = await page.request.get((await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href'))!)
  expect(file.headers()['content-type']).toContain('text/csv')
  expect(await file.text()).toContain('mini')

  // An empty month says so, and what a member sees are the own runs.
  const months = page.getByLabel('Month')
  await months.selectOption({ index: 3 })
  await expect(page.getByRole('heading', { name: /^Nothing was spent in/ })).toBeVisible()
  await accessible(page)
  await page.context().clearCookies()
  await signIn(page, server, ben)
  await page.goto(`/ui/usage?project=${projectId}&measure=runs`)
  await expect(page.getByRole('button', { name: 'Person' })).toHaveCount(0)
  await page.getByRole('button', { name: 'Yours' }).click()
  await expect(page.getByText('What your runs of “Lab Spent” have spent')).toBeVisible()
  await expect(page.getByRole('region', { name: 'Runs of each day' }).getByRole('cell').last()).toHaveText('1')
  await page.goto(`/ui/projects/${projectId}`)
  await expect(page.getByText('1,000 CPU-seconds')).toBeVisible()
  await expect(page.getByText('An operator of the service can change them.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Save limits' })).toHaveCount(0)
  await accessible(page)
})

test('who works alone finds the own usage from the page of quotas', async ({ page, server }) => {
  const key = server.newKey('sole')
  await signIn(page, server, key)
  await page.goto('/ui/keys')
  await page.getByRole('link', { name: 'Usage by month' }).click()
  await expect(page.getByRole('heading', { name: /^Nothing was spent in/ })).toBeVisible()
  await expect(page.getByText('No budget limits what this project may spend in a month.')).toBeVisible()
  await expect(page.getByRole('group', { name: 'Whose runs' })).toHaveCount(0)
  await accessible(page)
  await server.folded({ name: 'Alone' }, key)
  await page.reload()
  await expect(page.getByRole('img', { name: /by day and model/ })).toBeVisible()
  await pictures(page, 'usage-alone')
})

test('lists of a shared project say who made what, and narrow to one’s own', async ({ page, server, console }) => {
  console.allow(driver)
  const { projectId, ben } = await shared(server, 'Lab Lists')
  await server.folded({ projectId, name: 'Of alice' })
  const of = await server.folded({ projectId, name: 'Of ben' }, ben)
  await signIn(page, server)
  await page.goto(`/ui/jobs?project=${projectId}`)
  const rows = page.locator('tr[data-job]')
  await expect(rows).toHaveCount(2)
  await expect(rows.filter({ hasText: 'Of ben' }).locator('.by')).toHaveText('ben')
  await expect(rows.filter({ hasText: 'Of alice' }).locator('.by')).toHaveText('you')
  await accessible(page)
  expect(await overflow(page)).toBe(0)
  await pictures(page, 'jobs-by')
  await page.getByRole('button', { name: 'Mine' }).click()
  await expect(page).toHaveURL(/createdBy=me/)
  await expect(rows).toHaveCount(1)
  await expect(rows).toContainText('Of alice')
  await page.goto(`/ui/jobs/${of.jobId}`)
  await expect(page.getByText('in Lab Lists, by ben')).toBeVisible()
  await page.goto(`/ui/batches?project=${projectId}`)
  await page.getByRole('button', { name: 'Mine' }).click()
  await expect(page.getByRole('heading', { name: 'No batches of yours yet' })).toBeVisible()
  await page.goto(`/ui/workflows?project=${projectId}`)
  await page.getByRole('button', { name: 'Mine' }).click()
  await expect(page.getByRole('heading', { name: 'No questions or simulations of yours yet' })).toBeVisible()

  // In the own project there is nothing to tell apart.
  await page.getByLabel('Project', { exact: true }).selectOption('Your own')
  await expect(page.getByRole('button', { name: 'Mine' })).toHaveCount(0)
  await expect(page.getByRole('columnheader', { name: 'By' })).toHaveCount(0)
})

test('groups of the issuer have roles, where there is one', async ({ page, server: plain, console, start }) => {
  console.allow(driver)
  const alone = await shared(plain, 'Lab Keys')
  await signIn(page, plain)
  await page.goto(`/ui/projects/${alone.projectId}`)
  await expect(page.getByRole('heading', { name: 'Invitations' })).toBeVisible()
  await expect(page.getByRole('heading', { name: /^Groups/ })).toHaveCount(0)

  // The issuer is asked when somebody signs in, which nobody does here.
  const server = await start(
    '--oidc-issuer',
    'https://id.example.org',
    '--oidc-client-id',
    'pleat',
    '--oidc-title',
    'Example University',
  )
  const { projectId, ben } = await shared(server, 'Lab Groups')
  await page.context().clearCookies()
  await signIn(page, server)
  await page.goto(`${server.url}/ui/projects/${projectId}`)
  page.on('dialog', (d) => void d.accept())
  await expect(page.getByText('Who is in a group is decided by Example University')).toBeVisible()
  await page.getByLabel('Name of a group').fill('lab-groups')
  await page.getByRole('button', { name: 'Add group' }).click()
  const group = page.locator('[data-group=lab-groups]')
  await expect(group).toBeVisible()
  await page.getByLabel('Role of the group lab-groups').selectOption('viewer')
  await expect
    .poll(() => server.call<{ data: { role: string }[] }>('GET', `/v1/projects/${projectId}/groups`))
    .toMatchObject({ data: [{ name: 'lab-groups', role: 'viewer' }] })
  await accessible(page)
  expect(await overflow(page)).toBe(0)
  await pictures(page, 'groups')
  await page.context().clearCookies()
  await signIn(page, server, ben)
  await page.reload()
  await expect(group).toContainText('viewer')
  await expect(page.getByRole('button', { name: 'Add group' })).toHaveCount(0)
  await page.context().clearCookies()
  await signIn(page, server)
  await page.reload()
  await page.getByRole('button', { name: 'Remove the group lab-groups' }).click()
  await expect(group).toHaveCount(0)
})
