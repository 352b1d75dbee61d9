import type { Expression, Variables } from '../cel/index.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { IdentityVariable, Scope } from '../exchange/identity.ts'
import type { Attached, Section } from '../model/policy.ts'
import type { PolicyExpression } from '../policies/define.ts'
import { IDENTITY_VARIABLES } from '../reach/kinds.ts'
import type { Layer } from '../reach/layers.ts'
import { NO_SOURCES, sourcesAt } from '../reach/sources.ts'

/** The identities that the policies around one point see. */
export interface Scopes {
  /** All authentications around it, the gateway's first. */
  readonly sources: readonly Attached[]
  /** Undefined if there are no authentications. */
  of(policy: Attached): Scope | undefined
}

export const NO_SCOPES: Scopes = { sources: [], of: () => undefined }

export interface ScopeMaking {
  placeOf(policy: Attached): string
  /** Makes equal scopes one object. */
  intern(scope: Scope): Scope
}

/** Determines which authentications each policy around a point relies on, according to `reach`. */
export function scopesOf(layers: readonly Layer[], section: Section, making: ScopeMaking): Scopes {
  const found = sourcesAt(layers, section)
  if (found === NO_SOURCES) return NO_SCOPES
  const made = new Map<string, Scope>()
  return {
    sources: found.all,
    of(policy) {
      const own = making.placeOf(policy)
      const depth = layers.findIndex(({ place }) => place === own)
      const key = `${depth} ${policy.policy}`
      const known = made.get(key)
      if (known !== undefined) return known
      const seen = (variable: IdentityVariable) => found.seenBy(policy.policy, depth, variable)
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

/** The expression, evaluated with the identities of a scope. */
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

const VARIABLES: ReadonlySet<string> = new Set(IDENTITY_VARIABLES)
