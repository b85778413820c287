/** Runs an action of the operator, then reads the page again. It reports whether the action succeeded. */
export type Act = (action: () => Promise<unknown>) => Promise<boolean>
