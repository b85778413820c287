// A dialog over the page.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface Props {
  title: string
  /** Called when it is closed, by its button or by Escape. */
  close(): void
  children: ComponentChildren
}

/**
 * A modal dialog, open as long as it is in the document. The browser keeps the keyboard in it and closes it by Escape.
 */
export function Dialog({ title, close, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null
    dialog.current!.showModal()
    return () => opener?.focus()
  }, [])
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={close}>
      <h2 id={id}>{title}</h2>
      {children}
      <div class="row end">
        <button type="button" class="quiet" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  )
}
