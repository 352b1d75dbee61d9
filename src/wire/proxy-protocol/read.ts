import { readV1 } from './v1.ts'
import { readV2 } from './v2.ts'

/** The connection that the proxy reports. */
export interface ProxyHeader {
  /** Length of the header in bytes. */
  readonly length: number
  /** Undefined if the proxy itself is the client or knows no addresses. */
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

/** Why bytes are not a header. The words are stable, since logs contain them. */
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

/** `more`: the bytes so far are an incomplete header. */
export type ProxyOutcome = 'more' | ProxyRejection | ProxyHeader

export type ProxyVersions = 'V1' | 'V2' | 'All'

/**
 * Reads the PROXY protocol header from the first bytes of a connection, in any portions. Returns
 * `no-header` as soon as the bytes cannot be one of these versions, so that the header can be
 * optional. Never throws.
 */
export function readProxyHeader(bytes: Uint8Array, versions: ProxyVersions): ProxyOutcome {
  const one = versions === 'V2' ? 'no-header' : readV1(bytes)
  if (one !== 'no-header') return one
  return versions === 'V1' ? 'no-header' : readV2(bytes)
}
