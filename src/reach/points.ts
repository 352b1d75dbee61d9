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

/** Policies of one section decide each stage. */
const SECTION_OF_STAGE: Readonly<Record<RuleStage, Section>> = {
  connection: 'frontend',
  traffic: 'traffic',
  backend: 'backend',
  mcp: 'backend',
}

/** The kinds of policies that contain rules. */
export const RULE_KINDS: ReadonlySet<string> = kindsThat(({ hasRules }) => hasRules)

/** A place where rules decide: a listener, a rule of a route, a backend, or a part of one. */
export class Point {
  readonly stage: RuleStage
  readonly where: Where
  /** All layers around it, the most general first. */
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

  /** The policies that apply here, by kind. */
  get effective(): Effective {
    this.#effective ??= effectiveAt(this.layers, this.section)
    return this.#effective
  }

  /** Policies that could not be read, and so reject everything here. */
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

  /** Which policies identify clients, and which policies see the result. */
  get sources(): Sources {
    this.#sources ??= sourcesAt(this.layers, this.section)
    return this.#sources
  }

  /** The policies whose rules decide here, the most general first, each with its layer index. */
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

/** Whether the policy contains rules of this stage. */
export function decidesAt(
  { kind, section }: Pick<Attached, 'kind' | 'section'>,
  stage: RuleStage,
): boolean {
  if (section !== SECTION_OF_STAGE[stage]) return false
  const record = recordOf(kind)
  if (record?.hasRules !== true || record.sections[section] === undefined) return false
  return (record.stage ?? STAGE_OF_SECTION[section]) === stage
}

/** The kind of policy that contains the rules of a stage. */
export function ruleKind(stage: RuleStage): string {
  const section = SECTION_OF_STAGE[stage]
  const isOwn = (kind: string) => decidesAt({ kind, section }, stage)
  return [...RULE_KINDS].find(isOwn) as string
}

/**
 * Whether a policy applies to requests to the backend. MCP rules are a separate stage, and at a
 * gateway they are for those backends that speak MCP; nearer to another backend, they apply.
 */
export function holdsForRequests(policy: Attached, backend: Backend | undefined): boolean {
  if (!decidesAt(policy, 'mcp')) return true
  return backend?.kind !== 'mcp' && policy.level !== 'gateway' && policy.level !== 'listener'
}

/**
 * User credentials for MCP servers: a user who has none gives consent for one server, and by then
 * the message is known, so its client is informed in the terms of the protocol.
 */
export function isForEachServer(policy: Attached): boolean {
  if (policy.kind !== 'backendAuth' || policy.state !== 'valid') return false
  return (policy.value as { readonly kind?: unknown }).kind === 'user'
}

/** The policies that contain the rules of a stage, out of all that apply at a point. */
export function rulesAt(
  byKind: Effective['byKind'],
  stage: RuleStage,
): readonly [ValidPolicy<Authorization>, ...ValidPolicy<Authorization>[]] | undefined {
  for (const policies of byKind.values()) {
    if (decidesAt(policies[0], stage)) return policies as ReturnType<typeof rulesAt>
  }
  return undefined
}

/** All places of the Model where rules can decide, in the order of the Model. */
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
    // Rules are evaluated once a provider is chosen, for each provider separately.
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
