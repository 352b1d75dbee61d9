import { useCallback, useEffect, useRef, useState } from 'react'
import { type ApiProblem, call } from './client.ts'

export interface Loaded<T> {
  readonly data: T | undefined
  readonly problem: ApiProblem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

interface Options {
  /** Milliseconds between two reads; by default, the path is read once. */
  readonly every?: number
}

/** Reads an API path, unless it is undefined. A failure keeps the last data. */
export function useApi<T>(path: string | undefined, { every }: Options = {}): Loaded<T> {
  const [data, setData] = useState<T>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isLoading, setLoading] = useState(path !== undefined)
  const [round, setRound] = useState(0)
  const shown = useRef(path)
  const reload = useCallback(() => setRound((last) => last + 1), [])
  useEffect(() => {
    // A new round reads the path again.
    void round
    if (path === undefined) return
    if (shown.current !== path) {
      shown.current = path
      setData(undefined)
    }
    const aborting = new AbortController()
    const { signal } = aborting
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      setLoading(true)
      try {
        const found = await call<T>(path, { signal })
        if (signal.aborted) return
        setData(found)
        setProblem(undefined)
      } catch (error) {
        if (signal.aborted) return
        setProblem(error as ApiProblem)
      }
      setLoading(false)
      if (every !== undefined) timer = setTimeout(read, every)
    }
    void read()
    return () => {
      aborting.abort()
      clearTimeout(timer)
    }
  }, [path, every, round])
  return { data, problem, isLoading, reload }
}
