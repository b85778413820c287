// The key to the colours of the 3D view.
import { bands, chainColour, css, designColours, rmsdBands, smooth } from '../plots/colour'
import type { Table } from '../plots/residues'
import { colour } from '../store'

/** A colour and what it means. */
interface Entry {
  colour: string
  label: string
  detail?: string
}

// Mol*'s colours.
const secondaryStructure: Entry[] = [
  { colour: '#ff0080', label: 'α-helix' },
  { colour: '#a00080', label: '3-10 helix' },
  { colour: '#ffc800', label: 'Strand' },
  { colour: '#6080ff', label: 'Turn' },
  { colour: '#ffffff', label: 'Other' },
]

/** values: those of the colour scheme rmsf, in nm. */
interface Props {
  table: Table | null
  values?: { value: number }[] | undefined
  /** The designed chains. */
  designed?: string[] | undefined
}

/** The key to the current colour scheme. */
export function Legend({ table, values = [], designed = [] }: Props) {
  switch (colour.value) {
    case 'plddt':
      return <Entries list={bands.map((b) => ({ colour: css(b.rgb), label: b.label, detail: b.range }))} />
    case 'continuous':
      return <Ramp low="0" high="100" label="pLDDT" />
    case 'rmsd':
      return <Entries title={rmsdTitle} list={rmsdBands.map((b) => ({ colour: css(b.rgb), label: b.range }))} />
    case 'rmsf': {
      const numbers = values.map((v) => v.value)
      if (numbers.length === 0) return null
      return <Ramp low={Math.min(...numbers).toFixed(2)} high={Math.max(...numbers).toFixed(2)} label="RMSF (nm)" />
    }
    case 'chain': {
      const chains = table?.chains ?? []
      return (
        <Entries
          list={chains.map((c, i) => ({ colour: css(chainColour(i)), label: `Chain ${c.id}`, detail: c.kind }))}
        />
      )
    }
    case 'design': {
      const others = (table?.chains ?? []).map((c) => c.id).filter((id) => !designed.includes(id))
      const list = [
        { colour: css(designColours.designed), label: 'Designed', detail: chainsInWords(designed) },
        { colour: css(designColours.target), label: 'Target', detail: chainsInWords(others) },
      ]
      return <Entries list={others.length > 0 ? list : list.slice(0, 1)} />
    }
    case 'secondary':
      return <Entries list={secondaryStructure} />
    case 'type':
      return <p class="legend dim">One colour for each residue type.</p>
  }
}

/** Names of chains, such as chains A, B. */
const chainsInWords = (names: string[]) =>
  names.length > 0 ? `chain${names.length > 1 ? 's' : ''} ${names.join(', ')}` : ''

const rmsdTitle = 'Predicted RMSD (Å), low is good'

/** The key to colours of classes. */
const Entries = ({ list, title }: { list: Entry[]; title?: string }) => (
  <ul class="legend" aria-label="Colour key">
    {title && <li class="dim">{title}</li>}
    {list.map(({ colour, label, detail }) => (
      <li key={label}>
        <i style={{ background: colour }} />
        {label} {detail && <span class="dim">{detail}</span>}
      </li>
    ))}
  </ul>
)

/** The key to a continuous scale. */
function Ramp({ low, high, label }: { low: string; high: string; label: string }) {
  const stops = Array.from({ length: 9 }, (_, i) => css(smooth(i / 8))).join(', ')
  return (
    <p class="legend">
      <span>{low}</span>
      <i class="ramp" style={{ background: `linear-gradient(to right, ${stops})` }} />
      <span>{high}</span> <span class="dim">{label}</span>
    </p>
  )
}
