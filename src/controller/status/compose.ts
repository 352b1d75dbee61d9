import { canonicalJson } from '../../model/json.ts'
import type { KubeObject } from '../cluster/object.ts'
import type { Condition, ListenerStatus, ObjectStatus, RefStatus } from '../translate/conditions.ts'

interface LiveCondition extends Condition {
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string
}

type Fields = Readonly<Record<string, unknown>>

/** The max length that an API server accepts. */
const MAX_MESSAGE = 32_768

/**
 * Conditions of Gateways, classes and ListenerSets that the controller owns; others stay unchanged.
 */
const OWN_TYPES: ReadonlySet<string> = new Set([
  'Accepted',
  'Programmed',
  'ResolvedRefs',
  'InsecureFrontendValidationMode',
])

/**
 * The desired status of an object, including entries of other controllers; undefined if the object
 * already has it, so that nothing is written at rest.
 */
export function composeStatus(
  live: KubeObject,
  wanted: ObjectStatus,
  controllerName: string,
  now: string,
): Fields | undefined {
  const status = (live.status ?? {}) as Fields
  const at = { generation: wanted.generation, now }
  const made: Record<string, unknown> = {}
  if (wanted.conditions !== undefined) {
    const known = conditionsOf(status)
    const foreign = known.filter(({ type }) => !OWN_TYPES.has(type))
    made['conditions'] = [...timed(wanted.conditions, known, at), ...foreign]
  }
  if (wanted.listeners !== undefined) {
    made['listeners'] = wanted.listeners.map((one) => listener(one, status, at))
  }
  if (wanted.addresses !== undefined) made['addresses'] = wanted.addresses
  if (wanted.attachedListenerSets !== undefined) {
    made['attachedListenerSets'] = wanted.attachedListenerSets
  }
  if (wanted.supportedFeatures !== undefined) {
    made['supportedFeatures'] = wanted.supportedFeatures
  }
  if (wanted.parents !== undefined) {
    made['parents'] = refs(wanted.parents, status['parents'], 'parentRef', controllerName, at)
  }
  if (wanted.ancestors !== undefined) {
    const own = refs(wanted.ancestors, status['ancestors'], 'ancestorRef', controllerName, at)
    made['ancestors'] = own
  }
  const isSame = Object.entries(made).every(
    ([key, value]) => canonicalJson(value) === canonicalJson(status[key] ?? absent(value)),
  )
  return isSame ? undefined : made
}

/** A missing list equals an empty one, and a missing number equals 0. */
function absent(value: unknown): unknown {
  return Array.isArray(value) ? [] : 0
}

interface At {
  readonly generation: number
  readonly now: string
}

/** `lastTransitionTime` is when the status of a condition changed, not its message. */
function timed(
  conditions: readonly Condition[],
  known: readonly LiveCondition[],
  { generation, now }: At,
): readonly LiveCondition[] {
  return conditions.map((condition) => {
    const before = known.find(({ type }) => type === condition.type)
    const isSame = before?.status === condition.status
    return {
      ...condition,
      message: condition.message.slice(0, MAX_MESSAGE),
      observedGeneration: generation,
      lastTransitionTime: (isSame ? before.lastTransitionTime : undefined) ?? now,
    }
  })
}

function listener(wanted: ListenerStatus, status: Fields, at: At): Fields {
  const known = listOf(status['listeners']).find(({ name }) => name === wanted.name)
  return { ...wanted, conditions: timed(wanted.conditions, conditionsOf(known ?? {}), at) }
}

/** The controller's entries, with the times of the previous ones, and the entries of others. */
function refs(
  wanted: readonly RefStatus[],
  live: unknown,
  key: 'parentRef' | 'ancestorRef',
  controllerName: string,
  at: At,
): readonly Fields[] {
  const all = listOf(live)
  const wantedRefs = new Set(wanted.map(({ ref }) => canonicalJson(ref)))
  // Some definitions have no controller name there: then the entry is identified by its reference.
  const isOwn = (entry: Fields) =>
    entry['controllerName'] === undefined
      ? wantedRefs.has(canonicalJson(entry[key]))
      : entry['controllerName'] === controllerName
  const own = all.filter(isOwn)
  const foreign = all.filter((entry) => !isOwn(entry))
  const made = wanted.map(({ ref, conditions }) => {
    const known = own.find((entry) => canonicalJson(entry[key]) === canonicalJson(ref))
    const isNamed = known === undefined || known['controllerName'] !== undefined
    return {
      [key]: ref,
      ...(isNamed ? { controllerName } : {}),
      conditions: timed(conditions, conditionsOf(known ?? {}), at),
    }
  })
  return [...foreign, ...made]
}

function conditionsOf(from: Fields): readonly LiveCondition[] {
  return listOf(from['conditions']) as unknown as readonly LiveCondition[]
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value : []
}
