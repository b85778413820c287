// The texts of the operators' page.
import type { OperatorWorker } from '../api'
import { bytes } from '../format'

/** The accelerators of a worker; without any, the memory that it may use. */
export function devicesOf(w: Pick<OperatorWorker, 'devices' | 'memoryBytes'>): string {
  const names = new Map<string, number>()
  for (const d of w.devices) {
    const name = d.memoryBytes > 0 ? `${d.name} ${bytes(d.memoryBytes)}` : d.name
    names.set(name, (names.get(name) ?? 0) + 1)
  }
  const texts = [...names].map(([name, n]) => (n > 1 ? `${n} × ${name}` : name))
  if (texts.length > 0) return texts.join(', ')
  return w.memoryBytes > 0 ? `CPU, ${bytes(w.memoryBytes)}` : 'CPU'
}

/** How much longer a run takes than expected, such as 3.2 ×; empty: that is not known. */
export const ratio = (seconds: number, expected: number | null) =>
  expected && expected > 0 ? `${(seconds / expected).toFixed(1)} ×` : ''

/** The address of an export; days are such as 2027-01-31, and empty ones are left out. */
export function exportAddress(format: 'csv' | 'jsonl', from: string, to: string): string {
  const query = new URLSearchParams({ format })
  if (from) query.set('from', from)
  if (to) query.set('to', to)
  return `/v1/operator/audit?${query}`
}
