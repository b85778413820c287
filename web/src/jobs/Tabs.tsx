import { path } from '../router'

const tabs = [
  { href: '/ui/jobs', name: 'Folds' },
  { href: '/ui/workflows', name: 'Questions and simulations' },
]

/** Switches between the list of folds and the list of workflows. */
export const Tabs = () => (
  <nav class="tabs" aria-label="Kinds of runs">
    {tabs.map(({ href, name }) => (
      <a key={href} href={href} aria-current={path.value === href ? 'page' : undefined}>
        {name}
      </a>
    ))}
  </nav>
)
