// A proxy in front of a server, for what happens to event streams on their way.
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What the proxy does with a stream: passes it on, holds back all that comes, or closes the connection. */
type Treatment = 'pass' | 'hold' | 'cut'

export class StreamProxy {
  /** Treats the stream of a path. */
  treat: (path: string) => Treatment = () => 'pass'
  /** The paths of the streams that are open. */
  readonly streams: string[] = []
  url = ''
  private readonly waiting: (() => void)[] = []

  private readonly listener = createServer((request, response) => {
    const path = new URL(request.url!, 'http://proxy').pathname
    const isStream = path.endsWith('/events')
    const treatment = isStream ? this.treat(path) : 'pass'
    if (treatment === 'cut') return request.socket.destroy()
    if (isStream) this.streams.push(path)
    response.on('close', () => {
      if (isStream) this.streams.splice(this.streams.indexOf(path), 1)
      forwarded.destroy()
    })
    const options = { method: request.method!, headers: request.headers }
    const forwarded = send(new URL(request.url!, this.target), options, (answer) => {
      const pass = () => {
        response.writeHead(answer.statusCode!, answer.headers).flushHeaders()
        answer.pipe(response)
      }
      if (treatment === 'hold') this.waiting.push(pass)
      else pass()
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })

  constructor(private readonly target: string) {}

  async start() {
    await new Promise<void>((done) => this.listener.listen(0, '127.0.0.1', done))
    this.url = `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}`
  }

  /** Passes on what was held back, and all that comes from now on. */
  release() {
    this.treat = () => 'pass'
    for (const pass of this.waiting.splice(0)) pass()
  }

  /** Closes all connections. */
  cut() {
    this.listener.closeAllConnections()
  }

  async stop() {
    this.cut()
    await new Promise((done) => this.listener.close(done))
  }
}
