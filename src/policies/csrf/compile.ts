import type { Exchange } from '../../exchange/exchange.ts'
import type { Rejection } from '../../exchange/rejection.ts'
import { reply } from '../../exchange/reply.ts'
import { isSameHost, withoutImpliedPort } from '../../exchange/same-host.ts'
import type { Attachments, Part } from '../define.ts'
import { compileOrigins } from '../origins.ts'
import type { Csrf } from './schema.ts'

/**
 * RFC 9110 §9.2.1. Method names are case-sensitive: `get` is a different method, not known to be
 * safe.
 */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

const detail = 'a page of another site sent the request'
const REJECTED = { ...reply(403, 'csrf'), detail }

export function compileCsrf([policy]: Attachments<Csrf>): Part {
  const isTrusted = compileOrigins(policy.value.additionalOrigins)
  const rejection: Rejection = { by: policy, method: 'csrf', fault: 'cross-site', detail }
  return {
    step: (exchange) => {
      const origin = exchange.request.headers.get('origin')?.toLowerCase()
      if (origin !== undefined && isTrusted(withoutImpliedPort(origin)))
        exchange.allowsOrigin = true
      if (SAFE.has(exchange.request.method) || isOwnSite(exchange, origin)) return undefined
      exchange.rejection = rejection
      return REJECTED
    },
  }
}

/**
 * Uses Fetch Metadata if present, which pages cannot set. If it is absent, as from old browsers and
 * over plain HTTP, Origin must match the host of the request. A client that sends neither is not a
 * browser.
 */
function isOwnSite({ request, allowsOrigin }: Exchange, origin: string | undefined): boolean {
  const { headers } = request
  const context = headers.get('sec-fetch-site')
  if (context === 'same-origin' || context === 'none') return true
  if (origin === undefined) return context === undefined
  if (allowsOrigin) return true
  return context === undefined && isSameHost(origin, headers.get('host') ?? request.host)
}
