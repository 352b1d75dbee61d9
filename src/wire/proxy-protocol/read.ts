import { readV1 } from './v1.ts'
import { readV2 } from './v2.ts'

/** Who the proxy in front says that it is connected with. */
export interface ProxyHeader {
  /** How many bytes it takes. */
  readonly length: number
  /** Undefined where the proxy speaks for itself or knows no addresses. */
  readonly peers: ProxyPeers | undefined
}

export interface ProxyPeers {
  readonly source: ProxyEnd
  readonly destination: ProxyEnd
}

export interface ProxyEnd {
  readonly address: string
  readonly port: number
}

/** Why bytes are no header. Words are stable: logs have them. */
export type ProxyRejection =
  | 'no-header'
  | 'bad-line'
  | 'line-too-long'
  | 'bad-protocol'
  | 'bad-address'
  | 'bad-port'
  | 'bad-version'
  | 'bad-command'
  | 'bad-family'
  | 'bad-length'
  | 'too-long'
  | 'bad-tlv'
  | 'bad-checksum'

/** `more`: what came so far is a part of one. */
export type ProxyOutcome = 'more' | ProxyRejection | ProxyHeader

export type ProxyVersions = 'V1' | 'V2' | 'All'

/**
 * Reads the header of the PROXY protocol from the first bytes of a connection, in whatever
 * portions they came. `no-header` is said as soon as they cannot be one of these versions, so that
 * it may be optional. Never throws.
 */
export function readProxyHeader(bytes: Uint8Array, versions: ProxyVersions): ProxyOutcome {
  const one = versions === 'V2' ? 'no-header' : readV1(bytes)
  if (one !== 'no-header') return one
  return versions === 'V1' ? 'no-header' : readV2(bytes)
}
