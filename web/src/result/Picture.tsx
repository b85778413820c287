import { useEffect, useState } from 'preact/hooks'
import { type Artifact, download, sameOrigin } from '../api'

/** Picture is an image of a run, fetched as a file, since files are served as downloads. */
export function Picture({ file, alt }: { file: Pick<Artifact, 'url'>; alt: string }) {
  const [url, setUrl] = useState('')
  useEffect(() => {
    let made = ''
    let gone = false
    void download(file.url).then(
      async (r) => {
        const blob = await r.blob()
        if (gone) return
        setUrl((made = URL.createObjectURL(blob)))
      },
      () => undefined,
    )
    return () => {
      gone = true
      if (made) URL.revokeObjectURL(made)
    }
  }, [file.url])
  return url ? (
    <a href={sameOrigin(file.url)}>
      <img class="picture" src={url} alt={alt} />
    </a>
  ) : null
}
