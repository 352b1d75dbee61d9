import { type Ip, parseIp } from '../../cel/values/ip.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { IDENTITY_VARIABLES } from '../../reach/kinds.ts'
import type { ExampleRequest } from '../diff/example.ts'
import { KnownValues, stepsOf } from './known-values.ts'
import type {
  PolicyName,
  RecordedAttribute,
  RecordedDecision,
  RecordedIdentity,
} from './recorded.ts'

/** A recorded request, with everything that its records contain. */
export interface RecordedRequest {
  readonly id: string
  readonly time: string
  readonly isAdmitted: boolean
  /** Why it was rejected. */
  readonly reason: string
  readonly gateway: string
  readonly listener: string
  readonly port: number | undefined
  readonly route: string
  readonly backend: string | undefined
  /** The evaluated providers of an AI backend; empty if the records do not contain them. */
  readonly providers: ReadonlySet<string>
  /** The authentication that rejected the request, if any, and why. */
  readonly authentication: { readonly deniedBy: PolicyName; readonly reason: string } | undefined
  /** `csrf` rejected it before any authentication. */
  readonly isCrossSite: boolean
  /** Sections whose authentications all admitted the request. */
  readonly passed: ReadonlySet<string>
  /** Undefined if the records do not contain it. */
  readonly identified: readonly RecordedIdentity[] | undefined
  /** What is known about the client's identity, keyed by variable. */
  readonly claims: ReadonlyMap<string, KnownValues>
  /** Record what is known about the connection and about the request. */
  setConnection(known: KnownValues): void
  setRequest(known: KnownValues): void
  /** Undefined if unknown because it was too long for a record. */
  readonly path: string | undefined
  /** The MCP server that its message was for, if rules decided about what the message names. */
  readonly server: string | undefined
  /** The known parts of the request; unknown parts are absent. */
  readonly request: ExampleRequest
}

/** Each stage writes its own record. This groups the records of each request. */
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
  const message = records.find(isNamedMessage)
  // For other MCP messages, a message in the body was denied. Bodies are not recorded, so the
  // request was forwarded.
  const denied = records.find((record) => {
    const { verdict, enforced, skipped, stage } = record
    const isDenial = verdict === 'denied' && enforced && skipped !== true
    return isDenial && (stage !== 'mcp' || record === message)
  })
  const last = (denied ?? records.at(-1)) as RecordedDecision
  const isConnection = records.every(({ stage }) => stage === 'connection')
  // The rules of the gateway and the listener are evaluated even if no route matches.
  const isLost = denied === undefined && !isConnection && last.route === undefined
  const attributes = records.flatMap((record) => record.attributes)
  const claims = claimsIn(attributes)
  const path = last.path?.length === CUT_PATH && last.path.endsWith('…') ? undefined : last.path
  return {
    id: last.id,
    time: last.time,
    isAdmitted: denied === undefined && !isLost,
    reason: isLost ? 'no route matches' : reasonOf(last),
    gateway: last.gateway,
    listener: last.listener ?? '',
    port: last.port,
    route: last.route ?? '',
    backend: records.find(({ backend }) => backend !== undefined)?.backend,
    providers: new Set(records.flatMap(({ provider }) => provider ?? [])),
    authentication: denialIn(denied),
    isCrossSite: denied?.kind === 'csrf',
    passed: passedIn(records, denied),
    identified: last.identified,
    claims,
    setConnection: (known) => setConnection(known, last, attributes),
    setRequest: (known) => {
      setRequest(known, last, path, attributes)
      if (message !== undefined) setMessage(known, message.attributes)
    },
    path,
    server: message && serverOf(message),
    request: {
      listener: `${last.gateway}/${last.listener ?? ''}`,
      backend: last.backend,
      isConnection,
      provider: undefined,
      method: last.method ?? 'GET',
      path: last.path ?? '/',
      query: '',
      host: last.host ?? '',
      headers: headersIn(attributes),
      source: addressIn(last.source)?.address.text ?? '',
      sni: last.sni,
      certificate: undefined,
      identity: Object.fromEntries(
        [...claims].flatMap(([variable, known]): [string, JsonObject][] => {
          const isThere = last.identified?.some((one) => one.variable === variable) !== false
          const shown = known.variables()
          return isThere && Object.keys(shown).length > 0 ? [[variable, shown]] : []
        }),
      ),
    },
  }
}

const PART = /^mcp\.(tool|prompt|resource)\.target$/

/** Whether this is a decision about a tool, prompt or resource whose name the record contains. */
function isNamedMessage(record: RecordedDecision): boolean {
  const { stage, kind, cause } = record
  return (
    stage === 'mcp' && kind === 'authorization' && cause !== 'pin' && serverOf(record) !== undefined
  )
}

function serverOf({ attributes }: RecordedDecision): string | undefined {
  const found = attributes.find(({ name, state }) => PART.test(name) && state === 'shown')
  return typeof found?.value === 'string' ? found.value : undefined
}

/** A message names exactly one tool, prompt or resource, so the others are unset. */
function setMessage(known: KnownValues, attributes: readonly RecordedAttribute[]): void {
  const named = attributes.map(({ name }) => PART.exec(name)?.[1]).find(Boolean)
  for (const part of ['tool', 'prompt', 'resource']) {
    if (part !== named) known.unset(['mcp', part])
  }
  for (const attribute of attributes) {
    const [variable] = stepsOf(attribute.name) ?? []
    if (variable === 'mcp') setAttribute(known, attribute, 0)
  }
}

/** The gateway truncates longer paths and appends an ellipsis. */
const CUT_PATH = 1_025

function denialIn(denied: RecordedDecision | undefined): RecordedRequest['authentication'] {
  if (denied?.kind !== 'authentication' || denied.credentials === undefined) return undefined
  return { deniedBy: denied.credentials, reason: denied.reason ?? '' }
}

/** A request that reaches the rules of a stage has passed its authentications. */
function passedIn(
  records: readonly RecordedDecision[],
  denied: RecordedDecision | undefined,
): ReadonlySet<string> {
  // An invalid policy denies requests before they are authenticated.
  const isJudged = (record: RecordedDecision) =>
    record.kind === 'authorization' && record.cause !== 'invalid-policy'
  const passed = new Set(records.filter(isJudged).map(({ stage }) => stage))
  if (passed.has('mcp')) passed.add('backend')
  if (passed.has('backend') || (denied?.kind === 'authentication' && denied.stage === 'backend')) {
    passed.add('traffic')
  }
  return passed
}

const CAME_TO: Readonly<Record<string, string>> = {
  matched: 'matches',
  false: 'is false',
  error: 'is an error',
  unset: 'is undefined',
}

function reasonOf({ kind, cause, rule }: RecordedDecision): string {
  if (kind === 'authentication') return '401: the credentials were rejected'
  if (kind === 'csrf') return '403: it is a cross-site request'
  if (rule === undefined) return cause === 'no-allow-match' ? 'no Allow rule matches' : cause
  return `${rule.action} \`${rule.expression}\` of \`${rule.policy}\` ${CAME_TO[cause] ?? cause}`
}

function setConnection(
  known: KnownValues,
  last: RecordedDecision,
  attributes: readonly RecordedAttribute[],
): void {
  const from = addressIn(last.peer ?? last.source)
  if (from !== undefined) setSource(known, from)
  for (const attribute of attributes) {
    if (CERTIFICATE.test(attribute.name)) setAttribute(known, attribute, 0)
  }
  if (last.sni !== undefined) known.set(SERVER_NAME, last.sni)
  // Without a server name, either none was sent or the gateway did not wait for it: whether a rule
  // read it tells which.
  const isRead = attributes.some(({ name }) => name === SERVER_NAME.join('.'))
  if (last.sni === undefined && isRead) known.unset(SERVER_NAME)
}

const SERVER_NAME = ['destination', 'hostname']

function setRequest(
  known: KnownValues,
  last: RecordedDecision,
  path: string | undefined,
  attributes: readonly RecordedAttribute[],
): void {
  const { method, host } = last
  for (const [name, value] of Object.entries({ method, path, host })) {
    if (value !== undefined) known.set(['request', name], value)
  }
  const [source, peer] = [addressIn(last.source), addressIn(last.peer ?? last.source)]
  if (source !== undefined) setSource(known, source)
  if (peer !== undefined) {
    known.set(['source', 'rawAddress'], peer.address)
    known.set(['source', 'rawPort'], peer.port)
  }
  for (const attribute of attributes) {
    const [variable] = stepsOf(attribute.name) ?? []
    if (variable === 'request' || CERTIFICATE.test(attribute.name)) {
      setAttribute(known, attribute, 0)
    }
  }
}

const CERTIFICATE = /^source\.(?:subject\w*|issuer|identity|fingerprint)$/

function setSource(known: KnownValues, { address, port }: From): void {
  known.set(['source', 'address'], address)
  known.set(['source', 'port'], port)
}

interface From {
  readonly address: Ip
  readonly port: number
}

function addressIn(source: string): From | undefined {
  const [, text = source, port = '0'] = /^\[?(.*?)\]?:(\d+)$/.exec(source) ?? []
  const address = parseIp(text)
  return address && { address, port: Number(port) }
}

/** The variables that identify clients. */
const IDENTITIES: ReadonlySet<string> = new Set(IDENTITY_VARIABLES)

function claimsIn(attributes: readonly RecordedAttribute[]): ReadonlyMap<string, KnownValues> {
  const claims = new Map([...IDENTITIES].map((variable) => [variable, new KnownValues()]))
  for (const attribute of attributes) {
    const [variable = ''] = stepsOf(attribute.name) ?? []
    const own = claims.get(variable)
    if (own !== undefined) setAttribute(own, attribute, 1)
  }
  return claims
}

/** `from`: how many leading parts of the name refer to the tree itself. */
function setAttribute(known: KnownValues, attribute: RecordedAttribute, from: number): void {
  const { name, state, value, inexact, within } = attribute
  const steps = stepsOf(name)?.slice(from)
  const missing = stepsOf(attribute.missing ?? name)?.slice(from)
  if (steps === undefined || missing === undefined) return
  if (state === 'shown' && inexact !== true) known.set(steps, value as Value)
  else if (state !== 'unset') known.present(steps)
  // If the variable itself is missing, nothing is known about its members elsewhere.
  else if (missing.length === 0) return
  else if (within === undefined) known.unset(missing)
  else known.memberless(missing.slice(0, -1), within)
}

function headersIn(attributes: readonly RecordedAttribute[]): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const { name, state, value } of attributes) {
    const [variable, field, header] = stepsOf(name) ?? []
    if (variable !== 'request' || field !== 'headers' || header === undefined) continue
    if (state === 'shown' && typeof value === 'string') headers[header] = value
  }
  return headers
}
