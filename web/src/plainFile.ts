import { bytes } from './format'

/** Returns a file without gzip, which is recognised by its content. Throws an Error for the user if it grows too large. */
export async function plainFile(file: File, most: number): Promise<File> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (head[0] !== 0x1f || head[1] !== 0x8b) return file
  const parts: BlobPart[] = []
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader()
  try {
    for (let size = 0; ; ) {
      const { done, value } = await reader.read()
      if (done) break
      size += value.length
      if (size > most) throw new RangeError(`${file.name} has more than ${bytes(most)} when it is decompressed`)
      parts.push(value)
    }
  } catch (e) {
    void reader.cancel().catch(() => undefined)
    if (e instanceof RangeError) throw e
    throw new Error(`${file.name} is compressed, and damaged, incomplete or in several parts; decompress it first`)
  }
  return new File(parts, file.name.replace(/\.gz$/i, ''))
}
