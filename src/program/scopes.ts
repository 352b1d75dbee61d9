import type { Expression, Variables } from '../cel/index.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { IdentityVariable, Scope } from '../exchange/identity.ts'
import type { Attached, Section } from '../model/policy.ts'
import type { PolicyExpression } from '../policies/define.ts'
import { POLICY_SCHEMAS } from '../policies/schema.ts'
import type { Layer } from './layers.ts'

/** What the policies around one point see of who asks. */
export interface Scopes {
  /** All authentications around it, the gateway's first. */
  readonly sources: readonly Attached[]
  /** Undefined where there is none at all. */
  of(policy: Attached): Scope | undefined
}

export const NO_SCOPES: Scopes = { sources: [], of: () => undefined }

const IDENTIFYING: ReadonlyMap<string, readonly IdentityVariable[]> = new Map(
  POLICY_SCHEMAS.filter(({ identifies }) => identifies.length > 0).map(({ kind, identifies }) => [
    kind,
    identifies,
  ]),
)

export interface ScopeMaking {
  placeOf(policy: Attached): string
  /** Makes equal scopes one object. */
  intern(scope: Scope): Scope
}

/**
 * A policy sees what its own authentication found out; where it has none, what the nearest level
 * around it did. A neighbour at its own level lends it nothing: whoever attaches a policy of his
 * own to a route must not thereby hand claims to the rules of others. Where its own found nobody,
 * as one that is Optional may, an enclosing level does not step in: another issuer may have other
 * people of the same names.
 */
export function scopesOf(layers: readonly Layer[], section: Section, making: ScopeMaking): Scopes {
  if (!hasSource(layers, section)) return NO_SCOPES
  const sources = layers.map(({ policies }) => policies.filter((one) => isSource(one, section)))
  const made = new Map<string, Scope>()
  return {
    sources: sources.flat(),
    of(policy) {
      const own = making.placeOf(policy)
      const depth = layers.findIndex(({ place }) => place === own)
      const key = `${depth} ${policy.policy}`
      const known = made.get(key)
      if (known !== undefined) return known
      const seen = (variable: IdentityVariable) => visible(sources, depth, policy.policy, variable)
      const scope = making.intern({
        jwt: seen('jwt'),
        apiKey: seen('apiKey'),
        basicAuth: seen('basicAuth'),
        extauthz: seen('extauthz'),
      })
      made.set(key, scope)
      return scope
    },
  }
}

function hasSource(layers: readonly Layer[], section: Section): boolean {
  for (const { policies } of layers) {
    for (const policy of policies) if (isSource(policy, section)) return true
  }
  return false
}

function isSource(policy: Attached, section: Section): boolean {
  const isSeen = policy.section === 'traffic' || policy.section === section
  return isSeen && IDENTIFYING.has(policy.kind)
}

function visible(
  sources: readonly (readonly Attached[])[],
  depth: number,
  policy: string,
  variable: IdentityVariable,
): readonly Attached[] {
  const says = ({ kind }: Attached) => IDENTIFYING.get(kind)?.includes(variable) === true
  const own = (sources[depth] ?? []).filter((one) => one.policy === policy && says(one))
  if (own.length > 0) return own
  for (let above = depth - 1; above >= 0; above--) {
    const found = (sources[above] as readonly Attached[]).filter(says)
    if (found.length > 0) return found
  }
  return []
}

/** The expression from the view of a scope. */
export function scoped(expression: Expression, scope: Scope | undefined): PolicyExpression {
  if (scope === undefined || !readsIdentity(expression)) return expression
  const from =
    <T>(run: (variables: Variables) => T) =>
    (variables: Variables) => {
      ;(variables as unknown as Exchange).enter(scope)
      return run(variables)
    }
  return {
    term: expression.term,
    reads: expression.reads,
    evaluate: () => from(expression.evaluate()),
    predicate: () => from(expression.predicate()),
  }
}

function readsIdentity({ reads }: Expression): boolean {
  return reads.some(({ variable }) => VARIABLES.has(variable))
}

const VARIABLES: ReadonlySet<string> = new Set([...IDENTIFYING.values()].flat())
