import { children, type Term } from '../../cel/check/term.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import type { Point, Replies } from '../points.ts'
import { credentialsOf, isSingle, isWithin, verifierOf } from '../scopes.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import type { Condition } from '../symbolic/space.ts'
import { type Definitions, substituted } from '../symbolic/substitute.ts'
import { authenticationsOf, type Entry } from './entries.ts'

/* How the conditions of two ways are brought together: which attributes of them are the same. */

/** The entry, with variables of authentications named as in the other entry. */
export function aligned(entry: Entry, other: Entry): Entry {
  const [own, others] = [authenticationsOf(entry), authenticationsOf(other)]
  const names = new Map<string, string>()
  for (const policy of own.filter(isSingle)) {
    const same =
      others.find((one) => credentialsOf(one) === credentialsOf(policy)) ??
      // Tokens that only one of the two accepts are analyzed separately.
      others.find((one) => isWithin(one, policy) || isWithin(policy, one))
    const [from, to] = [verifierOf(policy), same && verifierOf(same)]
    const isOnly = (list: readonly ValidPolicy[], name: string) =>
      list.filter((one) => verifierOf(one) === name).length === 1
    if (to === undefined || from === to || !isOnly(own, from) || !isOnly(others, to)) continue
    // A name that already has a meaning here would get a second one.
    if (!own.some((one) => verifierOf(one) === to)) names.set(from, to)
  }
  if (names.size === 0) return entry
  const renamed = (name: string) => name.replaceAll(/[0-9a-f]{12}/g, (one) => names.get(one) ?? one)
  const points = entry.points.map((point) => ({
    ...point,
    required: point.required.map(renamed),
    facts: new Map([...point.facts].map(([name, fact]) => [renamed(name), fact])),
    rules: point.rules.map((rule) => ({ ...rule, condition: withNames(rule.condition, renamed) })),
    replies: withReplies(point.replies, (condition) => withNames(condition, renamed)),
  }))
  return { ...entry, points }
}

/**
 * The entry, with variables of its own for the place of a request: rules that read the place at two
 * different places do not read the same values.
 */
export function placedApart(entry: Entry, other: Entry): Entry {
  if (placeOf(entry) === placeOf(other)) return entry
  // The call is the same at any of the providers.
  const isShared = isCall(entry) && isCall(other) && ![entry, other].some(readsProvider)
  const apart = new Map(OWN_PLACES)
  if (isShared) apart.delete('llm')
  const points = entry.points.map((point) => {
    const facts = new Map<string, Fact>()
    for (const [name, fact] of point.facts) {
      const [variable = ''] = name.split('.')
      const own = apart.get(variable)
      facts.set(own === undefined ? name : `${own}${name.slice(variable.length)}`, fact)
      if (own !== undefined && name !== variable) facts.set(own, { kind: 'set' })
    }
    if (isShared) facts.delete(PROVIDER)
    const renamed = (condition: Condition): Condition => ({
      ...condition,
      names: new Map([...(condition.names ?? []), ...apart]),
    })
    return { ...withConditions(point, renamed), facts }
  })
  return { ...entry, points }
}

const PROVIDER = 'llm.provider'

function isCall({ where }: Entry): boolean {
  return where.backend?.kind === 'ai'
}

/** Whether a condition still depends on the provider, or reads the call as a whole. */
function readsProvider({ points }: Entry): boolean {
  return points.some(({ rules }) => rules.some(({ condition }) => isAboutProvider(condition.term)))
}

function isAboutProvider(term: Term): boolean {
  if (term.kind === 'variable') return term.name === 'llm'
  if (term.kind === 'field' && term.operand.kind === 'variable') {
    return term.operand.name === 'llm' && term.field === 'provider'
  }
  return children(term).some(isAboutProvider)
}

/** The entry, with what its place determines about a request in the place of attributes. */
export function specialized(entry: Entry): Entry {
  const points = entry.points.map((point) => {
    const definitions: Definitions = new Map(
      [...point.facts].flatMap(([name, fact]) =>
        PLACED.has(name) && fact.kind === 'values' && fact.isSet && fact.values.length === 1
          ? [[name, fact.values[0] as string] as const]
          : [],
      ),
    )
    if (definitions.size === 0) return point
    return withConditions(point, (condition) => {
      const term = substituted(condition.term, definitions)
      return term === condition.term ? condition : { ...condition, term }
    })
  })
  return { ...entry, points }
}

/** Attributes that follow from the place alone. */
const PLACED: ReadonlySet<string> = new Set([
  PROVIDER,
  ...['name', 'type', 'protocol', 'provider'].map((field) => `backend.${field}`),
  ...['gateway', 'listener', 'route'].map((field) => `proxy.${field}`),
])

function withConditions(point: Point, change: (condition: Condition) => Condition): Point {
  const rules = point.rules.map((rule) => ({ ...rule, condition: change(rule.condition) }))
  return { ...point, rules, replies: withReplies(point.replies, change) }
}

function withReplies(replies: Replies, change: (condition: Condition) => Condition): Replies {
  if (replies === 'untold') return replies
  return replies.map(({ when, isError }) => ({
    when: when && { ...when, condition: change(when.condition) },
    isError,
  }))
}

const OWN_PLACES: ReadonlyMap<string, string> = new Map(
  ['proxy', 'backend', 'llm', 'a2a'].map((variable) => [variable, `${variable}~`]),
)

function placeOf({ listener, route, backend, provider }: Entry): string {
  return [listener, route, backend, provider].join(' ')
}

function withNames(condition: Condition, renamed: (name: string) => string): Condition {
  const { names } = condition
  if (names === undefined) return condition
  const others = [...names].map(([variable, name]) => [variable, renamed(name)] as const)
  return { ...condition, names: new Map(others) }
}
