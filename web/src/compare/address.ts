/** The most jobs that are compared, and that one submission creates. */
export const maxCompared = 32

/** The address of the comparison of jobs. */
export const compareAddress = (jobs: string[]) => `/ui/compare?jobs=${jobs.join(',')}`
