// Alignments: uploaded on the Submit page, and found by an MSA search on a test server. Both are drawn on the result.
import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import type { Locator, Page } from '@playwright/test'
import type { Alignment, CreatedJob, JobView } from '../src/api'
import { test as base, driver, engines } from './made'
import { accessible, expect, Server, signIn, trpCage } from './server'

const aligner = resolve(import.meta.dirname ?? __dirname, '../../bin/msatest')

const test = base.extend<object, { server: Server }>({
  server: [
    async ({}, use) => {
      let search: ChildProcess | undefined
      const url = await new Promise<string>((ok, fail) => {
        search = spawn(aligner, { stdio: ['pipe', 'pipe', 'inherit'] })
        search.stdout!.once('data', (b: Buffer) => ok(String(b).trim()))
        search.once('error', fail)
      })
      const server = new Server([...engines, '--msa-server', url])
      await server.start()
      await use(server)
      await server.remove()
      search!.stdin!.end()
    },
    { scope: 'worker' },
  ],
})

test.describe.configure({ timeout: 400_000 })

test.beforeEach(({ console: messages }) => messages.allow(driver))

const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })

// Twenty rows of decreasing similarity to the query; every fourth lacks the second half.
const rows = Array.from({ length: 20 }, (_, i) =>
  [...trpCage].map((c, k) => (i % 4 === 3 && k >= 10 ? '-' : k < i ? 'G' : c)).join(''),
)
const a3m = (query = trpCage) =>
  `>query\n${query}\n` + rows.map((r, i) => `>row ${i}\n${r.slice(0, 5)}ins${r.slice(5)}\n`).join('')

/** The number of colours on the coverage plot, and the fraction of it that is drawn on. */
const painted = (plot: Locator) =>
  plot.locator('canvas').evaluate((c: HTMLCanvasElement) => {
    const { data } = c.getContext('2d')!.getImageData(0, 0, c.width, c.height)
    const colours = new Set<number>()
    let full = 0
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3]! === 255) {
        full++
        colours.add((data[i]! << 16) | (data[i + 1]! << 8) | data[i + 2]!)
      }
    return { colours: colours.size, share: full / (c.width * c.height) }
  })

const begin = async (page: Page) => {
  await page.goto('/ui/')
  await page.getByRole('combobox', { name: 'Model' }).selectOption('made-up')
  await page.getByRole('textbox', { name: 'Sequences' }).fill(`>bait\n${trpCage}`)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
}

test('an uploaded alignment is validated, sent and drawn', async ({ page, server }) => {
  await signIn(page, server)
  await begin(page)
  const chain = page.getByRole('article', { name: 'Chain A' })
  const input = chain.locator('input[type=file]')
  const fold = page.getByRole('button', { name: 'Fold', exact: true })
  await expect(chain.getByRole('button', { name: 'Upload an alignment for Chain A' })).toBeVisible()

  // A file that is not an alignment is refused with the position of the error and changes nothing.
  for (const [name, text, message] of [
    [
      'ragged.a3m',
      `>q\n${trpCage}\n>x\nDAYAQW\n`,
      'ragged.a3m is not an alignment: row 2 has 6 columns; the first row has 20 residues',
    ],
    [
      'text.a3m',
      'Dear colleague',
      'text.a3m is not an alignment: line 1 is before the first header, which begins with >',
    ],
    [
      'gaps.a3m',
      '>q\nDAY-QW\n',
      'gaps.a3m is not an alignment: its first row has “-” at position 4; it must be the query sequence in capitals without gaps',
    ],
    [
      'digits.a3m',
      `>q\n${trpCage}\n>x\nDAY1QWLKDGGPSSGRPPPS\n`,
      'digits.a3m is not an alignment: line 4 has “1” at position 4',
    ],
    ['pfam.a3m', '# STOCKHOLM 1.0\n', 'pfam.a3m is not an alignment: it is in the format STOCKHOLM'],
    ['none.a3m', '\n', 'none.a3m is not an alignment: it has no sequence'],
  ] as const) {
    await input.setInputFiles(file(name, text))
    await expect(chain.getByRole('alert')).toContainText(message)
  }
  await expect(chain.locator('[data-alignment="21"]')).toHaveCount(0)

  // An alignment of another sequence is marked, and the job cannot be submitted.
  await input.setInputFiles(file('other.a3m', '>q\nDAYAQWLKDGGPSSGRPPPW\n'))
  await expect(chain.locator('.wrong')).toHaveText(
    'other.a3m is of another sequence; residue 20 is S in the chain and W in the alignment.',
  )
  await expect(page.locator('[data-valid=no]')).toContainText('1 problem')
  await expect(fold).toBeDisabled()
  await accessible(page)

  await input.setInputFiles(file('mine.a3m', a3m()))
  await expect(chain.locator('[data-alignment="21"]')).toContainText('mine.a3m, 21 sequences')
  await expect(chain.locator('.wrong')).toHaveCount(0)
  await page.getByText('Show as curl').click()
  await expect(page.getByLabel('The request as a command')).toContainText("-F 'files=@mine.a3m'")
  await page.getByText('Show as curl').click()
  await page.getByRole('combobox', { name: 'Model' }).selectOption('mini')
  await expect(chain).toContainText('Not used: mini does not use alignments.')
  await page.getByRole('combobox', { name: 'Model' }).selectOption('made-up')
  await accessible(page)
  await fold.click()
  await expect(page).toHaveURL(/\/ui\/jobs\/[0-9a-f-]{36}$/)

  // The run used it, and its coverage is drawn.
  await page.getByRole('tab', { name: 'Alignment' }).click()
  const plot = page.locator('[data-plot=coverage]')
  await expect(plot.locator('canvas')).toHaveAttribute('aria-label', 'Alignment of 21 sequences over 20 residues')
  await expect(page.getByText('the least covered residue has 16')).toBeVisible()
  await expect(plot.locator('canvas')).toHaveAttribute('data-drawn', /\d/)
  const p = await painted(plot)
  expect(p.colours).toBeGreaterThan(10) // a colour for each likeness
  expect(p.share).toBeGreaterThan(0.4)
  const id = page.url().split('/').at(-1)
  const view = await server.call<JobView>('GET', `/v1/jobs/${id}`)
  expect(view.run.msaStatus).toBe('COMPLETED')

  // The job opened for editing has it.
  await page.getByRole('link', { name: 'Edit and rerun' }).click()
  await expect(chain.locator('[data-alignment="21"]')).toContainText('mine.a3m')
  await fold.click()
  await expect(page).not.toHaveURL(new RegExp(`${id}|/ui/$`))
  const again = await server.call<JobView>('GET', `/v1/jobs/${page.url().split('/').at(-1)}`)
  expect(again.job.libraryItemId).toBe(view.job.libraryItemId)
})

test('a dropped alignment adds its sequence or is attached to its chain', async ({ page, server }) => {
  await signIn(page, server)
  await page.goto('/ui/')
  await page.getByRole('combobox', { name: 'Model' }).selectOption('made-up')
  const drop = async (name: string, text: string) => {
    const data = await page.evaluateHandle(
      ([n, t]) => {
        const d = new DataTransfer()
        d.items.add(new File([t!], n!))
        return d
      },
      [name, text],
    )
    await page.locator('.submit').dispatchEvent('drop', { dataTransfer: data })
  }
  await drop('first.a3m', a3m())
  await expect(page.getByLabel('Sequence of Chain A')).toHaveValue('DAYAQWLKDG GPSSGRPPPS')
  await expect(page.locator('[data-alignment="21"]')).toHaveCount(1)
  await drop('second.a3m', '>q\nYYDPETGTWY\n')
  await expect(page.getByRole('alert')).toContainText(
    'second.a3m is of another sequence; it has 10 residues, and the chain 20; residue 1 is D in the chain',
  )
  await page.getByRole('button', { name: 'Remove the alignment of Chain A' }).click()
  await drop('third.a3m', `>q\n${trpCage}\n`)
  await expect(page.locator('[data-alignment="1"]')).toContainText('third.a3m, 1 sequence')
})

test('the alignment of an MSA search is drawn while the fold runs', async ({ page, server, visit }) => {
  const job = await server.call<CreatedJob>('POST', '/v1/jobs', {
    name: 'Searched',
    sequences: [{ proteinChain: { sequence: trpCage } }],
    params: { modelName: 'made-up', samplingSteps: 3000 },
  })
  await visit('/ui/jobs/' + job.jobId)
  const plot = page.getByRole('region', { name: 'Alignment' }).locator('[data-plot=coverage]')
  await expect(plot.locator('canvas')).toHaveAttribute('aria-label', /^Alignment of \d+ sequences over 20 residues$/)
  await expect(plot.locator('canvas')).toHaveAttribute('data-drawn', /\d/)
  expect((await painted(plot)).share).toBeGreaterThan(0.4)
  await expect(page.getByRole('article')).toHaveAttribute('data-state', 'RUNNING')
  await page.getByRole('button', { name: 'Stop' }).click()
  await expect(page.getByRole('heading', { name: 'This run was stopped' })).toBeVisible()
})

test('an alignment has a page with its files', async ({ page, server, visit }) => {
  const made = await server.call<Alignment>('POST', '/v1/alignments', { sequences: [trpCage, 'GYDPETGTWG'] })
  await visit('/ui/workflows/' + made.alignmentId)
  await expect(page.getByRole('article')).toHaveAttribute('data-state', 'COMPLETED')
  const chain = page.getByRole('region', { name: 'Protein A' })
  const canvas = chain.locator('[data-plot=coverage] canvas')
  await expect(canvas).toHaveAttribute('aria-label', /^Alignment of \d+ sequences over 20 residues$/)
  await expect(canvas).toHaveAttribute('data-drawn', /\d/)
  await expect(chain.getByRole('link', { name: 'Alignment (A3M)' })).toHaveAttribute('href', /A-msa\.a3m/)
  await expect(page.getByRole('region', { name: 'Use this alignment' })).toContainText(made.alignmentId)
  await accessible(page)

  await page.goto('/ui/workflows')
  await expect(page.locator(`[data-workflow="${made.alignmentId}"]`)).toContainText('Alignment')
})
