import { compile, STAGES } from '../../cel/index.ts'
import type { AiBackend, AiModel, VirtualModel, VirtualTarget } from '../../model/backend.ts'
import { hashOf } from '../../model/hash.ts'
import type { Model } from '../../model/model.ts'
import { isPlace } from '../../model/places.ts'
import type { Authorization } from '../../policies/schema.ts'
import { isText } from '../mcp-facts.ts'
import { type PlacedRule, placedCondition } from '../placed-rule.ts'
import type { Point } from '../points.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import { compareCalls } from './calls.ts'
import type { Decide, SemanticDiff } from './difference.ts'
import { type Entry, type Ways, waysThrough } from './entries.ts'
import { CALL_PATH } from './example.ts'
import { RULES_ABOUT_MODELS } from './unlooked.ts'

/**
 * The models named by clients that a change newly admits or denies, and for which clients. Covers
 * models that both configurations have under one name at one provider; added and removed models are
 * reported elsewhere. A virtual model is covered for each model that it leads to.
 */
export function compareModelCalls(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
): SemanticDiff {
  const [old, now] = [waysThrough(before), waysThrough(after)]
  const [was, is] = [callsIn(old), callsIn(now)]
  const about = ({ model }: Entry) => `calls to \`${model}\``
  return compareCalls({ ways: old, calls: was }, { ways: now, calls: is }, decide, about)
}

/** Keyed by what is the same in both: the way and the model. */
function callsIn({ entries }: Ways): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>()
  for (const entry of entries) {
    const { backend } = entry.where
    if (backend?.kind !== 'ai') continue
    for (const asked of modelsCalledAt(backend, entry)) {
      found.set(`${entry.key} ${asked.name} ${asked.number}`, callEntry(entry, backend, asked))
    }
  }
  return found
}

/** A model that clients call and that this provider serves. */
interface CalledModel {
  /** As clients write it; with a `*`, any name that matches. */
  readonly name: string
  /** Distinguishes the targets of a virtual model. */
  readonly number: number
  /** Conditions under which calls by that name lead to this provider. */
  readonly conditions: readonly Conditional[]
  /** The configuration of the model. */
  readonly record: unknown
}

interface Conditional {
  /** Deny: the condition must not be true. */
  readonly action: 'Require' | 'Deny'
  readonly text: string
}

function modelsCalledAt(backend: AiBackend, entry: Entry): readonly CalledModel[] {
  return [...modelsOf(backend, entry), ...virtualModelsOf(backend, entry)]
}

/** Models of the provider that clients call by an exact name or by a pattern. */
function modelsOf({ models = [] }: AiBackend, { provider }: Entry): readonly CalledModel[] {
  const isNamed = ({ name }: AiModel) => models.filter((one) => one.name === name).length === 1
  return models
    .filter(
      (model) =>
        model.provider === provider &&
        !model.isInternal &&
        model.matches === undefined &&
        isNamed(model),
    )
    .map((model) => {
      const { name } = model
      return { name, number: 0, conditions: patternConditions(name), record: model }
    })
}

/** The `*` of a pattern is at its start or its end. */
function patternConditions(name: string): readonly Conditional[] {
  if (!name.includes('*')) return []
  const [test, text] = name.endsWith('*')
    ? ['startsWith', name.slice(0, -1)]
    : ['endsWith', name.slice(1)]
  const rest = `llm.requestModel != ${JSON.stringify(text)}`
  const begins = `llm.requestModel.${test}(${JSON.stringify(text)})`
  return [
    { action: 'Require', text: text === '' ? "llm.requestModel != ''" : `${begins} && ${rest}` },
  ]
}

function* virtualModelsOf(
  { virtualModels = [] }: AiBackend,
  { provider }: Entry,
): Generator<CalledModel> {
  for (const virtual of virtualModels) {
    const { name, routing, targets } = virtual
    for (const [number, target] of targets.entries()) {
      if (target.provider !== provider || target.weight === 0) continue
      const conditions = routing === 'conditional' ? chosenWhen(virtual, number) : []
      // Other targets do not change who reaches this one, except for conditions before it.
      const record = [routing, target.model, conditions]
      yield { name, number, conditions, record }
    }
  }
}

/** The first target whose condition is true is chosen. */
function chosenWhen({ targets }: VirtualModel, number: number): readonly Conditional[] {
  const conditionOf = ({ when = 'true' }: VirtualTarget) => when
  return [
    ...targets.slice(0, number).map((one) => ({ action: 'Deny', text: conditionOf(one) }) as const),
    { action: 'Require', text: conditionOf(targets[number] as VirtualTarget) },
  ]
}

function callEntry(entry: Entry, backend: AiBackend, asked: CalledModel): Entry {
  const { name, conditions } = asked
  const facts: readonly (readonly [string, Fact])[] = [
    ['request.method', isText('POST')],
    ['request.path', isText(CALL_PATH)],
    ["request.headers['content-type']", isText('application/json')],
  ]
  const isPattern = name.includes('*')
  const model: Fact = isPattern ? { kind: 'set' } : isText(name)
  const own: readonly (readonly [string, Fact])[] = [['llm.requestModel', model]]
  let unread = ''
  const points = entry.points.map((point) => {
    const isLast = point.stage === 'backend'
    const leading = isLast ? conditions.map((one) => leadingRule(point, one)) : []
    if (leading.includes(undefined)) unread = hashOf(conditions)
    return {
      ...point,
      facts: new Map([...point.facts, ...facts, ...(isLast ? own : [])]),
      rules: [...leading.filter((one) => one !== undefined), ...point.rules],
    }
  })
  const { provider: _, [RULES_ABOUT_MODELS]: __, ...others } = entry.unlooked
  const provider = backend.groups
    .flatMap(({ providers }) => providers)
    .find(({ name: one }) => one === entry.provider)
  const served = [provider?.provider ?? '', provider?.options ?? {}, asked.record, unread]
  const unlooked = { ...others, provider: hashOf(served, isPlace) }
  return { ...entry, unlooked, points, model: name }
}

/**
 * A condition for calls to lead to a provider, as a rule of that provider; undefined if it cannot
 * be analyzed.
 */
function leadingRule(point: Point, { action, text }: Conditional): PlacedRule | undefined {
  const placed = placedCondition(text, 'backend', point.names)
  const { expression } = compile(text, STAGES.backend)
  if (placed === undefined || expression === undefined) return undefined
  const { origin } = point.where.listener
  const value: Authorization = { mode: 'Enforce', rules: [] }
  const policy = {
    state: 'valid',
    kind: 'authorization',
    section: 'backend',
    level: 'provider',
    policy: '',
    origin,
    value,
  } as const
  const rule = { action, expression: text, field: '' }
  return { ...placed, stage: 'backend', policy, rule, index: 0, expression, isEnforced: true }
}
