// The field for when a link or an invitation ends.
import { Input, Select } from '../controls'
import { dayIn, endNames } from './ends'

/** The choice: one of endNames, and the day if one is picked. */
export interface End {
  choice: string
  date: string
}

interface Props {
  end: End
  setEnd(end: End): void
  /** The most days from now. */
  most: number
}

/** The menu, and the day. */
export const EndField = ({ end, setEnd, most }: Props) => (
  <>
    <label class="field">
      <span>Ends</span>
      <Select value={end.choice} onValue={(choice) => setEnd({ ...end, choice })}>
        {Object.entries(endNames)
          .filter(([value]) => !(Number(value) > most))
          .map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
      </Select>
    </label>
    {end.choice === 'date' && (
      <label class="field">
        <span>Last day (UTC)</span>
        <Input
          type="date"
          required
          min={dayIn(0)}
          max={dayIn(most - 1)}
          value={end.date}
          onValue={(date) => setEnd({ ...end, date })}
        />
      </label>
    )}
  </>
)
