import type { Exchange } from '../exchange/exchange.ts'
import { givenHeader, givenNames } from '../exchange/forwarded-headers.ts'
import type { Header } from './service-headers.ts'

/** The headers as forwarded to the backend, with HTTP/2 pseudo-headers; names are in lower case. */
export function sentHeaders(exchange: Exchange): readonly Header[] {
  const { request, requestEdit, path, search, host } = exchange
  const removed = new Set(requestEdit.removed)
  const kept = givenNames(exchange).flatMap((name): Header[] => {
    const value = removed.has(name) ? undefined : givenHeader(exchange, name)
    return value === undefined ? [] : [[name, value]]
  })
  const added = requestEdit.added.map(([name, value]): Header => [name.toLowerCase(), value])
  return [
    [':method', request.method],
    [':path', `${path}${search}`],
    [':authority', host === '' ? request.host : host],
    [':scheme', request.scheme],
    ...[...kept, ...added].filter(([name]) => name !== 'host'),
  ]
}
