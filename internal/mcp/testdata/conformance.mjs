// Runs the suite of @modelcontextprotocol/conformance, whose folder is the first argument, against the server at
// PLEAT_URL with the key PLEAT_KEY. The second argument is the list of failures to expect; further ones are those of the
// suite. The suite cannot send a bearer token: a proxy adds it, and changes nothing else.
import http from 'node:http'
import { register } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, baseline, ...more] = process.argv.splice(2)
const target = new URL(process.env.PLEAT_URL)

const proxy = http.createServer((req, res) => {
  const headers = { ...req.headers, authorization: `Bearer ${process.env.PLEAT_KEY}` }
  const { hostname, port } = target
  const out = http.request({ hostname, port, method: req.method, path: req.url, headers }, (answer) => {
    res.writeHead(answer.statusCode, answer.headers)
    answer.pipe(res)
  })
  out.on('error', () => res.destroy())
  req.pipe(out)
})
await new Promise((done) => proxy.listen(0, '127.0.0.1', done))

// The suite imports a function of a later Node.js than this project needs; only a command that is not used here calls it.
const module = (code) => 'data:text/javascript,' + encodeURIComponent(code)
const fs = module("export * from 'node:fs'; export const globSync = undefined")
register(module(`export const resolve = (name, context, next) =>
  name === 'fs' ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(name, context)`))
const url = `http://127.0.0.1:${proxy.address().port}/mcp`
process.argv.push('server', '--url', url, '--expected-failures', baseline, ...more)
await import(pathToFileURL(join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')))
