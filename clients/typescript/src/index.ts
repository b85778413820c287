// The client of the service: typed calls, errors in the service's words, and event streams.
export * from './client.js'
export { DamagedFileError } from './compare.js'
export { type Fault, ServiceError } from './error.js'
export { backoff } from './retry.js'
export * from './schema.js'
export { readEvents, StreamError, type StreamEvent } from './stream.js'
