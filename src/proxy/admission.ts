import type { Connection } from '../exchange/connection.ts'
import { Permit } from '../program/permit.ts'
import type { ListenerProgram } from '../program/program.ts'
import { ServerConnection } from '../wire/http1/server-connection.ts'
import type { AcceptedSocket } from './accept-deps.ts'
import { isAlike, type PortPlan } from './port-plan.ts'
import { rejectedConnection } from './rejection.ts'

/** Returns a permit if the rules of all listeners admit it; otherwise closes and reports it. */
export function admit(
  accepted: AcceptedSocket,
  connection: Connection,
  listeners: readonly ListenerProgram[],
): Permit<'connection'> | undefined {
  const { observer } = accepted.boundPort.acceptDeps
  let isReported = false
  const permit = Permit.connection(listeners, connection, (listener, decision, isDenied) => {
    // Listeners of a port usually have the same rules: one report is enough.
    if (isDenied || !isReported) observer.decided?.(connection, listener, decision)
    isReported = true
  })
  if (permit === undefined) accepted.reject('authorization', DENIED, connection)
  return permit
}

const DENIED = 'authorization failed'

/**
 * Evaluates the rules of a new plan for a connection that earlier rules admitted. If they deny it,
 * it accepts no new requests; requests in progress may finish within `grace`.
 */
export function reauthorize(accepted: AcceptedSocket, plan: PortPlan, grace: number): void {
  const { listener, admitted } = accepted
  if (!accepted.fits(plan)) {
    accepted.end(grace)
    closeIdle(accepted)
    return
  }
  // A connection that is not yet admitted is evaluated by the new rules anyway.
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
 * A request that arrives now is no longer admitted. HTTP/2 tells the client which requests it will
 * still serve; HTTP/1.1 would accept one more request.
 */
export function closeIdle({ served, carrier }: AcceptedSocket): void {
  const isIdle = served instanceof ServerConnection && served.exchange === undefined
  // The end of a response may still be in transit.
  if (isIdle && carrier.writableLength === 0) carrier.destroy()
}
