import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { AwaitedRequests } from '../proxy/awaited-requests.ts'
import { isOurs, youngSpace } from './startup-memory.ts'

/** The fill level of the new space at which V8 would soon collect by itself. */
const NEARLY_FULL = 0.6

type Collect = (options: { type: 'minor' }) => void

let collect: Collect | undefined

/**
 * Collects short-lived objects while no client waits for a response. V8 collects when the new space
 * is full, which is always while a request is served: this takes half a millisecond, and made one
 * request in a hundred slow for no other reason. A gateway that is never idle is left to V8.
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

/** V8 exposes `gc` in contexts that are created while the flag is set. */
function minorCollection(): Collect {
  setFlagsFromString('--expose-gc')
  const gc: Collect = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  return gc
}
