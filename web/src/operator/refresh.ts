// Reads what a page shows again and again while the page is visible.
import { useEffect, useRef, useState } from 'preact/hooks'

/** The last value that was read; the error of the first read; undefined until one of them is there. */
export interface Refreshed<T> {
  value: T | Error | undefined
  /** Why the last read has failed; empty: it has not, or nothing was read yet. */
  error: string
  /** Reads it again now. */
  read(): Promise<void>
}

/** Reads now, when the page becomes visible, and every interval of ms while it is. An error keeps the last value. */
export function useRefreshed<T>(read: () => Promise<T>, interval = 5000): Refreshed<T> {
  const [value, setValue] = useState<T | Error>()
  const [error, setError] = useState('')
  const gone = useRef(false)
  const latest = useRef(0)
  const now = async () => {
    const request = ++latest.current
    const isLatest = () => !gone.current && request === latest.current
    try {
      const found = await read()
      if (!isLatest()) return
      setValue(found)
      setError('')
    } catch (e) {
      if (!isLatest()) return
      setValue((known) => (known === undefined || known instanceof Error ? (e as Error) : known))
      setError((e as Error).message)
    }
  }
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') void now()
    }
    look()
    const timer = setInterval(look, interval)
    document.addEventListener('visibilitychange', look)
    return () => {
      gone.current = true
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [])
  return { value, error, read: now }
}
