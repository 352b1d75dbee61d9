import type { HeadLimits } from './message.ts'

/** Limits for a client's requests, and timeouts. */
export interface ServerLimits extends HeadLimits {
  /** Milliseconds to wait for a request to begin, and for its head and each part of its body. */
  readonly idle: number
  readonly headTimeout: number
  readonly bodyTimeout: number
  /** Milliseconds for which a client may accept none of its response. */
  readonly writeTimeout: number
  /** Bytes of a request's body; Infinity: no limit. */
  readonly body: number
  /** Whether header names are written in lower case, to backends and to the client. */
  readonly lowersNames: boolean
  /** The protocols other than WebSocket to which a client may switch, in lower case. */
  readonly upgrades: ReadonlySet<string>
}

/**
 * Leaves those protocols in Upgrade to which a client may switch: WebSocket, and what is
 * configured. RFC 9110 §7.8: a server may ignore Upgrade, and then serves the request as usual.
 * Rules are not evaluated inside a tunnel, so an unknown protocol must not open one.
 */
export function permitUpgrade(head: { upgrade: string }, others: ReadonlySet<string>): void {
  if (head.upgrade === '' || head.upgrade === 'websocket') return
  const isPermitted = (one: string) => one === 'websocket' || others.has(one)
  head.upgrade = head.upgrade.split(', ').filter(isPermitted).join(', ')
}
