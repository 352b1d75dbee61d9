import { Ip } from '../../cel/values/ip.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { clientsOf } from '../../model/gateway.ts'
import type { JwtAuthentication } from '../../policies/jwt-authentication/schema.ts'
import { isPermissive, issuersOf } from '../scopes.ts'
import type { Facts } from '../symbolic/attribute-tree.ts'
import type { World } from '../symbolic/world.ts'
import { authenticationsOf, type CalledMessage, type Entry } from './entries.ts'
import type { CallShape } from './request-form.ts'
import { PARAMETERS } from './route-conditions.ts'
import { CLOSED } from './stream-entries.ts'

/** A made-up request: the relevant parts are as found, the rest is as simple as possible. */
export interface ExampleRequest {
  /** `gateway/listener` */
  readonly listener: string
  readonly backend: string | undefined
  /** Only a connection, without a request. */
  readonly isConnection: boolean
  /** The provider of an AI backend that is called; if undefined, any that may be. */
  readonly provider: string | undefined
  readonly method: string
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  readonly host: string
  readonly headers: Readonly<Record<string, string>>
  readonly source: string
  readonly sni: string | undefined
  readonly certificate: JsonObject | undefined
  /** The identity of the client: claims of a token, metadata of a key, … */
  readonly identity: Readonly<Record<string, JsonObject>>
  /** How its connection begins, if the listener of either side reads PROXY headers. */
  readonly proxyHeader?: 'None' | 'V1' | 'V2'
  /** The message to an MCP server or a model: what it calls, as clients name it, and the body. */
  readonly message?: { readonly about: string; readonly body: string }
}

/** An address reserved for documentation (RFC 5737). */
const SOMEWHERE = '203.0.113.7'

export function exampleOf(world: World, entry: Entry, facts: Facts): ExampleRequest {
  const {
    request = {},
    [PARAMETERS]: parameters = {},
    source = {},
    destination = {},
  } = world as Readonly<Record<string, JsonObject>>
  const { address = source['peerAddress'], ...others } = source
  const certificate = Object.fromEntries(
    Object.entries(others).filter(([name]) => !ADDRESSES.has(name)),
  )
  const { hostname } = destination
  const isMcp = entry.where.backend?.kind === 'mcp'
  const hasBody = entry.message !== undefined || isMcp
  // The header is the host as the client wrote it.
  const { host: written, ...headers } = textsOf(request['headers'])
  const host = written ?? request['host'] ?? hostOf(entry)
  const { shape } = entry
  const method = text(request['method'], shape?.method ?? (hasBody ? 'POST' : 'GET'))
  const isBare = entry.message === undefined && isMcp && method === 'POST'
  return {
    listener: entry.listener,
    backend: entry.backend,
    isConnection: entry.match === undefined,
    provider: entry.provider,
    method,
    path: text(request['path'], shape?.path ?? '/'),
    query: text(request['query'], queryOf(parameters)),
    host: text(host, 'example.com'),
    // Without this header, no MCP server is called.
    headers: isMcp ? { accept: 'application/json, text/event-stream', ...headers } : headers,
    source: address instanceof Ip ? address.text : SOMEWHERE,
    sni: typeof hostname === 'string' ? hostname : serverNameOf(entry),
    certificate: certificateOf(certificate, entry),
    identity: identitiesIn(world, facts, entry),
    ...(entry.message === undefined ? {} : { message: messageIn(world, entry.message) }),
    ...(isBare ? { message: PING } : {}),
    ...(shape?.body === undefined ? {} : { message: callIn(world, entry, shape) }),
  }
}

/** The simplest request to a server. */
const PING = { about: 'ping', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' }

/** The parameter that names what a message is about. */
const MEMBERS = { tool: 'name', prompt: 'name', resource: 'uri' } as const

function messageIn(world: World, { part, prefix, ...asked }: CalledMessage) {
  const { mcp = {} } = world as Readonly<Record<string, JsonObject>>
  if (part === 'none') {
    const method = text(mcp['methodName'], asked.method)
    const id = asked.isNotification === true ? {} : { id: 1 }
    return { about: method, body: JSON.stringify({ jsonrpc: '2.0', ...id, method }) }
  }
  const { name, arguments: given } = (mcp[part] ?? {}) as JsonObject
  const about = `${prefix}${text(name, asked.name)}`
  const method = text(mcp['methodName'], asked.method)
  const none = asked.mayLackArguments === true ? null : {}
  const own = part === 'tool' ? { arguments: given ?? none } : {}
  const ref =
    part === 'prompt' ? { type: 'ref/prompt', name: about } : { type: 'ref/resource', uri: about }
  const params = method === 'completion/complete' ? { ref } : { [MEMBERS[part]]: about, ...own }
  const message = { jsonrpc: '2.0', id: 1, method, params }
  return { about, body: JSON.stringify(message, asJson) }
}

/** A call with the relevant fields. A pattern is replaced with a name that it matches. */
function callIn(world: World, { model: name, form }: Entry, shape: CallShape) {
  const { llm = {} } = world as Readonly<Record<string, JsonObject>>
  const usual = name?.replace('*', 'any') ?? shape.model ?? form?.models?.[0] ?? 'any'
  const model = text(llm['requestModel'], usual)
  const { prompt, params, streaming, tools, inputTokens } = llm
  const own = shape.body?.(model, promptOf(prompt, inputTokens)) ?? {}
  const call = {
    ...(params as JsonObject | undefined),
    ...own,
    ...(streaming === true ? { stream: true } : {}),
    ...(tools === undefined ? {} : { tools }),
  }
  return { about: `model ${model}`, body: JSON.stringify(call, asJson) }
}

const BYTES_PER_TOKEN = 4
const LONGEST_PROMPT = 100_000

/** As long as the estimate of its tokens requires. */
function promptOf(prompt: Value | undefined, tokens: Value | undefined): string {
  const written = text(prompt, 'hello')
  if (typeof tokens !== 'number') return written
  return written.padEnd(Math.min(tokens * BYTES_PER_TOKEN, LONGEST_PROMPT), ' hello')
}

function asJson(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

const ADDRESSES: ReadonlySet<string> = new Set([
  'port',
  'rawAddress',
  'rawPort',
  'peerAddress',
  'peerPort',
])

/**
 * If a certificate is required, there is one, even if none of its fields matter. Its names are
 * consistent.
 */
function certificateOf(found: JsonObject, { where }: Entry): JsonObject | undefined {
  const { identity, ...others } = found
  if (Object.keys(found).length === 0)
    return clientsOf(where.listener) === 'Require' ? {} : undefined
  const names = (others['subjectAltNames'] ?? []) as readonly Value[]
  const all = [...new Set(identity === undefined ? names : [...names, identity])]
  const [id, ...more] = all.filter((name) => String(name).startsWith('spiffe://'))
  return {
    ...others,
    ...(all.length === 0 ? {} : { subjectAltNames: all }),
    // A certificate with two SPIFFE IDs has no identity.
    ...(id === undefined || more.length > 0 ? {} : { identity: id }),
  }
}

function queryOf(parameters: JsonObject): string {
  return new URLSearchParams(Object.entries(textsOf(parameters))).toString()
}

function text(value: Value | undefined, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}

/** A hostname that the listener and the route serve. */
function hostOf({ where: { listener, route } }: Entry): string | undefined {
  const [name] = [...(route?.hostnames ?? []), listener.hostname ?? '*'].filter(
    (one) => one !== '*',
  )
  return name?.replace(/^\*\./, 'a.')
}

/** A server name that the listener and its routes serve, unless they serve every name. */
function serverNameOf({ match, names, where: { listener } }: Entry): string | undefined {
  if (match !== undefined || listener.protocol !== 'TLS') return undefined
  const served = names.split(' ').filter((one) => !one.startsWith(CLOSED))
  const [name] = [...served, listener.hostname ?? '*'].filter((one) => one !== '*')
  return name?.replace(/^\*\./, 'a.')
}

function textsOf(headers: Value | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries((headers ?? {}) as JsonObject)
  return Object.fromEntries(
    entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

/** Variables are named after their verifier: `jwt#…`. A token names its issuer. */
function identitiesIn(
  world: World,
  facts: Facts,
  entry: Entry,
): Readonly<Record<string, JsonObject>> {
  const found: Record<string, JsonObject> = {}
  const issuers = new Map<string, readonly Value[]>()
  for (const [name, value] of Object.entries(world)) {
    const [variable = '', verifier] = name.split('#')
    if (verifier === undefined) continue
    const issuer = facts.get(`${name}.iss`)
    if (issuer?.kind === 'values') {
      const others = issuers.get(variable) ?? issuer.values
      issuers.set(
        variable,
        others.filter((one) => issuer.values.includes(one)),
      )
    }
    // A variable that is verified in two places is one variable.
    found[variable] = { ...(value as JsonObject), ...found[variable] }
  }
  const { jwt } = found
  if (jwt === undefined) return found
  const [taken, shared] = [issuersTakenBy(entry), issuers.get('jwt')]
  // Prefers an issuer that both sides accept, then one of the way, which must admit the token.
  const both = taken === undefined ? shared : shared?.filter((one) => taken.includes(one))
  const iss = both?.[0] ?? taken?.[0] ?? shared?.[0]
  const own = { ...requiredClaims(entry, iss), ...jwt }
  return { ...found, jwt: iss === undefined ? own : { iss, ...own } }
}

/** Other claims that a token needs to pass the authentications of the way. */
function requiredClaims(entry: Entry, iss: Value | undefined): JsonObject {
  const claims: Record<string, Value> = {}
  for (const { kind, value } of authenticationsOf(entry)) {
    if (kind !== 'jwtAuthentication') continue
    const { providers } = value as JwtAuthentication
    const { audiences = [], requiredClaims: names = [] } =
      providers.find(({ issuer }) => issuer === iss) ?? {}
    for (const name of names) if (!GIVEN.has(name)) claims[name] ??= 'any'
    const [audience] = audiences
    if (audience !== undefined) claims['aud'] ??= audience
  }
  return claims
}

/** Claims that are set separately, or that a token has anyway. */
const GIVEN: ReadonlySet<string> = new Set(['iss', 'aud', 'exp', 'nbf', 'iat'])

/** Issuers whose tokens pass all authentications of the way; undefined if bad tokens also pass. */
function issuersTakenBy(entry: Entry): readonly Value[] | undefined {
  const strict = authenticationsOf(entry).filter((policy) => !isPermissive(policy))
  const lists = strict.map(issuersOf).filter((own) => own.length > 0)
  const [first, ...others] = lists
  return first?.filter((issuer) => others.every((own) => own.includes(issuer)))
}
