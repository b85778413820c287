/** The most jobs that are compared, and that one submission creates. */
export const maxCompared = 32

/** The most structures that the service superposes at once, and in a task. */
export const maxDirect = 4
export const maxSuperposed = 20

/** The address of the comparison of jobs. */
export const compareAddress = (jobs: string[]) => `/ui/compare?jobs=${jobs.join(',')}`

/** The address of the comparison of structures, such as job:ID. reference: its position from 1; 0: none. */
export const structuresAddress = (of: string[], reference = 0) =>
  `/ui/compare?of=${of.map(encodeURIComponent).join(',')}${reference > 0 ? `&reference=${reference}` : ''}`

/** Splits a list of structures at the commas before a kind of structure: file names may have commas. */
export const splitStructures = (text: string) => (text === '' ? [] : text.split(/,(?=job:|library:|pdb:)/))
