import { createHash } from 'node:crypto'
import type { Exchange } from '../../../exchange/exchange.ts'
import { ownerOf } from '../../caller.ts'

/** Headers that differ between the requests of one client. */
const OF_REQUEST: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'baggage',
  'connection',
  'content-length',
  'content-type',
  'date',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'x-request-id',
])

/**
 * Which requests may use the same connection to a server: those of one caller that differ in
 * nothing that the server could have learned when the connection was opened, such as a credential.
 */
export function connectionScope(exchange: Exchange): string {
  const { headers, search } = exchange.request
  const names = [...headers.keys()].filter(
    (name) => !OF_REQUEST.has(name) && !name.startsWith('mcp-param-'),
  )
  const lines = names.sort().map((name) => JSON.stringify([name, headers.get(name)]))
  return digestOf([ownerOf(exchange), search, ...lines])
}

export function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
