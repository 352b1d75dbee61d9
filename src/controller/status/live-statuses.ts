import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { canonicalJson } from '../../model/json.ts'
import { keyOf } from '../cluster/object.ts'
import type { ObjectStatus } from '../translate/conditions.ts'
import { isReachableAt, outdatedOf, type Proxies, type Since, withLiveState } from './programmed.ts'

interface Entry {
  readonly status: ObjectStatus
  /** Gateway → since when it has this generation of the object. */
  readonly since: ReadonlyMap<string, Since>
}

/** The state of a Gateway's proxies when its statuses were made. */
interface Look {
  /** State that affects all policies of the Gateway. */
  readonly base: string
  /** The oldest publication that a ready proxy runs. */
  readonly floor: number
  /** State that affects the Gateway itself. */
  readonly whole: string
  /** Objects of which proxies reject a part. */
  readonly rejected: ReadonlySet<string>
}

export interface LiveStatusDeps {
  readonly proxiesOf: (gateway: string) => Proxies | undefined
  /** The newest publication for a Gateway. */
  readonly latest: (gateway: string) => number
}

/**
 * The desired statuses, including the state of the proxies. An acknowledgement affects only the
 * objects that were waiting for it, and not the thousands that the proxies already have.
 */
export class LiveStatuses {
  readonly #deps: LiveStatusDeps
  /** `kind namespace/name` → the translated status. */
  readonly #entries = new Map<string, Entry>()
  readonly #ofGateway = new Map<string, Set<string>>()
  /** Gateway → objects that not all of its ready proxies have. */
  readonly #waiting = new Map<string, Set<string>>()
  readonly #looks = new Map<string, Look>()
  readonly #stale = new Set<string>()
  #findings: ReadonlyMap<string, readonly Diagnostic[]> = new Map()
  #seen: ReadonlyMap<string, Proxies | undefined> = new Map()

  constructor(deps: LiveStatusDeps) {
    this.#deps = deps
  }

  /** Adds newly translated statuses, after their Models were published. */
  touch(statuses: Iterable<ObjectStatus>): void {
    for (const status of statuses) {
      const id = idOf(status)
      const before = this.#entries.get(id)
      const since = new Map<string, Since>()
      for (const gateway of gatewaysOf(status)) {
        const known = before?.since.get(gateway)
        const isSame = known?.generation === status.generation
        const sequence = isSame ? known.sequence : this.#deps.latest(gateway)
        since.set(gateway, { generation: status.generation, sequence })
        entryOf(this.#ofGateway, gateway).add(id)
      }
      for (const gateway of before?.since.keys() ?? []) {
        if (!since.has(gateway)) this.#leave(gateway, id)
      }
      this.#entries.set(id, { status, since })
      this.#stale.add(id)
    }
  }

  /** Removes deleted objects, given as `kind namespace/name`. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) {
      for (const gateway of this.#entries.get(id)?.since.keys() ?? []) this.#leave(gateway, id)
      this.#entries.delete(id)
      this.#stale.delete(id)
    }
  }

  /** Keyed by the title of the policy: `ProxyPolicy apps/allow-alice`. */
  useFindings(findings: ReadonlyMap<string, readonly Diagnostic[]>): void {
    for (const id of new Set([...this.#findings.keys(), ...findings.keys()])) {
      const [before, after] = [this.#findings.get(id) ?? [], findings.get(id) ?? []]
      if (canonicalJson(before) !== canonicalJson(after)) this.#stale.add(id)
    }
    this.#findings = findings
  }

  /** Whether time alone can change statuses: proxies are expected to connect. */
  get isUnsettled(): boolean {
    return [...this.#seen.values()].some((proxies) =>
      proxies?.ready.some(({ isExpected }) => isExpected),
    )
  }

  /** Returns the statuses that may have changed. */
  take(): readonly ObjectStatus[] {
    const gateways = [...this.#ofGateway.keys()]
    this.#seen = new Map(gateways.map((gateway) => [gateway, this.#deps.proxiesOf(gateway)]))
    for (const gateway of gateways) this.#look(gateway)
    const made = [...this.#stale].flatMap((id) => {
      const entry = this.#entries.get(id)
      return entry === undefined ? [] : [this.#make(id, entry)]
    })
    this.#stale.clear()
    return made
  }

  #make(id: string, { status, since }: Entry): ObjectStatus {
    const proxiesOf = (gateway: string) => this.#seen.get(gateway)
    for (const [gateway, one] of since) {
      const proxies = proxiesOf(gateway)
      const isWaiting = proxies && outdatedOf(proxies, one).length > 0
      if (isWaiting) entryOf(this.#waiting, gateway).add(id)
      else this.#waiting.get(gateway)?.delete(id)
    }
    return withLiveState(status, {
      proxiesOf,
      sinceAt: (gateway) => since.get(gateway),
      findings: this.#findings.get(id) ?? [],
    })
  }

  /** Finds the statuses that the proxies of a Gateway change. */
  #look(gateway: string): void {
    const before = this.#looks.get(gateway)
    const after = lookAt(this.#seen.get(gateway))
    this.#looks.set(gateway, after)
    if (before?.whole === after.whole) return
    this.#stale.add(`Gateway ${gateway}`)
    for (const id of [...(before?.rejected ?? []), ...after.rejected]) this.#stale.add(id)
    const isAll = before?.base !== after.base || after.floor < before.floor
    const concerned = (isAll ? this.#ofGateway : this.#waiting).get(gateway)
    for (const id of concerned ?? []) this.#stale.add(id)
  }

  #leave(gateway: string, id: string): void {
    for (const map of [this.#ofGateway, this.#waiting]) {
      const known = map.get(gateway)
      known?.delete(id)
      if (known?.size === 0) map.delete(gateway)
    }
    if (!this.#ofGateway.has(gateway)) this.#looks.delete(gateway)
  }
}

function lookAt(proxies: Proxies | undefined): Look {
  if (proxies === undefined) return { base: '', floor: 0, whole: '', rejected: new Set() }
  const { ready, states, deployment } = proxies
  const { addresses, missing, failures } = deployment
  const base = canonicalJson([isReachableAt(deployment), missing, failures, ready.length > 0])
  const diagnostics = states.flatMap(({ outcome }) =>
    (outcome?.rejections ?? []).flatMap((one) => one.diagnostics),
  )
  const rejected = diagnostics.flatMap(({ origin }) =>
    origin.kind === 'object' ? [origin.object] : [],
  )
  return {
    base,
    floor: Math.min(...ready.map(({ sequence }) => sequence)),
    whole: canonicalJson([base, ready, addresses, diagnostics]),
    rejected: new Set(rejected),
  }
}

function idOf({ kind, namespace, name }: ObjectStatus): string {
  return `${kind} ${keyOf({ namespace, name })}`
}

/** The Gateways whose proxies affect a status. */
function gatewaysOf(status: ObjectStatus): readonly string[] {
  const { kind, namespace, name, ancestors = [] } = status
  if (kind === 'Gateway') return [`${namespace}/${name}`]
  if (kind === 'ListenerSet') return status.gateway === undefined ? [] : [status.gateway]
  if (kind !== 'ProxyPolicy') return []
  return ancestors.flatMap(({ ref }) =>
    ref['kind'] === 'Gateway' ? [`${ref['namespace']}/${ref['name']}`] : [],
  )
}

function entryOf<T>(map: Map<string, Set<T>>, key: string): Set<T> {
  const known = map.get(key) ?? new Set<T>()
  map.set(key, known)
  return known
}
