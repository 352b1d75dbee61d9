import { canonicalJson } from '../../model/json.ts'
import type { KubeClient } from '../cluster/client.ts'
import type { KubeObject } from '../cluster/object.ts'
import type { Condition } from '../translate/conditions.ts'

type Fields = Readonly<Record<string, unknown>>

/** An event for users, as shown by `kubectl describe` and `kubectl events`. */
export interface Notice {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly note: string
}

/** Conditions that are bad if they are true. */
const BAD_WHEN_TRUE: ReadonlySet<string> = new Set(['Overridden', 'Conflicted'])

/** Transitional reasons: every new object passes through these. */
const TRANSIENT: ReadonlySet<string> = new Set(['Pending', 'AddressNotAssigned', 'Unknown'])

/** API servers reject longer notes. */
const MAX_NOTE_BYTES = 1024

/**
 * The notable changes in a written status: a condition became bad, is bad for another reason, or is
 * good again. For conditions that are good from the beginning, only that a Gateway is served.
 */
export function noticesOf(
  kind: string,
  before: Fields,
  after: Fields,
  controllerName: string,
): readonly Notice[] {
  const known = conditionsIn(before, controllerName)
  const notices: Notice[] = []
  for (const [place, condition] of conditionsIn(after, controllerName)) {
    const last = known.get(place)
    const note = noteOf(place, condition)
    const { reason } = condition
    if (isBad(condition)) {
      const isSame = last !== undefined && isBad(last) && last.reason === reason
      if (!isSame) notices.push({ type: 'Warning', reason, note })
      continue
    }
    const isGood = condition.status === (BAD_WHEN_TRUE.has(condition.type) ? 'False' : 'True')
    const isServed = kind === 'Gateway' && place === ' Programmed' && last?.status !== 'True'
    const isFixed = last !== undefined && isBad(last)
    if (isGood && (isFixed || isServed)) notices.push({ type: 'Normal', reason, note })
  }
  return notices
}

function isBad({ type, status, reason }: Condition): boolean {
  if (TRANSIENT.has(reason)) return false
  return status === (BAD_WHEN_TRUE.has(type) ? 'True' : 'False') && !isFine(type, reason)
}

/** A listener without a conflict has a condition that is false. */
function isFine(type: string, reason: string): boolean {
  return type === 'Conflicted' && reason === 'NoConflicts'
}

/** Conditions by their place in the status: the listener's name or the reference, and the type. */
function conditionsIn(status: Fields, controllerName: string): ReadonlyMap<string, Condition> {
  const found = new Map<string, Condition>()
  const add = (where: string, entry: Fields) => {
    for (const one of listOf(entry['conditions'])) {
      const condition = one as unknown as Condition
      found.set(`${where} ${condition.type}`, condition)
    }
  }
  add('', status)
  for (const listener of listOf(status['listeners'])) add(`listener ${listener['name']}:`, listener)
  for (const [list, ref] of [
    ['parents', 'parentRef'],
    ['ancestors', 'ancestorRef'],
  ] as const) {
    for (const entry of listOf(status[list])) {
      if (entry['controllerName'] === controllerName) add(titleOf(entry[ref]), entry)
    }
  }
  return found
}

function titleOf(ref: unknown): string {
  const { kind = 'Gateway', namespace, name, sectionName } = (ref ?? {}) as Record<string, string>
  const section = sectionName === undefined ? '' : `/${sectionName}`
  const own = namespace === undefined ? name : `${namespace}/${name}`
  return name === undefined ? `${canonicalJson(ref)}:` : `${kind} ${own}${section}:`
}

function noteOf(place: string, { status, message }: Condition): string {
  const text = message === '' ? '' : `: ${message}`
  const note = `${place.trimStart()} is ${status}${text}`
  return cut(note, MAX_NOTE_BYTES)
}

/** Never splits a character. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  const kept = Buffer.from(text).subarray(0, bytes - 3)
  return `${new TextDecoder().decode(kept, { stream: true })}…`
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value : []
}

export interface EventWriterDeps {
  readonly client: Pick<KubeClient, 'request'>
  readonly controllerName: string
  /** The replica that reports the event. */
  readonly instance: string
  readonly onFailure: (message: string) => void
  /** Writes only in some namespaces: Events about the whole cluster would be in `default`. */
  readonly isNamespaced?: boolean
  readonly now?: () => number
}

/** Max burst, then one per interval: a thousand bad objects must not cause a flood of writes. */
const MAX_BURST = 50
const INTERVAL = 1_000

/** Writes Events; one that cannot be written is dropped, since the status has the same content. */
export class EventWriter {
  readonly #deps: EventWriterDeps
  readonly #now: () => number
  #budget = MAX_BURST
  #filledAt: number
  #count = 0

  constructor(deps: EventWriterDeps) {
    this.#deps = deps
    this.#now = deps.now ?? Date.now
    this.#filledAt = this.#now()
  }

  /** Reports the changes of an object whose status was written. */
  async record(live: KubeObject, status: Fields): Promise<void> {
    if (this.#deps.isNamespaced === true && live.metadata.namespace === undefined) return
    const before = (live.status ?? {}) as Fields
    const notices = noticesOf(live.kind, before, status, this.#deps.controllerName)
    for (const notice of notices) if (this.#take()) await this.#write(live, notice)
  }

  #take(): boolean {
    const now = this.#now()
    const earned = Math.floor((now - this.#filledAt) / INTERVAL)
    if (earned > 0) {
      this.#budget = Math.min(MAX_BURST, this.#budget + earned)
      this.#filledAt += earned * INTERVAL
    }
    if (this.#budget === 0) return false
    this.#budget--
    return true
  }

  async #write({ apiVersion, kind, metadata }: KubeObject, notice: Notice): Promise<void> {
    const { client, controllerName, instance, onFailure } = this.#deps
    const { name, namespace, uid, resourceVersion } = metadata
    const own = namespace ?? 'default'
    const time = this.#now()
    const unique = `${time.toString(16)}${(this.#count++ % 4096).toString(16).padStart(3, '0')}`
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `${name.slice(0, 200)}.${unique}`, namespace: own },
      // Exactly six fractional digits, the only accepted form.
      eventTime: new Date(time).toISOString().replace('Z', '000Z'),
      reportingController: controllerName,
      reportingInstance: instance.slice(0, 128),
      action: 'Status',
      regarding: { apiVersion, kind, namespace, name, uid, resourceVersion },
      ...notice,
    }
    try {
      const path = `/apis/events.k8s.io/v1/namespaces/${own}/events`
      const { status, body: said } = await client.request('POST', path, { body })
      if (status >= 300) onFailure(`${status}: ${JSON.stringify(said).slice(0, 500)}`)
    } catch (error) {
      onFailure((error as Error).message)
    }
  }
}
