// Runs Lighthouse on the sign-in page, the list of jobs and a result of a real server, on its usual slow phone. It
// writes its reports to bin/lighthouse and prints the three figures of each page. It fails if accessibility or best
// practices, which do not depend on the machine, are below 95; performance does, so it is only reported.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import lighthouse, { generateReport } from 'lighthouse'
import puppeteer from 'puppeteer-core'

const root = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..')
const program = join(root, 'bin/pleat')
const reports = join(root, 'bin/lighthouse')
const wanted = 95
const categories = ['performance', 'accessibility', 'best-practices']
const env = { PATH: process.env.PATH, HOME: process.env.HOME } // the variables of the tests are no settings

/** Starts a server with an empty data folder. */
async function serve(data) {
  const child = spawn(program, ['serve', '--addr', '127.0.0.1:0', '--data', data, '--log-level', 'warn'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise((ok, fail) => {
    let out = ''
    child.stdout.on('data', (b) => {
      const m = /listening on (\S+)/.exec((out += b))
      if (m) ok(m[1])
    })
    child.on('exit', (code) => fail(new Error(`the server ended with ${code}`)))
  })
  return { child, url }
}

/** Calls the service with a key and returns its answer. */
async function call(url, key, method, path, body) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const r = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`)
  return r
}

/** Folds Trp-cage and returns the job's id once its result is there. */
async function folded(url, key) {
  const job = {
    name: 'Trp-cage',
    sequences: [{ proteinChain: { sequence: 'DAYAQWLKDGGPSSGRPPPS' } }],
    params: { modelName: 'mini', seed: '1' },
  }
  const { jobId } = await (await call(url, key, 'POST', '/v1/jobs', job)).json()
  for (;;) {
    const { job } = await (await call(url, key, 'GET', `/v1/jobs/${jobId}`)).json()
    if (job.status === 'COMPLETED') return jobId
    if (job.status === 'FAILED') throw new Error('the fold failed')
    await new Promise((next) => setTimeout(next, 500))
  }
}

/** The cookie of a session of the key. */
async function session(url, key) {
  const r = await call(url, key, 'POST', '/v1/session', { key })
  const [name, value] = r.headers.getSetCookie()[0].split(';')[0].split('=')
  return { name, value, domain: new URL(url).hostname, httpOnly: true, sameSite: 'Strict' }
}

/** Runs Lighthouse on a page in a browser of its own and writes its report. Returns whether it passed. */
async function audit(name, url, cookie, flags = []) {
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-sync', ...flags],
  })
  try {
    if (cookie) await browser.setCookie(cookie)
    const page = await browser.newPage()
    const options = { onlyCategories: categories, disableStorageReset: true, logLevel: 'error', output: 'json' }
    let { lhr } = await lighthouse(url, options, undefined, page)
    if (lhr.runtimeError) lhr = (await lighthouse(url, options, undefined, page)).lhr // the browser's trace can be cut
    if (lhr.runtimeError) throw new Error(`${name}: ${lhr.runtimeError.message}`)
    writeFileSync(join(reports, `${name}.json`), JSON.stringify(lhr, null, 1))
    writeFileSync(join(reports, `${name}.html`), generateReport(lhr, 'html'))
    const score = (category) => Math.round(lhr.categories[category].score * 100)
    const failed = ['accessibility', 'best-practices'].filter((c) => score(c) < wanted)
    console.log(`${name.padEnd(17)} ${categories.map((c) => `${c} ${score(c)}`).join(', ')}`)
    for (const c of failed)
      for (const { id, weight } of lhr.categories[c].auditRefs) {
        const { score: points, title } = lhr.audits[id]
        if (weight > 0 && points !== null && points < 1) console.log(`  ${c}: ${id}: ${title}`)
      }
    return failed.length === 0
  } finally {
    await browser.close()
  }
}

mkdirSync(reports, { recursive: true })
const data = mkdtempSync(join(tmpdir(), 'pleat-lighthouse-'))
const { child, url } = await serve(data)
try {
  const key = execFileSync(program, ['keys', 'create', '--user', 'alice', '--data', data], {
    env,
    encoding: 'utf8',
  }).trim()
  const job = await folded(url, key)
  const cookie = await session(url, key)
  const passed = [
    await audit('sign-in', `${url}/ui/jobs`),
    await audit('jobs', `${url}/ui/jobs`, cookie),
    // Without a graphics card the browser draws the structure on the slowed processor, which is most of its time. The
    // second figure is that of the page without the drawing.
    await audit('result', `${url}/ui/jobs/${job}`, cookie),
    await audit('result-without-3d', `${url}/ui/jobs/${job}`, cookie, ['--disable-3d-apis']),
  ]
  console.log('The reports are in bin/lighthouse.')
  if (passed.includes(false)) process.exitCode = 1
} finally {
  child.kill('SIGTERM')
  await new Promise((ended) => child.once('exit', ended))
  rmSync(data, { recursive: true, force: true })
}
