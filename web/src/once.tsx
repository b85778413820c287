// A secret that the service shows once: a key, or a link.
import type { ComponentChildren } from 'preact'
import { Copy } from './components'

interface Props {
  secret: string
  /** Closes it; absent: it stays. */
  done?: () => void
  children: ComponentChildren
}

/** The secret with a button that copies it. The children say what it is. */
export const Once = ({ secret, done, children }: Props) => (
  <div class="success once" role="status">
    <p>{children} Copy it now: it is shown only once.</p>
    <div class="row">
      <code class="secret">{secret}</code>
      <Copy text={secret} />
      {done && (
        <button type="button" class="bare" onClick={done}>
          I have copied it
        </button>
      )}
    </div>
  </div>
)
