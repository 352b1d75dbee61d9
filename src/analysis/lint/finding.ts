import type { Diagnostic, Origin, Position, Severity } from '../../diagnostics/diagnostic.ts'
import { locate, originIn, type Places, positioned } from '../../diagnostics/places.ts'
import type { PlacedRule } from '../placed-rule.ts'

/** A certain or possible mistake in the policies themselves. */
export interface Finding {
  readonly diagnostic: Diagnostic
  /** A change that affects no decision. */
  readonly fix?: Fix
  /** The rule never matches, and denies all requests if it is served as it is. */
  readonly isClosed?: boolean
}

type Place = Origin | Position

export type Fix =
  /** Replaces the expression of the rule at this origin. */
  | { readonly kind: 'rewrite'; readonly at: Place; readonly from: string; readonly to: string }
  /** Removes the rule at this origin. */
  | { readonly kind: 'remove'; readonly at: Place; readonly from: string }

export interface Said {
  readonly code: string
  readonly severity: Severity
  readonly message: string
  readonly hint?: string
}

/** A diagnostic about a rule, or about the part of its expression between two offsets. */
export function aboutRule(
  said: Said,
  placed: PlacedRule,
  span?: { readonly start: number; readonly end: number },
): Diagnostic {
  const text = placed.rule.expression
  const { start, end } = span ?? { start: 0, end: text.length }
  return { ...said, origin: originOfRule(placed), excerpt: { text, start, end } }
}

/** Whether a rule denies by never matching: the opposite is true of Deny rules. */
export function isClosedIfNever({ rule }: PlacedRule): boolean {
  return rule.action !== 'Deny'
}

export function originOfRule({ rule, policy }: PlacedRule): Origin {
  return originIn(policy.origin, rule.field)
}

/** Findings with their positions. */
export function locateFindings(places: Places, findings: readonly Finding[]): readonly Finding[] {
  return findings.map((finding) => {
    const located = { ...finding, diagnostic: positioned(places, finding.diagnostic) }
    const { fix } = finding
    return fix === undefined ? located : { ...located, fix: { ...fix, at: locate(places, fix.at) } }
  })
}
