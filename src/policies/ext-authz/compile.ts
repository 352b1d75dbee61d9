import type { Value, Variables } from '../../cel/index.ts'
import { type Json, toJson } from '../../cel/values/json-write.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { givenHeader, givenNames } from '../../exchange/forwarded-headers.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { CallService } from '../../exchange/service-call.ts'
import { type Outcome, runSteps, type Step } from '../../exchange/step.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import type { Header } from '../service-headers.ts'
import { originalOf } from '../stand-in.ts'
import { compileHttp, type HttpProtocol } from './http.ts'
import { ResponseCache } from './response-cache.ts'
import type { ExtAuthz } from './schema.ts'
import { applyChanges, NO_CHANGES, type Verdict } from './verdict.ts'

/** Every service that applies at the place must admit the request. */
export function compileExtAuthz(policies: Attachments<ExtAuthz>, site: CompileContext): Part {
  const steps = policies.map((policy) => compileOne(policy, site))
  return { step: (exchange) => runSteps(steps, exchange) }
}

type Check = (exchange: Exchange, body: Body | undefined) => Promise<Verdict>

interface Body {
  readonly bytes: Uint8Array
  /** Size of the whole body. */
  readonly size: number
}

function compileOne(policy: ValidPolicy<ExtAuthz>, site: CompileContext): Step {
  const { target, protocol, includeRequestBody, cache } = policy.value
  const { http } = protocol
  const ask = site.connect(target, policy, http === undefined ? '2' : '1.1')
  const check =
    http === undefined ? checkByGrpc(policy, ask, site) : checkByHttp(http, policy, ask, site)
  const responses =
    cache && site.kept(policy, () => new ResponseCache(cache.ttl, cache.maxEntries), 'responses')
  const keyOf = compileKey(policy, site)
  const unavailable = rejectionOf(policy)
  const { now } = site
  const remove = http?.includeResponseHeaders ?? []
  const unsaid = remove.length === 0 ? NO_CHANGES : { ...NO_CHANGES, remove }

  const settle = (exchange: Exchange, verdict: Verdict): Outcome => {
    switch (verdict.kind) {
      case 'allowed':
        applyChanges(exchange, verdict.changes)
        exchange.identify(originalOf(policy), 'extauthz', verdict.metadata)
        return undefined
      case 'denied':
        return reject(exchange, policy, 'denied', verdict.detail, verdict.reply)
      case 'failed':
        if (unavailable !== undefined) {
          return reject(exchange, policy, 'unavailable', verdict.detail, unavailable)
        }
        // The service did not respond, and a client must not set headers in its name.
        applyChanges(exchange, unsaid)
        return undefined
    }
  }

  return (exchange) => {
    const body = includeRequestBody && bodyOf(exchange, includeRequestBody)
    if (body === 'too-large') {
      return reject(
        exchange,
        policy,
        'too-large',
        'the body is too large to send to the service',
        TOO_LARGE,
      )
    }
    const key = responses && keyOf(variablesOf(exchange))
    const known = key === undefined ? undefined : responses?.get(key, now())
    if (known !== undefined) return settle(exchange, known)
    return check(exchange, body).then((verdict) => {
      if (key !== undefined) responses?.set(key, verdict, now())
      return settle(exchange, verdict)
    })
  }
}

const TOO_LARGE = reply(413, 'external-authorization')

function reject(
  exchange: Exchange,
  by: ValidPolicy,
  fault: string,
  detail: string,
  response: Reply,
): Reply {
  exchange.rejection = { by, method: 'external', fault, detail }
  return { ...response, detail: `${fault}: ${detail}` }
}

/** Undefined: the configuration allows requests while the service is unavailable. */
function rejectionOf({ value }: ValidPolicy<ExtAuthz>): Reply | undefined {
  const { failureMode } = value
  if (failureMode === 'Allow') return undefined
  const status = failureMode === 'Deny' ? 403 : failureMode.denyWithStatus
  return reply(status, 'external-authorization')
}

/** Undefined if the request has none. */
function bodyOf(
  { request, bodyBeginning, codedBody }: Exchange,
  { maxRequestBytes, allowPartialMessage }: NonNullable<ExtAuthz['includeRequestBody']>,
): Body | 'too-large' | undefined {
  const whole = codedBody ?? request.body
  const kept = whole ?? bodyBeginning
  if (kept === undefined) return undefined
  const isWhole = whole !== undefined && kept.length <= maxRequestBytes
  if (!isWhole && !allowPartialMessage) return 'too-large'
  const length = Number(request.headers.get('content-length') ?? kept.length)
  return { bytes: kept.subarray(0, maxRequestBytes), size: length }
}

function checkByGrpc(policy: ValidPolicy<ExtAuthz>, ask: CallService, site: CompileContext): Check {
  const { protocol, timeout, includeRequestHeaders, includeRequestBody } = policy.value
  const { context = {}, metadata = {} } = protocol.grpc ?? {}
  const reported = Object.entries(metadata).map(([name, text]) => {
    const place = { policy, field: `protocol.grpc.metadata.${name}`, result: 'any' } as const
    return { name, evaluate: site.compile(text, place)?.evaluate() }
  })
  const loading = loadGrpc()
  return async (exchange, body) => {
    const { grpcQuestion, readGrpcResponse } = await loading
    const variables = variablesOf(exchange)
    const values = reported.flatMap(({ name, evaluate }): (readonly [string, Json])[] => {
      const value = evaluate?.(variables)
      return value === undefined ? [] : [[name, toJson(value)]]
    })
    const asked = {
      headers: headersOf(exchange, includeRequestHeaders),
      body: body?.bytes,
      size: body?.size ?? 0,
      packAsBytes: includeRequestBody?.packAsBytes === true,
      context,
      metadata: Object.fromEntries(values),
    }
    const response = await ask(exchange, grpcQuestion(exchange, asked, timeout))
    return 'failure' in response
      ? { kind: 'failed', detail: response.failure }
      : readGrpcResponse(response)
  }
}

/**
 * Loaded only if there is such a policy, and when it is compiled: loading protobuf takes too long
 * for the request path.
 */
function loadGrpc(): Promise<typeof import('./grpc.ts')> {
  const loading = import('./grpc.ts')
  // Callers that await it see the error; there may be no caller.
  loading.catch(() => {})
  return loading
}

/** Such a service decides by credentials; other headers are sent only if configured. */
const FEW: readonly string[] = ['authorization', 'cookie']

function checkByHttp(
  protocol: HttpProtocol,
  policy: ValidPolicy<ExtAuthz>,
  ask: CallService,
  site: CompileContext,
): Check {
  const { timeout, includeRequestHeaders } = policy.value
  const { question, read } = compileHttp(protocol, policy, site)
  const wanted = includeRequestHeaders.length === 0 ? FEW : includeRequestHeaders
  return async (exchange, body) => {
    const headers = headersOf(exchange, wanted).filter(([name]) => !OF_CONNECTION.has(name))
    const asked = question(exchange, headers, timeout)
    if (asked === undefined) return { kind: 'failed', detail: 'an expression failed' }
    const whole =
      asked.body.length > 0 || body === undefined ? asked : { ...asked, body: body.bytes }
    const response = await ask(exchange, whole)
    return 'failure' in response
      ? { kind: 'failed', detail: response.failure }
      : read(exchange, response)
  }
}

const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Headers of the request, before policies change them; no names: all, including HTTP/2 pseudo-headers.
 */
function headersOf(exchange: Exchange, names: readonly string[]): readonly Header[] {
  const { request } = exchange
  const pseudo: Readonly<Record<string, string>> = {
    ':method': request.method,
    ':path': request.pathAndQuery,
    ':authority': request.host,
    ':scheme': request.scheme,
  }
  const all = names.length === 0 ? [...Object.keys(pseudo), ...givenNames(exchange)] : names
  return all.flatMap((written): Header[] => {
    const name = written.toLowerCase()
    const value = name.startsWith(':') ? pseudo[name] : givenHeader(exchange, name)
    return value === undefined ? [] : [[name, value]]
  })
}

/** Undefined if an expression has no value: the response is then not cached. */
function compileKey(policy: ValidPolicy<ExtAuthz>, site: CompileContext) {
  const parts = (policy.value.cache?.key ?? []).map((text, index) =>
    site.compile(text, { policy, field: `cache.key[${index}]`, result: 'any' })?.evaluate(),
  )
  return (variables: Variables): string | undefined => {
    const values: Json[] = []
    for (const evaluate of parts) {
      const value: Value | undefined = evaluate?.(variables)
      if (value === undefined) return undefined
      values.push(toJson(value))
    }
    return JSON.stringify(values)
  }
}
