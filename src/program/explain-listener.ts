import { clientsOf, servesRequests } from '../model/gateway.ts'
import { rankFor } from '../model/hostnames.ts'
import type { HypotheticalRequest } from './explain.ts'
import type { ListenerProgram, Program } from './program.ts'

/**
 * The listeners with a name: `gateway/listener` takes precedence over a gateway's name, which takes
 * precedence over a listener's name, which several gateways may have. Without a name, all
 * listeners.
 */
export function listenersCalled(
  listeners: readonly ListenerProgram[],
  wanted: string | undefined,
): readonly ListenerProgram[] {
  if (wanted === undefined) return listeners
  const exact = listeners.filter((one) => `${one.gateway}/${one.listener.name}` === wanted)
  if (exact.length > 0) return exact
  const own = listeners.filter(({ gateway }) => gateway === wanted)
  return own.length > 0 ? own : listeners.filter(({ listener }) => listener.name === wanted)
}

/** Whether the listener requests client certificates; undefined if it does not. */
export function clientCertificates({
  listener,
}: Pick<ListenerProgram, 'listener'>): 'Require' | 'Optional' | undefined {
  return clientsOf(listener)
}

/** The listener that serves the request; undefined if there is none. */
export function listenerFor(
  { listeners }: Program,
  { host, sni, listener: wanted }: HypotheticalRequest,
): ListenerProgram | undefined {
  const named = listenersCalled(listeners, wanted)
  const rank = ({ listener }: ListenerProgram) => {
    const name = servesRequests(listener) ? host : (sni ?? '')
    return rankFor(listener.hostname, name)
  }
  const able = named.filter(
    (one) =>
      one.listener.protocol !== 'Invalid' && (wanted !== undefined || servesRequests(one.listener)),
  )
  const [best] = able.filter((one) => rank(one) >= 0).sort((a, b) => rank(b) - rank(a))
  return best
}
