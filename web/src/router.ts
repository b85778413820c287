// Where the page is: the address bar, as a signal. Links within /ui/ are followed without loading anew.
import { computed, signal } from '@preact/signals'

const here = () => location.pathname + location.search + location.hash

/** The address, from the path on. */
export const address = signal(here())

export const path = computed(() => new URL(address.value, location.origin).pathname)
export const query = computed(() => new URL(address.value, location.origin).searchParams)

addEventListener('popstate', () => (address.value = here()))

document.addEventListener('click', (e) => {
  const link = (e.target as Element).closest?.('a')
  if (!link || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
  if (
    link.target ||
    link.hasAttribute('download') ||
    link.origin !== location.origin ||
    !link.pathname.startsWith('/ui/')
  )
    return
  if (link.hash && link.pathname === location.pathname && link.search === location.search) return // a place on this page
  e.preventDefault()
  go(link.pathname + link.search + link.hash)
})

/** Goes to an address within /ui/. */
export function go(to: string, { replace = false } = {}) {
  if (to === here()) return
  const moved = new URL(to, location.origin).pathname !== location.pathname
  history[replace ? 'replaceState' : 'pushState'](null, '', to)
  address.value = here()
  if (moved && !replace) scrollTo(0, 0)
}

/** The parts of a path that fit a pattern such as /ui/jobs/:id; undefined where it does not fit. */
export function match(pattern: string, at: string): Record<string, string> | undefined {
  const want = pattern.split('/'),
    have = at.replace(/(.)\/$/, '$1').split('/')
  if (want.at(-1) === '') want.pop()
  if (want.length !== have.length) return undefined
  const out: Record<string, string> = {}
  for (const [i, w] of want.entries()) {
    if (w.startsWith(':')) out[w.slice(1)] = decodeURIComponent(have[i]!)
    else if (w !== have[i]) return undefined
  }
  return out
}
