import { useEffect, useState } from 'react'
import { call } from './client.ts'
import type { ResourceSummary } from './shapes.ts'

const FRESH_MS = 2_000

let reading: { readonly at: number; readonly keys: Promise<ReadonlySet<string>> } | undefined

/** The resources of the configuration, as `kind/id`; a page with many links reads them once. */
export function useResourceKeys(): ReadonlySet<string> | undefined {
  const [keys, setKeys] = useState<ReadonlySet<string>>()
  useEffect(() => {
    let isOver = false
    readKeys().then(
      (found) => {
        if (!isOver) setKeys(found)
      },
      () => {},
    )
    return () => {
      isOver = true
    }
  }, [])
  return keys
}

function readKeys(): Promise<ReadonlySet<string>> {
  const now = Date.now()
  if (reading !== undefined && now - reading.at < FRESH_MS) return reading.keys
  const keys = call<{ readonly resources: readonly ResourceSummary[] }>(
    '/api/config/resources',
  ).then(
    ({ resources }) =>
      new Set(resources.filter(({ isHidden }) => !isHidden).map(({ kind, id }) => `${kind}/${id}`)),
  )
  reading = { at: now, keys }
  return keys
}
