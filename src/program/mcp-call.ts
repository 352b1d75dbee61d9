import type { Exchange } from '../exchange/exchange.ts'
import { givenHeader, givenNames } from '../exchange/forwarded-headers.ts'
import type { Header } from '../exchange/header-edit.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Outcome, Step } from '../exchange/step.ts'
import type { PreparedCall } from '../protocols/mcp/http-server.ts'
import { withholdCredentials } from './model-credentials.ts'

export interface CallPolicies {
  /** The policies of the target itself. */
  readonly run: Step
  readonly path: string
  /** Client credentials are forwarded to the server. */
  readonly keepsCredentials: boolean
}

/** Headers about the client's connection or about the body that the client sent. */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'origin',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** One request may call several servers at once, and their policies change the same exchange. */
const waiting = new WeakMap<Exchange, Promise<unknown>>()

/** Runs the policies of a target on a request, without side effects for other targets. */
export function prepareCall(policies: CallPolicies) {
  return (exchange: Exchange): PreparedCall | Reply | Promise<PreparedCall | Reply> => {
    const before = waiting.get(exchange)
    if (before === undefined) return prepare(policies, exchange)
    const next = before.then(() => prepare(policies, exchange))
    waiting.set(exchange, next)
    return next
  }
}

function prepare(policies: CallPolicies, exchange: Exchange) {
  const restore = snapshot(exchange)
  const { run, keepsCredentials } = policies
  if (!keepsCredentials) withholdCredentials(exchange)
  const outcome = run(exchange)
  const settle = (reply: Outcome) => {
    const prepared = reply ?? preparedCall(policies, exchange)
    restore()
    return prepared
  }
  if (!(outcome instanceof Promise)) return settle(outcome)
  const settled = outcome.then(settle)
  waiting.set(
    exchange,
    settled.catch(() => restore()),
  )
  return settled
}

function preparedCall({ path }: CallPolicies, exchange: Exchange): PreparedCall {
  const { request, sentEdit, credentialQuery, host } = exchange
  const removed = new Set(sentEdit.removed)
  const headers: Header[] = []
  for (const name of givenNames(exchange)) {
    if (NOT_FORWARDED.has(name) || removed.has(name)) continue
    const value = givenHeader(exchange, name)
    if (value !== undefined) headers.push([name, value])
  }
  for (const [name, value] of sentEdit.added) headers.push([name.toLowerCase(), value])
  if (request.id !== '' && !removed.has('x-request-id')) {
    const others = headers.filter(([name]) => name !== 'x-request-id')
    headers.splice(0, headers.length, ...others, ['x-request-id', request.id])
  }
  const joint = path.includes('?') ? '&' : '?'
  const query = credentialQuery === '' ? '' : `${joint}${credentialQuery}`
  const setHeaders = sentEdit.added.map(([name]) => name.toLowerCase())
  const { credentialRejected: rejected } = exchange
  const address = { path: `${path}${query}`, authority: host }
  return { ...address, headers, credentialQuery, setHeaders, rejected }
}

/** Returns a function that restores what steps may change. */
function snapshot(exchange: Exchange): () => void {
  const { path, search, host, requestEdit, responseEdit, identity } = exchange
  const { credentialEdit, credentialQuery, credentialRejected, metadata } = exchange
  const before = { path, search, host, requestEdit, responseEdit, credentialEdit }
  return () => {
    Object.assign(exchange, before, { credentialQuery, credentialRejected, metadata })
    if (exchange.identity !== identity) exchange.identifyAs(identity)
  }
}
