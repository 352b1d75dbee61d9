import { readJson } from '../cel/values/json-read.ts'
import type { JsonObject } from '../cel/values/value.ts'
import type { Supposed } from '../program/explain.ts'
import type { AttributeRecord, DecisionRecord } from '../telemetry/decision-record.ts'
import { normalisePath } from '../wire/http1/path.ts'
import { UsageError } from './define.ts'

export interface SupposedOptions {
  readonly request?: string
  readonly header?: readonly string[]
  readonly claims?: string
  readonly 'api-key'?: string
  readonly user?: string
  readonly source?: string
  readonly sni?: string
  readonly identity?: string
  readonly listener?: string
  readonly backend?: string
  readonly provider?: string
}

/** The request that the options describe. */
export function supposedFrom(options: SupposedOptions): Supposed {
  const { method, url } = requestLine(options.request ?? 'GET /')
  const headers = (options.header ?? []).map(headerOf)
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? url.host
  // Whether slashes are merged is up to the listener, which explainRequest chooses.
  const path = normalisePath(url.pathname, true)
  if (typeof path === 'number') throw new UsageError('the gateway refuses this path')
  const { claims, user, source = '127.0.0.1', sni, identity, listener } = options
  const apiKey = options['api-key']
  return {
    method,
    path,
    search: url.search,
    host: host.toLowerCase().replace(/:\d+$/, ''),
    headers,
    source,
    sourcePort: 40_000,
    sni,
    certificate: identity === undefined ? undefined : certificateOf(identity),
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

/** `GET /x`, `/x` or `POST https://host/x`. */
function requestLine(text: string): { readonly method: string; readonly url: URL } {
  const [first = '', second] = text.trim().split(/\s+/)
  const [method, target] = second === undefined ? ['GET', first] : [first, second]
  if (!URL.canParse(target, 'http://localhost')) {
    throw new UsageError(`${text} is no request: write a method and a path, as 'GET /orders'`)
  }
  return { method: method.toUpperCase(), url: new URL(target, 'http://localhost') }
}

function headerOf(text: string): readonly [string, string] {
  const colon = text.indexOf(':')
  if (colon < 1) throw new UsageError(`${text} is no header: write name: value`)
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
}

function objectOf(text: string, option: string): JsonObject {
  const value = readJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonObject
  }
  throw new UsageError(`--${option} is no JSON object`)
}

function certificateOf(identity: string) {
  return {
    subject: '',
    subjectCn: undefined,
    subjectAltNames: [identity],
    identity,
    issuer: '',
    fingerprint: '',
  }
}

/** The request of a record, as far as its values are shown, and the names of those that are not. */
export function supposedFromRecord(record: DecisionRecord): {
  readonly supposed: Supposed
  readonly hidden: readonly string[]
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
  const source = /^\[?(.*?)\]?:(\d+)$/.exec(record.source)
  const supposed: Supposed = {
    method: record.method ?? 'GET',
    path: record.path ?? '/',
    search: '',
    host: record.host ?? '',
    headers,
    source: source?.[1] ?? record.source,
    sourcePort: Number(source?.[2] ?? 0),
    sni: record.sni,
    identity: identity as Supposed['identity'],
    listener: `${record.gateway}/${record.listener ?? ''}`,
    backend: record.backend,
  }
  return { supposed, hidden }
}

const IDENTITIES: readonly string[] = ['jwt', 'apiKey', 'basicAuth', 'extauthz']

/** `jwt.realm.roles` and its value into claims. */
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
