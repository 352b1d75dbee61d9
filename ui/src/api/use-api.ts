import { useCallback, useEffect, useRef, useState } from 'react'
import { type ApiProblem, call } from './client.ts'

export interface Loaded<T> {
  readonly data: T | undefined
  readonly problem: ApiProblem | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

interface Options {
  /** Milliseconds between two reads; absent: once. */
  readonly every?: number
}

/** What a path of the API responds; undefined: nothing is read. The last data stay over a failure. */
export function useApi<T>(path: string | undefined, { every }: Options = {}): Loaded<T> {
  const [data, setData] = useState<T>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isLoading, setLoading] = useState(path !== undefined)
  const [round, setRound] = useState(0)
  const shown = useRef(path)
  const reload = useCallback(() => setRound((last) => last + 1), [])
  useEffect(() => {
    // Read again where it was asked for.
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
