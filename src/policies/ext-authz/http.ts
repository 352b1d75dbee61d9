import type { Value, Variables } from '../../cel/index.ts'
import type { JsonObject } from '../../cel/values/value.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import { reply } from '../../exchange/reply.ts'
import type { ServiceRequest, ServiceResponse } from '../../exchange/service-call.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type CompileContext, variablesOf } from '../define.ts'
import type { Header } from '../service-headers.ts'
import { textOf } from '../value-text.ts'
import type { ExtAuthz } from './schema.ts'
import { denial, NO_CHANGES, type Verdict } from './verdict.ts'

export type HttpProtocol = NonNullable<ExtAuthz['protocol']['http']>

type Evaluate = (variables: Variables) => Value | undefined

const MAX_RESPONSE = 65_536

/** The service is called with a plain request: 2xx admits, 5xx is a failure, all else denies. */
export interface HttpCheck {
  /** Undefined if an expression has no value: the service cannot be called then. */
  question(
    exchange: Exchange,
    headers: readonly Header[],
    timeout: number,
  ): ServiceRequest | undefined
  read(exchange: Exchange, response: ServiceResponse): Verdict
}

export function compileHttp(
  protocol: HttpProtocol,
  policy: ValidPolicy<ExtAuthz>,
  context: CompileContext,
): HttpCheck {
  const compile = (text: string, field: string, result: 'string' | 'any', more = {}) => {
    const place = { policy, field: `protocol.http.${field}`, result, ...more }
    return context.compile(text, place)?.evaluate()
  }
  const optional = (field: 'path' | 'redirect' | 'body'): Evaluate | undefined => {
    const text = protocol[field]
    return text === undefined ? undefined : (compile(text, field, 'string') ?? NO_VALUE)
  }
  const [path, redirect, body] = [optional('path'), optional('redirect'), optional('body')]
  const added = Object.entries(protocol.addRequestHeaders).map(([name, text]) => ({
    name: name.toLowerCase(),
    evaluate: compile(text, `addRequestHeaders.${name}`, 'string') ?? NO_VALUE,
  }))
  const metadata = Object.entries(protocol.metadata).map(([name, text]) => ({
    name,
    evaluate: compile(text, `metadata.${name}`, 'any', OF_SERVICE) ?? NO_VALUE,
  }))

  return {
    question(exchange, headers, timeout) {
      const variables = variablesOf(exchange)
      const said = new Map(
        added.map(({ name, evaluate }) => [name, textOf(evaluate(variables))] as const),
      )
      const target = path === undefined ? exchange.request.pathAndQuery : textOf(path(variables))
      const content = body === undefined ? '' : textOf(body(variables))
      if (target === undefined || content === undefined) return undefined
      const own = [...said].filter((pair): pair is [string, string] => {
        return pair[1] !== undefined && !pair[0].startsWith(':')
      })
      const names = new Set(own.map(([name]) => name))
      return {
        method: said.get(':method') ?? exchange.request.method,
        path: said.get(':path') ?? target,
        authority: said.get(':authority') ?? '',
        headers: [...headers.filter(([name]) => !names.has(name)), ...own],
        body: Buffer.from(content, 'utf8'),
        timeout,
        maxBytes: MAX_RESPONSE,
      }
    },
    read(exchange, response) {
      const { status, headers, fields, body: content } = response
      if (status >= 500 || status < 200) return { kind: 'failed', detail: `status ${status}` }
      if (status >= 300) {
        const location = redirect && textOf(redirect(variablesOf(exchange)))
        return {
          kind: 'denied',
          detail: `status ${status}`,
          reply: location === undefined ? denial(status, fields, content) : sentTo(location),
        }
      }
      const wanted = protocol.includeResponseHeaders.flatMap((name): Header[] => {
        const value = headers.get(name)
        return value === undefined ? [] : [[name.toLowerCase(), value]]
      })
      const { includeResponseHeaders: remove } = protocol
      // The backend trusts these headers as set by the service, so those of the client are removed.
      const changes = remove.length === 0 ? NO_CHANGES : { ...NO_CHANGES, set: wanted, remove }
      return { kind: 'allowed', changes, metadata: metadataOf(exchange, response) }
    },
  }

  /** While its expressions run, `response` is the response of the service. */
  function metadataOf(exchange: Exchange, { status, headers, body }: ServiceResponse): JsonObject {
    if (metadata.length === 0) return {}
    const before = exchange.response
    exchange.response = { code: status, headers, body } as unknown as JsonObject
    const found: Record<string, Value> = {}
    for (const { name, evaluate } of metadata) {
      const value = evaluate(variablesOf(exchange))
      if (value !== undefined) found[name] = value
    }
    exchange.response = before
    return found
  }
}

const NO_VALUE: Evaluate = () => undefined

/** `response` is the service's, whose body is always available. */
const OF_SERVICE = { stage: 'response', hasOwnResponse: true } as const

function sentTo(location: string) {
  const isFit = /^[!-~]+$/.test(location)
  const set = isFit ? [{ name: 'location', value: location }] : []
  return reply(isFit ? 302 : 403, 'external-authorization', '', headerEdit({ set }))
}
