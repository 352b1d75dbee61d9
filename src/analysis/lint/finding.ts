import type { Diagnostic, Origin, Severity } from '../../diagnostics/diagnostic.ts'
import type { PlacedRule } from '../placed-rule.ts'
import { originInField } from './place.ts'

/** A certain or possible mistake in the policies themselves. */
export interface Finding {
  readonly diagnostic: Diagnostic
  /** A change that affects no decision. */
  readonly fix?: Fix
  /** The rule never matches, and denies all requests if it is served as it is. */
  readonly isClosed?: boolean
}

export type Fix =
  /** Replaces the expression of the rule at this origin. */
  | { readonly kind: 'rewrite'; readonly at: Origin; readonly from: string; readonly to: string }
  /** Removes the rule at this origin. */
  | { readonly kind: 'remove'; readonly at: Origin; readonly from: string }

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
  return rule.origin ?? originInField(policy.origin, rule.field)
}
