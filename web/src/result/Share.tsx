import { useState } from 'preact/hooks'
import { Copy } from '../components'

interface Props {
  isPublic: boolean
  set(v: boolean): Promise<unknown>
  done(v: boolean): void
  what: string
}

/** PublicSwitch shows something to everyone who has its link, or to its owner alone. */
export function PublicSwitch({ isPublic, set, done, what }: Props) {
  const [wanted, setWanted] = useState<boolean | null>(null) // while the service is told
  const [trouble, setTrouble] = useState('')
  const change = async (v: boolean) => {
    if (wanted !== null) return
    setWanted(v)
    try {
      await set(v)
      setTrouble('')
      done(v)
    } catch (e) {
      setTrouble((e as Error).message)
    }
    setWanted(null)
  }
  return (
    <div class="share">
      <label class="check">
        <input
          type="checkbox"
          role="switch"
          checked={wanted ?? isPublic}
          aria-busy={wanted !== null}
          onChange={(e) => void change(e.currentTarget.checked)}
        />
        <span>
          Public{' '}
          <span class="dim">{isPublic ? `whoever has the link sees this ${what}` : `only you see this ${what}`}</span>
        </span>
      </label>
      {isPublic && <Copy text={() => location.origin + location.pathname} label="Copy the link" />}
      {trouble && (
        <p class="wrong" role="alert">
          {trouble}
        </p>
      )}
    </div>
  )
}
