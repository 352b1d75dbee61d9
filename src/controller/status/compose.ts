import { canonicalJson } from '../../model/json.ts'
import type { KubeObject } from '../cluster/object.ts'
import {
  CONDITION_TYPES,
  type Condition,
  type ListenerStatus,
  type ObjectStatus,
  type RefStatus,
} from '../translate/conditions.ts'

/** A condition of this or another controller. */
interface LiveCondition extends Omit<Condition, 'type'> {
  readonly type: string
  readonly observedGeneration?: number
  readonly lastTransitionTime?: string
}

type Fields = Readonly<Record<string, unknown>>

/** The max length that an API server accepts. */
const MAX_MESSAGE = 32_768

const OWN_TYPES: ReadonlySet<string> = new Set(CONDITION_TYPES)

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
    made['conditions'] = conditions(wanted.conditions, status, at)
  }
  if (wanted.listeners !== undefined) {
    const byName = new Map(wanted.listeners.map((one) => [one.name, one]))
    made['listeners'] = inPlace<Fields, ListenerStatus>(listOf(status['listeners']), byName, {
      idOf: ({ name }) => name as string,
      isOwn: () => true,
      make: (one, known) => ({ ...one, conditions: conditions(one.conditions, known, at) }),
    })
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
    const isLeft = wanted.isClaim === true && !mayClaim(listOf(status['ancestors']), controllerName)
    made['ancestors'] = refs(
      isLeft ? [] : wanted.ancestors,
      status['ancestors'],
      'ancestorRef',
      controllerName,
      at,
    )
  }
  const isSame = Object.entries(made).every(
    ([key, value]) => canonicalJson(value) === canonicalJson(status[key] ?? absent(value)),
  )
  return isSame ? undefined : made
}

/**
 * Whether the entry of a policy that reaches nothing may be written: not if it reaches a Gateway of
 * another controller, and not if that one has reported it first. Of two entries, which controllers
 * with the same thought may write at once, the one with the lesser name stays.
 */
function mayClaim(live: readonly Fields[], controllerName: string): boolean {
  const others = live.filter((entry) => entry['controllerName'] !== controllerName)
  if (others.length === live.length) return others.length === 0
  return others.every((entry) => {
    const name = String(entry['controllerName'] ?? '')
    const attached = listOf(entry['conditions']).find(({ type }) => type === 'Attached')
    const isReached = attached?.['status'] === 'True' || attached?.['reason'] === PARTIALLY
    return controllerName < name && !isReached
  })
}

const PARTIALLY = 'PartiallyAttached'

/** A missing list equals an empty one, and a missing number equals 0. */
function absent(value: unknown): unknown {
  return Array.isArray(value) ? [] : 0
}

interface At {
  readonly generation: number
  readonly now: string
}

/**
 * A list with own entries replaced where they are, new ones at the end, and entries of others as
 * they are. Its order is always that of the cluster: two controllers that both wanted an order of
 * their own would overwrite each other for ever.
 */
function inPlace<Live, Wanted>(
  live: readonly Live[],
  wanted: ReadonlyMap<string, Wanted>,
  { idOf, isOwn, make }: Entries<Live, Wanted>,
): readonly Live[] {
  const left = new Map(wanted)
  const kept = live.flatMap((entry) => {
    if (!isOwn(entry)) return [entry]
    const id = idOf(entry)
    const one = left.get(id)
    left.delete(id)
    return one === undefined ? [] : [make(one, entry)]
  })
  return [...kept, ...[...left.values()].map((one) => make(one, undefined))]
}

interface Entries<Live, Wanted> {
  readonly idOf: (entry: Live) => string
  readonly isOwn: (entry: Live) => boolean
  readonly make: (wanted: Wanted, known: Live | undefined) => Live
}

/** `lastTransitionTime` is when the status of a condition changed, not its message. */
function conditions(
  wanted: readonly Condition[],
  live: Fields | undefined,
  { generation, now }: At,
): readonly LiveCondition[] {
  const known = listOf(live?.['conditions']) as unknown as readonly LiveCondition[]
  const byType = new Map(wanted.map((one) => [one.type as string, one]))
  return inPlace<LiveCondition, Condition>(known, byType, {
    idOf: ({ type }) => type,
    isOwn: ({ type }) => OWN_TYPES.has(type),
    make: ({ isProvisional = false, ...condition }, before) => {
      if (isProvisional && before?.observedGeneration === generation) return before
      const isSame = before?.status === condition.status
      return {
        ...condition,
        message: condition.message.slice(0, MAX_MESSAGE),
        observedGeneration: generation,
        lastTransitionTime: (isSame ? before.lastTransitionTime : undefined) ?? now,
      }
    },
  })
}

/** The controller's entries, with the times of the previous ones, and the entries of others. */
function refs(
  wanted: readonly RefStatus[],
  live: unknown,
  key: 'parentRef' | 'ancestorRef',
  controllerName: string,
  at: At,
): readonly Fields[] {
  const byRef = new Map(wanted.map((one) => [canonicalJson(one.ref), one]))
  const idOf = (entry: Fields) => canonicalJson(entry[key])
  return inPlace<Fields, RefStatus>(listOf(live), byRef, {
    idOf,
    // Some definitions have no controller name: then the entry is identified by its reference.
    isOwn: (entry) =>
      entry['controllerName'] === undefined
        ? byRef.has(idOf(entry))
        : entry['controllerName'] === controllerName,
    make: ({ ref, conditions: all }, known) => ({
      [key]: ref,
      ...(known === undefined || known['controllerName'] !== undefined ? { controllerName } : {}),
      conditions: conditions(all, known, at),
    }),
  })
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value : []
}
