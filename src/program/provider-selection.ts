import type { Decision } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Outcome } from '../exchange/step.ts'
import type { Balanced, Balancer } from '../upstream/balance.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { CallTarget, ModelAttempt, ModelCall } from './model-call.ts'
import { moveKey, withholdCredentials } from './model-credentials.ts'
import type { ProviderProgram, Selection } from './program.ts'
import { latencyOf, observeLatency } from './provider-latency.ts'

/** When who asked to be left alone may be asked again; for as long as its cluster lives. */
const RESTING = new WeakMap<Cluster, number>()

/** In what order providers are asked. */
export interface SelectionPlan {
  /** The next group serves when one before cannot. */
  readonly groups: readonly (readonly ProviderMember[])[]
  readonly balancers: readonly Balancer<ProviderMember>[]
  /** Another one is asked if one fails, and not only if it is denied. */
  readonly failsOver: boolean
}

/** A provider among others that serve the same. */
export class ProviderMember implements Balanced {
  readonly name: string
  readonly program: ProviderProgram
  readonly weight = 1
  /** Who is ill is passed over by whoever picks, since that may change with every response. */
  readonly isUsable = true
  /** How calls reach it. */
  readonly target: CallTarget

  /** `model`: what it is asked for, if it has no name of its own for that. */
  constructor(program: ProviderProgram, model?: string) {
    this.name = program.provider
    this.program = program
    const { target } = program
    const options = model === undefined ? target.options : { model, ...target.options }
    this.target = { ...target, options }
  }

  /** The same, asked for this model. */
  asking(model: string): ProviderMember {
    return new ProviderMember(this.program, model)
  }

  /** Nobody asks it for so many milliseconds, unless there is no other. */
  rest(milliseconds: number): void {
    RESTING.set(this.program.upstream.cluster, performance.now() + milliseconds)
  }

  /** Of two, the one that is sooner done with all that it would have to do serves. */
  get active(): number {
    const { cluster } = this.program.upstream
    return (cluster.active + 1) * (1 + latencyOf(cluster, performance.now()))
  }

  get isHealthy(): boolean {
    const { cluster } = this.program.upstream
    return cluster.isHealthy && (RESTING.get(cluster) ?? 0) <= performance.now()
  }
}

/** What steps may change, as it was before those of a provider ran. */
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

/** Which providers were asked for one request, which may not be, and which is next. */
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
  /** How many decisions there were before the provider at hand. */
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
    exchange.backend = program.attributes
    exchange.providerHost = program.host
    exchange.llm = this.#call?.attributesFor(program.provider) ?? program.llm
    if (!program.keepsCredentials) withholdCredentials(exchange)
    this.#reported = exchange.decisions.length
    return program.run(exchange)
  }

  /** What the steps of another provider changed is as it was before them. */
  #restore(): void {
    const exchange = this.#exchange
    const { identity, ...rest } = this.#before
    Object.assign(exchange, rest)
    if (exchange.identity !== identity) exchange.identifyAs(identity)
  }

  /** What the steps of a provider came to: it is chosen, the request is rejected, or another is next. */
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

  /** What is sent to it, after its steps had their say. */
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

  /** Who is well before who is ill, in the order of groups; those that were asked come last. */
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
/** A body that passes by is not there to be signed. */
const UNSIGNED = reply(500, 'backend-auth')

function isDenial({ isAllowed, isEnforced }: Decision): boolean {
  return isEnforced && !isAllowed
}

/** Whether it is denied by something that has nothing to do with the provider, and so for all. */
function isForAll(decision: Decision): boolean {
  const by = decision.rule ?? decision.invalid
  if (!isDenial(decision) || by === undefined || by.level === 'provider') return false
  return decision.rule === undefined || !mayReadProvider(decision.rule.expression)
}

/** A quick look: where it is wrong, others are asked about in vain. */
function mayReadProvider(expression: string): boolean {
  return /provider|\\|\bllm\b|\bbackend\b(?!\s*\.)/.test(expression)
}
