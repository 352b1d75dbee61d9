import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import { reply } from '../../exchange/reply.ts'
import type { Attachments, Part } from '../define.ts'
import { compilePath } from '../new-location.ts'
import type { Authority } from '../rewritten-url.ts'
import type { RequestRedirect } from './schema.ts'

const WELL_KNOWN: Readonly<Record<string, number>> = { http: 80, https: 443 }

export function compileRequestRedirect([{ value }]: Attachments<RequestRedirect>): Part {
  const { scheme, authority, status } = value
  const pathOf =
    value.path === undefined ? ({ request }: Exchange) => request.path : compilePath(value.path)
  return {
    step: (exchange) => {
      const { request } = exchange
      const base = baseOf(exchange, scheme, authority)
      const path = pathOf(exchange)
      // RFC 3986 §4.2: without an authority, a path that begins with two slashes would name a host.
      const local = base === '' && path.startsWith('//') ? `/.${path}` : path
      const location = `${base}${local}${request.search}`
      const headers = headerEdit({ set: [{ name: 'location', value: location }] })
      return reply(status, 'redirect', '', headers)
    },
  }
}

/**
 * Gateway API, HTTPRequestRedirectFilter.port: without a port, a redirect uses the well-known port
 * of its scheme, or without a scheme the port of the listener; a port that the scheme implies is
 * omitted.
 */
function baseOf(
  { request, destination }: Exchange,
  newScheme: 'http' | 'https' | undefined,
  authority: Authority | undefined,
): string {
  const fixed = typeof authority === 'object' ? authority : {}
  const host = fixed.host ?? request.host
  // Only HTTP/1.0 has requests without a host; RFC 9110 §10.2.2 allows a relative Location.
  if (host === '') return ''
  const scheme = newScheme ?? request.scheme
  const implied = WELL_KNOWN[scheme]
  const port = fixed.port ?? (newScheme === undefined ? destination.port : implied)
  return port === implied ? `${scheme}://${host}` : `${scheme}://${host}:${port}`
}
