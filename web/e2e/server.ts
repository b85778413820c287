// The fixtures of all end-to-end tests: the real program with the embedded engines, on a free port with an empty data
// folder, and a page that must not write errors to its console. Import test and expect from here.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import AxeBuilder from '@axe-core/playwright'
import { type BrowserContext, test as base, expect, type Page } from '@playwright/test'
import type { CreatedJob, CreateJob, JobView } from '../src/api'
import { StreamProxy } from './proxy'

const program = resolve(import.meta.dirname ?? __dirname, '../../bin/pleat')

// The program is configured by flags only, not by the environment of the tests.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PLEAT_')))

export const trpCage = 'DAYAQWLKDGGPSSGRPPPS' // Protein Data Bank entry 2JOF

/** A running server. Its user alice has the key. */
export class Server {
  url = ''
  key = ''
  private readonly data = mkdtempSync(join(tmpdir(), 'pleat-e2e-'))
  private child?: ChildProcess
  private log = ''

  constructor(private readonly flags: string[] = []) {}

  /** Starts the server; after a stop on the same port. */
  async start() {
    const addr = this.url ? new URL(this.url).host : '127.0.0.1:0'
    const child = spawn(
      program,
      [
        'serve',
        '--addr',
        addr,
        '--data',
        this.data,
        '--quota',
        '1000',
        '--log-level',
        'warn',
        '--webhook-allow',
        '127.0.0.0/8',
        ...this.flags,
      ],
      { env, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    this.child = child
    child.stderr!.on('data', (b: Buffer) => (this.log += b))
    this.url = await new Promise<string>((ok, fail) => {
      let out = ''
      child.stdout!.on('data', (b: Buffer) => {
        out += b
        const m = /listening on (\S+)/.exec(out)
        if (m) ok(m[1]!)
      })
      child.on('exit', (code) => fail(new Error(`the server ended with ${code}:\n${this.log}`)))
    })
    this.key ||= this.newKey('alice')
  }

  async stop() {
    const child = this.child
    if (!child || child.exitCode !== null) return
    const ended = new Promise((ok) => child.once('exit', ok))
    child.kill('SIGTERM')
    await ended
  }

  async remove() {
    await this.stop()
    rmSync(this.data, { recursive: true, force: true })
  }

  newKey(user: string): string {
    return execFileSync(program, ['keys', 'create', '--user', user, '--data', this.data], {
      encoding: 'utf8',
      env,
    }).trim()
  }

  /** Makes a user an operator of the service, who creates projects. */
  grantOperator(user: string) {
    execFileSync(program, ['users', 'grant', user, 'operator', '--data', this.data], { env })
  }

  /** Calls the service with an API key. */
  async call<T>(method: string, path: string, body?: unknown, key = this.key): Promise<T> {
    const r = await fetch(this.url + path, {
      method,
      headers: { Authorization: 'Bearer ' + key, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`)
    return (await r.json()) as T
  }

  private readonly keys = new Set<string>()

  /** Stops unfinished jobs, so that the next test does not wait for them. */
  async stopUnfinishedJobs() {
    for (const key of this.keys) {
      for (const status of ['INITIALIZED', 'RUNNING']) {
        const list = await this.call<{ data: { id: string }[] }>(
          'GET',
          `/v1/jobs?limit=200&status=${status}`,
          undefined,
          key,
        ).catch(() => ({ data: [] })) // the key may be revoked
        for (const job of list.data)
          await this.call('POST', `/v1/jobs/${job.id}/cancel`, undefined, key).catch(() => {}) // it may have ended
      }
    }
    this.keys.clear()
  }

  create(job: Partial<CreateJob> = {}, key = this.key): Promise<CreatedJob> {
    this.keys.add(key)
    return this.call(
      'POST',
      '/v1/jobs',
      {
        name: 'Trp-cage',
        sequences: [{ proteinChain: { sequence: trpCage } }],
        params: { modelName: 'mini', seed: '1' },
        ...job,
      },
      key,
    )
  }

  /** Creates a job and waits until it is completed. */
  folded(job: Partial<CreateJob> = {}, key = this.key): Promise<CreatedJob> {
    return this.createdUntil('COMPLETED', job, key)
  }

  /** Creates a job, which must be a long one, and waits until it runs. */
  running(job: Partial<CreateJob>, key = this.key): Promise<CreatedJob> {
    return this.createdUntil('RUNNING', job, key)
  }

  private async createdUntil(state: string, job: Partial<CreateJob>, key: string): Promise<CreatedJob> {
    const created = await this.create(job, key)
    await expect
      .poll(async () => (await this.call<JobView>('GET', `/v1/jobs/${created.jobId}`, undefined, key)).job.status, {
        timeout: 90_000,
      })
      .toBe(state)
    return created
  }
}

/** The console of a page, which must stay empty except for allowed messages. */
export class Console {
  private readonly lines: string[] = []
  private readonly allowed: RegExp[] = []

  allow(...patterns: RegExp[]) {
    this.allowed.push(...patterns)
  }

  /** The messages that are not allowed. */
  get faults() {
    return this.lines.filter((l) => !this.allowed.some((p) => p.test(l)))
  }

  watch(context: BrowserContext) {
    const page = (p: Page) => {
      p.on('console', (m) => {
        if (m.type() === 'error' || m.type() === 'warning')
          this.lines.push(`${m.type()}: ${m.text()} ${m.location().url}`)
      })
      p.on('pageerror', (e) => this.lines.push(`exception: ${e.stack ?? e.message}`))
    }
    context.pages().forEach(page)
    context.on('page', page)
    return context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (e) =>
        console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`),
      )
    })
  }
}

interface TestFixtures {
  // biome-ignore lint/suspicious/noConfusingVoidType: Playwright's type of a fixture without a value
  stopUnfinishedJobs: void
  console: Console
  start: (...flags: string[]) => Promise<Server>
  proxied: (server: Server) => Promise<StreamProxy>
  visit: (path: string, key?: string) => Promise<void>
}

export const test = base.extend<TestFixtures, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = new Server()
      await server.start()
      await use(server)
      await server.remove()
    },
    { scope: 'worker' },
  ],

  baseURL: async ({ server }, use) => use(server.url),

  /** Starts another server, with flags. It ends with the test. */
  start: async ({}, use) => {
    const servers: Server[] = []
    await use(async (...flags) => {
      const server = new Server(flags)
      servers.push(server)
      await server.start()
      return server
    })
    for (const server of servers) await server.remove()
  },

  /** Puts a proxy in front of a server. It ends with the test. */
  proxied: async ({}, use) => {
    const proxies: StreamProxy[] = []
    await use(async (server) => {
      const proxy = new StreamProxy(server.url)
      proxies.push(proxy)
      await proxy.start()
      return proxy
    })
    for (const proxy of proxies) await proxy.stop()
  },

  // Fixtures end in the reverse order: pages close, with their streams of events, before their server is gone.
  context: ({ start: _, proxied: __, context }, use) => use(context),

  stopUnfinishedJobs: [
    async ({ server }, use) => {
      await use()
      await server.stopUnfinishedJobs()
    },
    { auto: true },
  ],

  // Fails a test whose pages wrote errors or warnings, or violated the content-security policy.
  console: [
    async ({ context }, use) => {
      const messages = new Console()
      await messages.watch(context)
      await use(messages)
      expect(messages.faults).toEqual([])
    },
    { auto: true },
  ],

  /** Opens a page, signed in as alice or with another key. */
  visit: async ({ page, server }, use) => {
    await use(async (path, key = server.key) => {
      await signIn(page, server, key)
      await page.goto(path)
    })
  },
})

/** Signs in without the dialog. */
export async function signIn(page: Page, server: Pick<Server, 'url' | 'key'>, key = server.key) {
  const r = await page.request.post(server.url + '/v1/session', { data: { key } })
  expect(r.status()).toBe(200)
}

/** Fails if axe finds violations of WCAG 2.2 AA, in light or dark. It judges the page once the 3D view has loaded, since
    axe reads styles and states one after the other, and the buttons of the view change both. */
export async function accessible(page: Page, except: string[] = []) {
  await expect(page.locator('.veil[aria-busy]')).toHaveCount(0, { timeout: 60_000 })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const axe = new AxeBuilder({ page })
    for (const selector of except) axe.exclude(selector)
    const found = await axe
      .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
      .analyze()
    expect(
      found.violations.map(
        (v) => `${colorScheme}: ${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}: ${v.help}`,
      ),
    ).toEqual([])
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: null })
}

/** Writes a picture of the page to docs/images if PLEAT_SCREENSHOTS is set. */
export async function picture(page: Page, name: string) {
  if (!process.env.PLEAT_SCREENSHOTS) return
  await page.evaluate(() => document.fonts.ready)
  await page.screenshot({
    path: resolve(import.meta.dirname ?? __dirname, `../../docs/images/${name}.png`),
    animations: 'disabled',
  })
}

export { expect }
