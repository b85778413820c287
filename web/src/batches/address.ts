// The view of a batch's page, as a part of its address. No page, no network.

/** A condition of the filter: the name of a score, "status" or "customId"; an operator; a value. */
export interface Condition {
  name: string
  op: string
  value: string
}

/** The view of a batch's page. Names of scores are empty where the user has chosen none. */
export interface View {
  conditions: Condition[]
  /** As the service takes it, such as meanPLDDT:desc; empty: the order in which the rows were given. */
  sort: string
  /** The scores of the plot. */
  x: string
  y: string
  colour: string
  plot: Plot
  /** The number of the chosen row; 0: none. */
  row: number
  /** The numbers of the rows of the shortlist, in the order in which they were chosen. */
  shortlist: number[]
  /** Whether only the rows of the shortlist are shown. */
  onlyShortlist: boolean
}

/** A plot of the page; empty: the first that the batch has. */
export type Plot = '' | 'scatter' | 'matrix'

/** The most rows of a shortlist, which are as many as the service takes by their numbers. */
export const maxShortlist = 100

/** The operators of a filter. */
export const operators = ['>=', '<=', '>', '<', '=', '!='] as const

/** Reads a filter as the service does. A text that is no condition becomes a name alone, for the service to refuse. */
export const parseFilter = (text: string): Condition[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const [, name = part, op = '', value = ''] = /^([^<>=!~]+)(>=|<=|!=|>|<|=|~)(.*)$/.exec(part) ?? []
      return { name: name.trim(), op, value: value.trim() }
    })

/** Writes a filter as the service reads it. */
export const formatFilter = (conditions: Condition[]) =>
  conditions.map(({ name, op, value }) => name + op + value).join(',')

/** Reads numbers of rows. Repeated numbers and anything else are left out. */
const parseNumbers = (text: string) =>
  [...new Set(text.split(',').map(Number))].filter((n) => Number.isSafeInteger(n) && n > 0)

/** Reads the query of the address. */
export function parseView(query: URLSearchParams): View {
  const text = (name: string) => query.get(name) ?? ''
  const plot = text('plot')
  const shortlist = parseNumbers(text('shortlist')).slice(0, maxShortlist)
  return {
    conditions: parseFilter(text('filter')),
    sort: text('sort'),
    x: text('x'),
    y: text('y'),
    colour: text('colour'),
    plot: plot === 'scatter' || plot === 'matrix' ? plot : '',
    row: parseNumbers(text('row'))[0] ?? 0,
    shortlist,
    onlyShortlist: text('only') === 'shortlist' && shortlist.length > 0,
  }
}

/** Formats parameters as a query without the question mark. Commas and comparisons stay readable. */
function formatQuery(fields: Record<string, string>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2C|3A|3D|3E|3C)/g, decodeURIComponent)}`)
    .join('&')
}

/** The query of the address that shows a view; empty: the view of a page without a query. */
export const formatView = (view: View) =>
  formatQuery({
    filter: formatFilter(view.conditions),
    sort: view.sort,
    plot: view.plot,
    x: view.x,
    y: view.y,
    colour: view.colour,
    row: view.row ? String(view.row) : '',
    shortlist: view.shortlist.join(','),
    only: view.onlyShortlist && view.shortlist.length > 0 ? 'shortlist' : '',
  })

/** The query by which the service selects and sorts the rows of a view, for the table and its files. */
export const tableQuery = (view: View) =>
  formatQuery({
    filter: formatFilter(view.conditions),
    sort: view.sort,
    rows: view.onlyShortlist ? view.shortlist.join(',') : '',
  })

/** The status by which the rows of a view are filtered; empty: none. */
export const statusOf = (view: View) => view.conditions.find((c) => c.name === 'status')?.value.toUpperCase() ?? ''

/** The conditions of a view with another status; empty: without one. */
export function withStatus(view: View, status: string): Condition[] {
  const others = view.conditions.filter((c) => c.name !== 'status')
  return status ? [{ name: 'status', op: '=', value: status }, ...others] : others
}

/** The text that the ids of the rows of a view must have; empty: none. */
export const searchOf = (view: View) => view.conditions.find((c) => c.name === 'customId' && c.op === '~')?.value ?? ''

/** The conditions of a view with another text of ids; empty: without one. A comma would end the condition. */
export function withSearch(view: View, text: string): Condition[] {
  const others = view.conditions.filter((c) => c.name !== 'customId')
  const value = text.replace(/,.*/, '').trim()
  return value ? [...others, { name: 'customId', op: '~', value }] : others
}

/** The next order of a table whose head is clicked: the better values first, then the others, then as given. */
export function nextSort(sort: string, { name, higherIsBetter }: { name: string; higherIsBetter: boolean }): string {
  const [first, second] = higherIsBetter ? ['desc', 'asc'] : ['asc', 'desc']
  const direction = sortDirection(sort, { name, higherIsBetter })
  if (!direction) return `${name}:${first}`
  return direction === first ? `${name}:${second}` : ''
}

/** The direction in which a table is sorted by a column; empty: it is not. */
export function sortDirection(sort: string, { name, higherIsBetter }: { name: string; higherIsBetter: boolean }) {
  const [by, direction] = sort.split(':')
  if (by !== name) return ''
  return direction || (higherIsBetter ? 'desc' : 'asc')
}

/** The shortlist with a row added or removed. A full one stays as it is. */
export function toggled(shortlist: number[], row: number): number[] {
  if (shortlist.includes(row)) return shortlist.filter((n) => n !== row)
  return shortlist.length < maxShortlist ? [...shortlist, row] : shortlist
}
