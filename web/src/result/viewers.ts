// Where a structure is shown in other programs.
import { api } from '../api'

/** The programs for which the service writes a script. */
export const viewers = [
  { ending: 'cxc', name: 'ChimeraX' },
  { ending: 'pml', name: 'PyMOL' },
  { ending: 'mvsj', name: 'Mol*' },
] as const

/**
 * The address at which molstar.org shows a structure of a public job. For a private job that page would see the signed
 * URL. That page reads the latest run, as all who are not the owner.
 */
export const molstarAddress = (job: string, sample: string, origin: string) =>
  'https://molstar.org/viewer/?' +
  new URLSearchParams({ 'mvs-format': 'mvsj', 'mvs-url': origin + api.viewFile(job, 'mvsj', { sample }) })
