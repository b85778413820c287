// Projects: two people share one, by an invitation, and show a result to a visitor by a link.
import { mkdirSync } from 'node:fs'
import type { Browser, Page } from '@playwright/test'
import type { NewInvitation, ProjectRole } from '../src/api'
import { driver } from './made'
import { accessible, Console, expect, type Server, signIn, test, trpCage } from './server'

const shots = process.env.PLEAT_SHOTS

/** Writes pictures of the page, wide and narrow, to the folder PLEAT_SHOTS if it is set. */
async function pictures(page: Page, name: string) {
  if (!shots) return
  mkdirSync(shots, { recursive: true })
  const size = page.viewportSize()!
  for (const width of [1280, 390, 320]) {
    await page.setViewportSize({ width, height: 900 })
    await page.screenshot({ path: `${shots}/${name}-${width}.png`, animations: 'disabled' })
  }
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

/** A page of somebody else, whose console must stay empty, too, except for refusals that the test asks for. */
async function otherPage(browser: Browser, server: Server, allowed: RegExp[] = []) {
  const context = await browser.newContext({ baseURL: server.url })
  const messages = new Console()
  messages.allow(driver, ...allowed)
  await messages.watch(context)
  return { page: await context.newPage(), console: messages, close: () => context.close() }
}

/** A project that the user of a key manages, with the members. */
async function projectWith(server: Server, name: string, members: Record<string, string>): Promise<string> {
  const operator = server.newKey('olga')
  server.grantOperator('olga')
  const { projectId } = await server.call<ProjectRole>('POST', '/v1/projects', { name, manager: 'alice' }, operator)
  for (const [user, role] of Object.entries(members))
    await server.call('PUT', `/v1/projects/${projectId}/members/${user}`, { role })
  return projectId
}

test('who works alone sees nothing of projects', async ({ page, server }) => {
  await signIn(page, server, server.newKey('solo'))
  await page.goto('/ui/jobs')
  await expect(page.getByRole('heading', { name: 'No jobs yet' })).toBeVisible()
  await expect(page.getByLabel('Project', { exact: true })).toHaveCount(0)
  await expect(page.getByRole('link', { name: 'Projects' })).toHaveCount(0)
})

test('a project is made, joined, used by two people, and shared by a link', async ({
  page,
  server,
  browser,
  console,
}) => {
  console.allow(driver)
  test.setTimeout(180_000)
  const operator = server.newKey('oscar')
  server.grantOperator('oscar')
  await signIn(page, server, operator)
  await page.goto('/ui/jobs')
  await page.getByRole('link', { name: 'Projects' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Lab Trp')
  await page.getByRole('button', { name: 'Create project' }).click()
  await expect(page.getByRole('heading', { name: 'Lab Trp' })).toBeVisible()
  const commercial = page.getByRole('checkbox', { name: /^Commercial project/ })
  await commercial.check()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect
    .poll(async () => {
      const { data } = await server.call<{ data: ProjectRole[] }>('GET', '/v1/projects', undefined, operator)
      return data.find((p) => p.name === 'Lab Trp')?.commercial
    })
    .toBe(true)
  await expect(commercial).toBeChecked()

  await page.getByLabel('For whom').fill('Grace')
  await page.getByRole('button', { name: 'Invite' }).click()
  const link = (await page.locator('code.secret').textContent())!
  expect(link).toContain('/ui/join#')
  await expect(page.getByRole('row').filter({ hasText: 'Grace' }).first()).toContainText('member')
  await accessible(page)
  expect(await overflow(page)).toBe(0)
  await pictures(page, 'people')

  const grace = await otherPage(browser, server)
  await grace.page.goto(new URL(link).pathname + new URL(link).hash)
  await expect(grace.page.getByRole('heading', { name: 'Join “Lab Trp”' })).toBeVisible()
  await accessible(grace.page)
  await pictures(grace.page, 'join')
  await grace.page.getByLabel('Your name on this service').fill('grace')
  await grace.page.getByRole('button', { name: 'Join as a new user' }).click()
  await expect(grace.page.getByRole('heading', { name: 'You have joined “Lab Trp”' })).toBeVisible()
  const key = (await grace.page.locator('code.secret').textContent())!
  expect(key).toMatch(/^pleat_/)
  expect((await server.call<{ name: string }>('GET', '/v1/me', undefined, key)).name).toBe('grace')
  await pictures(grace.page, 'joined')
  await grace.page.getByRole('button', { name: 'Open the project' }).click()
  await expect(grace.page.getByRole('banner').getByRole('link', { name: 'Lab Trp' })).toBeVisible()

  await grace.page.getByRole('link', { name: 'Fold', exact: true }).click()
  await grace.page.getByRole('textbox', { name: 'Sequences' }).fill(trpCage)
  await grace.page.getByRole('button', { name: 'Add', exact: true }).click()
  await grace.page.getByLabel('Name', { exact: true }).fill('Shared fold')
  await grace.page.getByRole('button', { name: 'Fold', exact: true }).click()
  await expect(grace.page.locator('[data-job][data-state=COMPLETED]')).toBeVisible({ timeout: 90_000 })
  const job = grace.page.url().split('/').at(-1)!

  // The other member reads it in the list of the project, which the address names, and not in the own one.
  await page.goto('/ui/jobs')
  await page.getByLabel('Project', { exact: true }).selectOption('Lab Trp')
  await expect(page).toHaveURL(/\/ui\/jobs\?project=/)
  await expect(page.getByRole('row').filter({ hasText: 'Shared fold' })).toBeVisible()
  await accessible(page)
  expect(await overflow(page)).toBe(0)
  await pictures(page, 'jobs')
  await page.reload()
  await expect(page.getByRole('row').filter({ hasText: 'Shared fold' })).toBeVisible()
  await page.getByLabel('Project', { exact: true }).selectOption('Your own')
  await expect(page.getByRole('heading', { name: 'No jobs yet' })).toBeVisible()
  await page.goto(`/ui/jobs/${job}`)
  await expect(page.getByRole('heading', { name: 'Shared fold' })).toBeVisible()
  await expect(page.getByText('in Lab Trp')).toBeVisible()

  // A question about it belongs to its project, although the own one is chosen.
  await page.getByLabel('Ask about this structure').fill('Describe this structure')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await expect(page.locator('.entry[data-question]')).toHaveCount(1)
  const project = (
    await server.call<ProjectRole & { projects: ProjectRole[] }>('GET', '/v1/me', undefined, key)
  ).projects.find((p) => p.name === 'Lab Trp')!.projectId
  const list = await server.call<{ data: unknown[] }>('GET', `/v1/workflows?projectId=${project}`, undefined, key)
  expect(list.data).toHaveLength(1)

  await page.getByRole('button', { name: 'Share…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Share this result' })
  await expect(dialog.getByText('There are no links.')).toBeVisible()
  await dialog.getByLabel('Ends').selectOption('in 1 day')
  await dialog.getByRole('button', { name: 'Make a link' }).click()
  const share = new URL((await dialog.locator('code.secret').textContent())!).pathname
  await expect(dialog.getByRole('listitem')).toHaveCount(1)
  await accessible(page)
  expect(await overflow(page)).toBe(0)
  await pictures(page, 'share')

  const visitor = await otherPage(browser, server, [/401|404/])
  await visitor.page.goto(share)
  await expect(visitor.page.getByRole('heading', { name: 'Shared fold' })).toBeVisible()
  await expect(visitor.page.getByText('shared with you by a link')).toBeVisible()
  await expect(visitor.page.getByRole('heading', { name: 'Confidence by residue' })).toBeVisible()
  for (const name of ['Delete', 'Share…', 'Run again', 'Ask'])
    await expect(visitor.page.getByRole('button', { name, exact: true })).toHaveCount(0)
  await pictures(visitor.page, 'visitor')

  await dialog.getByRole('button', { name: /^End the link/ }).click()
  await expect(dialog.getByText('There are no links.')).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(dialog).toHaveCount(0)
  await expect(page.getByRole('button', { name: 'Share…' })).toBeFocused()
  await visitor.page.goto(`/ui/jobs/${job}`)
  await expect(visitor.page.getByRole('heading', { name: 'This job is private' })).toBeVisible()
  await visitor.page.goto(new URL(link).pathname + new URL(link).hash)
  await expect(visitor.page.getByRole('heading', { name: 'This invitation cannot be used' })).toBeVisible()

  // The job moves to the own project, where the other does not read it any more.
  await page.getByRole('button', { name: 'Move to project…' }).click()
  await pictures(page, 'move')
  await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await expect(page.getByText('in Lab Trp')).toHaveCount(0)
  await expect(server.call('GET', `/v1/jobs/${job}`, undefined, key)).rejects.toThrow('404')
  expect(grace.console.faults).toEqual([])
  expect(visitor.console.faults).toEqual([])
  await grace.close()
  await visitor.close()
})

test('a viewer reads, and is told why there is nothing to change', async ({ page, server, console }) => {
  console.allow(driver)
  const key = server.newKey('vera')
  const project = await projectWith(server, 'Lab View', { vera: 'viewer' })
  const job = await server.folded({ projectId: project, name: 'Seen' })
  await signIn(page, server, key)
  await page.goto(`/ui/jobs?project=${project}`)
  await expect(page.getByRole('row').filter({ hasText: 'Seen' })).toBeVisible()
  await expect(page.getByText('You are a viewer of “Lab View”')).toBeVisible()
  await expect(page.getByRole('link', { name: 'New fold' })).toHaveCount(0)
  await page.goto(`/ui/jobs/${job.jobId}`)
  await expect(page.getByText('where you are a viewer')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Delete' })).toHaveCount(0)
  await expect(page.getByLabel('Ask about this structure')).toHaveCount(0)
  await page.goto('/ui/')
  await expect(page.getByText('Your role in “Lab View” is viewer')).toBeVisible()
  await accessible(page)
  await pictures(page, 'viewer')
  await page.getByRole('button', { name: 'Work in your own project' }).click()
  await expect(page.getByRole('button', { name: 'Fold', exact: true })).toBeVisible()
  await page.goto(`/ui/projects/${project}`)
  await expect(page.getByRole('row').filter({ hasText: 'alice' })).toContainText('manager')
  await expect(page.getByRole('button', { name: 'Invite' })).toHaveCount(0)
  await accessible(page)
  await pictures(page, 'members')
})

test('a manager changes roles, makes and ends a service user, and the log tells it', async ({
  page,
  server,
  visit,
}) => {
  server.newKey('mona')
  const project = await projectWith(server, 'Lab Role', { mona: 'member' })
  await visit(`/ui/projects/${project}`)
  page.on('dialog', (d) => void d.accept())
  await page.getByLabel('Role of mona').selectOption('manager')
  await expect
    .poll(async () => {
      const list = await server.call<{ data: { name: string; role: string }[] }>(
        'GET',
        `/v1/projects/${project}/members`,
      )
      return list.data.find((m) => m.name === 'mona')?.role
    })
    .toBe('manager')

  await page.getByLabel('Name of a new one').fill('pipeline')
  await page.getByLabel('Your API key').fill(server.key)
  await page.getByRole('button', { name: 'Create service user' }).click()
  const key = (await page.locator('code.secret').textContent())!
  expect((await server.call<{ isService: boolean }>('GET', '/v1/me', undefined, key)).isService).toBe(true)
  await page.locator('.service-user summary').click()
  await page.getByRole('button', { name: /^Revoke pleat_/ }).click()
  await expect(page.getByText(/^revoked/)).toBeVisible()
  await expect(server.call('GET', '/v1/me', undefined, key)).rejects.toThrow('401')
  await accessible(page)
  expect(await overflow(page)).toBe(0)
  await pictures(page, 'service')

  const invitation = await server.call<NewInvitation>('POST', `/v1/projects/${project}/invitations`, {
    role: 'viewer',
    label: 'Ivan',
  })
  await page.reload()
  await page.getByRole('button', { name: 'Revoke the invitation of Ivan' }).click()
  await expect(page.getByRole('button', { name: 'Revoke the invitation of Ivan' })).toHaveCount(0)
  await expect(server.call('POST', '/v1/invitations/read', { token: invitation.token })).rejects.toThrow('404')
  await expect(
    page
      .getByRole('row')
      .filter({ hasText: /invitation.*revoked/i })
      .first(),
  ).toBeVisible()

  await page.getByRole('button', { name: 'Remove mona' }).click()
  await expect(page.locator('[data-member=mona]')).toHaveCount(0)
})

test('a batch and a workflow are shared by links, each read-only', async ({ server, browser }) => {
  const { batchId } = await server.call<{ batchId: string }>('POST', '/v1/batches', {
    name: 'Two of a kind',
    kind: 'list',
    params: { modelName: 'mini' },
    jobs: [{ customId: 'one', sequences: [{ proteinChain: { sequence: trpCage } }] }],
  })
  const of = await server.folded({ name: 'Asked' })
  const { workflow_id } = await server.call<{ workflow_id: string }>('POST', '/v1/workflows', {
    workflow_name: 'qna_v1',
    name: 'A question',
    workflow_input: { targetSource: 'fold_job', source_job_id: of.jobId, question: 'Describe this structure' },
  })
  for (const [path, title] of [
    [`batches/${batchId}`, 'Two of a kind'],
    [`workflows/${workflow_id}`, 'Questions'],
  ]) {
    const { url } = await server.call<{ url: string }>('POST', `/v1/${path}/links`, {})
    const visitor = await otherPage(browser, server, [/401|404/])
    await visitor.page.goto(new URL(url).pathname)
    await expect(visitor.page.getByRole('heading', { level: 1, name: title! })).toBeVisible()
    await expect(visitor.page.getByRole('button', { name: 'Delete' })).toHaveCount(0)
    await expect(visitor.page.getByRole('button', { name: 'Share…' })).toHaveCount(0)
    await pictures(visitor.page, `visitor-${path!.split('/')[0]}`)
    expect(visitor.console.faults).toEqual([])
    await visitor.close()
  }
})
