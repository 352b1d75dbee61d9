import { compile, STAGES, type Variables } from '../cel/index.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { AiBackend, AiModel, VirtualModel } from '../model/backend.ts'
import { matchingModels } from '../model/model-names.ts'
import { expectation } from '../policies/expressions.ts'
import { balancer } from '../upstream/balance.ts'
import { Candidate } from './candidate.ts'
import type { ModelCall } from './model-call.ts'
import type { ProviderMember, SelectionPlan } from './provider-selection.ts'

interface VirtualChoice {
  readonly choose: (exchange: Exchange) => SelectionPlan
  /** All members that may be chosen. */
  readonly members: readonly ProviderMember[]
}

/** Determines the providers of a model by the name that the client requested. */
export class ModelRouter {
  readonly #models: readonly AiModel[]
  readonly #members: ReadonlyMap<string, ProviderMember>
  readonly #virtual: ReadonlyMap<string, VirtualChoice>
  /** For models that serve only some requests. */
  readonly #matches = new Map<AiModel, readonly Candidate<AiModel>[]>()
  readonly #random: () => number

  constructor(
    { models = [], virtualModels = [] }: AiBackend,
    members: readonly ProviderMember[],
    random: () => number,
  ) {
    this.#models = models
    this.#random = random
    const exact = new Map(models.map(({ name, provider }) => [provider, name]))
    this.#members = new Map(
      members.map((member) => {
        const name = exact.get(member.name) ?? '*'
        return [member.name, name.includes('*') ? member : member.asking(name)]
      }),
    )
    this.#virtual = new Map(virtualModels.map((one) => [one.name, this.#choice(one)]))
    for (const model of models) {
      if (model.matches === undefined) continue
      const all = model.matches.map((headers) => new Candidate(matchOf(headers), model))
      this.#matches.set(model, all)
    }
  }

  plan(exchange: Exchange, { model }: ModelCall): SelectionPlan | Reply {
    const virtual = this.#virtual.get(model)
    if (virtual !== undefined) {
      const chosen = virtual.choose(exchange)
      return chosen === NO_PLAN ? unmatched(model) : chosen
    }
    const own = matchingModels(this.#models, model).filter(
      (one) => !one.isInternal && this.#isFor(one, exchange),
    )
    if (own.length === 0) return unknownModel(model)
    // A denied provider is skipped; a failed one is not, since the client named it.
    const groups = own.flatMap(({ provider }) => this.#members.get(provider) ?? [])
    return this.#planOf(
      groups.map((member) => [member]),
      false,
    )
  }

  /** All models that clients can request by name, with their providers. */
  *names(exchange: Exchange): Generator<readonly [name: string, readonly ProviderMember[]]> {
    for (const model of this.#models) {
      const { name, provider, isInternal } = model
      const member = this.#members.get(provider)
      if (isInternal || name.includes('*') || member === undefined) continue
      if (this.#isFor(model, exchange)) yield [name, [member]]
    }
    // The provider of a virtual model is known only once there is a call.
    for (const [name, { members }] of this.#virtual) yield [name, members]
  }

  #isFor(model: AiModel, exchange: Exchange): boolean {
    const matches = this.#matches.get(model)
    return matches === undefined || matches.some((one) => one.holds(exchange) === true)
  }

  #choice({ routing, targets }: VirtualModel): VirtualChoice {
    const all = targets.flatMap(({ provider, model, ...rest }) => {
      const member = this.#members.get(provider)
      return member === undefined ? [] : [{ ...rest, member: member.asking(model) }]
    })
    const members = all.map(({ member }) => member)
    if (routing === 'failover') {
      const priorities = [...new Set(all.map(({ priority = 0 }) => priority))].sort((a, b) => a - b)
      const groups = priorities.map((priority) =>
        all.filter((one) => (one.priority ?? 0) === priority).map(({ member }) => member),
      )
      const plan = this.#planOf(groups, true)
      return { members, choose: () => plan }
    }
    const plans = all.map((one) => ({
      weight: one.weight ?? 1,
      isTrue: conditionOf(one.when),
      plan: this.#planOf([[one.member]], false),
    }))
    if (routing === 'conditional') {
      const choose = (exchange: Exchange) =>
        plans.find(({ isTrue }) => isTrue(exchange))?.plan ?? NO_PLAN
      return { members, choose }
    }
    const total = plans.reduce((sum, { weight }) => sum + weight, 0)
    const choose = () => {
      let left = this.#random() * total
      for (const { weight, plan } of plans) {
        left -= weight
        if (left < 0) return plan
      }
      return plans[0]?.plan ?? NO_PLAN
    }
    return { members, choose }
  }

  #planOf(groups: readonly (readonly ProviderMember[])[], failsOver: boolean): SelectionPlan {
    const random = this.#random
    const balancers = groups.map((members) =>
      balancer('LeastRequest', members, { hashKey: undefined, random }),
    )
    return { groups, balancers, failsOver }
  }
}

const NO_PLAN: SelectionPlan = { groups: [], balancers: [], failsOver: false }

function matchOf(headers: NonNullable<AiModel['matches']>[number]) {
  return { path: { kind: 'prefix', value: '/' }, headers, query: [] } as const
}

/** An error counts as false, so that the next target is evaluated. */
function conditionOf(when: string | undefined): (exchange: Exchange) => boolean {
  if (when === undefined) return () => true
  const { expression } = compile(when, STAGES.llm, expectation('rule'))
  const predicate = expression?.predicate()
  if (predicate === undefined) return () => false
  return (exchange) => predicate(exchange as unknown as Variables)
}

/** The reply for a virtual model if none of its conditions is met. */
function unmatched(model: string): Reply {
  return {
    ...reply(404, 'no-backend'),
    detail: 'no-target',
    message: `No target of the model \`${model}\` accepts this call.`,
    code: 'model_not_found',
  }
}

/** In OpenAI's words, which SDKs recognize. */
function unknownModel(model: string): Reply {
  return {
    ...reply(404, 'no-backend'),
    detail: 'unknown-model',
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
    code: 'model_not_found',
  }
}
