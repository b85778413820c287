import { useState } from 'preact/hooks'
import { Copy } from '../components'

/** what: the word for the object in the text. readers: who can see it while it is private; by default the user alone. */
interface Props {
  isPublic: boolean
  setPublic(isPublic: boolean): Promise<unknown>
  what: string
  readers?: string | undefined
}

/** A switch that makes something public or private, and copies its link while it is public. */
export function PublicSwitch({ isPublic, setPublic, what, readers = `only you can see this ${what}` }: Props) {
  const [requested, setRequested] = useState<boolean | null>(null) // while the request runs
  const [error, setError] = useState('')
  const change = async (value: boolean) => {
    if (requested !== null) return
    setRequested(value)
    try {
      await setPublic(value)
      setError('')
    } catch (e) {
      setError((e as Error).message)
    }
    setRequested(null)
  }
  return (
    <div class="share">
      <label class="check">
        <input
          type="checkbox"
          role="switch"
          aria-checked={requested ?? isPublic}
          checked={requested ?? isPublic}
          aria-busy={requested !== null}
          onChange={(e) => void change(e.currentTarget.checked)}
        />
        <span>
          Public <span class="dim">{isPublic ? `anyone with the link can see this ${what}` : readers}</span>
        </span>
      </label>
      {isPublic && <Copy text={() => location.origin + location.pathname} label="Copy link" />}
      {error && (
        <p class="wrong" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}
