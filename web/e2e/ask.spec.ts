import type { CreatedJob, Workflow } from '../src/api'
import { driver, test } from './made'
import { counted, drawn } from './pixels'
import { accessible, expect, picture, trpCage } from './server'

// Software rendering is slow, and the machine may be busy.
test.describe.configure({ timeout: 400_000 })

let job: CreatedJob

test.beforeAll(async ({ server }) => {
  job = await server.folded({ sequences: [{ proteinChain: { sequence: trpCage } }] })
})
test.beforeEach(({ console: messages }) => messages.allow(driver))

const ask = (server: { call<T>(m: string, p: string, b?: unknown): Promise<T> }, question: string, more: object = {}) =>
  server.call<Workflow>('POST', '/v1/workflows', {
    workflow_name: 'qna_v1',
    name: question,
    workflow_input: { targetSource: 'fold_job', source_job_id: job.jobId, question },
    ...more,
  })

test('a question is answered next to the result, and its residues are shown', async ({ page, visit }) => {
  await visit('/ui/jobs/' + job.jobId)
  await drawn(page)
  await page.getByLabel('Ask about this structure').fill('What does Trp6 touch?')
  await page.keyboard.press('Enter')
  const reply = page.locator('[data-answer]').last()
  await expect(reply).toContainText('Within 4.5 Å of')
  await expect(reply).toContainText('Answered by Pleat analyst')
  await reply.locator('[data-residue="A:6-6"]').first().click()
  await expect(page.locator('[data-selection]')).toHaveAttribute('data-selection', 'picked:A:6-6')
  await page.mouse.move(2, 2)
  await expect.poll(() => counted(page).then((c) => c.scored)).toBeGreaterThan(30)

  // The selection is named in the next question.
  await expect(page.getByText('About the selection: TRP 6 of chain A')).toBeVisible()
  await page.getByLabel('Ask about this structure').fill('How exposed is this residue?')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await expect(page.locator('.question').last()).toHaveText('How exposed is TRP 6 of chain A?')
  await expect(page.locator('[data-answer]').last()).toContainText('accessible surface')
})

test('the thread has all questions, a draft can be edited until it is asked, and a question has a link', async ({
  page,
  server,
  visit,
}) => {
  const first = await ask(server, 'Which residues are least certain?')
  const draft = await ask(server, 'Where are the strands?', { create_mode: 'draft' })
  await visit('/ui/workflows/' + draft.workflow_id)
  await drawn(page)
  await expect(page.locator(`[data-question="${first.workflow_id}"]`)).toContainText('mean pLDDT')
  const mine = page.locator(`[data-question="${draft.workflow_id}"]`)
  await expect(mine).toHaveAttribute('aria-current', 'true')
  await mine.getByLabel('Draft').fill('Where are the helices?')
  await mine.getByRole('button', { name: 'Ask now' }).click()
  await expect(mine.locator('.question')).toHaveText('Where are the helices?')
  await expect(mine.locator('[data-answer]')).toContainText('α-helices')
  await accessible(page)
  await picture(page, 'ask')

  // A question that coordinates cannot answer gets the reason instead of an answer.
  await page.getByLabel('Ask about this structure').fill('What is the melting temperature?')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await expect(page.locator('[data-answer]').last()).toContainText('stability, melting or folding energies')
})

test('a public question can be read without a session, without the others', async ({
  page,
  server,
  console: messages,
}) => {
  messages.allow(/status of 40[14]/)
  const shown = await ask(server, 'Describe this structure')
  const other = await ask(server, 'How many atoms are there?')
  await expect
    .poll(async () => (await server.call<Workflow>('GET', '/v1/workflows/' + shown.workflow_id)).status)
    .toBe('COMPLETED')
  await server.call('PATCH', `/v1/workflows/${shown.workflow_id}/public`, { isPublic: true })
  await page.goto('/ui/workflows/' + shown.workflow_id)
  await expect(page.locator('[data-answer]')).toContainText('1 chain with 20 residues')
  await expect(page.getByText('How many atoms are there?')).toHaveCount(0)
  await expect(page.getByLabel('Ask about this structure')).toHaveCount(0)
  await page.goto('/ui/workflows/' + other.workflow_id)
  await expect(page.getByText('The workflow could not be loaded')).toBeVisible()
})
