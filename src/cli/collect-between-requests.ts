import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { AwaitedRequests } from '../proxy/awaited-requests.ts'
import { isOurs, youngSpace } from './startup-memory.ts'

/** Of the space for short-lived objects: V8 would soon collect by itself. */
const NEARLY_FULL = 0.6

type Collect = (options: { type: 'minor' }) => void

let collect: Collect | undefined

/**
 * Collects short-lived objects while nobody waits for a response. V8 does it when their space is
 * full, and that is always while a request is served: for half a millisecond, and a request in a
 * hundred was slow for no other reason. A gateway that is never at rest is left to V8.
 */
export function collectBetweenRequests(requests: AwaitedRequests): void {
  if (!isOurs) return
  requests.onNone = () => {
    const { space_used_size: used, space_available_size: left } = youngSpace()
    if (used < (used + left) * NEARLY_FULL) return
    collect ??= minorCollection()
    collect({ type: 'minor' })
  }
}

/** V8 gives it to contexts that are made while the flag is set. */
function minorCollection(): Collect {
  setFlagsFromString('--expose-gc')
  const gc: Collect = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return gc
}
