import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Report } from '../../diagnostics/report.ts'
import type { Gateway, Listener } from '../../model/gateway.ts'
import type { Draft, Placed } from './draft.ts'
import type { Message, Place } from './place.ts'

/** Reports listeners that conflict: the later one becomes invalid. */
export function checkPorts(draft: Draft, report: Report): Draft {
  const byPort = new Map<number, Taken[]>()
  const gateways = draft.gateways.map((placed): Placed<Gateway> => {
    const { thing: gateway, place } = placed
    const listeners = gateway.listeners.map((listener, index) => {
      if (listener.protocol === 'Invalid') return listener
      const others = byPort.get(listener.port) ?? []
      byPort.set(listener.port, others)
      const own = draft.reservedPorts.get(listener.port)
      const conflict =
        own === undefined ? conflictOf(listener, gateway.name, others) : portIsOurs(own, listener)
      if (conflict === undefined) {
        others.push({ listener, gateway: gateway.name })
        return listener
      }
      const said = placeOf(place, index, conflict.key).diagnose(conflict.message)
      report(said)
      return invalidated(listener, said)
    })
    return { thing: { ...gateway, listeners }, place }
  })
  return { ...draft, gateways }
}

interface Taken {
  readonly listener: Serving
  readonly gateway: string
}

type Serving = Exclude<Listener, { readonly protocol: 'Invalid' }>

interface Conflict {
  readonly key: 'port' | 'protocol' | 'hostname'
  readonly message: Message
}

function conflictOf(
  listener: Serving,
  gateway: string,
  others: readonly Taken[],
): Conflict | undefined {
  const [first] = others
  if (first === undefined) return undefined
  const { port, protocol } = listener
  if (first.gateway !== gateway) {
    const message = `port ${port} is already used by gateway \`${first.gateway}\``
    const hint = 'use another port, or a single gateway with several `listeners`'
    return { key: 'port', message: { code: 'PC0304', message, hint } }
  }
  const other = first.listener.protocol
  if (isEncrypted(protocol) !== isEncrypted(other)) {
    const message = `${protocol} and ${other} cannot share port ${port}: only one of them uses TLS`
    const hint = 'use a separate port for each'
    return { key: 'protocol', message: { code: 'PC0305', message, hint } }
  }
  if (!isEncrypted(protocol) && protocol !== other) {
    const message = `${protocol} and ${other} cannot share port ${port}`
    const hint =
      'without TLS their connections cannot be distinguished: use a separate port for each'
    return { key: 'protocol', message: { code: 'PC0306', message, hint } }
  }
  const name = nameOf(listener)
  const twin = others.find((taken) => nameOf(taken.listener) === name)
  if (twin === undefined) return undefined
  const what = listener.hostname === undefined ? 'every hostname' : `\`${listener.hostname}\``
  const message = `listener \`${twin.listener.name}\` already serves ${what} on port ${port}`
  const hint = 'use a different `hostname` for each'
  return { key: 'hostname', message: { code: 'PC0307', message, hint } }
}

/** A TCP listener has no name that could distinguish it. */
function nameOf({ protocol, hostname }: Serving): string {
  return protocol === 'TCP' ? '' : (hostname ?? '')
}

function isEncrypted(protocol: Serving['protocol']): boolean {
  return protocol === 'HTTPS' || protocol === 'TLS'
}

function portIsOurs(key: string, { port }: Serving): Conflict {
  const message = `port ${port} is already used by \`${key}\``
  return { key: 'port', message: { code: 'PC0304', message, hint: 'use another port' } }
}

/** The key that the message is about, at the listener or at its gateway. */
function placeOf(gateway: Place, index: number, key: string): Place {
  const listener = ['listeners', index]
  return gateway.find([...listener, key], [key], listener)
}

function invalidated({ name, origin, policies, port }: Serving, said: Diagnostic): Listener {
  return { name, origin, policies, port, protocol: 'Invalid', diagnostics: [said] }
}
