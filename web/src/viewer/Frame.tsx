// The box of a 3D view: what it shows while it loads and without WebGL, and the buttons that every view has.
import type { ComponentChildren, RefObject } from 'preact'

interface FrameProps {
  /** The element into which the viewer draws. */
  host: RefObject<HTMLDivElement | null>
  ready: boolean
  /** Why there is no view; undefined: there is one, or will be. */
  problem: { title: string; text: string } | undefined
  /** The content of the page without the view, as a sentence. */
  remaining: string
  /** Shown over the view. */
  children?: ComponentChildren
}

/** The box of a view. */
export const Frame = ({ host, ready, problem, remaining, children }: FrameProps) => (
  <div class="view">
    <div class="host" ref={host} data-viewer="" />
    {!ready && !problem && (
      <p class="veil" aria-busy="true">
        Loading the 3D view…
      </p>
    )}
    {problem && (
      <div class="veil" role="status" data-trouble="">
        <div>
          <strong>{problem.title}</strong>
          <p>
            {problem.text} {remaining}
          </p>
        </div>
      </div>
    )}
    {children}
  </div>
)

interface ButtonsProps {
  ready: boolean
  /** The label of the first button, and its action. */
  focus: string
  onFocus(): void
  /** Saves the view as an image. */
  onSave(): void
}

/** The buttons that move the view and save it. */
export const ViewButtons = ({ ready, focus, onFocus, onSave }: ButtonsProps) => (
  <>
    <span class="grow" />
    <button type="button" class="quiet small" disabled={!ready} onClick={onFocus}>
      {focus}
    </button>
    <button type="button" class="quiet small" disabled={!ready} title="Save the view as a PNG image" onClick={onSave}>
      Save image
    </button>
  </>
)
