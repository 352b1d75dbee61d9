import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { originIn } from '../../diagnostics/places.ts'
import type { Model } from '../../model/model.ts'
import type { Attached, ValidPolicy } from '../../model/policy.ts'
import type { Authorization, AuthorizationRule } from '../../policies/schema.ts'
import { visitPolicies } from '../../reach/all-layers.ts'

/**
 * Policies that reject every request, found without reasoning about expressions: Require rules that
 * compare one attribute with different strings, and key sets without a key.
 */
export function uselessPolicies(model: Model): readonly Diagnostic[] {
  const found: Diagnostic[] = []
  visitPolicies(model, (policies) => {
    let known = SEEN.get(policies)
    if (known === undefined) SEEN.set(policies, (known = [...lookAt(policies)]))
    found.push(...known)
  })
  return found
}

/** Most places stay the same from one Model to the next. */
const SEEN = new WeakMap<readonly Attached[], readonly Diagnostic[]>()

interface Compared {
  readonly text: string
  readonly rule: AuthorizationRule
}

function* lookAt(policies: readonly Attached[]): Generator<Diagnostic> {
  const required = new Map<string, Compared>()
  for (const policy of policies) {
    if (policy.state !== 'valid') continue
    if (policy.kind === 'jwtAuthentication') yield* keyless(policy)
    if (policy.kind !== 'authorization') continue
    const { rules, mode } = policy.value as Authorization
    if (mode === 'Audit') continue
    for (const rule of rules) {
      const [, attribute, text] = EQUALITY.exec(rule.expression) ?? []
      if (rule.action !== 'Require' || attribute === undefined || text === undefined) continue
      const place = `${policy.section} ${attribute}`
      const other = required.get(place)
      const value = text.slice(1, -1)
      if (other === undefined) required.set(place, { text: value, rule })
      else if (other.text !== value) yield contradiction(policy, rule, other.rule)
    }
  }
}

/**
 * An attribute that is a string if it has a value, compared with a literal without escapes. Not
 * addresses: these equal strings that are written differently.
 */
const EQUALITY =
  /^\s*(request\.(?:path|method|host|scheme)|request\.headers\[(?:'[\w-]+'|"[\w-]+")\]|jwt(?:\.\w+)+)\s*==\s*('[^'\\]*'|"[^"\\]*")\s*$/

function contradiction(
  { origin }: ValidPolicy,
  rule: AuthorizationRule,
  other: AuthorizationRule,
): Diagnostic {
  return {
    code: 'AZ010',
    severity: 'error',
    message: `\`${other.expression}\` is required as well, and the two are never true together: everything is denied`,
    origin: originIn(origin, rule.field),
    hint: 'combine the rules with `||` or `in`, or use Allow rules',
  }
}

interface Provider {
  readonly issuer: string
  readonly jwks: { readonly kind: string; readonly keys?: { readonly text?: string } }
}

function* keyless({ value, origin }: ValidPolicy): Generator<Diagnostic> {
  const { providers = [] } = value as { readonly providers?: readonly Provider[] }
  for (const { issuer, jwks } of providers) {
    if (jwks.keys?.text === undefined || !hasNoKeys(jwks.keys.text)) continue
    yield {
      code: 'PC0503',
      severity: 'error',
      message: `all tokens from \`${issuer}\` are rejected: its key set is empty`,
      origin,
      hint: 'add the public keys of the issuer to `jwks`, or set its `url`',
    }
  }
}

function hasNoKeys(text: string): boolean {
  try {
    const { keys } = JSON.parse(text) as { readonly keys?: readonly unknown[] }
    return keys?.length === 0
  } catch {
    return false
  }
}
