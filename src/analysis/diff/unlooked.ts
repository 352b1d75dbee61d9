import type { AiProvider, Backend } from '../../model/backend.ts'
import { hashOf } from '../../model/hash.ts'
import { canonicalJson } from '../../model/json.ts'
import { isPlace } from '../../model/places.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { kindsThat } from '../../reach/kinds.ts'
import { ruleKind } from '../../reach/points.ts'
import type { Point } from '../points.ts'
import { readsBody, readsModel } from '../request-reads.ts'
import { ACCOUNTS } from './accounts.ts'
import type { Entry } from './entries.ts'

/**
 * Policies on a way that decide about requests and that no comparison analyzes, such as `csrf`: a
 * hash of their values, by kind. Two ways on which they differ are not alike, whatever their rules
 * are.
 */
export function unlookedAt(points: readonly Point[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { stage, effective } of points) {
    for (const [kind, policies] of effective) {
      const values = policies.map((one) => {
        if (kind === MESSAGES) return one.value
        return LIMITS.has(kind) ? limitOf(one) : partsOf(kind, one.value)
      })
      if (stage === 'connection' || values.every((one) => one === undefined)) continue
      found[kind] = `${found[kind] ?? ''}${hashOf(canonicalJson(values))}`
    }
  }
  if (points.some(readsBody)) found[READ_BODY] = ''
  return found
}

/** Rules for messages are compared for messages, which differ between ways as these do. */
const MESSAGES = ruleKind('mcp')
const SERVER_MESSAGES = `${MESSAGES} of servers`

/** The same without the rules for messages, which are compared separately for the same way. */
export function withoutMessageRules(entry: Entry): Entry {
  const { [MESSAGES]: _, [SERVER_MESSAGES]: __, ...unlooked } = entry.unlooked
  return { ...entry, unlooked }
}

/**
 * Set if the body is buffered for an expression. Bodies that are too long to buffer or that cannot
 * be decoded are rejected then, whatever the result of the expression.
 */
export const READ_BODY = 'request.body'

/**
 * What backends that inspect requests serve: calls that their provider supports or that can be
 * translated for it, and messages that their servers know. They reject everything else.
 */
export function spokenBy(
  backend: Backend | undefined,
  provider: AiProvider | undefined,
  points: readonly Point[],
): Readonly<Record<string, string>> {
  return { ...servedBy(backend, provider), ...(readsPaths(backend, points) ? pathsAt(points) : {}) }
}

function servedBy(
  backend: Backend | undefined,
  provider: AiProvider | undefined,
): Readonly<Record<string, string>> {
  switch (backend?.kind) {
    case 'ai': {
      const { models = [], virtualModels = [], allowEndpoints = [] } = backend
      const { provider: name = '', options = {} } = provider ?? {}
      const served = { name, options, models, virtualModels, allowEndpoints }
      return { provider: hashOf(served, isPlace) }
    }
    case 'mcp': {
      const guarded = backend.targets.map(({ policies }) =>
        policies.filter(({ kind }) => kind === MESSAGES),
      )
      const targets = backend.targets.map(({ name, transport, options, pins }) => {
        return { name, transport, options, ...(pins && { pins }) }
      })
      return {
        mcp: hashOf({ targets, options: backend.options }, isPlace),
        [SERVER_MESSAGES]: hashOf(guarded, isPlace),
      }
    }
    case 'dynamic':
      return { dynamic: hashOf(backend.target ?? null) }
    default:
      return {}
  }
}

/**
 * Whether the forwarded path distinguishes calls to models and agents from other requests, about
 * which rules know nothing.
 */
function readsPaths(backend: Backend | undefined, points: readonly Point[]): boolean {
  if (points.some(({ stage, effective }) => stage === 'backend' && effective.has('a2a')))
    return true
  return backend !== undefined && !PASSING_PATHS.has(backend.kind)
}

/** These forward the path, or read the path that the client sent. */
const PASSING_PATHS: ReadonlySet<Backend['kind']> = new Set([
  'host',
  'unix',
  'admin',
  'service',
  'dynamic',
  'mcp',
  'invalid',
])

/** The policies on the way that change paths. */
function pathsAt(points: readonly Point[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { stage, effective } of points) {
    for (const kind of stage === 'traffic' ? CHANGING_PATHS : []) {
      const values = (effective.get(kind) ?? []).map(({ value }) => canonicalJson(value))
      const own = values.filter((value) => value.includes(CHANGED_PATH[kind] as string))
      if (own.length > 0) found[`${kind}.path`] = hashOf(own)
    }
  }
  return found
}

/**
 * For each kind, a part of the value that shows that it changes paths. Policies that call a service
 * are compared as a whole.
 */
const CHANGED_PATH: Readonly<Record<string, string>> = {
  urlRewrite: '"path":',
  transformations: '":path"',
}
const CHANGING_PATHS: readonly string[] = Object.keys(CHANGED_PATH)

/** Undefined if all of it is accounted for. */
function partsOf(kind: string, value: unknown): unknown {
  const account = ACCOUNTS.get(`policy(${kind})`)
  if (account === undefined) return value
  if (account.opens !== true) return account.decides?.(value) === true ? value : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const own = Object.entries(value).filter(([key, part]) => {
    const known = ACCOUNTS.get(`policy(${kind}).value.${key}`)
    // A part that only one way has: the account's conditions decide whether its absence matters.
    return known === undefined || known.decides?.(part) === true
  })
  return own.length === 0 ? undefined : own
}

/** Policies that deny requests once there were too many, and nothing else. */
export const LIMITS = kindsThat(({ countsRequests }) => countsRequests)

/** Two limits of the same amount count separately if they are set at two places. */
function limitOf({ value, level, policy }: ValidPolicy): unknown {
  return [level, policy, value]
}

/** The limits of this kind on the way, with the places where they are set. */
export function limitsOf({ points }: Pick<Entry, 'points'>, kind: string): readonly Limit[] {
  const policies = new Set(points.flatMap(({ effective }) => effective.get(kind) ?? []))
  return [...policies].flatMap(({ value, level, policy }) =>
    (Array.isArray(value) ? value : [value]).map((one: unknown) => {
      return { place: `${level} ${policy}`, value: one }
    }),
  )
}

export interface Limit {
  readonly place: string
  readonly value: unknown
}

/** The kinds in which the two differ, except for those that only make `one` stricter. */
export function otherKinds(
  one: Pick<Entry, 'unlooked'>,
  other: Pick<Entry, 'unlooked'>,
): readonly string[] {
  return unlookedKinds(one.unlooked, other.unlooked).filter(
    (kind) => !LIMITS.has(kind) || other.unlooked[kind] !== undefined,
  )
}

/** What a backend serves, which real requests show. */
export const SERVED: ReadonlySet<string> = new Set(['provider'])

/** The kinds in which the two differ. */
export function unlookedKinds(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): readonly string[] {
  const kinds = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...kinds].filter((kind) => one[kind] !== other[kind])
}

/**
 * If a rule of any provider reads the model, all providers deny requests that name none, regardless
 * of the rule.
 */
export function withModelRules(entries: readonly Entry[]): readonly Entry[] {
  const keyOf = ({ way, match }: Entry) => `${way} ${match?.id ?? ''}`
  const reading = new Set(
    entries
      .filter(({ provider, points }) => provider !== undefined && points.some(readsModel))
      .map(keyOf),
  )
  if (reading.size === 0) return entries
  return entries.map((entry) =>
    reading.has(keyOf(entry))
      ? { ...entry, unlooked: { ...entry.unlooked, [RULES_ABOUT_MODELS]: '' } }
      : entry,
  )
}

export const RULES_ABOUT_MODELS = 'rules about models'

/** A route buffers a body for all of its backends if it does so for one of them. */
export function withKeptBodies(entries: readonly Entry[]): readonly Entry[] {
  const keeping = new Set(
    entries.flatMap(({ unlooked, match }) => (READ_BODY in unlooked ? (match?.id ?? []) : [])),
  )
  return entries.map((entry) =>
    keeping.has(entry.match?.id ?? '')
      ? { ...entry, unlooked: { ...entry.unlooked, [READ_BODY]: '' } }
      : entry,
  )
}
