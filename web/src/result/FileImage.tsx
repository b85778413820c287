import { useEffect, useState } from 'preact/hooks'
import { type Artifact, download, sameOrigin } from '../api'

/** An image file of a run. It is fetched first, because the service sends files as downloads. */
export function FileImage({ file, alt }: { file: Pick<Artifact, 'url'>; alt: string }) {
  const [url, setUrl] = useState('')
  useEffect(() => {
    let objectUrl = ''
    let unmounted = false
    const load = async () => {
      const blob = await (await download(file.url)).blob()
      if (unmounted) return
      objectUrl = URL.createObjectURL(blob)
      setUrl(objectUrl)
    }
    load().catch(() => undefined) // without the image, the list of files still has the file
    return () => {
      unmounted = true
      if (objectUrl) URL.revokeObjectURL(objectUrl)
    }
  }, [file.url])
  return url ? (
    <a href={sameOrigin(file.url)}>
      <img class="picture" src={url} alt={alt} />
    </a>
  ) : null
}
