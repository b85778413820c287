// The router: the address bar as a signal. Links within /ui/ are followed without loading the page again.
import { computed, signal } from '@preact/signals'

const currentAddress = () => location.pathname + location.search + location.hash

/** The address, from the path on. */
export const address = signal(currentAddress())

/** The path and the query of the address. */
export const path = computed(() => new URL(address.value, location.origin).pathname)
export const query = computed(() => new URL(address.value, location.origin).searchParams)

addEventListener('popstate', () => {
  address.value = currentAddress()
})

document.addEventListener('click', (e) => {
  const link = (e.target as Element).closest?.('a')
  if (!link || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
  if (link.target || link.hasAttribute('download')) return
  if (link.origin !== location.origin || !link.pathname.startsWith('/ui/')) return
  const samePage = link.pathname === location.pathname && link.search === location.search
  if (link.hash && samePage) return // the browser scrolls to the anchor
  e.preventDefault()
  navigate(link.pathname + link.search + link.hash)
})

/** Goes to an address within /ui/. */
export function navigate(to: string, { replace = false } = {}) {
  if (to === currentAddress()) return
  const otherPage = new URL(to, location.origin).pathname !== location.pathname
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  address.value = currentAddress()
  if (otherPage && !replace) scrollTo(0, 0)
}

/** Matches a path with a pattern such as /ui/jobs/:id. Returns the named parts, or undefined. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const expected = pattern.split('/')
  const actual = path.replace(/(.)\/$/, '$1').split('/')
  if (expected.at(-1) === '') expected.pop()
  if (expected.length !== actual.length) return undefined
  const parameters: Record<string, string> = {}
  for (const [i, part] of expected.entries()) {
    if (part.startsWith(':')) parameters[part.slice(1)] = decodeURIComponent(actual[i]!)
    else if (part !== actual[i]) return undefined
  }
  return parameters
}
