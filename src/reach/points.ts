import type { Backend } from '../model/backend.ts'
import { servesRequests } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached, InvalidPolicy, Section, ValidPolicy } from '../model/policy.ts'
import { type Authorization, STAGE_OF_SECTION } from '../policies/schema.ts'
import { type Effective, effectiveAt } from './effective.ts'
import { kindsThat, recordOf } from './kinds.ts'
import type { Layer } from './layers.ts'
import { Reach } from './reach.ts'
import { type Sources, sourcesAt } from './sources.ts'
import type { RefPlace, Where } from './where.ts'

/** The stages at which rules decide. */
export type RuleStage = 'connection' | 'traffic' | 'backend' | 'mcp'

/** The policies that each stage is decided by are those of one section. */
const SECTION_OF_STAGE: Readonly<Record<RuleStage, Section>> = {
  connection: 'frontend',
  traffic: 'traffic',
  backend: 'backend',
  mcp: 'backend',
}

/** The kinds of policies that are rules. */
export const RULE_KINDS: ReadonlySet<string> = kindsThat(({ hasRules }) => hasRules)

/** A place where rules decide: a listener, a rule of a route, a backend, a part of it. */
export class Point {
  readonly stage: RuleStage
  readonly where: Where
  /** All that is around it, the most general first. */
  readonly layers: readonly Layer[]
  #effective: Effective | undefined
  #sources: Sources | undefined

  constructor(stage: RuleStage, where: Where, layers: readonly Layer[]) {
    this.stage = stage
    this.where = where
    this.layers = layers
  }

  get section(): Section {
    return SECTION_OF_STAGE[this.stage]
  }

  /** What holds here, of each kind. */
  get effective(): Effective {
    this.#effective ??= effectiveAt(this.layers, this.section)
    return this.#effective
  }

  /** Policies that could not be read, and so let nothing pass here. */
  get invalid(): readonly InvalidPolicy[] {
    const { invalid } = this.effective
    return invalid.length === 0 ? invalid : invalid.filter((policy) => this.#isGuarding(policy))
  }

  #isGuarding(policy: InvalidPolicy): boolean {
    switch (this.stage) {
      case 'connection':
        return recordOf(policy.kind)?.takesConnections !== false
      case 'traffic':
        return true
      case 'backend':
        return holdsForRequests(policy, this.where.backend)
      case 'mcp':
        return decidesAt(policy, 'mcp')
    }
  }

  /** Who finds out who asks, and who sees it. */
  get sources(): Sources {
    this.#sources ??= sourcesAt(this.layers, this.section)
    return this.#sources
  }

  /** The policies whose rules decide here, the most general first, each with its layer. */
  *rules(): Generator<readonly [policy: ValidPolicy<Authorization>, depth: number]> {
    for (const [depth, { policies }] of this.layers.entries()) {
      for (const policy of policies) {
        if (policy.state === 'valid' && decidesAt(policy, this.stage)) {
          yield [policy as ValidPolicy<Authorization>, depth]
        }
      }
    }
  }
}

/** Whether the policy is about rules of this stage. */
export function decidesAt(
  { kind, section }: Pick<Attached, 'kind' | 'section'>,
  stage: RuleStage,
): boolean {
  if (section !== SECTION_OF_STAGE[stage]) return false
  const record = recordOf(kind)
  if (record?.hasRules !== true || record.sections[section] === undefined) return false
  return (record.stage ?? STAGE_OF_SECTION[section]) === stage
}

/** The kind of policy that has the rules of a stage. */
export function ruleKind(stage: RuleStage): string {
  const section = SECTION_OF_STAGE[stage]
  const isOwn = (kind: string) => decidesAt({ kind, section }, stage)
  return [...RULE_KINDS].find(isOwn) as string
}

/**
 * Whether a policy is about requests to the backend. Rules about MCP are a stage of their own, and
 * at a gateway they are for those behind it that speak MCP; nearer to something else they hold.
 */
export function holdsForRequests(policy: Attached, backend: Backend | undefined): boolean {
  if (!decidesAt(policy, 'mcp')) return true
  return backend?.kind !== 'mcp' && policy.level !== 'gateway' && policy.level !== 'listener'
}

/**
 * Credentials of users for MCP servers: whoever has none consents for one server, and the message
 * is known by then, so that its client is told in the words of the protocol.
 */
export function isForEachServer(policy: Attached): boolean {
  if (policy.kind !== 'backendAuth' || policy.state !== 'valid') return false
  return (policy.value as { readonly kind?: unknown }).kind === 'user'
}

/** The policies that the rules of a stage come from, of all that hold at a point. */
export function rulesAt(
  byKind: Effective['byKind'],
  stage: RuleStage,
): readonly [ValidPolicy<Authorization>, ...ValidPolicy<Authorization>[]] | undefined {
  for (const policies of byKind.values()) {
    if (decidesAt(policies[0], stage)) return policies as ReturnType<typeof rulesAt>
  }
  return undefined
}

/** Every place of the Model where rules can decide, in the order of the Model. */
export function* pointsOf(model: Model): Generator<Point> {
  const reach = new Reach(model)
  for (const where of reach.listeners()) {
    const around = reach.around(where)
    yield new Point('connection', where, around)
    yield* requestPoints(reach, where, around)
  }
}

function* requestPoints(reach: Reach, where: Where, around: readonly Layer[]): Generator<Point> {
  if (!servesRequests(where.listener)) return
  yield new Point('traffic', where, around)
  for (const place of reach.rulesOn(where)) {
    const layers = reach.around(place)
    yield new Point('traffic', place, layers)
    for (const ref of reach.refsOf(place)) yield* backendPoints(reach, ref, layers)
  }
}

function* backendPoints(reach: Reach, place: RefPlace, around: readonly Layer[]): Generator<Point> {
  const { backend } = place
  if (backend === undefined) return
  const layers = reach.behind(around, place)
  if (backend.kind === 'ai') {
    // Rules decide once a provider is chosen, and about each by itself.
    for (const provider of backend.groups.flatMap(({ providers }) => providers)) {
      const where = { ...place, provider }
      yield new Point('backend', where, reach.within(layers, where))
    }
    return
  }
  yield new Point('backend', place, layers)
  if (backend.kind !== 'mcp') return
  yield new Point('mcp', place, layers)
  for (const server of backend.targets) {
    const where = { ...place, server }
    yield new Point('mcp', where, reach.within(layers, where))
  }
}
