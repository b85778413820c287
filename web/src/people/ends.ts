// When a link or an invitation ends.

/** The choices, by value: a number of days from now, or a day that is picked. */
export const endNames: Record<string, string> = { 1: 'in 1 day', 7: 'in 7 days', 30: 'in 30 days', date: 'on a date' }

/** The end of a choice, as the service takes it: a time or, of a day that is picked, the day, which is the last one. */
export const endOf = (choice: string, date: string, now = Date.now()) =>
  choice === 'date' ? date : new Date(now + Number(choice) * 86_400_000).toISOString()

/** The day, in UTC, that many days from now: the bounds of the picked one. */
export const dayIn = (days: number, now = Date.now()) => new Date(now + days * 86_400_000).toISOString().slice(0, 10)
