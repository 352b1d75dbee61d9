import type { Backend } from '../../model/backend.ts'
import { freeze } from '../../model/freeze.ts'
import type { Gateway, Listener } from '../../model/gateway.ts'
import type { Attached, Level } from '../../model/policy.ts'
import { isSame } from '../../model/reconcile.ts'
import type { BackendTlsPolicies } from './backend-tls.ts'
import { makeBackend } from './backends.ts'
import { Cell } from './cells.ts'
import { type Effects, noEffects } from './effects.ts'
import { type GatewayDraft, partLevel } from './gateways.ts'
import { type PlacedListener, toListener } from './listeners.ts'
import type { Policies, TargetPart } from './policies.ts'
import type { Recipe } from './references.ts'
import { gatewayName } from './route-outcome.ts'
import type { ClientMaterial } from './tls-value.ts'
import { type ClusterView, originOf } from './view.ts'

export interface GatewayModelDeps {
  readonly view: ClusterView
  readonly policies: Policies
  readonly tls: BackendTlsPolicies
}

/** The gateways of a Gateway's Model, with their listeners and policies. */
export function gatewaysOf(
  { policies }: GatewayModelDeps,
  { read, listeners }: GatewayDraft,
  isByPort: boolean,
): { readonly gateways: readonly Gateway[]; readonly effects: Effects } {
  const { key } = read
  const effects = noEffects()
  const at = (part: TargetPart, level: Level) => policies.at('Gateway', key, part, level, effects)
  const ofSet = (set: string, part: TargetPart) =>
    policies.at('ListenerSet', set, part, 'listener', effects)
  /** Adds the policies for the listener, and for the whole of its ListenerSet. */
  const guarded = ({ owner, spec }: PlacedListener, listener: Listener): Listener => {
    const own: readonly Attached[] =
      owner.kind === 'Gateway'
        ? at({ section: spec.name }, 'listener')
        : [...ofSet(owner.key, { section: spec.name }), ...ofSet(owner.key, {})]
    return own.length === 0 ? listener : { ...listener, policies: own }
  }
  const made = listeners.flatMap((placed) => {
    const listener = toListener(placed)
    return listener === undefined ? [] : [guarded(placed, listener)]
  })
  const origin = originOf(read, 'spec')
  const byGateway = Map.groupBy(made, ({ port = 0 }) => gatewayName(key, isByPort, port))
  const general = at({}, 'gateway')
  if (byGateway.size === 0) {
    return { gateways: [{ name: key, origin, listeners: [], policies: general }], effects }
  }
  const gateways = [...byGateway].map(([name, own]) => {
    const port = own[0]?.port
    const special = isByPort && port !== undefined ? at({ port }, 'gateway') : []
    return { name, origin, listeners: own, policies: [...special, ...general] }
  })
  return { gateways, effects }
}

interface MadeBackend {
  readonly backend: Backend
  readonly effects: Effects
}

interface BackendState {
  readonly cell: Cell<MadeBackend>
  recipe: Recipe
  /** The last result. */
  made: MadeBackend | undefined
}

export interface BackendSetDeps extends GatewayModelDeps {
  /** The certificate that proxies present to backends. */
  readonly client: () => ClientMaterial | undefined
  /** Called when the effects of a backend change; `after` is undefined if the backend is gone. */
  readonly onEffects: (owner: object, before: Effects | undefined, after?: Effects) => void
}

/** The backends that the routes and policies of one Gateway refer to. */
export class BackendSet {
  readonly #deps: BackendSetDeps
  readonly #states = new Map<string, BackendState>()
  #isStale = true
  list: readonly Backend[] = []

  constructor(deps: BackendSetDeps) {
    this.#deps = deps
  }

  /** Whether one of them may have changed; the caller tracks which backends are referred to. */
  get isStale(): boolean {
    return this.#isStale
  }

  /** `uses`: what the routes and the gateway itself refer to; backends may refer to others. */
  update(uses: Iterable<readonly [string, Recipe]>): void {
    this.#isStale = false
    const found = new Map<string, BackendState>()
    const queue = [...uses]
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const [name, recipe] = next
      if (found.has(name)) continue
      const state = this.#state(name, recipe)
      found.set(name, state)
      const before = state.made
      const made = state.cell.get()
      if (made !== before) {
        state.made = made
        this.#deps.onEffects(state, before?.effects, made.effects)
      }
      queue.push(...made.effects.uses)
    }
    const isFewer = found.size < this.#states.size
    for (const [name, state] of isFewer ? this.#states : []) {
      if (found.has(name)) continue
      this.#states.delete(name)
      state.cell.drop()
      this.#deps.onEffects(state, state.made?.effects)
    }
    this.#list(found)
  }

  drop(): void {
    for (const state of this.#states.values()) {
      state.cell.drop()
      this.#deps.onEffects(state, state.made?.effects)
    }
    this.#states.clear()
  }

  /** Sorted; the same list if it contains the same backends. */
  #list(found: ReadonlyMap<string, BackendState>): void {
    const kept = this.list.flatMap(({ name }) => found.get(name)?.made?.backend ?? [])
    const known = new Set(kept.map(({ name }) => name))
    const added = [...found].flatMap(([name, { made }]) =>
      known.has(name) || made === undefined ? [] : [made.backend],
    )
    const all = [...kept, ...added].sort((a, b) => (a.name < b.name ? -1 : 1))
    const isUnchanged =
      all.length === this.list.length && all.every((one, index) => one === this.list[index])
    if (!isUnchanged) this.list = freeze(all)
  }

  #state(name: string, recipe: Recipe): BackendState {
    const known = this.#states.get(name)
    if (known !== undefined) {
      if (!isSame(known.recipe, recipe)) {
        known.recipe = recipe
        known.cell.mark('dirty')
      }
      return known
    }
    const stale = () => {
      this.#isStale = true
    }
    const make = () => this.#make(state)
    const state: BackendState = {
      cell: new Cell(this.#deps.view.cells, make, Object.is, stale),
      recipe,
      made: undefined,
    }
    this.#states.set(name, state)
    return state
  }

  #make({ recipe, made }: BackendState): MadeBackend {
    const { view, tls, policies, client } = this.#deps
    const effects = noEffects()
    const backend = freeze(
      makeBackend(
        {
          view,
          tls,
          client: client(),
          effects,
          attached: (kind, key, section) =>
            policies.at(
              kind,
              key,
              section === undefined ? {} : { section },
              kind === 'ProxyBackend' && section !== undefined ? partLevel(view, key) : 'backend',
              effects,
            ),
        },
        recipe,
      ),
    )
    return { backend: made && isSame(made.backend, backend) ? made.backend : backend, effects }
  }
}
