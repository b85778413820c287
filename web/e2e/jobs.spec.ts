import { driver, test } from './made'
import { accessible, expect, picture, signIn, trpCage } from './server'

const ubiquitin = 'MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG'

test('a new user has no jobs', async ({ page, server, visit }) => {
  await visit('/ui/jobs', server.newKey('newcomer'))
  await expect(page.getByRole('heading', { name: 'No jobs yet' })).toBeVisible()
  await accessible(page)
  await page.getByRole('link', { name: 'Fold a protein' }).click()
  await expect(page).toHaveURL(/\/ui\/$/)
})

test('rows are updated in two tabs at once', async ({ page, context, server }) => {
  const key = server.newKey('bea')
  await signIn(page, server, key)
  await page.goto('/ui/jobs')
  const other = await context.newPage()
  await other.goto('/ui/jobs')
  await expect(page.locator('[data-stream=live]')).toBeAttached()
  await expect(other.locator('[data-stream=live]')).toBeAttached()
  const params = { modelName: 'made-up' }
  const long = await server.running({ name: 'Ubiquitin', params: { ...params, samplingSteps: 10_000 } }, key)
  const next = await server.create({ name: 'Chignolin', params }, key)
  for (const tab of [page, other]) {
    await expect(tab.locator(`[data-job="${long.jobId}"]`)).toHaveAttribute('data-state', 'RUNNING')
    await expect(tab.locator(`[data-job="${next.jobId}"]`)).toContainText('next in queue')
    await expect(tab.locator(`[data-job="${next.jobId}"] .clip`)).toHaveText(/^[A-Z].*\.$/) // why it waits
  }
  await other.getByRole('button', { name: 'Stop Ubiquitin' }).click()
  for (const tab of [page, other]) {
    await expect(tab.locator(`[data-job="${long.jobId}"]`)).toHaveAttribute('data-state', 'STOPPED')
    await expect(tab.locator(`[data-job="${next.jobId}"]`)).toHaveAttribute('data-state', 'COMPLETED')
  }
  await expect(
    page.locator(`[data-job="${long.jobId}"]`).getByRole('link', { name: 'Edit Ubiquitin and run it again' }),
  ).toHaveAttribute('href', `/ui/?again=${long.jobId}`)

  // Search and filter are part of the address.
  await page.getByLabel('Search by name').fill('chig')
  await expect(page.locator('tbody tr')).toHaveCount(1)
  await expect(page).toHaveURL(/q=chig/)
  await page.getByRole('button', { name: 'Failed' }).click()
  await expect(page.getByRole('heading', { name: 'No jobs match' })).toBeVisible()
  await page.getByRole('button', { name: 'Show all jobs' }).click()
  await expect(page.locator('tbody tr')).toHaveCount(2)

  // The selected jobs are downloaded and deleted.
  await page.getByLabel('Select all').check()
  const file = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download 1 archive' }).click()
  expect((await file).suggestedFilename()).toMatch(/\.zip$/)
  page.on('dialog', (d) => void d.accept())
  await page.getByRole('button', { name: 'Delete' }).click()
  await expect(page.getByRole('heading', { name: 'No jobs yet' })).toBeVisible()
})

test('the count of jobs left follows every creation', async ({ page, server, console }) => {
  console.allow(driver)
  const key = server.newKey('lea')
  const { jobId } = await server.folded({ sequences: [{ proteinChain: { sequence: 'YYDPETGTWY' } }] }, key)
  await signIn(page, server, key)
  await page.goto('/ui/jobs/' + jobId)
  const left = page.getByRole('link', { name: 'jobs left today' })
  await expect(left).toHaveText('999 of 1000 jobs left today')
  await page.getByRole('button', { name: 'Run again' }).click()
  await expect(left).toHaveText('998 of 1000 jobs left today')
  await expect(page.locator('[data-stream=live]')).toBeAttached()
  await server.create({}, key) // by another program
  await expect(left).toHaveText('997 of 1000 jobs left today')
})

test('older jobs come as the list is scrolled, and few rows are in the document', async ({ page, server }) => {
  const key = server.newKey('carl')
  const count = 260
  for (let i = 0; i < count; i += 20)
    await Promise.all(
      Array.from({ length: 20 }, async (_, k) => {
        const sequences = [{ proteinChain: { sequence: ubiquitin } }]
        const { jobId } = await server.create({ name: `number ${i + k}`, sequences }, key)
        await server.call('POST', `/v1/jobs/${jobId}/cancel`, undefined, key)
      }),
    )
  await signIn(page, server, key)
  await page.goto('/ui/jobs')
  const rows = page.locator('tr[data-job]')
  await expect(rows).toHaveCount(50)
  const oldest = page.getByRole('link', { name: /^number ([0-9]|1[0-9])$/ }) // the order within a group is not given
  const seen = new Set<string>()
  let most = 0
  await expect(async () => {
    await page.mouse.wheel(0, 500)
    for (const name of await rows.locator('.name a').allTextContents()) seen.add(name)
    most = Math.max(most, await rows.count())
    expect(seen.size).toBe(count)
  }).toPass({ intervals: [50] })
  await expect(oldest.last()).toBeVisible()
  expect(most).toBeLessThanOrEqual(60)
  await expect(page.getByRole('table')).toHaveAttribute('aria-rowcount', String(count + 1))
  await expect(rows.last()).toHaveAttribute('aria-rowindex', String(count + 1))
  await accessible(page)

  // A new job is added at the top; older rows stay where they are.
  const top = await rows.last().boundingBox()
  await server.create({ name: 'newest' }, key)
  await expect(page.getByRole('table')).toHaveAttribute('aria-rowcount', String(count + 2))
  await expect.poll(async () => Math.abs((await rows.last().boundingBox())!.y - top!.y)).toBeLessThan(100)
  await page.evaluate(() => scrollTo(0, 0))
  await expect(page.getByRole('link', { name: 'newest' })).toBeVisible()
  await page.getByLabel('Select all').check()
  await expect(page.getByRole('region', { name: 'Selected jobs' })).toContainText(`${count + 1} jobs selected`)
})

test('scrolling a long list makes each row once and does not ask for its place', async ({ page, server }) => {
  const key = server.newKey('nora')
  for (let i = 0; i < 200; i += 20)
    await Promise.all(
      Array.from({ length: 20 }, async (_, k) => {
        const { jobId } = await server.create({ name: `number ${i + k}` }, key)
        await server.call('POST', `/v1/jobs/${jobId}/cancel`, undefined, key)
      }),
    )
  await signIn(page, server, key)
  await page.goto('/ui/jobs')
  const rows = page.locator('tr[data-job]')
  await expect(rows).toHaveCount(50)
  const { measured, created } = await page.evaluate(async () => {
    let measured = 0 // each of which makes the browser lay out the list at once
    const { getBoundingClientRect } = Element.prototype
    Element.prototype.getBoundingClientRect = function () {
      if ((this as HTMLElement).dataset?.job) measured++
      return getBoundingClientRect.call(this)
    }
    let created = 0
    new MutationObserver((changes) => {
      for (const change of changes)
        for (const node of change.addedNodes) if (node instanceof HTMLElement && node.dataset.job) created++
    }).observe(document.querySelector('tbody')!, { childList: true })
    while (scrollY + innerHeight < document.documentElement.scrollHeight || document.querySelector('.more-row')) {
      scrollBy(0, 200)
      await new Promise((next) => requestAnimationFrame(next))
    }
    return { measured, created }
  })
  expect(created).toBeLessThanOrEqual(200) // no row twice
  expect(created).toBeGreaterThan(100)
  expect(measured).toBe(0)
})

test('questions and simulations are listed', async ({ page, server }) => {
  const key = server.newKey('kim')
  await signIn(page, server, key)
  await page.goto('/ui/workflows')
  await expect(page.getByRole('heading', { name: 'No questions or simulations yet' })).toBeVisible()
  await server.create(
    {
      name: 'Chignolin',
      sequences: [{ proteinChain: { sequence: 'YYDPETGTWY' } }],
      constraints: {
        webhooks: {
          qna: { enabled: true, initial_question: 'How many residues does it have?' },
          md: { enabled: true, sim_length_ns: 2, step_size_ns: 0.01 },
        },
      },
    },
    key,
  )
  const question = page.locator('[data-workflow]').filter({ hasText: 'Question about Chignolin' }),
    moves = page.locator('[data-workflow]').filter({ hasText: 'Dynamics of Chignolin' })
  await expect(question).toHaveAttribute('data-state', 'COMPLETED')
  await expect(moves).toHaveAttribute('data-state', /RUNNING|COMPLETED/)
  await expect(moves).toHaveAttribute('data-state', 'COMPLETED')
  await expect(question.getByRole('link', { name: 'Fold' })).toHaveAttribute('href', /^\/ui\/jobs\//)
  await accessible(page)
})

test('an interrupted stream is reported, bridged and restored', async ({ page, server, console }) => {
  console.allow(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/)
  const key = server.newKey('dora')
  await signIn(page, server, key)
  const job = await server.create({ params: { modelName: 'made-up', samplingSteps: 10_000 } }, key)
  await page.goto('/ui/jobs')
  const row = page.locator(`[data-job="${job.jobId}"]`)
  await expect(row).toHaveAttribute('data-state', 'RUNNING')
  await server.stop()
  await expect(page.locator('[data-stream=reconnecting]')).toBeAttached()
  await expect(page.getByText('Live updates are interrupted')).toBeVisible()
  await expect(row).toBeVisible() // what is known stays
  await accessible(page)
  await server.start()
  await expect(page.locator('[data-stream=live]')).toBeAttached()
  await expect(page.getByText('Live updates are interrupted')).toBeHidden()
  await server.call('POST', `/v1/jobs/${job.jobId}/cancel`, undefined, key)
  await expect(row).toHaveAttribute('data-state', 'STOPPED')
})

test('without a stream the page polls', async ({ page, server, proxied }) => {
  const key = server.newKey('emil')
  const proxy = await proxied(server)
  proxy.treat = () => 'cut'
  await signIn(page, { url: proxy.url, key })
  await page.goto(`${proxy.url}/ui/jobs`)
  await expect(page.locator('[data-stream=reconnecting]')).toBeAttached()
  const job = await server.create({ sequences: [{ proteinChain: { sequence: 'YYDPETGTWY' } }] }, key)
  await expect(page.locator(`[data-job="${job.jobId}"]`)).toHaveAttribute('data-state', 'COMPLETED', {
    timeout: 60_000,
  })
})

test('jobs with every status are listed', async ({ page, server }) => {
  test.setTimeout(360_000) // three folds come first
  const key = server.newKey('fay')
  const fold = (name: string, sequence: string, more = {}) =>
    server.create({ name, sequences: [{ proteinChain: { sequence } }], ...more }, key)
  await fold('Chignolin CLN025', 'YYDPETGTWY', { isPublic: true })
  await fold('GB1 hairpin', 'GEWTYDDATKTFTVTE')
  await fold('Trp-cage TC10b', trpCage)
  const stopped = await fold('Ubiquitin', ubiquitin)
  await server.call('POST', `/v1/jobs/${stopped.jobId}/cancel`, undefined, key)
  const running = await fold('Engrailed homeodomain', 'RPRTAFSSEQLARLKREFNENRYLTERRRQQLSSELGLNEAQIKIWFQNKRAKI')
  await fold('Villin headpiece HP36', 'MLSDEDFKAVFGMTRSAFANLPLWKQQNLKKEKGLF')
  await signIn(page, server, key)
  await page.goto('/ui/jobs')
  await expect(page.locator(`[data-job="${running.jobId}"]`)).toHaveAttribute('data-state', 'RUNNING', {
    timeout: 300_000,
  })
  await expect(page.locator(`[data-job="${running.jobId}"]`).getByText(/^usually /)).toBeVisible()
  await expect
    .poll(async () => Number(await page.getByRole('progressbar').first().getAttribute('aria-valuenow')))
    .toBeGreaterThan(20)
  await picture(page, 'jobs')
  await accessible(page)
  await page.setViewportSize({ width: 360, height: 740 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360)
  await picture(page, 'jobs-phone')
})
