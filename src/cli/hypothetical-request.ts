import { readFileSync } from 'node:fs'
import { exampleCall } from '../analysis/decisions/example-call.ts'
import { readJson } from '../cel/values/json-read.ts'
import type { JsonObject } from '../cel/values/value.ts'
import { sentenceOf } from '../diagnostics/system-error.ts'
import type { ClientCertificate } from '../exchange/connection.ts'
import { servesRequests } from '../model/gateway.ts'
import { bodyReaderOf, type HypotheticalRequest } from '../program/explain.ts'
import { listenersCalled } from '../program/explain-listener.ts'
import type { ListenerProgram, Program } from '../program/program.ts'
import { takeBody } from '../proxy/read-body.ts'
import { IDENTITY_VARIABLES } from '../reach/kinds.ts'
import type { AttributeRecord, DecisionRecord } from '../telemetry/decision-record.ts'
import { InputError, UsageError } from './define.ts'
import type { HttpVersion, Rejected, RequestReader, WrittenRequest } from './wire-request.ts'

export interface HypotheticalOptions {
  readonly request?: string | undefined
  readonly header?: readonly string[] | undefined
  readonly claims?: string | undefined
  readonly 'api-key'?: string | undefined
  readonly user?: string | undefined
  readonly source?: string | undefined
  readonly sni?: string | undefined
  readonly identity?: string | undefined
  readonly certificate?: string | undefined
  readonly listener?: string | undefined
  readonly backend?: string | undefined
  readonly provider?: string | undefined
  readonly body?: string | undefined
  readonly 'body-file'?: string | undefined
}

/** The body in the options; undefined if there is none. */
export function bodyFrom({ body, 'body-file': file }: HypotheticalOptions): Uint8Array | undefined {
  if (body !== undefined && file !== undefined) {
    throw new UsageError('--body and --body-file are mutually exclusive')
  }
  if (file === undefined) return body === undefined ? undefined : Buffer.from(body)
  try {
    return readFileSync(file)
  } catch (error) {
    throw new InputError(`cannot read ${file}: ${sentenceOf(error)}`)
  }
}

/** Clients send the length of a body. */
function withLength(headers: readonly Header[], body: Uint8Array | undefined): readonly Header[] {
  if (body === undefined) return headers
  if (headers.some(([name]) => /^(?:content-length|transfer-encoding)$/i.test(name))) {
    throw new UsageError('remove that header: its value is derived from the body')
  }
  return [...headers, ['content-length', String(body.length)]]
}

type Header = readonly [name: string, value: string]

/** The request described by the options, before it is parsed. */
export function hypotheticalFrom(options: HypotheticalOptions): HypotheticalRequest {
  const { method, target, version, named } = requestLine(options.request ?? 'GET /')
  const headers = withLength((options.header ?? []).map(headerOf), bodyFrom(options))
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host')
  const host = hasHost || version === 'HTTP/1.0' ? undefined : hostIn(method, named)
  const query = target.indexOf('?')
  const { claims, user, source = '127.0.0.1', sni, identity, listener } = options
  const apiKey = options['api-key']
  return {
    method,
    path: query < 0 ? target : target.slice(0, query),
    search: query < 0 ? '' : target.slice(query),
    host: host ?? '',
    version,
    headers: host === undefined ? headers : [['host', host], ...headers],
    source,
    sourcePort: 40_000,
    sni,
    certificate: certificateOf(identity, options.certificate),
    identity: {
      ...(claims === undefined ? {} : { jwt: objectOf(claims, 'claims') }),
      ...(apiKey === undefined ? {} : { apiKey: objectOf(apiKey, 'api-key') }),
      ...(user === undefined ? {} : { basicAuth: { username: user } }),
    },
    listener,
    backend: options.backend,
    provider: options.provider,
  }
}

const REQUEST = /^(?:(\S+) )?(\S.*?)(?: (HTTP\/(?:1\.[01]|2)))?$/

/** Parses `GET /x`, `/x`, `POST https://host/x`, `GET /x HTTP/1.0` or `HTTP/2`; sent as written. */
function requestLine(text: string) {
  const [, method = 'GET', target = '', version = 'HTTP/1.1'] =
    REQUEST.exec(oneLine(text).trim()) ?? []
  const isTarget = method === 'CONNECT' || /^(?:\/|\*$|https?:)/i.test(target)
  if (!isTarget) {
    const named = /^[A-Za-z]+$/.test(target) && method === 'GET' ? target.toUpperCase() : method
    throw new UsageError(
      `'${text}' is not a request; expected a method and a path, such as '${named} /orders'`,
    )
  }
  return {
    method,
    target: targetFor(target, version),
    named: target,
    version: version as HttpVersion,
  }
}

/** In HTTP/2, the host of a URL is a separate field. */
function targetFor(target: string, version: string): string {
  return version === 'HTTP/2' ? target.replace(/^https?:\/\/[^/?]*(?=\/)/i, '') : target
}

/** Clients send the name that they connect to as Host. */
function hostIn(method: string, target: string): string {
  if (method === 'CONNECT') return target
  return /^https?:\/\/([^/?]*)/i.exec(target)?.[1] ?? 'localhost'
}

function headerOf(text: string): readonly [string, string] {
  const colon = text.indexOf(':')
  if (colon < 1) throw new UsageError(`${text} is not a header; expected name: value`)
  // Only HTTP/1.1 strips other white space; its reader does so.
  const value = text.slice(colon + 1).replace(/^ /, '')
  return [oneLine(text.slice(0, colon)).trim(), oneLine(value)]
}

function oneLine(text: string): string {
  if (/[\r\n]/.test(text)) throw new UsageError('a request line or header must be a single line')
  return text
}

/**
 * Reads the request like the gateway, at the listener that serves it. For listeners of other
 * protocols, it is returned unchanged; an unknown listener name is reported by the lookup.
 */
export function readHypothetical(
  { listeners }: Program,
  reader: RequestReader,
  hypothetical: HypotheticalRequest,
): HypotheticalRequest | Rejected {
  const { listener: wanted, sni } = hypothetical
  const called = new Set(listenersCalled(listeners, wanted))
  const isWanted = (one: ListenerProgram) => called.has(one)
  const isHttp = ({ listener: own }: ListenerProgram) => servesRequests(own)
  if (!listeners.some((one) => isWanted(one) && isHttp(one))) return hypothetical
  const placed = reader.read(writtenBy(hypothetical), isWanted, sni)
  if (!('listener' in placed)) return placed
  const { gateway, listener } = placed.listener
  return { ...hypothetical, ...placed.request, listener: `${gateway}/${listener.name}` }
}

/** Adds a body, as the gateway's own reader passes it to the rules. */
export async function withBody(
  program: Program,
  reader: RequestReader,
  hypothetical: HypotheticalRequest,
  bytes: Uint8Array,
): Promise<HypotheticalRequest> {
  const reading = bodyReaderOf(program, hypothetical)
  const limits = reader.limitsAt(hypothetical.listener ?? '')
  if (reading === undefined || limits === undefined) return hypothetical
  const { exchange, needs } = reading
  const max = needs.isCall === true ? limits.call : limits.body
  const kept = bytes.length > max ? undefined : bytes
  const coding = exchange.request.headers.get('content-encoding')
  const options = { ...needs, isLogged: false, max }
  const body = { bytes: kept, beginning: bytes.subarray(0, limits.body) }
  const rejected = await takeBody(exchange, body, coding, options)
  return {
    ...hypothetical,
    body: { content: exchange.request.body, rejected, limits, size: bytes.length },
  }
}

/** The request as its client writes it. */
export function writtenBy({
  method,
  path,
  search,
  host,
  version,
  headers,
}: HypotheticalRequest): WrittenRequest {
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host')
  const isOld = version === 'HTTP/1.0' || (!hasHost && host === '')
  return {
    method,
    target: `${path}${search}`,
    version: version === 'HTTP/2' ? version : isOld ? 'HTTP/1.0' : 'HTTP/1.1',
    headers: hasHost || host === '' ? headers : [['host', host], ...headers],
  }
}

function objectOf(text: string, option: string): JsonObject {
  const value = readJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject
  }
  throw new UsageError(`--${option} must be a JSON object`)
}

const TEXTS = ['subject', 'subjectCn', 'issuer', 'fingerprint'] as const

function certificateOf(
  identity: string | undefined,
  text: string | undefined,
): ClientCertificate | undefined {
  if (identity === undefined && text === undefined) return undefined
  const given = text === undefined ? {} : objectOf(text, 'certificate')
  const { subjectAltNames = [], ...rest } = given
  const names: readonly unknown[] = Array.isArray(subjectAltNames) ? subjectAltNames : [undefined]
  const isText = (value: unknown) => typeof value === 'string'
  const isKnown = (name: string) => TEXTS.some((one) => one === name)
  const isMade = Object.entries(rest).every(([name, value]) => isKnown(name) && isText(value))
  if (!isMade || !names.every(isText)) {
    const all = [...TEXTS, 'subjectAltNames'].join(', ')
    throw new UsageError(
      `--certificate accepts only strings, and a list for subjectAltNames; available fields: ${all}`,
    )
  }
  if (identity !== undefined && !isSpiffe(identity)) {
    throw new UsageError(
      '--identity must be a SPIFFE ID, for example spiffe://cluster.local/ns/a/sa/b',
    )
  }
  const own = [...new Set([...(names as readonly string[]), identity ?? []].flat())]
  const ids = own.filter(isSpiffe)
  return {
    subject: '',
    subjectCn: undefined,
    issuer: '',
    fingerprint: '',
    ...rest,
    // As in the gateway, an empty name counts as missing.
    ...(rest['subjectCn'] === '' ? { subjectCn: undefined } : {}),
    subjectAltNames: own,
    // As in the gateway, several ids count as none.
    identity: ids.length === 1 ? ids[0] : undefined,
  }
}

function isSpiffe(name: string): boolean {
  return name.startsWith('spiffe://')
}

/** The request of a record, as far as its values are shown, and the names of hidden ones. */
export function hypotheticalFromRecord(record: DecisionRecord): {
  readonly hypothetical: HypotheticalRequest
  readonly hidden: readonly string[]
  /** For a call of a protocol: one like it, since no record contains a body. */
  readonly body: Uint8Array | undefined
} {
  const headers: [string, string][] = []
  const identity: Record<string, Record<string, unknown>> = {}
  const hidden: string[] = []
  for (const attribute of record.attributes) {
    const { name, state, value } = attribute
    if (state === 'redacted' || state === 'cut') hidden.push(name)
    if (state !== 'shown') continue
    const header = /^request\.headers(?:\.(\w+)|\['(.*)'\])$/.exec(name)
    if (header !== null) headers.push([header[1] ?? header[2] ?? '', String(value)])
    else setClaim(identity, attribute)
  }
  const { headers: own = {}, body: text } = exampleCall(record) ?? {}
  const body = text === undefined ? undefined : Buffer.from(text)
  for (const header of Object.entries(own)) {
    if (!headers.some(([name]) => name === header[0])) headers.push(header)
  }
  const source = /^\[?(.*?)\]?:(\d+)$/.exec(record.source)
  const hypothetical: HypotheticalRequest = {
    method: record.method ?? 'GET',
    path: record.path ?? '/',
    search: '',
    host: record.host ?? '',
    headers: withLength(headers, body),
    source: source?.[1] ?? record.source,
    sourcePort: Number(source?.[2] ?? 0),
    sni: record.sni,
    identity: identity as HypotheticalRequest['identity'],
    listener: listenerIn(record),
    backend: record.backend,
  }
  return { hypothetical, hidden, body }
}

/** A request can be rejected before its listener is known. */
function listenerIn({ gateway, listener }: DecisionRecord): string | undefined {
  if (listener !== undefined) return `${gateway}/${listener}`
  return gateway === '' ? undefined : gateway
}

const IDENTITIES: readonly string[] = IDENTITY_VARIABLES

/** Adds a value such as `jwt.realm.roles` to the claims. */
function setClaim(
  identity: Record<string, Record<string, unknown>>,
  { name, value }: AttributeRecord,
): void {
  const [variable = '', ...path] = name.split(/\.|\['|'\]/).filter((part) => part !== '')
  if (!IDENTITIES.includes(variable)) return
  let at = identity
  const all = [variable, ...path]
  for (const part of all.slice(0, -1)) {
    if (part === '__proto__') return
    at[part] ??= {}
    at = at[part] as typeof identity
  }
  const last = all.at(-1) as string
  if (last !== '__proto__') at[last] = value as unknown as Record<string, unknown>
}
