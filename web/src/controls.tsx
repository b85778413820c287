// Form controls that report values instead of events, so that forms stay short.
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

/** The attributes of an input that the page uses; onValue receives each new text. */
interface InputProps {
  value: string | number
  onValue(value: string): void
  type?: 'text' | 'date' | 'email' | 'email' | 'number' | 'password' | 'search' | 'url'
  class?: string
  placeholder?: string
  required?: boolean
  minLength?: number
  maxLength?: number
  min?: number | string
  max?: number | string
  step?: 'any'
  inputMode?: 'text' | 'numeric' | 'decimal'
  spellcheck?: boolean
  id?: string
  autocomplete?: string
  'aria-label'?: string
  'aria-describedby'?: string
  'aria-invalid'?: boolean
}

/** A one-line input; a text input by default. */
export const Input = ({ onValue, ...attributes }: InputProps) => (
  <input
    type="text"
    {...(attributes as object)}
    onInput={(e) => onValue(e.currentTarget.value)}
    onPaste={(e) => pasteLines(e, onValue)}
  />
)

/** Pastes lines with a space between them. A browser joins them, which makes one molecule of two. */
function pasteLines(e: ClipboardEvent & { currentTarget: HTMLInputElement }, onValue: (value: string) => void) {
  const text = e.clipboardData?.getData('text').trim() ?? ''
  const input = e.currentTarget
  if (input.selectionStart === null || input.selectionEnd === null || !/[\r\n]/.test(text)) return
  e.preventDefault()
  input.setRangeText(text.replace(/\s*[\r\n]\s*/g, ' '), input.selectionStart, input.selectionEnd, 'end')
  onValue(input.value)
}

interface SelectProps {
  value: string
  onValue(value: string): void
  children: ComponentChildren
  'aria-label'?: string
}

/** A menu; its children are the <option> elements. */
export const Select = ({ onValue, ...attributes }: SelectProps) => (
  <select {...attributes} onChange={(e) => onValue(e.currentTarget.value)} />
)

/** class applies to the text next to the box. */
interface CheckboxProps {
  checked: boolean
  onValue(checked: boolean): void
  hint?: ComponentChildren
  class?: string
  children: ComponentChildren
}

/** A checkbox with its label and, below the label, a hint. */
export const Checkbox = ({ checked, onValue, hint, children, ...attributes }: CheckboxProps) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={(e) => onValue(e.currentTarget.checked)} />
    <span {...attributes}>
      {children}
      {hint && <small>{hint}</small>}
    </span>
  </label>
)

interface SegmentsProps {
  /** The name of the group for screen readers. */
  label: string
  /** The choices, by value. */
  options: Record<string, string>
  value: string
  onValue(value: string): void
}

/** Buttons of which one is pressed, such as the filter of a list. */
export const Segments = ({ label, options, value, onValue }: SegmentsProps) => (
  <div class="row segments" role="group" aria-label={label}>
    {Object.entries(options).map(([option, name]) => (
      <button
        key={option}
        type="button"
        class="quiet small"
        aria-pressed={option === value}
        onClick={() => onValue(option)}
      >
        {name}
      </button>
    ))}
  </div>
)

interface FileButtonProps {
  children: ComponentChildren
  onFiles(files: File[]): void
  /** The endings of the files that may be chosen, with commas; all by default. */
  accept?: string
  multiple?: boolean
  class?: string
  disabled?: boolean
  'aria-label'?: string
  /** The name of the file input, which is hidden. */
  inputLabel?: string
}

/** A button that opens the dialog for files. */
export function FileButton({ onFiles, accept, multiple, inputLabel, ...button }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  const choose = ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
    const files = [...(currentTarget.files ?? [])]
    currentTarget.value = '' // so that the same file can be chosen again
    onFiles(files)
  }
  return (
    <>
      <button type="button" {...button} onClick={() => input.current!.click()} />
      <input
        ref={input}
        type="file"
        hidden
        multiple={multiple}
        accept={accept}
        aria-label={inputLabel}
        onChange={choose}
      />
    </>
  )
}
