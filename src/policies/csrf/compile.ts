import type { Exchange } from '../../exchange/exchange.ts'
import type { Rejection } from '../../exchange/rejection.ts'
import { reply } from '../../exchange/reply.ts'
import type { Attachments, Part } from '../define.ts'
import { compileOrigins, withoutImpliedPort } from '../origins.ts'
import type { Csrf } from './schema.ts'

/** RFC 9110 §9.2.1. Names of methods have a case: `get` is another method, and not known as safe. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

const detail = 'a page of another site sent the request'
const REJECTED = { ...reply(403, 'csrf'), detail }

export function compileCsrf([policy]: Attachments<Csrf>): Part {
  const isTrusted = compileOrigins(policy.value.additionalOrigins)
  const rejection: Rejection = { by: policy, method: 'csrf', fault: 'cross-site', detail }
  return {
    step: (exchange) => {
      if (SAFE.has(exchange.request.method) || isOwnSite(exchange, isTrusted)) return undefined
      exchange.rejection = rejection
      return REJECTED
    },
  }
}

/**
 * Fetch Metadata says it where there is any: no page can set it. Where there is none, as from old
 * browsers and on plain HTTP, the origin must be that of the request; the scheme is left out of
 * that comparison, since TLS may end before the gateway. Whoever sends neither is no browser.
 */
function isOwnSite({ request }: Exchange, isTrusted: (origin: string) => boolean): boolean {
  const { headers } = request
  const context = headers.get('sec-fetch-site')
  if (context === 'same-origin' || context === 'none') return true
  const origin = headers.get('origin')?.toLowerCase()
  if (origin === undefined) return context === undefined
  if (isTrusted(withoutImpliedPort(origin))) return true
  return context === undefined && isSameHost(origin, headers.get('host') ?? request.host)
}

function isSameHost(origin: string, host: string): boolean {
  const [, scheme = '', own = ''] =
    /^(https?):\/\/([^/?#@]+)$/.exec(withoutImpliedPort(origin)) ?? []
  return (
    own !== '' && withoutImpliedPort(`${scheme}://${host.toLowerCase()}`) === `${scheme}://${own}`
  )
}
