import type { Decision } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { ProviderPauses } from '../exchange/provider-pauses.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Outcome } from '../exchange/step.ts'
import type { Balanced, Balancer } from '../upstream/balance.ts'
import type { CallTarget, ModelAttempt, ModelCall } from './model-call.ts'
import { moveKey, withholdHeaders } from './model-credentials.ts'
import type { ProviderProgram, Selection } from './program.ts'
import { latencyOf, observeLatency } from './provider-latency.ts'

/** The order in which providers are called. */
export interface SelectionPlan {
  /** The next group serves if the previous one cannot. */
  readonly groups: readonly (readonly ProviderMember[])[]
  readonly balancers: readonly Balancer<ProviderMember>[]
  /** Another provider is tried if one fails, and not only if it is denied. */
  readonly failsOver: boolean
}

/** A provider among others that serve the same. */
export class ProviderMember implements Balanced {
  readonly name: string
  readonly program: ProviderProgram
  readonly weight = 1
  /**
   * The selection skips unhealthy providers itself, since health may change with every response.
   */
  readonly isUsable = true
  /** How calls reach it. */
  readonly target: CallTarget

  /** `model`: the requested model, unless the provider sets its own name for it. */
  readonly #pauses: ProviderPauses

  constructor(program: ProviderProgram, pauses: ProviderPauses, model?: string) {
    this.#pauses = pauses
    this.name = program.provider
    this.program = program
    const { target } = program
    const options = model === undefined ? target.options : { model, ...target.options }
    this.target = { ...target, options }
  }

  /** The same provider for this model. */
  asking(model: string): ProviderMember {
    return new ProviderMember(this.program, this.#pauses, model)
  }

  /** It is not called for this many milliseconds unless there is no other. */
  rest(milliseconds: number): void {
    this.#pauses.pause(this.#place, milliseconds)
  }

  /** Of two providers, the one expected to complete its pending requests sooner serves. */
  get active(): number {
    const { cluster } = this.program.upstream
    return (cluster.active + 1) * (1 + latencyOf(cluster, performance.now()))
  }

  get isHealthy(): boolean {
    const { cluster } = this.program.upstream
    return cluster.isHealthy && !this.#pauses.isPaused(this.#place)
  }

  get #place(): string {
    const { target, address } = this.program
    return `${target.name} ${address}`
  }
}

/** State that steps may change, as it was before those of a provider ran. */
interface Before {
  readonly path: string
  readonly search: string
  readonly host: string
  readonly requestEdit: Exchange['requestEdit']
  readonly credentialEdit: Exchange['credentialEdit']
  readonly credentialQuery: string
  readonly credentialRejected: Exchange['credentialRejected']
  readonly metadata: Exchange['metadata']
  readonly responseEdit: Exchange['responseEdit']
  readonly identity: Exchange['identity']
  readonly guardrails: Exchange['guardrails']
}

/** The providers that were called for one request, those that are denied, and the next one. */
export class ProviderSelection implements Selection {
  chosen: ProviderProgram | undefined
  attempt: ModelAttempt | undefined
  #member: ProviderMember | undefined
  readonly #call: ModelCall | undefined
  readonly #exchange: Exchange
  readonly #plan: SelectionPlan
  readonly #before: Before
  readonly #tried = new Set<string>()
  readonly #denied = new Set<string>()
  /** Whether steps of a provider have run. */
  #hasRun = false
  /** The number of decisions before the current provider. */
  #reported = 0

  constructor(exchange: Exchange, plan: SelectionPlan, call?: ModelCall) {
    this.#call = call
    const { path, search, host, requestEdit, responseEdit, identity } = exchange
    const { credentialEdit, credentialQuery, credentialRejected, metadata, guardrails } = exchange
    this.#exchange = exchange
    this.#plan = plan
    this.#before = {
      path,
      search,
      host,
      requestEdit,
      responseEdit,
      credentialEdit,
      credentialQuery,
      credentialRejected,
      metadata,
      identity,
      guardrails,
    }
  }

  get targets(): readonly CallTarget[] {
    return this.#plan.groups.flatMap((members) => members.map(({ target }) => target))
  }

  get hasOther(): boolean {
    const { groups } = this.#plan
    return groups.some((members) => members.some(({ name }) => this.#isNew(name)))
  }

  next(): Outcome | Promise<Outcome> {
    this.chosen = undefined
    this.attempt = undefined
    for (;;) {
      const member = this.#pick()
      if (member === undefined) return NO_PROVIDER
      const outcome = this.#enter(member)
      if (outcome instanceof Promise) {
        return outcome.then((reply) => {
          const said = this.#settle(member, reply)
          return said === 'next' ? this.next() : said
        })
      }
      const said = this.#settle(member, outcome)
      if (said !== 'next') return said
    }
  }

  #enter(member: ProviderMember): Outcome | Promise<Outcome> {
    const outcome = this.#run(member)
    const consult = () => this.#call?.consult(this.#exchange, member.target)
    return outcome instanceof Promise
      ? outcome.then((reply) => reply ?? consult())
      : (outcome ?? consult())
  }

  #run({ program }: ProviderMember): Outcome | Promise<Outcome> {
    const exchange = this.#exchange
    if (this.#hasRun) this.#restore()
    this.#hasRun = true
    exchange.rejection = undefined
    exchange.repliedBy = undefined
    exchange.backend = program.attributes
    exchange.providerHost = program.host
    exchange.llm = this.#call?.attributesFor(program.provider) ?? program.llm
    withholdHeaders(exchange, program.keepsCredentials)
    this.#reported = exchange.decisions.length
    return program.run(exchange)
  }

  /** Undoes what the steps of another provider changed. */
  #restore(): void {
    const exchange = this.#exchange
    const { identity, ...rest } = this.#before
    Object.assign(exchange, rest)
    if (exchange.identity !== identity) exchange.identifyAs(identity)
  }

  /** Applies the outcome of a provider's steps: choose it, reject the request, or try the next. */
  #settle(member: ProviderMember, outcome: Reply | undefined): Outcome | 'next' {
    const { name, program } = member
    const { decisions } = this.#exchange
    const own = decisions.slice(this.#reported)
    const reply = outcome ?? this.#prepare(member)
    if (reply === undefined) {
      this.#tried.add(name)
      this.chosen = program
      this.#member = member
    } else this.#denied.add(name)
    const isSkipped = reply !== undefined && !own.some(isForAll) && this.#pick() !== undefined
    if (own.length > 0) {
      const named = own.map((one) => ({
        ...one,
        provider: name,
        isSkipped: isSkipped && isDenial(one),
      }))
      this.#exchange.decisions = [...decisions.slice(0, this.#reported), ...named]
    }
    return isSkipped ? 'next' : reply
  }

  /** Prepares the request to the provider after its steps ran. */
  #prepare({ program, target }: ProviderMember): Reply | undefined {
    const exchange = this.#exchange
    if (program.keyHeader !== undefined) moveKey(exchange, program.keyHeader)
    const attempt = this.#call?.prepare(exchange, target)
    if (attempt !== undefined && 'status' in attempt) return attempt
    if (program.signer !== undefined) {
      if (attempt === undefined) return UNSIGNED
      if (!program.signer(exchange, attempt.body)) return UNSIGNED
    }
    this.attempt = attempt
    return undefined
  }

  rest(milliseconds: number): void {
    if (milliseconds > 0) this.#member?.rest(milliseconds)
  }

  responded(milliseconds: number): void {
    const { upstream } = this.#member?.program ?? {}
    if (upstream === undefined || this.#call === undefined) return
    observeLatency(upstream.cluster, milliseconds, performance.now())
  }

  /** Healthy providers first, then unhealthy ones, by group; those already called come last. */
  #pick(): ProviderMember | undefined {
    const [group = [], ...others] = this.#plan.groups
    const [only] = group
    if (only !== undefined && group.length === 1 && others.length === 0) {
      return this.#denied.has(only.name) ? undefined : only
    }
    return (
      this.#pickWhere(({ name, isHealthy }) => isHealthy && this.#isNew(name)) ??
      this.#pickWhere(({ name }) => this.#isNew(name)) ??
      this.#pickWhere(({ name }) => this.#tried.has(name) && !this.#denied.has(name))
    )
  }

  #pickWhere(isFit: (member: ProviderMember) => boolean): ProviderMember | undefined {
    const { groups, balancers } = this.#plan
    for (const [index, members] of groups.entries()) {
      const unfit = members.filter((member) => !isFit(member)).map(({ name }) => name)
      if (unfit.length < members.length) return balancers[index]?.pick(this.#exchange, unfit)
    }
    return undefined
  }

  #isNew(name: string): boolean {
    if (!this.#plan.failsOver && this.#tried.size > 0) return false
    return !this.#tried.has(name) && !this.#denied.has(name)
  }
}

const NO_PROVIDER = reply(500, 'no-backend')
/** A body that passes through is not available for signing. */
const UNSIGNED = reply(500, 'backend-auth')

function isDenial({ isAllowed, isEnforced }: Decision): boolean {
  return isEnforced && !isAllowed
}

/** Whether the denial has nothing to do with the provider, and thus applies to all. */
function isForAll(decision: Decision): boolean {
  const by = decision.rule ?? decision.invalid
  if (!isDenial(decision) || by === undefined || by.level === 'provider') return false
  return decision.rule === undefined || !mayReadProvider(decision.rule.expression)
}

/** A fast check: a false positive only evaluates other providers in vain. */
function mayReadProvider(expression: string): boolean {
  return /provider|\\|\bllm\b|\bbackend\b(?!\s*\.)/.test(expression)
}
