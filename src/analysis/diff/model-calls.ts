import { compile, STAGES } from '../../cel/index.ts'
import type { AiBackend, AiModel, VirtualModel, VirtualTarget } from '../../model/backend.ts'
import { hashOf } from '../../model/hash.ts'
import type { Model } from '../../model/model.ts'
import type { Authorization } from '../../policies/schema.ts'
import { type PlacedRule, placedCondition } from '../placed-rule.ts'
import type { Point } from '../points.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import { isCallMethod, servedCalls, withStored } from './call-forms.ts'
import { CALLS } from './call-shapes.ts'
import { compareCalls } from './calls.ts'
import { changedRoutes } from './changed-routes.ts'
import type { Decide, SemanticDiff } from './difference.ts'
import { type Entry, type Ways, waysThrough } from './entries.ts'
import { matchCondition } from './route-conditions.ts'
import { RULES_ABOUT_MODELS } from './unlooked.ts'

/**
 * The models named by clients that a change newly admits or denies, and for which clients. Covers
 * ways that both configurations have; others are compared for all models together. A virtual model
 * is covered for each model that it leads to.
 */
export function compareModelCalls(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
): SemanticDiff {
  const hasModels = ({ backends }: Model) => backends.some(({ kind }) => kind === 'ai')
  if (!hasModels(before) || !hasModels(after)) return { differences: [], untold: [] }
  const changed = changedRoutes(before, after)?.compared
  const [old, now] = [waysThrough(before, changed), waysThrough(after, changed)]
  const [was, is] = [callsIn(old), callsIn(now)]
  const about = ({ model }: Entry) => `calls to \`${model}\``
  return compareCalls({ ways: old, calls: was }, { ways: now, calls: is }, decide, about, besideOf)
}

/** The calls that reached the same backend on the same way: none if there was no such way. */
function besideOf(entry: Entry, calls: readonly Entry[]): readonly Entry[] {
  return calls.filter(
    ({ way, match, form }) =>
      way === entry.way && match?.id === entry.match?.id && form?.name === entry.form?.name,
  )
}

/** Keyed by what is the same in both: the way and the model. */
function callsIn({ entries }: Ways): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>()
  for (const entry of entries) {
    const { backend } = entry.where
    if (backend?.kind !== 'ai') continue
    for (const asked of modelsCalledAt(backend, entry)) {
      const key = `${entry.key} ${asked.name} ${asked.number}`
      for (const call of withStored(callEntry(entry, backend, asked))) {
        found.set(`${key} ${call.form?.name}`, call)
      }
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
  /** The name that the provider is sent instead, if this determines whether it serves calls. */
  readonly sent?: string
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
function modelsOf(backend: AiBackend, { provider }: Entry): readonly CalledModel[] {
  const { models = [], virtualModels = [] } = backend
  const hidden = virtualModels.map(({ name }) => nameCondition('Deny', name))
  const numbers = new Map<string, number>()
  return models
    .filter((model) => model.provider === provider && !model.isInternal)
    .map(({ name, matches }) => {
      const number = numbers.get(name) ?? 0
      numbers.set(name, number + 1)
      const shadowing = hidden.filter(({ text }) => mayHide(name, text))
      const conditions = [...shadowing, nameCondition('Require', name), ...headersOf(matches)]
      return { name, number, conditions }
    })
}

/** Whether the name is that of a virtual model, or a pattern that may match it. */
function mayHide(name: string, condition: string): boolean {
  return name.includes('*') || condition.includes(JSON.stringify(name))
}

/** The `*` of a pattern is at its start or its end. */
function nameCondition(action: Conditional['action'], name: string): Conditional {
  const subject = 'llm.requestModel'
  if (!name.includes('*')) return { action, text: `${subject} == ${JSON.stringify(name)}` }
  const [test, text] = name.endsWith('*')
    ? ['startsWith', name.slice(0, -1)]
    : ['endsWith', name.slice(1)]
  return { action, text: `${subject}.${test}(${JSON.stringify(text)})` }
}

/** Headers of which one list must match. */
function headersOf(matches: AiModel['matches']): readonly Conditional[] {
  if (matches === undefined) return []
  const path = { kind: 'prefix', value: '/' } as const
  const all = matches.map((headers) => matchCondition({ path, headers, query: [] }))
  // What is not an expression makes the whole condition unreadable.
  const text = all.map((one) => (one.parts?.length === 0 ? `(${one.text})` : '?')).join(' || ')
  return [{ action: 'Require', text }]
}

function* virtualModelsOf(
  { virtualModels = [] }: AiBackend,
  { provider }: Entry,
): Generator<CalledModel> {
  for (const virtual of virtualModels) {
    const { name, routing, targets } = virtual
    for (const [number, target] of targets.entries()) {
      if (target.provider !== provider || target.weight === 0) continue
      const chosen = routing === 'conditional' ? chosenWhen(virtual, number) : []
      const conditions = [nameCondition('Require', name), ...chosen]
      yield { name, number, conditions, sent: target.model }
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
  const { name, conditions, sent } = asked
  const own: readonly (readonly [string, Fact])[] = [['llm.requestModel', { kind: 'set' }]]
  let unread = ''
  const points = entry.points.map((point) => {
    if (point.stage !== 'backend') return point
    const leading = conditions.map((one) => leadingRule(point, one))
    if (leading.includes(undefined)) unread = hashOf(conditions)
    const rules = [...leading.filter((one) => one !== undefined), ...point.rules]
    return { ...point, facts: new Map([...point.facts, ...own]), rules }
  })
  const { [RULES_ABOUT_MODELS]: _, ...others } = entry.unlooked
  const provider = hashOf([servedCalls(entry, backend, sent), unread])
  const unlooked = { ...others, provider }
  const shapes = CALLS.filter(({ model }) => model === undefined)
  const form = { name: 'call', condition: isCallMethod(), shapes } as const
  return { ...entry, unlooked, points, model: name, form }
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
