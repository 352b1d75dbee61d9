import type { Ip } from '../../cel/values/ip.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { HeaderReader } from '../../exchange/header-view.ts'
import { isSameHost } from '../../exchange/same-host.ts'
import type { JsonObject } from '../../model/json.ts'

/*
 * MCP requires servers to validate the Origin of requests. A page whose name resolves to this
 * machine (DNS rebinding) has the Origin that belongs to its Host, so the Host is checked too.
 */

/** local: only names of this machine, and pages from there. */
export type AcceptedHosts = 'local' | 'known' | 'any'

/** What is known of a request in addition to its head. */
export interface Arrival {
  /** A policy allows its Origin. */
  readonly allowsOrigin: boolean
  /** The configuration names its Host. */
  readonly namesHost: boolean
  /** A program on this machine sent it, which may be a browser. */
  readonly isLoopback: boolean
}

export function acceptedHosts({ dnsRebindingProtection }: JsonObject): AcceptedHosts {
  if (dnsRebindingProtection === true) return 'local'
  return dnsRebindingProtection === false ? 'any' : 'known'
}

export function arrivalOf({ allowsOrigin, namesHost, connection }: Exchange): Arrival {
  const { source, destination } = connection
  const isLoopback = isOfLoopback(source.address) && isOfLoopback(destination.address)
  return { allowsOrigin, namesHost, isLoopback }
}

function isOfLoopback({ text }: Ip): boolean {
  return text === '::1' || text.startsWith('127.')
}

interface Named {
  readonly host: string
  readonly headers: HeaderReader
}

/** Why a page of another site may have sent the request; undefined if none did. */
export function foreignness(
  { host, headers }: Named,
  { allowsOrigin, namesHost, isLoopback }: Arrival,
  hosts: AcceptedHosts,
): string | undefined {
  const origin = headers.get('origin')?.toLowerCase()
  if (hosts === 'local') {
    if (!LOCAL.test(host)) return FOREIGN_HOST
    const isLocal = origin === undefined || LOCAL.test(origin.replace(/^https?:\/\//, ''))
    return isLocal ? undefined : FOREIGN_ORIGIN
  }
  if (hosts === 'known' && isLoopback && !namesHost && !isPrivateName(host)) return FOREIGN_HOST
  const isOwn = origin === undefined || isSameHost(origin, headers.get('host') ?? host)
  return isOwn || allowsOrigin ? undefined : FOREIGN_ORIGIN
}

const FOREIGN_HOST = 'Forbidden: unknown Host'
const FOREIGN_ORIGIN = 'Forbidden: the Origin is not allowed'

const LOCAL = /^(?:localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)(?::\d+)?$/

/** Addresses, and names that cannot be registered: no page on the internet has them. */
function isPrivateName(host: string): boolean {
  const name = host.replace(/:\d+$/, '')
  return (
    !name.includes('.') ||
    name.startsWith('[') ||
    /^[\d.]+$|\.(?:localhost|internal|test)$/.test(name)
  )
}
