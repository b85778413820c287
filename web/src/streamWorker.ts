// The shared worker that opens the event streams of all pages of a browser.
import { Streams } from './streams'

const streams = new Streams(location.origin)

addEventListener('connect', (e) => streams.serve((e as MessageEvent).ports[0]!))
