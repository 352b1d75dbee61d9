import { type Ip, parseIp } from '../../cel/values/ip.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import type { ExampleRequest } from '../diff/example.ts'
import type { RecordedDecision } from './recorded.ts'

/** A request that was recorded, with all that its records say of it. */
export interface RecordedRequest {
  readonly id: string
  readonly time: string
  readonly isAdmitted: boolean
  /** It came no further than its credentials. */
  readonly isAuthentication: boolean
  /** The authentication that found no credentials at all, where one did. */
  readonly missed: { readonly policy: string; readonly kind: string } | undefined
  /** Nobody looked at its credentials: an invalid policy denies before who asks is found out. */
  readonly isUnidentified: boolean
  /** Why it was refused. */
  readonly reason: string
  readonly route: string
  readonly backend: string | undefined
  /** Attributes whose value is known; undefined: known to be unset. */
  readonly known: ReadonlyMap<string, Value | undefined>
  /** As far as it is known; the rest is as if it were not there. */
  readonly request: ExampleRequest
}

/** Each stage writes a record of its own: those of one request are taken together. */
export function* requestsIn(records: Iterable<RecordedDecision>): Generator<RecordedRequest> {
  const byId = new Map<string, RecordedDecision[]>()
  for (const record of records) {
    const known = byId.get(record.id)
    if (known === undefined) byId.set(record.id, [record])
    else known.push(record)
  }
  for (const own of byId.values()) yield requestOf(own)
}

function requestOf(records: readonly RecordedDecision[]): RecordedRequest {
  const denied = records.find(
    ({ verdict, enforced, skipped }) => verdict === 'denied' && enforced && skipped !== true,
  )
  const last = (denied ?? records.at(-1)) as RecordedDecision
  const known = knownOf(records, last)
  return {
    id: last.id,
    time: last.time,
    isAdmitted: denied === undefined,
    isAuthentication: denied?.kind === 'authentication',
    missed: last.reason === 'missing' ? last.credentials : undefined,
    isUnidentified: denied?.cause === 'invalid-policy' && denied.stage === 'traffic',
    reason: reasonOf(last),
    route: last.route ?? '',
    backend: records.find(({ backend }) => backend !== undefined)?.backend,
    known,
    request: {
      listener: `${last.gateway}/${last.listener ?? ''}`,
      backend: last.backend,
      isConnection: records.every(({ stage }) => stage === 'connection'),
      provider: undefined,
      method: last.method ?? 'GET',
      path: last.path ?? '/',
      query: textOf(known.get('request.query')),
      host: last.host ?? '',
      headers: headersIn(known),
      source: addressOf(last)?.text ?? '',
      sni: last.sni,
      certificate: certificateIn(known),
      identity: identitiesIn(known),
    },
  }
}

const CAME_TO: Readonly<Record<string, string>> = {
  matched: 'matches',
  false: 'is false',
  error: 'is an error',
  unset: 'reads what is unset',
}

function reasonOf({ kind, cause, rule }: RecordedDecision): string {
  if (kind === 'authentication') return '401: the credentials were not accepted'
  if (rule === undefined) return cause === 'no-allow-match' ? 'no Allow rule matches' : cause
  return `${rule.action} \`${rule.expression}\` of \`${rule.policy}\` ${CAME_TO[cause] ?? cause}`
}

function knownOf(
  records: readonly RecordedDecision[],
  last: RecordedDecision,
): ReadonlyMap<string, Value | undefined> {
  const known = new Map<string, Value | undefined>()
  const { method, path, host, sni } = last
  for (const [name, value] of Object.entries({ method, path, host })) {
    if (value !== undefined) known.set(`request.${name}`, value)
  }
  const address = addressOf(last)
  if (address !== undefined) known.set('source.address', address)
  if (last.stage === 'connection') known.set('destination.hostname', sni)
  for (const { attributes } of records) {
    for (const { name, state, value } of attributes) {
      // The address is known better than by its text.
      if (name === 'source.address') continue
      if (state === 'unset') known.set(name, undefined)
      if (state === 'shown') known.set(name, value as Value)
    }
  }
  return known
}

function addressOf({ source }: RecordedDecision): Ip | undefined {
  const [, address = source] = /^\[?(.*?)\]?:\d+$/.exec(source) ?? []
  return parseIp(address)
}

function textOf(value: Value | undefined): string {
  return typeof value === 'string' ? value : ''
}

type Known = RecordedRequest['known']

function headersIn(known: Known): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const [name, value] of known) {
    const [, plain, quoted] = /^request\.headers(?:\.(\w+)|\['(.*)'\])$/.exec(name) ?? []
    const header = plain ?? quoted
    if (header !== undefined && typeof value === 'string') headers[header] = value
  }
  return headers
}

function certificateIn(known: Known): JsonObject | undefined {
  const found: Record<string, Value> = {}
  for (const [name, value] of known) {
    const [, field] = /^source\.(subject\w*|issuer|identity|fingerprint)$/.exec(name) ?? []
    if (field !== undefined && value !== undefined) found[field] = value
  }
  return Object.keys(found).length === 0 ? undefined : found
}

/** Names of what says who asks, and of its parts. */
export const IDENTITIES = /^(jwt|apiKey|basicAuth|extauthz)(?:$|[.[])/

/** A variable of which something was known to be there, or any part of it asked for. */
function identitiesIn(known: Known): Readonly<Record<string, JsonObject>> {
  const found: Record<string, Record<string, Value>> = {}
  for (const [name, value] of known) {
    if (!IDENTITIES.test(name) || value === undefined) continue
    const steps = name.split(/\.|\['|'\]/).filter((step) => step !== '')
    if (steps.includes('__proto__')) continue
    let at = found as Record<string, Value>
    for (const step of steps.slice(0, -1)) {
      if (typeof at[step] !== 'object' || at[step] === null) at[step] = {}
      at = at[step] as Record<string, Value>
    }
    at[steps.at(-1) as string] = value
  }
  return found
}
