import type { Connection } from '../exchange/connection.ts'
import { Permit } from '../program/permit.ts'
import type { ListenerProgram } from '../program/program.ts'
import { ServerConnection } from '../wire/http1/server-connection.ts'
import type { Accepted } from './accept-deps.ts'
import { isAlike, type PortPlan } from './port-plan.ts'
import { rejectedConnection } from './rejection.ts'

/** A permit if the rules of all these listeners let it in; otherwise it is closed and said so. */
export function admit(
  accepted: Accepted,
  connection: Connection,
  listeners: readonly ListenerProgram[],
): Permit<'connection'> | undefined {
  const { observer } = accepted.boundPort.acceptDeps
  let isReported = false
  const permit = Permit.connection(listeners, connection, (listener, decision, isDenied) => {
    // Listeners of a port usually have the same rules, and one of them has said it.
    if (isDenied || !isReported) observer.decided?.(connection, listener, decision)
    isReported = true
  })
  if (permit === undefined) accepted.reject('authorization', DENIED, connection)
  return permit
}

const DENIED = 'authorization failed'

/**
 * Asks the rules of a new plan about a connection that came in by those before: whom they keep out
 * takes no new request any more. What is under way finishes as it began, for as long as `grace`.
 */
export function reauthorize(accepted: Accepted, plan: PortPlan, grace: number): void {
  const { listener, admitted } = accepted
  if (!accepted.fits(plan)) {
    accepted.end(grace)
    closeIdle(accepted)
    return
  }
  // Who is not in yet meets the new rules at the door.
  if (admitted === undefined) return
  const { observer } = accepted.boundPort.acceptDeps
  for (const own of plan.listeners) {
    if (listener !== undefined && !isAlike(own, listener)) continue
    const decision = own.network?.decide(admitted)
    if (decision === undefined || !decision.isEnforced || decision.isAllowed) continue
    observer.decided?.(admitted, own, decision)
    observer.rejected(rejectedConnection('authorization', DENIED, plan, listener, admitted))
    accepted.end(grace)
    closeIdle(accepted)
    return
  }
}

/**
 * A request that came now would be one that nothing admits any more. HTTP/2 tells the client what
 * it will still respond to; HTTP/1.1 would take one request more.
 */
export function closeIdle({ served, carrier }: Accepted): void {
  const isIdle = served instanceof ServerConnection && served.exchange === undefined
  // The end of a response may still be on its way.
  if (isIdle && carrier.writableLength === 0) carrier.destroy()
}
