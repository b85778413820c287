// Tabs, as the ARIA Authoring Practices describe them: one tab stop, arrow keys move.

/** A tab with its title. */
export interface Tab {
  name: string
  title: string
}

interface Props {
  label: string
  /** The id of a tab is this prefix, a hyphen and the tab's name. */
  idPrefix: string
  /** The id of the panel that the tabs control. */
  panel: string
  tabs: Tab[]
  selected: string
  select(name: string): void
}

/** The row of tabs; arrow keys move between them. */
export function TabList({ label, idPrefix, panel, tabs, selected, select }: Props) {
  const move = (e: KeyboardEvent, from: number) => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const next = (from + step + tabs.length) % tabs.length
    select(tabs[next]!.name)
    document.getElementById(`${idPrefix}-${tabs[next]!.name}`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label}>
      {tabs.map(({ name, title }, i) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`${idPrefix}-${name}`}
          aria-controls={panel}
          aria-selected={name === selected}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => select(name)}
          onKeyDown={(e) => move(e, i)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}
