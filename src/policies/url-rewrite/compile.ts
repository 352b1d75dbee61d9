import type { Exchange } from '../../exchange/exchange.ts'
import type { Attachments, Part } from '../define.ts'
import { compilePath } from '../new-location.ts'
import type { Authority } from '../rewritten-url.ts'
import type { UrlRewrite } from './schema.ts'

export function compileUrlRewrite([{ value }]: Attachments<UrlRewrite>): Part {
  const { authority, path } = value
  const hostOf = compileHost(authority)
  const pathOf = path === undefined ? undefined : compilePath(path)
  return {
    step: (exchange) => {
      if (hostOf !== undefined) exchange.host = hostOf(exchange)
      else if (authority === 'auto') exchange.namesBackend = true
      if (pathOf !== undefined) exchange.path = pathOf(exchange)
      return undefined
    },
  }
}

/** Undefined: use the backend's own name if it has one, which is the default. */
function compileHost(
  authority: Authority | undefined,
): ((exchange: Exchange) => string) | undefined {
  if (authority === undefined || authority === 'auto') return undefined
  if (authority === 'none') return ({ request }) => request.headers.get('host') ?? request.host
  const { host, port } = authority
  if (host === undefined) return ({ request }) => `${request.host}:${port}`
  const fixed = port === undefined ? host : `${host}:${port}`
  return () => fixed
}
